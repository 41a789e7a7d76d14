"""Data elements in all their forms: plain, in linked blocks, in other files, compressed, chunked.

A special element's descriptor leads to a description, whose first number says what it is (HDF 4.2 specification,
chapter "Extended tags"; for chunked elements the header comment of the library's hchunks.c).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import all_of, one, read
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.format.directory import NOWHERE, Directory, ElementPlace
from byteatlas_scanners.hdf4.format.records import RecordCursor, text
from byteatlas_scanners.hdf4.format.tags import CompressionCode, ElementTag, Special

MOST_LINKS = 1 << 20
MOST_RANK = 32
ZEROS = -1
"""In the offsets of linked blocks: a block that was never written; it reads as zeros."""


@dataclass(frozen=True, slots=True)
class PlainElement:
    """One range of the file."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True, eq=False)
class LinkedElement:
    """ElementRanges of the file one after the other."""

    length: int
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ExternalElement:
    """A range of another file."""

    length: int
    offset: int
    path: str


@dataclass(frozen=True, slots=True)
class ElementCompression:
    """How bytes are compressed; ``numbers`` are the coder's own."""

    coder: int
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CompressedElement:
    """Bytes that decode to ``length``; ``inner`` None: nothing was written yet."""

    length: int
    compression: ElementCompression
    inner: StoredElement | None


@dataclass(frozen=True, slots=True)
class ChunkedElement:
    """An array in chunks of one shape.

    Attributes:
        length: bytes of the whole array.
        itemsize: bytes of an element.
        table: the reference number of the Vdata that lists the chunks.
        unlimited: which axes may grow.
        fill: one element's bytes, as chunks are stored; what those that are not there read as.
        compression: of each chunk.
    """

    length: int
    itemsize: int
    shape: Shape
    chunk: Shape
    unlimited: tuple[bool, ...]
    table: int
    fill: bytes
    compression: ElementCompression | None


StoredElement: TypeAlias = PlainElement | LinkedElement | ExternalElement
Element: TypeAlias = StoredElement | CompressedElement | ChunkedElement


def element_length(element: Element | None) -> int:
    """Bytes of an element as the library counts them; 0 where nothing is."""
    return 0 if element is None else element.length


def find_element(directory: Directory, tag: int, ref: int) -> Parse[Element | None]:
    """An element, or None where it is not there or has no data. Raises `CorruptFile`, `Unsupported`."""
    place = directory.find(tag, ref)
    if place is None:
        return None
    if not place.special:
        return _plain(directory, place)
    raw = bytes((yield from one(_inside(directory, place))))
    record = RecordCursor(raw, place.offset)
    match record.number(2):
        case Special.LINKED:
            return (yield from _linked(directory, record))
        case Special.EXTERNAL:
            length, offset, size = (record.number(4) for _ in range(3))
            return ExternalElement(length, offset, text(record.take(size)))
        case Special.COMPRESSED:
            record.take(2)
            length, at = record.number(4), record.number(2)
            compression = compression_of(record)
            inner = yield from find_stored(directory, ElementTag.COMPRESSED, at)
            return CompressedElement(length, compression, inner)
        case Special.CHUNKED:
            return _chunked(record)
        case kind:
            raise Unsupported(Reason.LAYOUT, f"a special element of kind {kind}")


def find_stored(directory: Directory, tag: int, ref: int) -> Parse[StoredElement | None]:
    """An element that is bytes and nothing else."""
    found = yield from find_element(directory, tag, ref)
    if isinstance(found, (CompressedElement, ChunkedElement)):
        raise Unsupported(Reason.LAYOUT, "a compressed element inside of another")
    return found


def _plain(directory: Directory, place: ElementPlace) -> PlainElement:
    _inside(directory, place)
    return PlainElement(place.offset, place.length)


def _inside(directory: Directory, place: ElementPlace) -> ByteRange:
    if place.offset + place.length > directory.size:
        why = f"an element of {place.length} bytes lies outside of the file ({directory.size} bytes)"
        raise CorruptFile(place.offset, why)
    return place.range


def _linked(directory: Directory, record: RecordCursor) -> Parse[LinkedElement]:
    length, block, per_table, ref = record.number(4), record.number(4), record.number(4), record.number(2)
    if not 0 < per_table <= MOST_LINKS or block <= 0:
        raise CorruptFile(record.base, f"linked blocks of {block} bytes, {per_table} to a table")
    refs: list[int] = []
    seen: set[int] = set()
    while ref:
        place = directory.find(ElementTag.LINKED, ref)
        if place is None or ref in seen or len(refs) > MOST_LINKS:
            raise CorruptFile(record.base, f"table {ref} of linked blocks is not there, or leads in a circle")
        seen.add(ref)
        table = RecordCursor(bytes((yield from one(_inside(directory, place)))), place.offset)
        ref = table.number(2)
        refs += table.numbers(per_table)
    return _blocks(directory, refs, length, block, record.base)


