"""The file header and its chain of image file directories (TIFF 6.0 section 2; BigTIFF).

Classic and BigTIFF, little- and big-endian, differ by a value: `Flavour`. Directories are read with little foresight:
the values of one directory and the head of the next are asked for in one batch, and when the file keeps its directories
together (as cloud-optimised GeoTIFFs do) one read runs ahead over all of them.
"""

from __future__ import annotations

import struct
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import ByteatlasError, CorruptFile
from byteatlas.scan.contract import Parse, gather
from byteatlas.types import ByteRange
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

Order: TypeAlias = Literal["<", ">"]
ORDERS: Mapping[bytes, Order] = {b"II": "<", b"MM": ">"}

HEAD = 32 << 10
IFD_HEAD = 1 << 10
AHEAD = 64 << 10
MAX_IFDS = 1 << 20
MAX_SUB_IFDS = 256
MAX_VALUE = 512 << 20
"""A tag with more bytes than this is not believed."""


@dataclass(frozen=True, slots=True)
class Flavour:
    """What differs between the four kinds of file.

    Attributes:
        order: ``<`` or ``>``.
        big: BigTIFF.
        entry: the fields of one directory entry as a NumPy type.
    """

    order: Order
    big: bool

    @property
    def entry(self) -> np.dtype[np.void]:
        width = "u8" if self.big else "u4"
        value = 8 if self.big else 4
        fields = [("tag", f"{self.order}u2"), ("type", f"{self.order}u2"), ("count", f"{self.order}{width}")]
        return np.dtype([*fields, ("value", f"V{value}")])

    @property
    def count(self) -> struct.Struct:
        return struct.Struct(self.order + ("Q" if self.big else "H"))

    @property
    def offset(self) -> struct.Struct:
        return struct.Struct(self.order + ("Q" if self.big else "I"))

    @property
    def inline(self) -> int:
        """Values of at most this many bytes stand in the entry itself."""
        return 8 if self.big else 4


@dataclass(frozen=True, slots=True)
class Field:
    """One entry: its type, number of values, and its raw bytes (None while they are not read, or not readable)."""

    type: int
    count: int
    where: ByteRange
    raw: bytes | memoryview | None = None

    def values(self, order: Order) -> NDArray[Any]:
        """The values as a native array; shape (n,), or (n, 2) for rationals. Raises `CorruptFile` when absent."""
        if self.raw is None:
            raise CorruptFile(self.where.offset, f"{self.where.length} bytes of a tag lie outside of the file")
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
    order: Order
    fields: Mapping[int, Field]
    subs: tuple[Ifd | ByteatlasError, ...] = ()

    def __contains__(self, tag: int) -> bool:
        return tag in self.fields

    def array(self, tag: int) -> NDArray[Any] | None:
        """All values of a tag, or None when it is not there."""
        return self.fields[tag].values(self.order) if tag in self.fields else None

    def first(self, tag: int, default: int) -> int:
        """The first value as an integer. Raises `CorruptFile` for a tag without a number."""
        if tag not in self.fields:
            return default
        values = self.fields[tag].values(self.order)
        if values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iuf":
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
class Window:
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
            answers = yield wanted
            for where, data in zip(wanted, answers, strict=True):
                self.keep(where.offset, memoryview(data))


@dataclass(frozen=True, slots=True)
class Directories:
    """All top-level directories, in chain order, and what stopped the chain early, if anything did."""

    flavour: Flavour
    ifds: tuple[Ifd, ...]
    broken: CorruptFile | None


def parse_header(head: bytes | memoryview) -> tuple[Flavour, int]:
    """The flavour, and the offset of the first directory. Raises `CorruptFile`."""
    order = ORDERS.get(bytes(head[:2]))
    if order is None or len(head) < 8:
        raise CorruptFile(0, "not a TIFF file (neither II nor MM)")
    (magic,) = struct.unpack_from(order + "H", head, 2)
    if magic == 42:
        return Flavour(order, False), int(struct.unpack_from(order + "I", head, 4)[0])
    if magic == 43 and len(head) >= 16:
        width, zero, first = struct.unpack_from(order + "HHQ", head, 4)
        if (width, zero) != (8, 0):
            raise CorruptFile(4, f"BigTIFF with offsets of {width} bytes")
        return Flavour(order, True), int(first)
    raise CorruptFile(2, f"not a TIFF file (version {magic})")


def read_directories(size: int) -> Parse[Directories]:
    """The whole chain. Raises `CorruptFile` when not even the first directory can be read."""
    window = Window(size)
    yield from window.load([window.clip(0, HEAD)])
    flavour, offset = parse_header(window.find(window.clip(0, HEAD)) or b"")
    ifds: list[Ifd] = []
    seen: set[int] = set()
    broken: CorruptFile | None = None
    while offset:
        try:
            if offset in seen or len(seen) >= MAX_IFDS:
                raise CorruptFile(offset, "the chain of directories is a circle or has no end")
            seen.add(offset)
            ifd, offset = yield from _read_ifd(window, flavour, offset, f"page/{len(ifds)}", follow=True)
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
        complete.append((yield from _with_subs(window, flavour, found)))
    return Directories(flavour, tuple(complete), broken)


