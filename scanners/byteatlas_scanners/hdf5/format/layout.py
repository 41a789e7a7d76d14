"""Data layout messages, versions 1 to 5 (format specification IV.A.2.i): where a dataset's bytes are."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import TypeAlias

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.wire import Cursor, Form


class Index(IntEnum):
    """How chunks are found."""

    BTREE1 = 0
    SINGLE = 1
    IMPLICIT = 2
    FIXED_ARRAY = 3
    EXTENSIBLE_ARRAY = 4
    BTREE2 = 5


@dataclass(frozen=True, slots=True)
class Compact:
    """The data are in the message."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Contiguous:
    """One block; address None = never allocated. ``size`` None = not recorded (versions 1 and 2)."""

    address: int | None
    size: int | None


@dataclass(frozen=True, slots=True)
class Chunked:
    """Chunks of one shape, found through an index; address None = no index yet, so no chunks.

    Attributes:
        chunk: the chunks' shape, in elements.
        element: bytes per element as recorded here.
        raw_edges: chunks that stick out of the dataset are stored without filters.
        single: (stored bytes, filter mask) of a single filtered chunk.
    """

    address: int | None
    chunk: tuple[int, ...]
    element: int
    index: Index
    raw_edges: bool = False
    single: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Virtual:
    """Pieces of other datasets; the list is in the global heap. Address None = an empty list."""

    address: int | None
    object: int


DataLayout: TypeAlias = Compact | Contiguous | Chunked | Virtual


def parse(form: Form, body: bytes) -> DataLayout:
    """Decode a layout message. Raises `CorruptFile` or `Unsupported`."""
    cursor = Cursor(form, body)
    version = cursor.u8()
    if version in (1, 2):
        return _oldest(cursor)
    if version not in (3, 4, 5):
        raise Unsupported(Reason.LAYOUT, f"data layout message of version {version}")
    kind = cursor.u8()
    if kind == 0:
        return Compact(cursor.take(cursor.u16()))
    if kind == 1:
        return Contiguous(cursor.address(), cursor.length())
    if kind == 2:
        return _version3(cursor) if version == 3 else _version4(cursor)
    if kind == 3 and version >= 4:
        return Virtual(cursor.address(), cursor.u32())
    raise Unsupported(Reason.LAYOUT, f"data layout class {kind} in version {version}")


def _oldest(cursor: Cursor) -> DataLayout:
    rank, kind = cursor.u8(), cursor.u8()
    cursor.skip(5)
    address = cursor.address() if kind else None
    sizes = tuple([cursor.u32() for _ in range(rank)])
    if kind == 0:
        return Compact(cursor.take(cursor.u32()))
    if kind == 1:
        return Contiguous(address, None)
    if kind == 2:
        return _checked(Chunked(address, sizes[:-1], sizes[-1] if sizes else 0, Index.BTREE1), cursor)
    raise Unsupported(Reason.LAYOUT, f"data layout class {kind}")


def _version3(cursor: Cursor) -> Chunked:
    rank = cursor.u8()
    address = cursor.address()
    *chunk, element = struct.unpack(f"<{rank}I", cursor.take(4 * rank)) if rank else (0,)
    return _checked(Chunked(address, tuple(chunk), element, Index.BTREE1), cursor)


def _version4(cursor: Cursor) -> Chunked:
    flags, rank, width = cursor.u8(), cursor.u8(), cursor.u8()
    if flags & ~3 or not 1 <= width <= 8:
        raise CorruptFile(cursor.form.base, f"chunked layout with flags {flags:#x}, {width}-byte sizes")
    sizes = tuple([cursor.uint(width) for _ in range(rank)])
    number = cursor.u8()
    if not 1 <= number <= 5:
        raise Unsupported(Reason.LAYOUT, f"chunk index of type {number}")
    index, single = Index(number), None
    if index is Index.SINGLE and flags & 2:
        single = (cursor.length(), cursor.u32())
    # What follows repeats the index's own header: page bits, 5 ranks (extensible array), node size (B-tree)
    repeated = cursor.take({Index.FIXED_ARRAY: 1, Index.EXTENSIBLE_ARRAY: 5, Index.BTREE2: 6}.get(index, 0))
    if index is not Index.BTREE2 and not all(repeated):
        raise CorruptFile(cursor.form.base, "a chunk index with a creation parameter of 0")
    address = cursor.address()
    return _checked(Chunked(address, sizes[:-1], sizes[-1] if sizes else 0, index, bool(flags & 1), single), cursor)


def _checked(layout: Chunked, cursor: Cursor) -> Chunked:
    if not layout.chunk or not layout.element or not all(layout.chunk):
        raise CorruptFile(cursor.form.base, f"chunks of shape {layout.chunk}, {layout.element} bytes per element")
    return layout
