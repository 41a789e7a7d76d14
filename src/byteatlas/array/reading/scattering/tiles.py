"""The result as an array of equal parts of chunks (mostly all of each), so that many small chunks are put into it with
one assignment.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.planning.axes import AxisPlan
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.spaces import AxisParts
from byteatlas.types import Shape
from byteatlas.values import dataclass

FEW = 3
"""So many chunks are faster put into the result one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """The part of the result to which chunks that are selected alike give the same part each.

    Attributes:
        grid: shape (chunks along each axis..., shape of what each gives...); a view of the result.
        first: per axis, the plan's part that ``grid`` begins with.
        inside: what each chunk gives; None = all of it.
    """

    grid: NDArray[Any]
    first: Shape
    inside: tuple[slice, ...] | None

    @property
    def counts(self) -> Shape:
        """Tiles along each axis."""
        return self.grid.shape[: len(self.first)]

    def covers(self, parts: tuple[AxisParts, ...]) -> NDArray[np.bool_]:
        """Which of these chunks belong here."""
        found = np.ones(len(parts[0]), bool)
        for part, lo, n in zip(parts, self.first, self.counts, strict=True):
            found &= (part >= lo) & (part < lo + n)
        return found

    def put(self, parts: tuple[AxisParts, ...], values: Any) -> None:
        """Assign the chunks' parts; ``values``: decoded chunks, of shape (chunks, chunk shape...)."""
        self.fill(parts, values if self.inside is None else values[(slice(None), *self.inside)])

    def fill(self, parts: tuple[AxisParts, ...], value: object) -> None:
        """Assign one value to the parts of these chunks, or an array of just these parts."""
        self.grid[tuple(p - lo for p, lo in zip(parts, self.first, strict=True))] = value

    def contiguous(self, parts: tuple[AxisParts, ...]) -> list[NDArray[Any]] | None:
        """The chunks as views to decode into, when each is contiguous in the result; else None."""
        if self.inside is not None or len(self.first) != 1 or not self.grid[:1].flags.c_contiguous:
            return None
        return [self.grid[i] for i in (parts[0] - self.first[0]).tolist()]


def tiles_of(plan: ReadPlan, target: NDArray[Any], chunk_shape: Shape) -> Tiles | None:
    """The result seen as an array of equal parts of chunks (of a regular grid); None where the parts differ."""
    if not plan.axes or not plan.sliced:
        return None
    firsts: list[int] = []
    where: list[slice] = []
    split: list[int] = []
    inside: list[slice] = []
    for axis in plan.axes:
        run = _equal_run(axis)
        if run is None:
            return None
        lo, n = run
        at, count = int(axis.out[lo]), int(axis.count[lo])
        firsts.append(lo)
        where.append(slice(at, at + n * count))
        split += [n, count]
        begin = int(axis.start[lo])
        inside.append(slice(begin, begin + (count - 1) * axis.step + 1, axis.step))
    grid = _split(target, where, split)
    order = (*range(0, len(split), 2), *range(1, len(split), 2))
    whole = all(len(range(n)[i]) == n for i, n in zip(inside, chunk_shape, strict=True))
    return Tiles(grid.transpose(order), tuple(firsts), None if whole else tuple(inside))


def _split(target: NDArray[Any], where: list[slice], split: list[int]) -> NDArray[Any]:
    """A reshape into (chunks, positions within) for every axis. Splitting an axis never copies."""
    part = target[tuple(where)]
    grid = part.reshape(split)
    assert np.may_share_memory(grid, part)
    return grid


def _equal_run(axis: AxisPlan) -> tuple[int, int] | None:
    """The neighbouring parts that take of their chunks what the middle one takes: the first of them and how many."""
    if not len(axis.chunk):
        return None
    middle = len(axis.chunk) // 2
    same = np.flatnonzero((axis.start == axis.start[middle]) & (axis.count == axis.count[middle]))
    if int(same[-1]) - int(same[0]) + 1 != len(same):
        return None
    return int(same[0]), len(same)
