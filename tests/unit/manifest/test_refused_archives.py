"""Members of archives: headers that contradict the directory, and members that reach beyond the end."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile

import pytest

from byteatlas.errors import CorruptFile
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.ops.archive import tar_members, zip_members
from byteatlas.types import ByteRange

DATA = b"0123456789"


def zipped(method: int = zipfile.ZIP_STORED) -> bytearray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("d/", b"")
        archive.writestr("a.nc", DATA)
    return bytearray(out.getvalue())


def directory_entry(data: bytearray) -> int:
    """Where the last entry of the central directory begins."""
    return data.rindex(b"PK\x01\x02")


def member(data: bytearray) -> ByteRange | None:
    return zip_members(MemorySource(bytes(data), "a.zip"))["a.nc"]().range


def test_a_stored_member() -> None:
    data = zipped()
    found = member(data)
    assert found is not None
    assert bytes(data[found.offset : found.end]) == DATA
    assert list(zip_members(MemorySource(bytes(data), "a.zip"))) == ["a.nc"]


def test_members_that_cannot_be_read_in_place() -> None:
    packed = zip_members(MemorySource(bytes(zipped(zipfile.ZIP_DEFLATED)), "a.zip"))["a.nc"]()
    assert (packed.range, packed.why) == (None, "compressed (method 8)")
    data = zipped()
    data[directory_entry(data) + 8] |= 1
    secret = zip_members(MemorySource(bytes(data), "a.zip"))["a.nc"]()
    assert (secret.range, secret.why) == (None, "encrypted")


def test_no_local_header() -> None:
    data = zipped()
    at = data.rindex(b"PK\x03\x04")
    data[at] = 0
    with pytest.raises(CorruptFile) as refused:
        member(data)
    assert (refused.value.offset, refused.value.why, refused.value.url) == (
        at,
        "no local header of a zip member",
        "a.zip",
    )


def test_two_sizes() -> None:
    data = zipped()
    struct.pack_into("<I", data, directory_entry(data) + 24, 11)
    with pytest.raises(CorruptFile, match="a stored member with two sizes") as refused:
        member(data)
    assert refused.value.offset == data.rindex(b"PK\x03\x04")


def test_a_member_that_is_longer_than_the_archive() -> None:
    data = zipped()
    struct.pack_into("<II", data, directory_entry(data) + 20, 1 << 20, 1 << 20)
    with pytest.raises(CorruptFile, match="a member reaches beyond the end of the archive") as refused:
        member(data)
    assert refused.value.offset == data.index(DATA)
    end = len(data) - data.index(DATA)
    struct.pack_into("<II", data, directory_entry(data) + 20, end, end)
    assert member(data) == ByteRange(data.index(DATA), end)


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("a.nc")
        info.size = len(DATA)
        archive.addfile(info, io.BytesIO(DATA))
    return out.getvalue()


def test_a_tar_archive_that_was_cut_short() -> None:
    assert tar_members(MemorySource(tarred(), "a.tar"))["a.nc"]().range == ByteRange(512, 10)
    with pytest.raises(CorruptFile, match="unexpected end of data") as refused:
        tar_members(MemorySource(tarred()[: 512 + 9], "a.tar"))
    assert (refused.value.offset, refused.value.url) == (0, "a.tar")


def test_what_is_no_archive() -> None:
    for members, kind in ((zip_members, "zip"), (tar_members, "tar")):
        with pytest.raises(CorruptFile, match=f"not a readable {kind} archive") as refused:
            members(MemorySource(b"nothing" * 200, "a"))
        assert refused.value.offset == 0
