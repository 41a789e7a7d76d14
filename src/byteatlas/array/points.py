"""Coordinate selections: every chunk that holds points is fetched and decoded once, the points gathered from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.fetch import Wanted, each_alone, fetch
from byteatlas.array.locate import INLINE, MISSING, Located
from byteatlas.array.options import ReadOptions
from byteatlas.array.pipelines import check_encodings, check_extent
from byteatlas.array.plan import PointPlan
from byteatlas.array.pool import Scratch
from byteatlas.array.read import ChunkContext, decode_scratch
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer

Ints = NDArray[np.int64]


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
    stored = np.flatnonzero(found.source >= 0)
    if len(stored):
        wanted = Wanted(found.source[stored], found.offset[stored], found.length[stored])
        subset = PointSink(plan, target, found, context, stored)
        fetch(wanted, found.sources, subset, options, context.pipelines.typical_nbytes)


class PointSink:
    """Decodes chunks and gathers the points that lie in them. ``rows``: the plan's chunk of each item."""

    __slots__ = ("_context", "_found", "_plan", "_rows", "_target")

    def __init__(
        self, plan: PointPlan, target: NDArray[Any], found: Located, context: ChunkContext, rows: Ints
    ) -> None:
        self._plan, self._target, self._found, self._context, self._rows = plan, target, found, context, rows

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start, length in zip(items.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            row = int(self._rows[item])
            chunk = int(self._plan.chunk[row])
            encoding = 0 if self._found.encoding is None else int(self._found.encoding[row])
            pipeline = self._context.pipelines.at(encoding, chunk)
            try:
                decoded = decode_scratch(pipeline, block[start : start + length], scratch)
            except CorruptChunk as error:
                raise self._context.located(error, chunk, self._found, row) from error
            points = slice(int(self._plan.edges[row]), int(self._plan.edges[row + 1]))
            inside = tuple(i[points] for i in self._plan.inside)
            check_extent(pipeline, inside)
            self._target[self._plan.place[points]] = decoded[inside]

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        each_alone(self, items, values, scratch)

    def missing(self, items: Ints) -> None:
        for row in self._rows[items].tolist():
            points = slice(int(self._plan.edges[row]), int(self._plan.edges[row + 1]))
            self._target[self._plan.place[points]] = self._context.fill

    def direct(self, item: int) -> memoryview | None:
        return None
