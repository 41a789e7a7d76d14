"""Coordinate selections: every chunk that holds points is fetched and decoded once, the points gathered from it.

Of chunks whose bytes are the array's bytes only the points' bytes are fetched, those that lie close together in one
request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.batch import gather
from byteatlas.array.reading.execute import PARTIAL_KEY, ChunkContext, decode_scratch
from byteatlas.array.reading.fetch import Wanted, each_alone, fetch
from byteatlas.array.reading.locate import INLINE, MISSING, Located, sizes
from byteatlas.array.reading.pipelines import check_encodings, check_extent
from byteatlas.array.reading.plan import PointPlan
from byteatlas.array.reading.pool import Scratch
from byteatlas.array.reading.raw import strides_of
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer, Shape

Ints = NDArray[np.int64]
MOST_POINTS = 1 << 20
"""Points fetched one by one that are asked for together, about."""
DEAR_LOCAL, DEAR_REMOTE = 700, 64
"""Bytes that could be read in the time that fetching one point by itself takes."""
MOST_CELLS = 1 << 24
"""Pieces of ``gap`` bytes that are looked at to see how dense points lie."""


def read_points(plan: PointPlan, target: NDArray[Any], context: ChunkContext, options: ReadOptions) -> None:
    """Fill ``target`` (one axis) with the points' values."""
    found = context.locator.locate(plan.chunk)
    check_encodings(found.encoding, context.pipelines.single)
    sink = PointSink(plan, target, found, context, np.arange(len(plan.chunk), dtype=np.int64))
    sink.missing(np.flatnonzero(found.source == MISSING))
    scratch = Scratch(options.result_limit())
    for item in np.flatnonzero(found.source == INLINE).tolist():
        data = memoryview(context.locator.inline(int(plan.chunk[item])))
        sink.accept(np.array([item]), np.zeros(1, np.int64), np.array([len(data)]), data, scratch)
    stored = _read_raw(sink, np.flatnonzero(found.source >= 0), options)
    if len(stored):
        wanted = Wanted(found.source[stored], found.offset[stored], found.length[stored])
        subset = PointSink(plan, target, found, context, stored)
        fetch(wanted, found.sources, subset, options, context.pipelines.typical_nbytes)


