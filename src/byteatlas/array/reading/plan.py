"""Selection x chunk grid: which chunks are touched, which part of each, and where it goes in the result.

An orthogonal selection is planned one axis at a time (`AxisPlan`): its chunks are the product of the axes' pieces, so
that a plan of a million chunks is a few short columns. Coordinate selections are planned as points (`PointPlan`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.selection import AxisSelection, Pick, Run, Take
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ChunkGrid, RegularGrid
from byteatlas.types import Shape

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class AxisPlan:
    """The pieces of one axis' selection, one per chunk touched, in ascending order of chunks.

    Attributes:
        chunk: grid position of each piece's chunk along the axis.
        start, count: first position within the chunk, and how many, ``step`` apart.
        out: where the piece begins along the result's axis (for `Take`: in the order of ``take``/``place``).
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

    def inside(self, piece: int) -> slice | Ints:
        """What the piece selects within its chunk."""
        n, lo = int(self.count[piece]), int(self.start[piece])
        if self.take is not None:
            at = int(self.out[piece])
            return self.take[at : at + n]
        return slice(lo, lo + (n - 1) * self.step + 1, self.step)

    def target(self, piece: int) -> slice | Ints:
        """Where the piece goes along the result's axis."""
        at = int(self.out[piece])
        where = slice(at, at + int(self.count[piece]))
        return where if self.place is None else self.place[where]

    @property
    def simple(self) -> bool:
        """Slices only, no index arrays."""
        return self.take is None

    def only(self, lo: int, hi: int) -> AxisPlan:
        """Some of the pieces."""
        cut = slice(lo, hi)
        return replace(
            self,
            chunk=self.chunk[cut],
            start=self.start[cut],
            count=self.count[cut],
            out=self.out[cut],
            extent=self.extent[cut],
        )

    def whole(self) -> NDArray[np.bool_]:
        """The pieces that select their chunk's whole extent."""
        if self.take is not None:
            return np.zeros(len(self.chunk), bool)
        found: NDArray[np.bool_] = (self.start == 0) & (self.count == self.extent)
        return found if self.step == 1 else found & (self.extent == 1)


def plan_axis(selection: AxisSelection, length: int, grid: ChunkGrid, axis: int) -> AxisPlan:
    """Cut one axis' selection at the chunk boundaries."""
    match selection:
        case Pick(at):
            return _plan_run(Run(at, 1, 1), length, grid, axis, drop=True)
        case Run():
            return _plan_run(selection, length, grid, axis)
        case Take(at):
            return _plan_take(at, length, grid, axis)


def _plan_run(run: Run, length: int, grid: ChunkGrid, axis: int, *, drop: bool = False) -> AxisPlan:
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
    number = chunk_numbers(at, length, grid, axis)
    order: Ints | None = None
    if len(at) > 1 and bool((np.diff(number) < 0).any()):
        order = np.argsort(number, kind="stable")
        at, number = at[order], number[order]
    bounds = _Bounds(length, grid, axis)
    edge = np.flatnonzero(np.diff(number, prepend=-1)) if len(at) else np.empty(0, np.int64)
    chunk = number[edge]
    begin, end = bounds(chunk)
    count = np.diff(np.append(edge, len(at)))
    local = at - np.repeat(begin, count)
    start = local[edge] if len(at) else edge
    return AxisPlan(chunk, start, count, edge.astype(np.int64), end - begin, 1, len(at), local, order)


class _Bounds:
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


