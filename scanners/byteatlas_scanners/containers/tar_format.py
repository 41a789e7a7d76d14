"""The members of a tar archive: a chain of headers of 512 bytes (POSIX.1-2017 pax, "pax Interchange Format"; GNU tar).

The chain is followed header by header; nothing else tells where members lie.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import ahead, one
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange
from byteatlas.values import dataclass, replace
from byteatlas_scanners.containers.members import MOST_MEMBERS, ContainedFile, MemberTable, directory_of

BLOCK = 512
MAGIC_AT, MAGIC = 257, b"ustar"
HEADER = struct.Struct("<100s24x12s12x8sc100s6s2s32s32s16s155s12x")
REGULAR = b"0\x007"
LONG_NAME, LONG_LINK, LOCAL_PAX, GLOBAL_PAX, GNU_SPARSE = b"L", b"K", b"x", b"g", b"S"
LINKS = b"12"
MOST_TEXT = 1 << 20
"""Bytes of a long name, or of extended headers."""
HINT, SMALL = 1 << 20, 128 << 10
"""What is fetched ahead where members are small."""
GOES_ON_AT, MORE_AT = 482, 504
NO_END = "the archive ends without its mark: it may be cut off"


@dataclass(frozen=True, slots=True)
class TarHeader:
    """One header block.

    Attributes:
        goes_on: a block that lists more holes follows (GNU's old form of sparse members).
    """

    name: str
    size: int
    kind: bytes
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class TarExtension:
    """What headers before a member say of it: its long name, pax records."""

    name: str | None = None
    records: Mapping[str, str] | None = None


def is_tar(data: bytes) -> bool:
    """Whether a first block is a tar header: its mark, and the sum of its bytes."""
    if len(data) < BLOCK or data[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        return False
    try:
        return parse_header(data[:BLOCK], 0) is not None
    except CorruptFile:
        return False


def read_tar(size: int) -> Parse[MemberTable]:
    """The members of a tar archive. A chain that breaks ends the list, with a note; raises `CorruptFile` when the
    first header is damaged."""
    members: list[ContainedFile] = []
    common: dict[str, str] = {}
    extended, at, hinted, note = TarExtension(), 0, 0, NO_END
    while at + BLOCK <= size and len(members) < MOST_MEMBERS:
        if at >= hinted and (not members or at < SMALL * len(members)):
            yield from ahead(at, HINT)
            hinted = at + HINT
        try:
            header = parse_header(bytes((yield from one(ByteRange(at, BLOCK)))), at)
            if header is None:
                note = ""
                break
            begin = yield from _holes(at + BLOCK, header)
            if header.kind in (LONG_NAME, LONG_LINK, LOCAL_PAX, GLOBAL_PAX):
                text = yield from _text(begin, header)
                extended = _with(extended, common, header.kind, text)
                length = header.size
            else:
                member, length = _member(header, extended, common, begin, size)
                members += [] if member is None else [member]
                extended = TarExtension()
        except CorruptFile as error:
            if not members:
                raise
            note = f"the chain of headers breaks: {error}"
            break
        at = begin + -(-length // BLOCK) * BLOCK
    return directory_of(members, (note,) if note else ())


def parse_header(data: bytes, at: int) -> TarHeader | None:
    """A header block; None for the mark of the end, a block of zeros. Raises `CorruptFile`."""
    if not any(data):
        return None
    name, size, total, kind, _, magic, _, _, _, _, prefix = HEADER.unpack(data)
    if _number(total, at) != 256 + sum(data[:148]) + sum(data[156:]):
        raise CorruptFile(at, "a tar header with a wrong checksum")
    text = name.partition(b"\0")[0]
    if magic == b"ustar\0" and prefix[0]:
        text = prefix.partition(b"\0")[0] + b"/" + text
    goes_on = kind == GNU_SPARSE and data[GOES_ON_AT] != 0
    return TarHeader(text.decode("utf-8", "surrogateescape"), _number(size, at), kind, goes_on)


def _holes(at: int, header: TarHeader) -> Parse[int]:
    """Where the member's bytes begin: behind the blocks that list its holes."""
    more = header.goes_on
    while more:
        more = bytes((yield from one(ByteRange(at, BLOCK))))[MORE_AT] != 0
        at += BLOCK
    return at


def _number(field: bytes, at: int) -> int:
    """An octal text, or (GNU) a binary number behind a set bit."""
    if field[0] & 0x80:
        number = int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        if field[0] & 0x40 or number >> 62:
            raise CorruptFile(at, "an impossible number in a tar header")
        return number
    text = field.partition(b"\0")[0].strip()
    if text.strip(b"01234567"):  # Python would take signs and underscores, too
        raise CorruptFile(at, f"{field!r} where an octal number is expected")
    return int(text or b"0", 8)


def _text(begin: int, header: TarHeader) -> Parse[bytes]:
    if header.size > MOST_TEXT:
        raise CorruptFile(begin, f"an extended header of {header.size} bytes")
    return bytes((yield from one(ByteRange(begin, header.size))))


def _with(extended: TarExtension, common: dict[str, str], kind: bytes, text: bytes) -> TarExtension:
    if kind == LONG_NAME:
        return replace(extended, name=text.partition(b"\0")[0].decode("utf-8", "surrogateescape"))
    if kind == LOCAL_PAX:
        return replace(extended, records=_records(text))
    if kind == GLOBAL_PAX:
        common.update(_records(text))
    return extended


def _records(text: bytes) -> dict[str, str]:
    """pax records: ``length keyword=value`` and a newline. Raises `CorruptFile`."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text) and text[at]:
        digits = text[at : at + 12].partition(b" ")[0]
        length = int(digits) if digits.isdigit() else 0
        record = text[at + len(digits) + 1 : at + length]
        key, equals, value = record.partition(b"=")
        if length <= len(digits) + 2 or at + length > len(text) or not equals or value[-1:] != b"\n":
            raise CorruptFile(at, "a damaged record of an extended tar header")
        found[key.decode("utf-8", "replace")] = value[:-1].decode("utf-8", "surrogateescape")
        at += length
    return found


def _member(
    header: TarHeader, extended: TarExtension, common: Mapping[str, str], begin: int, size: int
) -> tuple[ContainedFile | None, int]:
    """The member behind a header (None for folders and devices), and how many bytes follow the header."""
    records = {**common, **(extended.records or {})}
    name = records.get("path", extended.name or header.name)
    length = header.size
    if "size" in records:
        if not records["size"].isdigit() or len(records["size"]) > 18:
            raise CorruptFile(begin, f"{records['size']!r} where a size is expected")
        length = int(records["size"])
    kind = header.kind
    if kind in REGULAR and name.endswith("/"):
        return None, 0  # a folder, as the oldest archives have them
    while name.startswith("./"):
        name = name[2:]
    if kind in LINKS:
        fault: FileFault = Unsupported(Reason.LINK, "a link to another file")
        return ContainedFile(name, ByteRange(begin, 0), fault=fault), 0
    if kind == GNU_SPARSE or any(key.startswith("GNU.sparse.") for key in records):
        fault = Unsupported(Reason.LAYOUT, "a sparse member, whose holes are not in the archive")
        return ContainedFile(records.get("GNU.sparse.name", name), ByteRange(begin, 0), fault=fault), length
    if kind not in REGULAR:
        return None, length if kind not in b"3456" else 0
    if begin + length > size:
        cut = CorruptFile(begin, f"a member of {length} bytes reaches beyond the end of the archive")
        return ContainedFile(name, ByteRange(begin, 0), fault=cut), length
    return ContainedFile(name, ByteRange(begin, length)), length
