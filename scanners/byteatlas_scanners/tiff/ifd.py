"""The file header and its chain of image file directories (TIFF 6.0 section 2; BigTIFF).

Classic and BigTIFF, little- and big-endian, differ by a value: `Flavour`. Directories are read with little foresight:
the values of one directory and the head of the next are asked for in one batch, and when the file keeps its directories
together (as cloud-optimised GeoTIFFs do) one read runs ahead over all of them.
"""

from __future__ import annotations

import struct
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather, read
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteOrder, ByteRange
from byteatlas.values import dataclass, field
from byteatlas_scanners.tiff.tags import (
    ANY_SIZE,
    ASCII,
    FIELD_SIZES,
    FIELD_TYPES,
    RATIONALS,
    SMALL_VALUE,
    UNDEFINED,
    Tag,
)

ORDERS: Mapping[bytes, ByteOrder] = {b"II": "<", b"MM": ">"}

HEAD = 32 << 10
IFD_HEAD = 1 << 10
AHEAD = 64 << 10
MAX_IFDS = 1 << 20
MOST_GUESSES = 256
MAX_SUB_IFDS = 256
MAX_VALUE = 512 << 20
"""A tag with more bytes than this is not believed."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """What differs between the four kinds of file.

    Attributes:
        order: ``<`` or ``>``.
        count, entry, offset: the number of entries, one entry (tag, type, count, value), a link.
        inline: values of at most this many bytes stand in the entry itself.
    """

    order: ByteOrder
    count: struct.Struct
    entry: struct.Struct
    offset: struct.Struct
    inline: int


def _flavour(order: ByteOrder, big: bool) -> Flavour:
    # TIFF 6.0 section 2 "IFD entry"; BigTIFF design, same heading.
    codes = ("Q", "HHQ8s", "Q") if big else ("H", "HHI4s", "I")
    count, entry, offset = (struct.Struct(order + code) for code in codes)
    return Flavour(order, count, entry, offset, 8 if big else 4)


NUMBERS: Mapping[tuple[str, int], struct.Struct] = {
    (order, kind): struct.Struct(order + code)
    for order in "<>"
    for kind, code in (
        (1, "B"),
        (3, "H"),
        (4, "I"),
        (6, "b"),
        (8, "h"),
        (9, "i"),
        (13, "I"),
        (16, "Q"),
        (17, "q"),
        (18, "Q"),
    )
}
"""One value of each integer field type."""


@dataclass(frozen=True, slots=True)
class TagEntry:
    """One entry: its type, number of values, where they lie, their raw bytes (None: not read, or not readable)."""

    type: int
    count: int
    offset: int
    raw: bytes | memoryview | None = None

    @property
    def where(self) -> ByteRange:
        return ByteRange(self.offset, self.count * FIELD_SIZES[self.type])

    def values(self, order: ByteOrder) -> NDArray[Any]:
        """The values as a native array; shape (n,), or (n, 2) for rationals. Raises `CorruptFile` when absent."""
        if self.raw is None:
            raise CorruptFile(self.offset, f"{self.where.length} bytes of a tag lie outside of the file")
        dtype = FIELD_TYPES[self.type]
        if self.type in RATIONALS:
            pairs = np.frombuffer(self.raw, dtype.base.newbyteorder(order)).astype(dtype.base)
            return pairs.reshape(-1, 2)
        return np.frombuffer(self.raw, dtype.newbyteorder(order)).astype(dtype, copy=False)


@dataclass(frozen=True, slots=True)
class Ifd:
    """One directory.

    Attributes:
        name: its place: ``page/3`` or ``page/3/sub/1``.
        fields: by tag number; tags of unknown type are left out.
        subs: the directories named by its SubIFDs tag.
    """

    name: str
    offset: int
    order: ByteOrder
    fields: Mapping[int, TagEntry]
    subs: tuple[Ifd | FileFault, ...] = ()

    def __contains__(self, tag: int) -> bool:
        return tag in self.fields

    def array(self, tag: int) -> NDArray[Any] | None:
        """All values of a tag, or None when it is not there."""
        return self.fields[tag].values(self.order) if tag in self.fields else None

    def first(self, tag: int, default: int) -> int:
        """The first value as an integer. Raises `CorruptFile` for a tag without a number."""
        entry = self.fields.get(tag)
        if entry is None:
            return default
        number = NUMBERS.get((self.order, entry.type))
        if number is not None and entry.count and entry.raw is not None:
            return int(number.unpack_from(entry.raw)[0])
        values = entry.values(self.order)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf" or not np.isfinite(values[0]):
            raise CorruptFile(self.offset, f"tag {tag} holds no number")
        return int(values[0])

    def text(self, tag: int) -> str | None:
        """The text of an ASCII (or BYTE) tag up to its NUL; None when absent or unreadable."""
        entry = self.fields.get(tag)
        if entry is None or entry.raw is None or entry.type not in (1, ASCII, 6, UNDEFINED):
            return None
        raw = bytes(entry.raw).rstrip(b"\0").partition(b"\0")[0]
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")

    def bytes(self, tag: int) -> bytes | None:
        entry = self.fields.get(tag)
        return None if entry is None or entry.raw is None else bytes(entry.raw)


@dataclass(slots=True)
class PartsInMemory:
    """The parts of the file that were read so far."""

    size: int
    starts: list[int] = field(default_factory=list)
    pieces: dict[int, memoryview] = field(default_factory=dict)

    def find(self, where: ByteRange) -> memoryview | None:
        """These bytes when one piece holds them all."""
        at = bisect_right(self.starts, where.offset) - 1
        while at >= 0:
            start = self.starts[at]
            piece = self.pieces[start]
            if where.end <= start + len(piece):
                return piece[where.offset - start : where.end - start]
            at -= 1
            if len(self.starts) - at > 8:
                return None
        return None

    def keep(self, start: int, data: memoryview) -> None:
        if start not in self.pieces:
            insort(self.starts, start)
            self.pieces[start] = data
        elif len(data) > len(self.pieces[start]):
            self.pieces[start] = data

    def clip(self, offset: int, length: int) -> ByteRange:
        """A range cut at the end of the file."""
        return ByteRange(offset, max(0, min(length, self.size - offset)))

    def load(self, ranges: Iterable[ByteRange]) -> Parse[None]:
        """Read what is not there yet, in one batch. Ranges must lie inside of the file."""
        wanted = [r for r in dict.fromkeys(ranges) if r.length and self.find(r) is None]
        if wanted:
            answers = yield from read(wanted)
            for where, data in zip(wanted, answers, strict=True):
                self.keep(where.offset, memoryview(data))


@dataclass(frozen=True, slots=True)
class Directories:
    """All top-level directories, in chain order, and what stopped the chain early, if anything did."""

    flavour: Flavour
    ifds: tuple[Ifd, ...]
    broken: CorruptFile | None


@dataclass(slots=True)
class Spacing:
    """Guesses where directories are that nobody has named yet: stacks of pages of one size lie at equal distances."""

    step: int = 0
    hits: int = 0

    def note(self, step: int) -> None:
        """One more distance between neighbours."""
        self.hits = min(self.hits + 1, 16) if step == self.step else 0
        self.step = step

    def guess(self, following: int) -> list[int]:
        """Offsets beyond ``following``, the more of them the longer the distance has held."""
        if self.step <= 0 or self.hits < 2:
            return []
        return [following + k * self.step for k in range(1, min(MOST_GUESSES, 1 << self.hits))]


def parse_header(head: bytes | memoryview) -> tuple[Flavour, int]:
    """The flavour, and the offset of the first directory. Raises `CorruptFile`."""
    order = ORDERS.get(bytes(head[:2]))
    if order is None or len(head) < 8:
        raise CorruptFile(0, "not a TIFF file (neither II nor MM)")
    (magic,) = struct.unpack_from(order + "H", head, 2)
    if magic == 42:
        return _flavour(order, False), int(struct.unpack_from(order + "I", head, 4)[0])
    if magic == 43 and len(head) >= 16:
        width, zero, first = struct.unpack_from(order + "HHQ", head, 4)
        if (width, zero) != (8, 0):
            raise CorruptFile(4, f"BigTIFF with offsets of {width} bytes")
        return _flavour(order, True), int(first)
    raise CorruptFile(2, f"not a TIFF file (version {magic})")


def read_directories(size: int) -> Parse[Directories]:
    """The whole chain. Raises `CorruptFile` when not even the first directory can be read."""
    memory = PartsInMemory(size)
    yield from memory.load([memory.clip(0, HEAD)])
    flavour, offset = parse_header(memory.find(memory.clip(0, HEAD)) or b"")
    ifds: list[Ifd] = []
    spacing = Spacing()
    seen: set[int] = set()
    broken: CorruptFile | None = None
    while offset:
        try:
            if offset in seen or len(seen) >= MAX_IFDS:
                raise CorruptFile(offset, "the chain of directories is a circle or has no end")
            seen.add(offset)
            ifd, offset = yield from _read_ifd(memory, flavour, offset, f"page/{len(ifds)}", spacing)
        except CorruptFile as error:
            if not ifds:
                raise
            broken = error
            break
        ifds.append(ifd)
    if not ifds:
        raise CorruptFile(4, "no image file directory")
    complete: list[Ifd] = []
    for found in ifds:
        complete.append((yield from _with_subs(memory, flavour, found)) if Tag.SUB_IFDS in found else found)
    return Directories(flavour, tuple(complete), broken)


def _read_ifd(
    memory: PartsInMemory, flavour: Flavour, offset: int, name: str, spacing: Spacing | None
) -> Parse[tuple[Ifd, int]]:
    """One directory with the values of its tags, and the offset of the next one (0 when it is the last)."""
    head, body, following = yield from _entries(memory, flavour, offset)
    fields = _fields(body, flavour, offset)
    missing = []
    for tag, entry in fields.items():
        if entry.raw is None and _worth_reading(tag, entry, memory.size):
            at, length = entry.offset - offset, entry.count * FIELD_SIZES[entry.type]
            inside = at >= 0 and at + length <= len(head)  # mostly values stand right behind their directory
            raw = head[at : at + length] if inside else memory.find(entry.where)
            if raw is None:
                missing.append(tag)
            else:
                fields[tag] = TagEntry(entry.type, entry.count, entry.offset, raw)
    wanted = [fields[tag].where for tag in missing]
    if spacing is not None and following:
        spacing.note(following - offset)
        wanted = _ahead(wanted, following, spacing, memory)
    if wanted:
        yield from memory.load(wanted)
        for tag in missing:
            entry = fields[tag]
            fields[tag] = TagEntry(entry.type, entry.count, entry.offset, memory.find(entry.where))
    return Ifd(name, offset, flavour.order, fields), following


def _entries(memory: PartsInMemory, flavour: Flavour, offset: int) -> Parse[tuple[memoryview, memoryview, int]]:
    """The bytes read from an offset on, the entries among them, and the offset of the next directory."""
    first = memory.clip(offset, IFD_HEAD)
    if first.length < flavour.count.size:
        raise CorruptFile(offset, f"a directory lies outside of the file ({memory.size} bytes)")
    head = memory.find(first)
    if head is None:
        yield from memory.load([first])
        head = _must(memory, first)
    (count,) = flavour.count.unpack_from(head)
    begin, length = flavour.count.size, count * flavour.entry.size
    if not count or offset + begin + length > memory.size:
        raise CorruptFile(offset, f"a directory of {count} entries does not fit into the file")
    whole = memory.clip(offset, begin + length + flavour.offset.size)
    if whole.length > len(head):
        yield from memory.load([whole])
        head = _must(memory, whole)
    following = 0
    if whole.length == begin + length + flavour.offset.size:  # else the file ends right after the entries
        (following,) = flavour.offset.unpack_from(head, begin + length)
    return head, head[begin : begin + length], following


def _must(memory: PartsInMemory, where: ByteRange) -> memoryview:
    data = memory.find(where)
    if data is None:
        raise CorruptFile(where.offset, f"{where.length} bytes lie outside of the file")
    return data


def _fields(body: memoryview, flavour: Flavour, offset: int) -> dict[int, TagEntry]:
    """Fields by tag. The first of two entries with the same tag counts; unknown types are skipped (TIFF 6.0 p. 16)."""
    found: dict[int, TagEntry] = {}
    inline, step = flavour.inline, flavour.entry.size
    at = offset + flavour.count.size + step - inline
    for tag, kind, count, raw in flavour.entry.iter_unpack(body):
        size = FIELD_SIZES.get(kind)
        if size is not None and tag not in found:
            if count * size <= inline:
                found[tag] = TagEntry(kind, count, at, raw[: count * size])
            else:
                found[tag] = TagEntry(kind, count, flavour.offset.unpack(raw)[0])
        at += step
    return found


def _worth_reading(tag: int, entry: TagEntry, size: int) -> bool:
    length = entry.count * FIELD_SIZES[entry.type]
    inside = entry.offset + length <= size and length <= MAX_VALUE
    return inside and (length <= SMALL_VALUE or tag in ANY_SIZE)


def _ahead(wanted: list[ByteRange], following: int, spacing: Spacing, memory: PartsInMemory) -> list[ByteRange]:
    """What to read besides the values: the next directory; all that lies between, when it is near.

    When the next one has to be read anyway, those that may lie behind it are read along.
    """
    head = memory.clip(following, IFD_HEAD)
    known = memory.find(head) is not None
    heads = [] if known else [head, *(memory.clip(at, IFD_HEAD) for at in spacing.guess(following) if at < memory.size)]
    if not wanted:
        return heads
    low, high = min(r.offset for r in wanted), max(r.end for r in wanted)
    held = sum(r.length for r in wanted)
    if (
        high - low <= held + AHEAD
        and low <= following <= high + AHEAD
        and memory.find(ByteRange(low, high - low)) is None
    ):
        # The directories lie together: the rest of them take about half of this one's space, or less.
        return [memory.clip(low, max(high, following) - low + held // 2 + AHEAD)]
    return [*wanted, *heads]


def _with_subs(memory: PartsInMemory, flavour: Flavour, ifd: Ifd) -> Parse[Ifd]:
    """The same directory with those that its SubIFDs tag points to."""
    subs: list[Ifd | FileFault] = []
    try:
        offsets = [int(o) for o in ifd.fields[Tag.SUB_IFDS].values(ifd.order)]
    except (CorruptFile, ValueError, TypeError, OverflowError):
        subs.append(CorruptFile(ifd.offset, "the list of its sub-directories cannot be read"))
    else:
        some = offsets[:MAX_SUB_IFDS]
        subs += yield from gather(_sub(memory, flavour, o, f"{ifd.name}/sub/{j}") for j, o in enumerate(some) if o)
        if len(offsets) > MAX_SUB_IFDS:
            subs.append(Unsupported(Reason.TOO_LARGE, f"{len(offsets)} sub-directories, more than {MAX_SUB_IFDS}"))
    return Ifd(ifd.name, ifd.offset, ifd.order, ifd.fields, tuple(subs))


def _sub(memory: PartsInMemory, flavour: Flavour, offset: int, name: str) -> Parse[Ifd]:
    ifd, _ = yield from _read_ifd(memory, flavour, offset, name, None)
    return ifd
