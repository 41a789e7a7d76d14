"""ZIP, tar and gzip archives with one wrong field: the error of the whole, or the fault of the member."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from collections.abc import Callable

import numpy as np
import pytest
from fixtures.netcdf3.make_netcdf3 import narrow
from tests.scanning import refusals, refuses, run, scan_bytes

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo, VirtualArray, single_source
from byteatlas.meta import dtypes
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.contract import ScanOptions
from byteatlas.types import ByteRange
from byteatlas.values import replace
from byteatlas_scanners.containers import archives, packed, tar_format, zip_format
from byteatlas_scanners.containers.inside import Archive
from byteatlas_scanners.containers.members import ContainedFile, MemberCodec, MemberTable, directory_of
from byteatlas_scanners.containers.packed import Allowance, GzipScanner, Repacking
from byteatlas_scanners.containers.tar_format import read_tar
from byteatlas_scanners.containers.zip_format import END, END64, LOCATOR, read_zip

# --------------------------------------------------------------------------------------- ZIP


def zipped(method: int = zipfile.ZIP_STORED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo("a"), b"first" * 9)
        archive.writestr(zipfile.ZipInfo("b"), b"second", method)
    return made.getvalue()


PLAIN = zipped()
ENTRY_AT = PLAIN.index(b"PK\x01\x02")
SECOND_AT = PLAIN.rindex(b"PK\x01\x02")
END_AT = PLAIN.rindex(b"PK\x05\x06")


def poked(data: bytes, at: int, form: str, *values: int) -> bytes:
    """The same bytes with other numbers at a place."""
    out = bytearray(data)
    struct.pack_into(form, out, at, *values)
    return bytes(out)


def ended(**fields: int) -> bytes:
    """With other fields of the end record."""
    names = ("sign", "disk", "start", "here", "total", "length", "offset", "comment")
    found = dict(zip(names, END.unpack_from(PLAIN, END_AT), strict=True)) | fields
    return PLAIN[:END_AT] + END.pack(*found.values())


def large(place: int | None = None, *, sign: bytes = b"PK\x06\x06", before: bytes = b"", total: int = 2) -> bytes:
    """The same archive with a ZIP64 record, and one of its own place."""
    _, _, _, _, _, length, offset, _ = END.unpack_from(PLAIN, END_AT)
    record = END64.pack(sign, END64.size - 12, 45, 45, 0, 0, total, total, length, offset)
    locator = LOCATOR.pack(b"PK\x06\x07", 0, END_AT if place is None else place, 1)
    return PLAIN[:END_AT] + record + before + locator + END.pack(b"PK\x05\x06", 0, 0, 2, 2, 2**32 - 1, 2**32 - 1, 0)


def members(data: bytes) -> Callable[[], MemberTable]:
    return lambda: run(read_zip(len(data)), data)


VOLUMES = Unsupported("layout", "a ZIP archive in several volumes")


@refusals(
    (
        members(PLAIN[:-1]),
        CorruptFile(0, "no directory at the end of a ZIP archive: it is cut off, or something follows it"),
    ),
    (members(ended(disk=1)), VOLUMES),
    (members(ended(start=1)), VOLUMES),
    (members(ended(here=1)), VOLUMES),
    (members(poked(PLAIN, ENTRY_AT + 34, "<H", 1)), VOLUMES),
    (members(ended(here=3, total=3)), CorruptFile(END_AT, "3 members in a directory of 94 bytes")),
    (members(ended(offset=ENTRY_AT + 1)), CorruptFile(END_AT, "the directory does not lie before its end record")),
    (members(ended(length=95, offset=0)), CorruptFile(ENTRY_AT - 1, "a damaged entry of the ZIP directory")),
    (members(poked(PLAIN, SECOND_AT, "<I", 7)), CorruptFile(SECOND_AT, "a damaged entry of the ZIP directory")),
    (
        members(poked(PLAIN, SECOND_AT + 28, "<H", 3)),
        CorruptFile(SECOND_AT + 46, "an entry of the ZIP directory is cut off"),
    ),
    (members(large(0, before=b"x")), CorruptFile(0, "no ZIP64 record where the directory should end")),
    (members(large(sign=b"PK\x06\x05")), CorruptFile(END_AT, "no ZIP64 record where the directory should end")),
    (members(large(total=1 << 40)), CorruptFile(END_AT, f"{1 << 40} members in a directory of 94 bytes")),
)  # fmt: skip
def test_zip_archives(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_zip_archives_that_are_sound() -> None:
    for data in (PLAIN, large(), large(END_AT), b"before it" + PLAIN, b"before it" + large()):
        assert [member.fault for member in members(data)().members.values()] == [None, None]
    commented = ended(comment=4) + b"PK\x05\x06"
    assert set(members(commented)().members) == {"a", "b"}


def test_the_directory_of_a_zip_archive_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_format, "MOST_DIRECTORY", 94)
    assert set(members(PLAIN)().members) == {"a", "b"}
    monkeypatch.setattr(zip_format, "MOST_DIRECTORY", 93)
    refuses(CorruptFile(0, "the directory of 94 bytes does not lie in the file"), members(PLAIN))
    monkeypatch.undo()
    monkeypatch.setattr(zip_format, "MOST_MEMBERS", 1)
    refuses(CorruptFile(END_AT, "2 members in a directory of 94 bytes"), members(PLAIN))


NOT_THE_SAME = CorruptFile(0, "the member's own header does not say what the directory says")
ENCRYPTED = Unsupported("compressed-member", "it is encrypted: decrypt it first")
LOCAL = 0
"""Where the first member's own header is."""


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (poked(PLAIN, LOCAL, "<I", 7), NOT_THE_SAME),
        (poked(PLAIN, LOCAL + 30, "<B", 98), NOT_THE_SAME),
        (poked(PLAIN, LOCAL + 6, "<H", 1), ENCRYPTED),
        (poked(PLAIN, ENTRY_AT + 8, "<H", 1 << 13), ENCRYPTED),
        (poked(PLAIN, LOCAL + 8, "<H", 8),
         CorruptFile(0, "the member's own header gives another compression than the directory")),
        (poked(PLAIN, ENTRY_AT + 8, "<H", 1 << 5),
         CorruptFile(0, "the member's own header gives another compression than the directory")),
        (poked(PLAIN, ENTRY_AT + 24, "<I", 44), CorruptFile(0, "a stored member of 45 and of 44 bytes")),
        (poked(poked(PLAIN, LOCAL + 8, "<H", 12), ENTRY_AT + 10, "<H", 12),
         Unsupported("compressed-member",
                     "ZIP compression method 12: unpack the archive, or make it without compression (zip -0)")),
        (poked(PLAIN, ENTRY_AT + 20, "<II", 46, 46),
         CorruptFile(0, "its bytes overlap those of another member, or of the directory")),
        (poked(PLAIN, ENTRY_AT + 42, "<I", 1 << 30),
         CorruptFile(1 << 30, f"a range of 31 bytes lies outside of the file ({len(PLAIN)} bytes)")),
    ],
)  # fmt: skip
def test_members_of_zip_archives(data: bytes, fault: ByteatlasError) -> None:
    found = members(data)().members["a"].fault
    assert type(found) is type(fault)
    if "outside" not in str(fault):
        assert str(found) == str(fault)
    assert members(data)().members["b"].fault is None


