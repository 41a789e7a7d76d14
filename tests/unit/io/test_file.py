"""Sources as file objects: what libraries read from them, in how many requests, and that failures stay failures."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Sequence

import pytest

from byteatlas.errors import FetchFailed
from byteatlas.io.sources.file_object import BLOCK, open_file
from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.ops.archive import tar_members, zip_members
from byteatlas.store.zip import ZipStore
from byteatlas.types import Buffer, ByteRange

DATA = bytes(i * 7 % 251 for i in range(3 * BLOCK // 2))


class Broken(MemorySource):
    """A source that fails from some byte on."""

    def __init__(self, data: bytes, begin: int) -> None:
        super().__init__(data, "memory://broken")
        self.begin = begin

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        for where in ranges:
            if where.end > self.begin:
                raise FetchFailed(self.url, "connection lost", where)
        return super().read(ranges)


def zipped(size: int = 100) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a", b"x" * size)
    return out.getvalue()


def test_reads_as_a_file_does() -> None:
    with open_file(MemorySource(DATA)) as file, io.BytesIO(DATA) as known:
        for at, whence, size in ((10, 0, 5), (3, 1, 100_000), (-7, 2, 20), (-1, 2, 0), (5, 2, 3), (0, 0, -1)):
            assert file.seek(at, whence) == known.seek(at, whence)
            assert file.read(size) == known.read(size)
            assert file.tell() == known.tell()
        with pytest.raises(OSError, match="before the beginning"):
            file.seek(-1)
        assert not file.writable()


def test_directories_of_archives_cost_few_requests() -> None:
    source = Counting(MemorySource(zipped(4 * BLOCK)))
    assert list(zip_members(source)) == ["a"]
    assert source.counts.requests <= 2
    source = Counting(MemorySource(zipped(4 * BLOCK)))
    ZipStore(source)
    assert source.counts.requests <= 2


def test_a_failed_fetch_is_no_damaged_archive() -> None:
    """`zipfile` says of any OSError that the file is no archive."""
    data = zipped()
    for begin in (0, len(data) - 10):
        for read in (zip_members, ZipStore):
            with pytest.raises(FetchFailed, match="connection lost"):
                read(Broken(data, begin))
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in ("a", "b", "c"):
            info = tarfile.TarInfo(name)
            info.size = BLOCK
            archive.addfile(info, io.BytesIO(bytes(BLOCK)))
    for begin in (0, 2 * BLOCK):
        with pytest.raises(FetchFailed, match="connection lost"):
            tar_members(Broken(out.getvalue(), begin))


def test_a_failed_fetch_that_a_library_hides() -> None:
    def hide() -> None:
        with open_file(Broken(DATA, BLOCK)) as file:
            file.seek(BLOCK)
            try:
                file.read(1)
            except OSError:
                return

    with pytest.raises(FetchFailed, match="connection lost"):
        hide()
