"""The result as an array of whole chunks, so that many small ones are put into it with one assignment."""

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
    """The part of the result that whole chunks cover.

    Attributes:
        grid: shape (chunks along each axis..., chunk shape...); a view of the result.
        first: per axis, the plan's part that ``grid`` begins with.
    """

    grid: NDArray[Any]
    first: Shape

    @property
    def counts(self) -> Shape:
        """Tiles along each axis."""
        return self.grid.shape[: len(self.first)]

    def whole(self, parts: tuple[AxisParts, ...]) -> NDArray[np.bool_]:
        """Which of these chunks are whole ones."""
        found = np.ones(len(parts[0]), bool)
        for part, lo, n in zip(parts, self.first, self.counts, strict=True):
            found &= (part >= lo) & (part < lo + n)
        return found

    def put(self, parts: tuple[AxisParts, ...], values: Any) -> None:
        """Assign chunks; ``values`` has shape (chunks, chunk shape...) or is one value for all."""
        self.grid[tuple(p - lo for p, lo in zip(parts, self.first, strict=True))] = values

    def contiguous(self, parts: tuple[AxisParts, ...]) -> list[NDArray[Any]] | None:
        """The chunks as views to decode into, when each is contiguous in the result; else None."""
        if len(self.first) != 1 or not self.grid[:1].flags.c_contiguous:
            return None
        return [self.grid[i] for i in (parts[0] - self.first[0]).tolist()]


def tiles_of(plan: ReadPlan, target: NDArray[Any], chunk_shape: Shape) -> Tiles | None:
    """The result seen as an array of whole chunks (of a regular grid); None when no chunk is wholly selected."""
    if not plan.axes or not plan.sliced:
        return None
    firsts: list[int] = []
    where: list[slice] = []
    split: list[int] = []
    for axis, size in zip(plan.axes, chunk_shape, strict=True):
        run = _whole_run(axis, size)
        if run is None:
            return None
        lo, n = run
        at = int(axis.out[lo])
        firsts.append(lo)
        where.append(slice(at, at + n * size))
        split += [n, size]
    grid = _split(target, where, split)
    order = (*range(0, len(split), 2), *range(1, len(split), 2))
    return Tiles(grid.transpose(order), tuple(firsts))


def _split(target: NDArray[Any], where: list[slice], split: list[int]) -> NDArray[Any]:
    """A reshape into (chunks, positions within) for every axis. Splitting an axis never copies."""
    part = target[tuple(where)]
    grid = part.reshape(split)
    assert np.may_share_memory(grid, part)
    return grid


def _whole_run(axis: AxisPlan, size: int) -> tuple[int, int] | None:
    """The parts that take a whole chunk of this size: the first of them and how many; they are neighbours."""
    if axis.step != 1 and size != 1:
        return None
    whole = np.flatnonzero((axis.start == 0) & (axis.count == size) & (axis.extent == size))
    if not len(whole) or int(whole[-1]) - int(whole[0]) + 1 != len(whole):
        return None
    return int(whole[0]), len(whole)