def _blocks(directory: Directory, refs: list[int], length: int, block: int, base: int) -> LinkedElement:
    """As many blocks as the element needs; the first one has a length of its own."""
    numbers = np.array(refs, np.int64)
    rows = directory.rows_of(ElementTag.LINKED << 16 | numbers)
    offsets, held = (np.append(column, NOWHERE)[rows] for column in (directory.offsets, directory.lengths))
    there = (numbers != 0) & (offsets != NOWHERE) & (held != NOWHERE)
    sizes = np.full(len(refs), block, np.int64)
    if len(refs) and there[0]:
        sizes[0] = held[0]
    ends = np.cumsum(sizes)
    if length > (ends[-1] if len(refs) else 0):
        raise CorruptFile(base, "linked blocks end before their element")
    count = int(np.searchsorted(ends, length)) + 1 if length > 0 else 0
    numbers, there, offsets, held, sizes = (column[:count] for column in (numbers, there, offsets, held, sizes))
    if count:
        sizes[-1] -= ends[count - 1] - length
    if (gone := (numbers != 0) & ~there).any():
        raise CorruptFile(base, f"linked block {int(numbers[gone][0])} is not there")
    if (cut := there & ((sizes > held) | (offsets + sizes > directory.size))).any():
        raise CorruptFile(int(offsets[cut][0]), f"a linked block of {int(sizes[cut][0])} bytes is not wholly there")
    return LinkedElement(length, np.where(there, offsets, ZEROS), sizes)


def compression_of(record: RecordCursor) -> ElementCompression:
    """Model and coder, and the coder's numbers."""
    record.take(2)
    match record.number(2):
        case CompressionCode.NBIT:
            return ElementCompression(
                CompressionCode.NBIT,
                (record.number(4), record.number(2), record.number(2), record.number(4), record.number(4)),
            )
        case CompressionCode.SKPHUFF:
            return ElementCompression(CompressionCode.SKPHUFF, (record.number(4),))
        case CompressionCode.SZIP:
            pixels, line, mask = (record.number(4) for _ in range(3))
            return ElementCompression(CompressionCode.SZIP, (pixels, line, mask, record.number(1), record.number(1)))
        case coder:
            return ElementCompression(coder)


def _chunked(record: RecordCursor) -> ChunkedElement:
    record.take(4)
    version, flag = record.number(1), record.number(4)
    if version:
        raise Unsupported(Reason.LAYOUT, f"a chunked element of version {version}")
    length, _, itemsize = (record.number(4) for _ in range(3))
    _, table = record.number(2), record.number(2)
    record.take(4)
    rank = record.number(4)
    if not 0 < rank <= MOST_RANK:
        raise CorruptFile(record.base, f"a chunked element of {rank} dimensions")
    axes = [(record.number(4), record.number(4), record.number(4)) for _ in range(rank)]
    if any(chunk <= 0 or chunk >> 31 or size >> 31 for _, size, chunk in axes) or not 0 < itemsize < 1 << 16:
        raise CorruptFile(record.base, f"chunks of {[c for _, _, c in axes]} elements of {itemsize} bytes")
    fill = record.take(record.number(4))
    compression = None
    if flag & 0xFF == Special.COMPRESSED:
        if record.number(2) != Special.COMPRESSED:
            raise CorruptFile(record.base, "a chunked element without the compression that it names")
        record.take(4)
        compression = compression_of(record)
    return ChunkedElement(
        length * itemsize,
        itemsize,
        tuple(size for _, size, _ in axes),
        tuple(chunk for _, _, chunk in axes),
        tuple(bool(f >> 8 & 0xFF) for f, _, _ in axes),
        table,
        fill,
        compression,
    )


def load(directory: Directory, element: Element | None, most: int) -> Parse[bytes]:
    """The bytes of a small element. Raises `Unsupported` for one that is large, elsewhere or compressed."""
    if element_length(element) > most:
        raise Unsupported(Reason.TOO_LARGE, f"{element_length(element)} bytes of metadata in one element")
    match element:
        case None:
            return b""
        case PlainElement(offset, length):
            return bytes((yield from one(ByteRange(offset, length)))) if length else b""
        case LinkedElement(_, offsets, lengths):
            pairs = list(zip(offsets.tolist(), lengths.tolist(), strict=True))
            parts = iter((yield from read([ByteRange(o, n) for o, n in pairs if o != ZEROS])))
            return b"".join(bytes(n) if o == ZEROS else bytes(next(parts)) for o, n in pairs)
        case _:
            raise Unsupported(Reason.LAYOUT, "metadata that are compressed, chunked or in another file")


def load_all(directory: Directory, keys: list[tuple[int, int]], most: int) -> Parse[list[bytes]]:
    """The bytes of several small elements, side by side."""
    return (yield from all_of([load_one(directory, tag, ref, most) for tag, ref in keys]))


def load_one(directory: Directory, tag: int, ref: int, most: int) -> Parse[bytes]:
    """The bytes of a small element; nothing where it is not there."""
    return (yield from load(directory, (yield from find_element(directory, tag, ref)), most))