@pytest.mark.parametrize("length", [0, 4, 8, 24, 28, 64, 0xFFFF])
def test_extra_fields_that_are_cut_off(length: int) -> None:
    """A field that says it is longer than what follows it: the numbers that are there count."""
    extra = struct.pack("<HHQ", 1, length, 45)
    name = PLAIN[ENTRY_AT + 46 : ENTRY_AT + 47]
    entry = poked(PLAIN[ENTRY_AT : ENTRY_AT + 46], 24, "<I", 2**32 - 1)
    entry = poked(entry, 30, "<H", len(extra)) + name + extra
    data = PLAIN[:ENTRY_AT] + entry + PLAIN[SECOND_AT:END_AT]
    data += END.pack(b"PK\x05\x06", 0, 0, 2, 2, len(data) - ENTRY_AT, ENTRY_AT, 0)
    fault = members(data)().members["a"].fault
    if length >= 8:
        assert fault is None
    else:
        assert str(fault) == str(CorruptFile(0, "a stored member of 45 and of 4294967295 bytes"))


def test_deflated_members() -> None:
    data = zipped(zipfile.ZIP_DEFLATED)
    member = members(data)().members["b"]
    assert member.packing is not None
    raw = data[member.where.offset : member.where.end]
    assert packed.inflated(raw, member.packing, member) == b"second"
    wrong = CorruptFile(member.where.offset, "the member inflates to a wrong length or checksum")
    sound = member.packing
    refuses(wrong, lambda: packed.inflated(raw, replace(sound, size=5), member))
    refuses(wrong, lambda: packed.inflated(raw, replace(sound, size=7), member))
    refuses(wrong, lambda: packed.inflated(raw, replace(sound, crc=1), member))
    refuses(wrong, lambda: packed.inflated(raw[:-1], sound, member))