def _read_ifd(window: Window, flavour: Flavour, offset: int, name: str, *, follow: bool) -> Parse[tuple[Ifd, int]]:
    """One directory with the values of its tags, and the offset of the next one (0 when it is the last)."""
    entries, following = yield from _entries(window, flavour, offset)
    fields = _fields(entries, flavour, window.size, offset)
    wanted = [f.where for tag, f in fields.items() if f.raw is None and _worth_reading(tag, f, window.size)]
    if follow:
        wanted = _ahead(wanted, following, window)
    yield from window.load(wanted)
    filled = {tag: f if f.raw is not None else _fill(f, window) for tag, f in fields.items()}
    return Ifd(name, offset, flavour.order, filled), following


def _entries(window: Window, flavour: Flavour, offset: int) -> Parse[tuple[NDArray[np.void], int]]:
    """The raw entries at an offset, and the offset of the next directory."""
    head = window.clip(offset, IFD_HEAD)
    if head.length < flavour.count.size:
        raise CorruptFile(offset, f"a directory lies outside of the file ({window.size} bytes)")
    yield from window.load([head])
    (count,) = flavour.count.unpack(_must(window, ByteRange(offset, flavour.count.size)))
    body = ByteRange(offset + flavour.count.size, count * flavour.entry.itemsize)
    if not count or body.end > window.size:
        raise CorruptFile(offset, f"a directory of {count} entries does not fit into the file")
    link = window.clip(body.end, flavour.offset.size)
    yield from window.load([ByteRange(body.offset, body.length + link.length)])
    entries = np.frombuffer(_must(window, body), flavour.entry)
    following = flavour.offset.unpack(_must(window, link))[0] if link.length == flavour.offset.size else 0
    return entries, int(following)


def _must(window: Window, where: ByteRange) -> memoryview:
    data = window.find(where)
    if data is None:
        raise CorruptFile(where.offset, f"{where.length} bytes lie outside of the file")
    return data


def _fields(entries: NDArray[np.void], flavour: Flavour, size: int, offset: int) -> dict[int, Field]:
    """Fields by tag. The first of two entries with the same tag counts; unknown types are skipped (TIFF 6.0 p. 16)."""
    found: dict[int, Field] = {}
    first = offset + flavour.count.size
    step = flavour.entry.itemsize
    columns = (entries["tag"].tolist(), entries["type"].tolist(), entries["count"].tolist())
    for i, (tag, kind, count) in enumerate(zip(*columns, strict=True)):
        if tag in found or kind not in FIELD_SIZES:
            continue
        length = count * FIELD_SIZES[kind]
        raw = bytes(entries["value"][i].tobytes())
        if length <= flavour.inline:
            at = first + i * step + step - flavour.inline
            found[tag] = Field(kind, count, ByteRange(at, length), raw[:length])
        else:
            found[tag] = Field(kind, count, ByteRange(int(flavour.offset.unpack(raw)[0]), length))
    return found


def _worth_reading(tag: int, entry: Field, size: int) -> bool:
    inside = entry.where.end <= size and entry.where.length <= MAX_VALUE
    return inside and (tag in ANY_SIZE or entry.where.length <= SMALL_VALUE)


def _ahead(wanted: list[ByteRange], following: int, window: Window) -> list[ByteRange]:
    """What to read besides the values: the next directory; all that lies between, when it is near."""
    if not following:
        return wanted
    if not wanted:
        return [window.clip(following, IFD_HEAD)]
    low, high = min(r.offset for r in wanted), max(r.end for r in wanted)
    held = sum(r.length for r in wanted)
    if (
        high - low <= held + AHEAD
        and low <= following <= high + AHEAD
        and window.find(ByteRange(low, high - low)) is None
    ):
        # The directories lie together: the rest of them take about half of this one's space, or less.
        return [window.clip(low, max(high, following) - low + held // 2 + AHEAD)]
    return [*wanted, window.clip(following, IFD_HEAD)]


def _fill(entry: Field, window: Window) -> Field:
    raw = window.find(entry.where)
    return Field(entry.type, entry.count, entry.where, raw)


def _with_subs(window: Window, flavour: Flavour, ifd: Ifd) -> Parse[Ifd]:
    """The same directory with those that its SubIFDs tag points to."""
    if Tag.SUB_IFDS not in ifd:
        return ifd
    try:
        offsets = [int(o) for o in ifd.fields[Tag.SUB_IFDS].values(ifd.order)[:MAX_SUB_IFDS]]
    except (CorruptFile, ValueError, TypeError):
        return ifd
    parsers = [_sub(window, flavour, o, f"{ifd.name}/sub/{j}") for j, o in enumerate(offsets) if o]
    subs: Sequence[Ifd | ByteatlasError] = yield from gather(parsers)
    return Ifd(ifd.name, ifd.offset, ifd.order, ifd.fields, tuple(subs))


def _sub(window: Window, flavour: Flavour, offset: int, name: str) -> Parse[Ifd]:
    ifd, _ = yield from _read_ifd(window, flavour, offset, name, follow=False)
    return ifd
