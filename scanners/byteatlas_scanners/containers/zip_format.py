"""The directory of a ZIP archive (PKWARE APPNOTE.TXT 6.3): one request for it, one more for all local headers.

Nothing that it says is believed unseen: sizes and places must lie in the file, members must not share bytes, and the
local header must name the same file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one, settle
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange
from byteatlas.values import replace
from byteatlas_scanners.containers.members import MOST_MEMBERS, ContainedFile, MemberCodec, MemberTable, directory_of

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
"""A local header, or the end record of an archive without members."""
END = struct.Struct("<4s4H2LH")  # 4.3.16 End of central directory record
END64 = struct.Struct("<4sQ2H2L4Q")  # 4.3.14 Zip64 end of central directory record
LOCATOR = struct.Struct("<4sLQL")  # 4.3.15 Zip64 end of central directory locator
ENTRY = struct.Struct("<4s4B4H3L5H2L")  # 4.3.12 Central directory structure
LOCAL = struct.Struct("<4s5H3L2H")  # 4.3.7 Local file header
TAIL = 256 << 10
"""Bytes of the file's end that are asked for at once: with most archives the whole directory."""
MOST_DIRECTORY = 1 << 30
STORED, DEFLATED = 0, 8
ENCRYPTED = 1 | 1 << 6 | 1 << 13
UTF8 = 1 << 11
PATCHED = 1 << 5
IN_EXTRA, SHORT_IN_EXTRA = 0xFFFFFFFF, 0xFFFF
ZIP64_EXTRA = 1


class ZipEnd(NamedTuple):
    """Where the directory is: its place in the file, how many entries it has, and bytes that stand before the archive
    (a program that unpacks it), which its own places do not count."""

    where: ByteRange
    entries: int
    before: int


class ZipEntry(NamedTuple):
    """An entry of the directory."""

    name: bytes
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    header: int


def read_zip(size: int) -> Parse[MemberTable]:
    """The members of a ZIP archive. Raises `CorruptFile` when its directory is damaged, `Unsupported`."""
    first = max(0, size - TAIL)
    tail = bytes((yield from one(ByteRange(first, size - first))))
    end = yield from _end(tail, first)
    where = end.where
    if where.offset < 0 or where.end > size or where.length > MOST_DIRECTORY:
        raise CorruptFile(first, f"the directory of {where.length} bytes does not lie in the file")
    held = where.offset >= first
    data = tail[where.offset - first :][: where.length] if held else bytes((yield from one(where)))
    entries = [e for e in _entries(data, end) if not e.name.endswith(b"/")]
    members = yield from _members(entries, end)
    return directory_of(members)


def _end(tail: bytes, first: int) -> Parse[ZipEnd]:
    """The end record: the last one whose comment ends with the file (a comment may hold the record's mark)."""
    at = tail.rfind(b"PK\x05\x06")
    while at >= 0:
        if at + END.size <= len(tail):
            _, disk, start, here, total, length, offset, comment = END.unpack_from(tail, at)
            if at + END.size + comment == len(tail):
                break
        at = tail.rfind(b"PK\x05\x06", 0, at)
    else:
        raise CorruptFile(first, "no directory at the end of a ZIP archive: it is cut off, or something follows it")
    ends = first + at
    if at >= LOCATOR.size and tail[at - LOCATOR.size :][:4] == b"PK\x06\x07":
        _, _, place, disks = LOCATOR.unpack_from(tail, at - LOCATOR.size)
        ends -= LOCATOR.size + END64.size
        # What stands before the archive moves the record, too: it stands right before its locator.
        record = tail[ends - first :] if ends >= first else b""
        if record[:4] != b"PK\x06\x06":
            ends = place
            record = bytes((yield from one(ByteRange(place, END64.size))))
        found = END64.unpack_from(record)
        if found[0] != b"PK\x06\x06":
            raise CorruptFile(place, "no ZIP64 record where the directory should end")
        disk, start, here, total, length, offset = found[4:]
        start = disk if disks <= 1 else start
    if disk or start or here != total:
        raise Unsupported(Reason.LAYOUT, "a ZIP archive in several volumes")
    if total > MOST_MEMBERS or total * ENTRY.size > length:
        raise CorruptFile(ends, f"{total} members in a directory of {length} bytes")
    before = ends - length - offset
    if before < 0:
        raise CorruptFile(ends, "the directory does not lie before its end record")
    return ZipEnd(ByteRange(offset + before, length), total, before)


