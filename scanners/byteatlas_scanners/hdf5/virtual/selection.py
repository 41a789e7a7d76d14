"""Dataspace selections as they are stored in virtual datasets and region references (format specification VIII.B).

A selection is a list of indices per axis, of which the selected elements are the product. What is no product (points,
irregular lists of blocks) becomes several of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.hdf5.format.wire import Cursor

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

    @property
    def size(self) -> int:
        """Selected indices; 0 when there is no limit."""
        return (self.times or 0) * (self.block or 0)

    @property
    def end(self) -> int | None:
        """The index behind the last one, None when there is no limit."""
        if self.times is None or self.block is None:
            return None
        return self.start + (self.times - 1) * self.stride + self.block

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


class Stretches(NamedTuple):
    """A selection along one axis by its stretches of neighbouring indices: (start, length), ascending and apart."""

    runs: tuple[tuple[int, int], ...]

    @property
    def unlimited(self) -> bool:
        return False

    @property
    def size(self) -> int:
        """Selected indices."""
        return sum(length for _, length in self.runs)

    @property
    def end(self) -> int | None:
        """The index behind the last one."""
        start, length = self.runs[-1]
        return start + length

    def within(self, length: int) -> NDArray[np.int64]:
        """The selected indices below ``length``."""
        found = np.concatenate([np.arange(start, start + n, dtype=np.int64) for start, n in self.runs])
        return found[found < length]

    def first(self, number: int) -> NDArray[np.int64]:
        """The first ``number`` selected indices."""
        return self.within(1 << 62)[:number]


Axis: TypeAlias = Slab | Stretches
Selection: TypeAlias = tuple[tuple[Axis, ...], ...] | None
"""Products that together are the whole selection, in order; None = everything."""


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
        found.append(tuple([(s, e - s + 1) for s, e in zip(starts, ends, strict=True)]))
    product = _product(found)
    if product is not None:
        return (product,)
    return tuple(tuple([Slab(start, 1, 1, length) for start, length in block]) for block in found)


def _product(blocks: Sequence[tuple[tuple[int, int], ...]]) -> tuple[Axis, ...] | None:
    """Blocks of (start, length) per axis as one selection, when they are all combinations of stretches along the axes.

    Writers list the blocks of regular hyperslabs too. Elements are ordered over all blocks, not block by block, so the
    blocks of two such selections do not correspond.
    """
    axes: list[Axis] = []
    for runs in (sorted(set(column)) for column in zip(*blocks, strict=True)):
        starts, lengths = [start for start, _ in runs], {length for _, length in runs}
        if any(start + length > after for (start, length), after in zip(runs, starts[1:], strict=False)):
            return None
        steps = {b - a for a, b in pairwise(starts)}
        if len(lengths) == 1 and len(steps) <= 1:
            axes.append(Slab(starts[0], steps.pop() if steps else 1, len(runs), lengths.pop()))
        else:
            axes.append(Stretches(tuple(runs)))
    whole = math.prod(_runs_of(axis) for axis in axes) == len(blocks) == len(set(blocks))
    return tuple(axes) if axes and whole else None


def _runs_of(axis: Axis) -> int:
    return len(axis.runs) if isinstance(axis, Stretches) else axis.times or 0


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
