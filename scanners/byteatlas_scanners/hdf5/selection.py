"""Dataspace selections as they are stored in virtual datasets and region references (format specification VIII.B).

A selection is a hyperslab per axis. Irregular ones (lists of blocks, points) become several regular ones.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scan.reasons import Reason
from byteatlas_scanners.hdf5.wire import Cursor

NOTHING, POINTS, HYPERSLAB, EVERYTHING = range(4)
MOST_BLOCKS = 1 << 16


class Slab(NamedTuple):
    """A regular selection along one axis: ``times`` blocks of ``block`` elements, ``stride`` apart.

    ``times`` or ``block`` None = unlimited.
    """

    start: int
    stride: int
    times: int | None
    block: int | None

    @property
    def unlimited(self) -> bool:
        return self.times is None or self.block is None

    def within(self, length: int) -> NDArray[np.int64]:
        """The selected indices below ``length``."""
        if self.block is None:
            return np.arange(self.start, max(length, self.start), dtype=np.int64)
        blocks = max(0, -(-(length - self.start) // self.stride)) if self.times is None else self.times
        firsts = self.start + self.stride * np.arange(blocks, dtype=np.int64)
        found: NDArray[np.int64] = (firsts[:, None] + np.arange(self.block, dtype=np.int64)).reshape(-1)
        return found[found < length]

    def first(self, number: int) -> NDArray[np.int64]:
        """The first ``number`` selected indices of an unlimited selection."""
        order = np.arange(number, dtype=np.int64)
        if self.block is None:
            return self.start + order
        return self.start + order // self.block * self.stride + order % self.block


Selection: TypeAlias = tuple[tuple[Slab, ...], ...] | None
"""Regular selections that together are the whole one, in order; None = everything."""


def read_selection(cursor: Cursor) -> Selection:
    """Decode a selection and step behind it. Raises `CorruptFile` and `Unsupported`."""
    kind, version = cursor.u32(), cursor.u32()
    match kind:
        case 0:
            cursor.skip(8)
            return ()
        case 1:
            return _points(cursor, version)
        case 2:
            return _hyperslab(cursor, version)
        case 3:
            cursor.skip(8)
            return None
    raise CorruptFile(cursor.at, f"a selection of type {kind}")


def _hyperslab(cursor: Cursor, version: int) -> Selection:
    if version == 1:
        cursor.skip(8)
        rank, count = cursor.u32(), cursor.u32()
        return _blocks(cursor, rank, count, 4)
    if version == 2:
        flags = cursor.u8()
        cursor.skip(4)
        rank, width = cursor.u32(), 8
        if not flags & 1:
            raise CorruptFile(cursor.at, "an irregular selection in a version that has none")
    elif version == 3:
        flags, width, rank = cursor.u8(), cursor.u8(), cursor.u32()
    else:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a selection of version {version}")
    if rank > 32 or width not in (2, 4, 8):
        raise CorruptFile(cursor.at, "a selection with impossible fields")
    if not flags & 1:
        return _blocks(cursor, rank, cursor.uint(width), width)
    unlimited = (1 << (8 * width)) - 1
    slabs = []
    for _ in range(rank):
        start, stride, count, block = [cursor.uint(width) for _ in range(4)]
        slab = Slab(start, stride, None if count == unlimited else count, None if block == unlimited else block)
        if not stride or slab.times == 0 or slab.block == 0 or ((slab.block or 0) > stride and slab.times != 1):
            raise CorruptFile(cursor.at, f"a hyperslab {slab}")
        slabs.append(slab)
    return (tuple(slabs),)


def _blocks(cursor: Cursor, rank: int, count: int, width: int) -> Selection:
    if rank > 32 or count > MOST_BLOCKS:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a selection of {count} blocks in {rank} dimensions")
    found = []
    for _ in range(count):
        starts = [cursor.uint(width) for _ in range(rank)]
        ends = [cursor.uint(width) for _ in range(rank)]
        if any(e < s for s, e in zip(starts, ends, strict=True)):
            raise CorruptFile(cursor.at, "a selected block that ends before it begins")
        found.append(tuple([Slab(s, 1, 1, e - s + 1) for s, e in zip(starts, ends, strict=True)]))
    return tuple(found)


def _points(cursor: Cursor, version: int) -> Selection:
    if version == 1:
        cursor.skip(8)
        rank, width = cursor.u32(), 4
        count = cursor.u32()
    elif version == 2:
        width, rank = cursor.u8(), cursor.u32()
        count = cursor.uint(width)
    else:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a selection of points of version {version}")
    if rank > 32 or count > MOST_BLOCKS:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a selection of {count} points in {rank} dimensions")
    return tuple(tuple([Slab(cursor.uint(width), 1, 1, 1) for _ in range(rank)]) for _ in range(count))