# --------------------------------------------------------------------------------------- tar


def header(
    name: bytes = b"a", *, size: bytes = b"00000000005\0", kind: bytes = b"0", total: bytes | None = None
) -> bytes:
    """A header block with its sum."""
    block = bytearray(512)
    block[: len(name)] = name
    block[124:136], block[148:156], block[156:157], block[257:263] = size, b" " * 8, kind, b"ustar\0"
    block[148:156] = b"%06o\0 " % sum(block) if total is None else total
    return bytes(block)


def tar(*blocks: bytes) -> bytes:
    return b"".join(block + bytes(-len(block) % 512) for block in blocks) + bytes(1024)


def listed(data: bytes) -> Callable[[], MemberTable]:
    return lambda: run(read_tar(len(data)), data)


LONG = b"28 size=1234567890123456789\n"


def record(text: bytes) -> bytes:
    return header(kind=b"x", size=b"%011o\0" % len(text))


@refusals(
    (listed(tar(header(total=b"000001\0 "))), CorruptFile(0, "a tar header with a wrong checksum")),
    (listed(tar(header(size=b"\xff" + bytes(11)))), CorruptFile(0, "an impossible number in a tar header")),
    (listed(tar(header(size=b"\x80\0\0\0" + b"\xff" * 8))), CorruptFile(0, "an impossible number in a tar header")),
    *[
        (listed(tar(header(size=text))), CorruptFile(0, f"{text!r} where an octal number is expected"))
        for text in (b"00000000008\0", b"-0000100000\0", b"0000000_005\0", b"+0000000005\0", b"0o000000005\0")
    ],
    (listed(tar(header(kind=b"L", size=b"00004000001\0"))), CorruptFile(512, "an extended header of 1048577 bytes")),
    (listed(tar(record(b"x"), b"x")), CorruptFile(0, "a damaged record of an extended tar header")),
    (listed(tar(record(b"9 a=b\n"), b"9 a=b\n")), CorruptFile(0, "a damaged record of an extended tar header")),
    (listed(tar(record(b"6 a=b "), b"6 a=b ")), CorruptFile(0, "a damaged record of an extended tar header")),
    (listed(tar(record(b"6 acb\n"), b"6 acb\n")), CorruptFile(0, "a damaged record of an extended tar header")),
    (listed(tar(record(b"3 \n"), b"3 \n")), CorruptFile(0, "a damaged record of an extended tar header")),
    (
        listed(tar(record(b"9 size=x\n"), b"9 size=x\n", header(), b"12345")),
        CorruptFile(1536, "'x' where a size is expected"),
    ),
    (
        listed(tar(record(LONG), LONG, header(), b"12345")),
        CorruptFile(1536, "'1234567890123456789' where a size is expected"),
    ),
)
def test_tar_archives(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_a_chain_that_breaks_ends_the_list() -> None:
    data = tar(header(), b"12345", header(b"b", total=b"000001\0 "))
    found = listed(data)()
    assert set(found.members) == {"a"}
    assert found.notes == ("the chain of headers breaks: file, byte 1024: a tar header with a wrong checksum",)
    assert listed(tar(header(), b"12345"))().notes == ()
    assert listed(header() + bytes(512))().notes == (tar_format.NO_END,)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (b"1", Unsupported("link", "a link to another file")),
        (b"2", Unsupported("link", "a link to another file")),
        (b"S", Unsupported("layout", "a sparse member, whose holes are not in the archive")),
        (b"0", None),
        (b"7", None),
        (b"\0", None),
    ],
)
def test_kinds_of_members(kind: bytes, fault: ByteatlasError | None) -> None:
    data = [] if kind in b"12" else [b"12345"]
    found = listed(tar(header(kind=kind), *data, header(b"b"), b"67890"))().members
    assert str(found["a"].fault) == str(fault)
    assert found["b"].fault is None
    assert set(listed(tar(header(kind=b"5", size=b"0\0"), header(b"b"), b"67890"))().members) == {"b"}


