"""Decode the chunks that hold points, and put the points' values into the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.decoding.decoder import ChunkDecoder
from byteatlas.array.reading.decoding.pipelines import check_extent
from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.opening import ArrayChunks
from byteatlas.array.reading.planning.points import PointPlan
from byteatlas.array.spaces import Ints, Items
from byteatlas.codecs import Pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class PointScatter:
    """Receives chunks that hold points; items are rows of the plan. ``target`` has one axis.

    ``flat``: the points' places in their chunks in C order, where all chunks have one pipeline and are decoded into
    memory.
    """

    plan: PointPlan
    target: NDArray[Any]
    decoder: ChunkDecoder
    fill: object
    flat: Ints | None = None

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        first = self.decoder.pipelines.first
        if self.flat is not None and first is not None:
            self._alike(first, self.flat, items, fetched, scratch)
            return
        for row, data in zip(items.tolist(), fetched, strict=True):
            pipeline = self.decoder.pipeline(row)
            decoded = self.decoder.decode(pipeline, row, data, scratch)
            points = self.plan.points(row)
            inside = tuple(i[points] for i in self.plan.inside)
            check_extent(pipeline, inside)
            self.target[self.plan.place[points]] = decoded[inside]

    def _alike(self, pipeline: Pipeline, flat: Ints, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        """Chunks of the one pipeline, each decoded into the same memory. Benchmark: ``small_reads``, "1000 points"."""
        decode, target, place, edges = self.decoder.decode_into, self.target, self.plan.place, self.plan.edges
        out = scratch.array(pipeline.shape, pipeline.dtype)
        values = out.reshape(-1)
        begins, ends = edges[items].tolist(), edges[items + 1].tolist()
        for row, begin, end, data in zip(items.tolist(), begins, ends, fetched, strict=True):
            decode(pipeline, row, data, out)
            target[place[begin:end]] = values.take(flat[begin:end])

    def absent(self, items: Items) -> None:
        """The points in these chunks read as the fill value."""
        for row in items.tolist():
            self.target[self.plan.place[self.plan.points(row)]] = self.fill


def flat_places(plan: PointPlan, array: ArrayChunks) -> Ints | None:
    """`PointScatter.flat`."""
    first = array.pipelines.first
    if not plan.inside or not array.exact or first is None or first.raw is not None or first.dtype.hasobject:
        return None
    flat = plan.inside[0]
    for inside, count in zip(plan.inside[1:], first.shape[1:], strict=True):
        flat = flat * count + inside
    return flat


@dataclass(frozen=True, slots=True, eq=False)
class ElementScatter:
    """Receives the bytes of single elements; item k goes to ``place[k]``."""

    dtype: np.dtype[Any]
    target: NDArray[Any]
    place: Ints

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        elements = fetched.rows(self.dtype.itemsize)
        if elements is None:
            raise CorruptChunk(f"an element that is not of {self.dtype.itemsize} bytes")
        self.target[self.place[items]] = elements.view(self.dtype)[:, 0]