def chunk_numbers(at: Ints, length: int, grid: ChunkGrid, axis: int) -> Ints:
    """The chunk that holds each position along one axis."""
    if isinstance(grid, RegularGrid):
        return at // grid.chunk_shape[axis]
    bounds = boundaries(length, grid, axis)
    found: Ints = np.searchsorted(bounds[:-1], at, "right").astype(np.int64) - 1
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The whole selection: the product of its axes' pieces, in C order."""

    axes: tuple[AxisPlan, ...]
    grid_shape: Shape
    pieces: Shape = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pieces", tuple(len(a.chunk) for a in self.axes))

    @property
    def total(self) -> int:
        """Number of chunks touched."""
        return math.prod(self.pieces)

    @property
    def full_shape(self) -> Shape:
        """The result's shape before dropped axes go."""
        return tuple(a.length for a in self.axes)

    @property
    def shape(self) -> Shape:
        return tuple(a.length for a in self.axes if not a.drop)

    @property
    def simple(self) -> bool:
        return all(a.simple for a in self.axes)

    def flat_chunks(self) -> Ints:
        """Flat index in the chunk grid of every chunk touched, in the plan's order."""
        flat = np.zeros(1, np.int64)
        for axis, n in zip(self.axes, self.grid_shape, strict=True):
            flat = (flat[:, None] * n + axis.chunk[None, :]).reshape(-1)
        return flat

    def whole(self) -> NDArray[np.bool_]:
        """For every chunk touched, whether all of its extent is selected."""
        found = np.ones(1, bool)
        for axis in self.axes:
            found = (found[:, None] & axis.whole()[None, :]).reshape(-1)
        return found

    def bounds(self) -> tuple[slice | Ints, ...]:
        """The part of the result that this plan fills (all of it, unless it is one of `parts`)."""
        found: list[slice | Ints] = []
        for axis in self.axes:
            where = slice(int(axis.out[0]), int(axis.out[-1]) + int(axis.count[-1])) if len(axis.chunk) else slice(0, 0)
            found.append(where if axis.place is None else axis.place[where])
        return tuple(found)

    def parts(self, most: int) -> Iterator[Plan]:
        """Plans of at most ``most`` chunks that together are this one."""
        if self.total <= most:
            yield self
            return
        axis = next(i for i, n in enumerate(self.pieces) if n > 1)
        step = max(1, self.pieces[axis] * most // self.total)
        for k in range(0, self.pieces[axis], step):
            part = self.axes[axis].only(k, k + step)
            yield from Plan((*self.axes[:axis], part, *self.axes[axis + 1 :]), self.grid_shape).parts(most)

    def unravel(self, numbers: Ints) -> tuple[Ints, ...]:
        """The piece along each axis of the plan's chunks with these numbers."""
        if not self.pieces:
            return ()
        return tuple(np.asarray(i, np.int64) for i in np.unravel_index(numbers, self.pieces))


def plan_orthogonal(selection: Sequence[AxisSelection], shape: Shape, grid: ChunkGrid) -> Plan:
    axes = tuple(plan_axis(s, n, grid, i) for i, (s, n) in enumerate(zip(selection, shape, strict=True)))
    return Plan(axes, chunk_counts(shape, grid))


@dataclass(frozen=True, slots=True, eq=False)
class PointPlan:
    """Points grouped by chunk.

    Attributes:
        chunk: flat index of each chunk touched. edges: its points are ``edges[k]:edges[k + 1]``.
        inside: per axis, each point's position within its chunk, grouped by chunk.
        place: where each point goes in the flat result.
    """

    chunk: Ints
    edges: Ints
    inside: tuple[Ints, ...]
    place: Ints


def plan_points(at: Sequence[Ints], shape: Shape, grid: ChunkGrid) -> PointPlan:
    counts = chunk_counts(shape, grid)
    total = len(at[0]) if at else 1
    flat = np.zeros(total, np.int64)
    inside: list[Ints] = []
    for axis, position in enumerate(at):
        number = chunk_numbers(position, shape[axis], grid, axis)
        begin, _ = _Bounds(shape[axis], grid, axis)(number)
        inside.append(position - begin)
        flat = flat * counts[axis] + number
    order = np.argsort(flat, kind="stable")
    flat = flat[order]
    edge = np.flatnonzero(np.diff(flat, prepend=-1))
    return PointPlan(flat[edge], np.append(edge, total), tuple(i[order] for i in inside), order)