def _entries(data: bytes, end: ZipEnd) -> Iterator[ZipEntry]:
    at = 0
    for _ in range(end.entries):
        if at + ENTRY.size > len(data) or data[at : at + 4] != b"PK\x01\x02":
            raise CorruptFile(end.where.offset + at, "a damaged entry of the ZIP directory")
        found = ENTRY.unpack_from(data, at)
        flags, method, crc, packed, size = found[5], found[6], found[9], found[10], found[11]
        names, extras, comment, disk, header = found[12], found[13], found[14], found[15], found[18]
        begin = at + ENTRY.size
        at = begin + names + extras + comment
        if at > len(data):
            raise CorruptFile(end.where.offset + begin, "an entry of the ZIP directory is cut off")
        extra = data[begin + names :][:extras]
        size, packed, header = _large(extra, size, packed, header)
        if disk not in (0, SHORT_IN_EXTRA):
            raise Unsupported(Reason.LAYOUT, "a ZIP archive in several volumes")
        yield ZipEntry(data[begin : begin + names], flags, method, crc, packed, size, header + end.before)


def _large(extra: bytes, size: int, packed: int, header: int) -> tuple[int, int, int]:
    """Numbers of more than 32 bits, which stand in an extra field (4.5.3), in this order and only where needed."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == ZIP64_EXTRA:
            held = extra[at + 4 :][:length]  # which may be less than it says
            numbers = iter(struct.unpack_from(f"<{len(held) // 8}Q", held))
            size, packed, header = (next(numbers, n) if n == IN_EXTRA else n for n in (size, packed, header))
            break
        at += 4 + length
    return size, packed, header


def _members(entries: Sequence[ZipEntry], end: ZipEnd) -> Parse[list[ContainedFile]]:
    """Where the entries' bytes are: local headers have extra fields of their own, so each of them is looked at."""
    asks = [ByteRange(entry.header, LOCAL.size + len(entry.name)) for entry in entries]
    heads = yield from settle(asks)
    found = [_member(entry, head) for entry, head in zip(entries, heads, strict=True)]
    sound = [i for i, member in enumerate(found) if member.fault is None]
    order = sorted(sound, key=lambda i: entries[i].header)
    limits = [*[entries[i].header for i in order], end.where.offset][1:]
    for i, limit in zip(order, limits, strict=True):
        if found[i].where.end > limit:
            fault = CorruptFile(entries[i].header, "its bytes overlap those of another member, or of the directory")
            found[i] = replace(found[i], fault=fault)
    return found


def _member(entry: ZipEntry, head: object) -> ContainedFile:
    name = entry.name.decode("utf-8" if entry.flags & UTF8 else "cp437", "surrogateescape")
    try:
        return _checked(name, entry, head)
    except FileFault as fault:
        return ContainedFile(name, ByteRange(entry.header, 0), fault=fault)


def _checked(name: str, entry: ZipEntry, head: object) -> ContainedFile:
    if isinstance(head, FileFault):
        raise head
    assert isinstance(head, (bytes, bytearray, memoryview))
    data = bytes(head)
    signature, _, flags, method, *_, names, extras = LOCAL.unpack_from(data)
    if signature != b"PK\x03\x04" or names != len(entry.name) or data[LOCAL.size :] != entry.name:
        raise CorruptFile(entry.header, "the member's own header does not say what the directory says")
    if (entry.flags | flags) & ENCRYPTED:
        raise Unsupported(Reason.COMPRESSED_MEMBER, "it is encrypted: decrypt it first")
    if method != entry.method or entry.flags & PATCHED:
        raise CorruptFile(entry.header, "the member's own header gives another compression than the directory")
    skip = LOCAL.size + names + extras
    where = ByteRange(entry.header + skip, entry.packed)
    if entry.method == STORED:
        if entry.size != entry.packed:
            raise CorruptFile(entry.header, f"a stored member of {entry.packed} and of {entry.size} bytes")
        return ContainedFile(name, where)
    if entry.method != DEFLATED:
        why = f"ZIP compression method {entry.method}: unpack the archive, or make it without compression (zip -0)"
        raise Unsupported(Reason.COMPRESSED_MEMBER, why)
    framed = ByteRange(entry.header, skip + entry.packed)  # kerchunk's codec begins at the local header
    return ContainedFile(name, where, MemberCodec(CodecSpec("numcodecs.deflate"), framed, entry.size, entry.crc))
