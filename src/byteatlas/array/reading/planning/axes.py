"""A selection along one axis, cut at the borders of the chunks."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.selection import AxisSelection, Pick, Stepped, Take
from byteatlas.array.spaces import Ints
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ChunkGrid, RegularGrid
from byteatlas.values import dataclass, replace

AxisIndex: TypeAlias = "slice | Ints"
"""Positions along one axis: a slice, or an index array that works on its axis by itself."""


@dataclass(frozen=True, slots=True, eq=False)
class AxisPlan:
    """The parts of one axis' selection, one for each chunk touched, in ascending order of chunks.

    Attributes:
        chunk: grid position of each part's chunk along the axis.
        start, count: first position within the chunk, and how many, ``step`` apart.
        out: where the part begins along the result's axis (for `Take`: in the order of ``take``/``place``).
        extent: the chunk's logical length (within the array).
        length: length of the result's axis.
        take, place: for index arrays: positions within the chunks, grouped by chunk, and where they go; ``place`` is
            None when they go in order.
        drop: the axis disappears from the result. flip: the result runs backwards.
    """

    chunk: Ints
    start: Ints
    count: Ints
    out: Ints
    extent: Ints
    step: int
    length: int
    take: Ints | None = None
    place: Ints | None = None
    drop: bool = False
    flip: bool = False

    def inside(self, part: int) -> AxisIndex:
        """What the part selects within its chunk."""
        n, lo = int(self.count[part]), int(self.start[part])
        if self.take is not None:
            at = int(self.out[part])
            return self.take[at : at + n]
        return slice(lo, lo + (n - 1) * self.step + 1, self.step)

    def target(self, part: int) -> AxisIndex:
        """Where the part goes along the result's axis."""
        at = int(self.out[part])
        where = slice(at, at + int(self.count[part]))
        return where if self.place is None else self.place[where]

    @property
    def sliced(self) -> bool:
        """A slice, not an index array."""
        return self.take is None

    def only(self, lo: int, hi: int) -> AxisPlan:
        """Some of the parts."""
        cut = slice(lo, hi)
        return replace(
            self,
            chunk=self.chunk[cut],
            start=self.start[cut],
            count=self.count[cut],
            out=self.out[cut],
            extent=self.extent[cut],
        )

    def target_span(self) -> AxisIndex:
        """Where all of the parts go along the result's axis."""
        span = slice(int(self.out[0]), int(self.out[-1]) + int(self.count[-1])) if len(self.chunk) else slice(0, 0)
        return span if self.place is None else self.place[span]

    def whole(self) -> NDArray[np.bool_]:
        """For each part, whether it selects its chunk's whole extent."""
        if self.take is not None:
            return np.zeros(len(self.chunk), bool)
        found: NDArray[np.bool_] = (self.start == 0) & (self.count == self.extent)
        return found if self.step == 1 else found & (self.extent == 1)


def plan_axis(selection: AxisSelection, length: int, grid: ChunkGrid, axis: int) -> AxisPlan:
    """Cut one axis' selection at the chunk boundaries."""
    match selection:
        case Pick(at):
            return _plan_stepped(Stepped(at, 1, 1), length, grid, axis, drop=True)
        case Stepped():
            return _plan_stepped(selection, length, grid, axis)
        case Take(at):
            return _plan_take(at, length, grid, axis)


def _plan_stepped(run: Stepped, length: int, grid: ChunkGrid, axis: int, *, drop: bool = False) -> AxisPlan:
    if not run.count:
        none = np.empty(0, np.int64)
        return AxisPlan(none, none, none, none, none, run.step, 0, flip=run.flip)
    last = run.start + (run.count - 1) * run.step
    if isinstance(grid, RegularGrid):
        size = grid.chunk_shape[axis]
        chunk = np.arange(run.start // size, last // size + 1, dtype=np.int64)
        begin = chunk * size
        end = np.minimum(begin + size, length)
    else:
        bounds = boundaries(length, grid, axis)
        lo = int(np.searchsorted(bounds, run.start, "right")) - 1
        hi = int(np.searchsorted(bounds, last, "right"))
        chunk = np.arange(lo, min(hi, len(bounds) - 1), dtype=np.int64)
        begin, end = bounds[chunk], bounds[chunk + 1]
    # The k-th selected position is start + k * step: each chunk has those with begin <= position < end.
    first = np.maximum(-((run.start - begin) // run.step), 0)
    stop = np.minimum(-((run.start - end) // run.step), run.count)
    keep = stop > first
    if not keep.all():
        chunk, begin, end, first, stop = chunk[keep], begin[keep], end[keep], first[keep], stop[keep]
    start = run.start + first * run.step - begin
    return AxisPlan(chunk, start, stop - first, first, end - begin, run.step, run.count, drop=drop, flip=run.flip)


def _plan_take(at: Ints, length: int, grid: ChunkGrid, axis: int) -> AxisPlan:
    number = chunk_positions(at, length, grid, axis)
    order: Ints | None = None
    if len(at) > 1 and bool((np.diff(number) < 0).any()):
        order = np.argsort(number, kind="stable")
        at, number = at[order], number[order]
    bounds = ChunkBounds(length, grid, axis)
    edge = np.flatnonzero(np.diff(number, prepend=-1)) if len(at) else np.empty(0, np.int64)
    chunk = number[edge]
    begin, end = bounds(chunk)
    count = np.diff(np.append(edge, len(at)))
    local = at - np.repeat(begin, count)
    start = local[edge] if len(at) else edge
    return AxisPlan(chunk, start, count, edge.astype(np.int64), end - begin, 1, len(at), local, order)


class ChunkBounds:
    """Beginnings and ends of chunks along one axis, by chunk number."""

    __slots__ = ("edges", "length", "size")

    def __init__(self, length: int, grid: ChunkGrid, axis: int) -> None:
        self.length = length
        self.size = grid.chunk_shape[axis] if isinstance(grid, RegularGrid) else 0
        self.edges = None if isinstance(grid, RegularGrid) else boundaries(length, grid, axis)

    def __call__(self, chunk: Ints) -> tuple[Ints, Ints]:
        if self.edges is not None:
            return self.edges[chunk], self.edges[chunk + 1]
        begin = chunk * self.size
        return begin, np.minimum(begin + self.size, self.length)


def chunk_positions(at: Ints, length: int, grid: ChunkGrid, axis: int) -> Ints:
    """The grid position, along one axis, of the chunk that holds each position of the array."""
    if isinstance(grid, RegularGrid):
        return at // grid.chunk_shape[axis]
    bounds = boundaries(length, grid, axis)
    found: Ints = np.searchsorted(bounds[:-1], at, "right").astype(np.int64) - 1
    return found