def _read_raw(sink: PointSink, rows: Ints, options: ReadOptions) -> Ints:
    """Read the points in chunks whose bytes are the array's bytes; returns the plan's other chunks."""
    first = sink.context.pipelines.first
    if not sink.context.pipelines.single or first is None or first.raw is None or first.raw.dtype.hasobject:
        return rows
    nbytes, found, plan = first.nbytes or 0, sink.found, sink.plan
    if nbytes == 0 or (nbytes < PARTIAL_KEY and bool((found.length[rows] < 0).any())):
        return rows
    size = sizes(found, rows, options)
    sink.missing(rows[size < 0])
    raw = rows[size == nbytes]
    count = np.diff(plan.edges)[raw]
    strides = strides_of(first.shape, first.raw.dtype.itemsize, first.raw.order)
    others = [rows[(size >= 0) & (size != nbytes)]]
    # Some chunks at a time: the columns of points stay small.
    ends = np.cumsum(count)
    for part in np.split(np.arange(len(raw)), np.flatnonzero(np.diff(ends // MOST_POINTS)) + 1):
        if len(part):
            others.append(_fetch_points(sink, raw[part], count[part], strides, options))
    return np.sort(np.concatenate(others))


def _fetch_points(sink: PointSink, rows: Ints, count: Ints, strides: Shape, options: ReadOptions) -> Ints:
    """The points in some raw chunks, ``count`` in each; returns those chunks that are better read as a whole."""
    first, found, plan = sink.context.pipelines.first, sink.found, sink.plan
    assert first is not None
    assert first.raw is not None
    ends = np.cumsum(count)
    points = np.arange(int(ends[-1])) + np.repeat(plan.edges[rows] - (ends - count), count)
    inside = tuple(i[points] for i in plan.inside)
    check_extent(first, inside)
    offset = np.zeros(len(points), np.int64)
    for at, stride in zip(inside, strides, strict=True):
        offset += at * stride
    near = bool(found.sources.local(np.unique(found.source[rows])).all())
    gap, dear = (options.local_gap, DEAR_LOCAL) if near else (options.gap, DEAR_REMOTE)
    dense = _dense(offset, count, first.nbytes or 0, gap, dear)
    if dense.any():
        keep = ~np.repeat(dense, count)
        points, offset = points[keep], offset[keep]
    sparse, many = rows[~dense], count[~dense]
    if len(sparse):
        dtype, offset = first.raw.dtype, offset + np.repeat(found.offset[sparse], many)
        wanted = Wanted(np.repeat(found.source[sparse], many), offset, np.full(len(offset), dtype.itemsize, np.int64))
        fetch(wanted, found.sources, _RawPoints(dtype, sink.target, plan.place[points]), options)
    return rows[dense]


def _dense(offset: Ints, count: Ints, nbytes: int, gap: int, dear: int) -> NDArray[np.bool_]:
    """Which chunks have so many points that most of their bytes would be fetched, and one by one.

    ``offset``: each point's byte within its chunk, ``count`` of them for each chunk.
    """
    many: NDArray[np.bool_] = count * dear > nbytes
    cells = nbytes // max(gap, 1) + 1
    if cells < 4 or not many.any():
        return many
    touched = np.zeros((len(count), cells), bool) if len(count) * cells <= MOST_CELLS else None
    if touched is None:
        return np.zeros(len(count), bool)
    touched[np.repeat(np.arange(len(count)), count), offset // max(gap, 1)] = True
    most: NDArray[np.bool_] = 2 * touched.sum(axis=1) > cells
    return many & most


@dataclass(frozen=True, slots=True, eq=False)
class _RawPoints:
    """Takes the bytes of single elements and puts them in their places."""

    dtype: np.dtype[Any]
    target: NDArray[Any]
    place: Ints

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        self.target[self.place[items]] = gather(block, starts, self.dtype.itemsize).view(self.dtype)[:, 0]

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        raise AssertionError("elements are ranges")

    def missing(self, items: Ints) -> None:
        raise AssertionError("elements are asked for only of chunks that exist")

    def direct(self, item: int) -> memoryview | None:
        return None


class PointSink:
    """Decodes chunks and gathers the points that lie in them. ``rows``: the plan's chunk of each item."""

    __slots__ = ("_rows", "context", "found", "plan", "target")

    def __init__(
        self, plan: PointPlan, target: NDArray[Any], found: Located, context: ChunkContext, rows: Ints
    ) -> None:
        self.plan, self.target, self.found, self.context, self._rows = plan, target, found, context, rows

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start, length in zip(items.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            row = int(self._rows[item])
            chunk = int(self.plan.chunk[row])
            encoding = 0 if self.found.encoding is None else int(self.found.encoding[row])
            pipeline = self.context.pipelines.at(encoding, chunk)
            try:
                decoded = decode_scratch(pipeline, block[start : start + length], scratch)
            except CorruptChunk as error:
                raise self.context.located(error, chunk, self.found, row) from error
            points = slice(int(self.plan.edges[row]), int(self.plan.edges[row + 1]))
            inside = tuple(i[points] for i in self.plan.inside)
            check_extent(pipeline, inside)
            self.target[self.plan.place[points]] = decoded[inside]

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        each_alone(self, items, values, scratch)

    def missing(self, items: Ints) -> None:
        for row in self._rows[items].tolist():
            points = slice(int(self.plan.edges[row]), int(self.plan.edges[row + 1]))
            self.target[self.plan.place[points]] = self.context.fill

    def direct(self, item: int) -> memoryview | None:
        return None
