"""An orthogonal selection: the product of what is selected along each axis.

Its chunks are the product of the axes' parts, so that a plan of a million chunks is a few short columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.planning.axes import AxisIndex, AxisPlan, plan_axis
from byteatlas.array.selection import AxisSelection
from byteatlas.array.spaces import AxisParts, ChunkNumbers, PlanRows
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ChunkGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class ReadPlan:
    """The whole selection: the product of its axes' parts, in C order. Row k is the k-th chunk touched."""

    axes: tuple[AxisPlan, ...]
    grid_shape: Shape
    counts: Shape = field(init=False)
    """Parts along each axis."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", tuple(len(a.chunk) for a in self.axes))

    @property
    def total(self) -> int:
        """Number of chunks touched."""
        return math.prod(self.counts)

    @property
    def shape(self) -> Shape:
        """The result's shape."""
        return tuple(a.length for a in self.axes if not a.drop)

    @property
    def sliced(self) -> bool:
        """Slices only, no index arrays."""
        return all(a.sliced for a in self.axes)

    def chunks(self) -> ChunkNumbers:
        """Every chunk touched."""
        flat = np.zeros(1, np.int64)
        for axis, n in zip(self.axes, self.grid_shape, strict=True):
            flat = (flat[:, None] * n + axis.chunk[None, :]).reshape(-1)
        return ChunkNumbers(flat)

    def whole(self) -> NDArray[np.bool_]:
        """For every chunk touched, whether all of its extent is selected."""
        found = np.ones(1, bool)
        for axis in self.axes:
            found = (found[:, None] & axis.whole()[None, :]).reshape(-1)
        return found

    def bounds(self) -> tuple[AxisIndex, ...]:
        """The part of the result that this plan fills (all of it, unless it is one of `batches`)."""
        return tuple(axis.target_span() for axis in self.axes)

    def batches(self, most: int) -> Iterator[ReadPlan]:
        """Plans of at most ``most`` chunks that together are this one."""
        if self.total <= most:
            yield self
            return
        axis = next(i for i, n in enumerate(self.counts) if n > 1)
        step = max(1, self.counts[axis] * most // self.total)
        for k in range(0, self.counts[axis], step):
            some = self.axes[axis].only(k, k + step)
            yield from ReadPlan((*self.axes[:axis], some, *self.axes[axis + 1 :]), self.grid_shape).batches(most)

    def parts(self, rows: PlanRows) -> tuple[AxisParts, ...]:
        """For each axis, the parts that these chunks are."""
        if not self.counts:
            return ()
        return tuple(AxisParts(np.asarray(i, np.int64)) for i in np.unravel_index(rows, self.counts))

    def places(self, row: int) -> tuple[tuple[AxisIndex, ...], tuple[AxisIndex, ...]]:
        """What is selected of one chunk, and where it goes in the result."""
        inside: list[AxisIndex] = []
        target: list[AxisIndex] = []
        for axis, n in zip(reversed(self.axes), reversed(self.counts), strict=True):
            row, part = divmod(row, n)
            inside.append(axis.inside(part))
            target.append(axis.target(part))
        return tuple(reversed(inside)), tuple(reversed(target))

    def laid_out(self, result: NDArray[Any]) -> NDArray[Any]:
        """The result as this plan's axes fill it: with dropped axes, and forwards where it runs backwards."""
        if not any(a.drop or a.flip for a in self.axes):
            return result
        return result[tuple(np.newaxis if a.drop else slice(None, None, -1 if a.flip else 1) for a in self.axes)]


def plan_orthogonal(selection: Sequence[AxisSelection], shape: Shape, grid: ChunkGrid) -> ReadPlan:
    """Cut the selection along every axis at the chunk borders."""
    axes = tuple(plan_axis(s, n, grid, i) for i, (s, n) in enumerate(zip(selection, shape, strict=True)))
    return ReadPlan(axes, chunk_counts(shape, grid))