def test_members_beyond_the_end() -> None:
    (member,) = listed(header(size=b"00000002000\0") + bytes(1023))().members.values()
    assert str(member.fault) == str(CorruptFile(512, "a member of 1024 bytes reaches beyond the end of the archive"))
    (whole,) = listed(header(size=b"00000002000\0") + bytes(1024))().members.values()
    assert (whole.fault, whole.where) == (None, ByteRange(512, 1024))
    binary = header(size=b"\x80" + (5).to_bytes(11, "big"))
    assert listed(tar(binary, b"12345"))().members["a"].where == ByteRange(512, 5)
    sized = tar(record(b"9 size=5\n"), b"9 size=5\n", header(size=b"00000000000\0"), b"12345")
    assert listed(sized)().members["a"].where == ByteRange(1536, 5)


# --------------------------------------------------------------------------------------- compressed files


NC = narrow(1)


def gunzipped(data: bytes, most: int = 1000) -> Callable[[], bytes]:
    return lambda: packed.gunzip(data, most, ContainedFile("a", ByteRange(100, len(data))))


TWO = gzip.compress(b"one") + gzip.compress(b"two")
HELP = "unpack it, or store it in the archive without compression"


@refusals(
    (gunzipped(TWO[:-1]), CorruptFile(100 + len(TWO) - 1, "a gzip stream is cut off")),
    (
        gunzipped(b"\x1f\x8b\x08" + bytes(20)),
        CorruptFile(
            123, "a gzip stream does not inflate: Error -3 while decompressing data: invalid stored block lengths"
        ),
    ),
    (
        gunzipped(TWO, 5),
        Unsupported("compressed-member", f"5 bytes and more, compressed: too large to look into; {HELP}"),
    ),
    (
        lambda: scan_bytes(GzipScanner(), gzip.compress(zipped())),
        Unsupported("compressed-member", f"an archive in a compressed file: {HELP}"),
    ),
    (
        lambda: scan_bytes(GzipScanner(), gzip.compress(gzip.compress(NC))),
        Unsupported("compressed-member", f"an archive in a compressed file: {HELP}"),
    ),
    (
        lambda: scan_bytes(GzipScanner(), gzip.compress(tar(header(), b"12345"))),
        Unsupported("compressed-member", f"an archive in a compressed file: {HELP}"),
    ),
    (
        lambda: Allowance(ScanOptions()).unpacking((64 << 20) + 1, 0),
        Unsupported("compressed-member", f"67108865 bytes and more, compressed: too large to look into; {HELP}"),
    ),
    (
        lambda: Allowance(ScanOptions()).unpacking(1, (256 << 20) + 1),
        Unsupported("compressed-member", f"268435457 bytes and more, compressed: too large to look into; {HELP}"),
    ),
)  # fmt: skip
def test_compressed_files(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_compressed_files_that_are_sound() -> None:
    assert gunzipped(TWO, 6)() == b"onetwo"
    assert gunzipped(TWO + bytes(70000))() == b"onetwo"
    assert Allowance(ScanOptions()).unpacking(64 << 20, 256 << 20) == 256 << 20
    assert [item.status for item in scan_bytes(GzipScanner(), gzip.compress(NC)).report] == ["inlined"]


def repacked(source: SourceInfo, offset: int, length: int, inline: int = 1 << 20) -> Callable[[], object]:
    """An array of one chunk in a member of ten bytes, when the member is compressed."""
    member = ContainedFile("a", ByteRange(0, 8), MemberCodec(CodecSpec("numcodecs.gzip"), ByteRange(0, 8)))
    options = ScanOptions(max_inline=inline)
    archive = Archive(SourceInfo("memory://archive", 8), directory_of([member]), {}, options)
    meta = ArrayMeta(
        (length,), dtypes.from_numpy(np.dtype("u1")), RegularGrid((length,)), (Encoding((CodecSpec("bytes"),)),)
    )
    columns = np.array([offset], np.uint64), np.array([length], np.uint64)
    array = VirtualArray(meta, single_source((1,), source, *columns))
    assert member.packing is not None
    made = Repacking(archive, member.packing, "memory://inside", bytes(range(10)), Allowance(options))
    return lambda: made._array(array)[0].manifest.load().inlined


INSIDE = SourceInfo("memory://inside", 10)


@refusals(
    (
        repacked(SourceInfo("memory://other", 10), 0, 5),
        Unsupported("compressed-member", f"a part of it is in another file; {HELP}"),
    ),
    (repacked(INSIDE, 6, 5), Unsupported("corrupt", "a chunk lies outside of the member")),
    (
        repacked(INSIDE, 5, 5, 4),
        Unsupported("compressed-member", f"5 bytes of it are parts of a compressed stream; {HELP}"),
    ),
)  # fmt: skip
def test_parts_of_compressed_members(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_parts_of_compressed_members_that_are_sound() -> None:
    assert repacked(INSIDE, 5, 5)() == {0: bytes(range(5, 10))}
    assert repacked(INSIDE, 5, 5, 5)() == {0: bytes(range(5, 10))}
    assert repacked(INSIDE, 0, 10)() == {}  # the whole member: its codec is added instead


# --------------------------------------------------------------------------------------- names


def archived(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def test_a_folder_and_a_member_of_one_name() -> None:
    clash = ("name", "a folder and a member of one name")
    for first, second in (("a/b", "a"), ("a", "a/b")):
        report = scan_bytes(archives.TarScanner(), archived((first, NC), (second, NC))).report
        assert [(i.path, i.reason, i.detail) for i in report if i.status == "refused"] == [(second, *clash)]


def test_a_member_that_is_asked_for_and_refused() -> None:
    data = tar(header(kind=b"1"), header(b"b"), b"12345")
    options = ScanOptions(extra={"tar": {"member": "a"}})
    refuses(Unsupported("link", "a link to another file"), lambda: scan_bytes(archives.TarScanner(), data, options))


def test_an_archive_in_an_archive() -> None:
    (item,) = scan_bytes(archives.TarScanner(), archived(("a.zip", PLAIN))).report
    where = f"512, {len(PLAIN)}"
    assert (item.reason, item.detail) == (
        "layout",
        f"an archive in an archive: scan it by itself, with window=({where})",
    )


def test_a_store_is_no_archive() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("zarr.json", b"{}")
    why = "a Zarr store: open it (ba.open), it needs no map"
    refuses(Unsupported("layout", why, "memory://file"), lambda: scan_bytes(archives.ZipScanner(), made.getvalue()))
