"""Decode the chunks that hold points, and put the points' values into the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.decoding.decoder import ChunkDecoder
from byteatlas.array.reading.decoding.pipelines import check_extent
from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.planning.points import PointPlan
from byteatlas.array.spaces import Ints, Items
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class PointScatter:
    """Receives chunks that hold points; items are rows of the plan. ``target`` has one axis."""

    plan: PointPlan
    target: NDArray[Any]
    decoder: ChunkDecoder
    fill: object

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        for row, data in zip(items.tolist(), fetched, strict=True):
            pipeline = self.decoder.pipeline(row)
            decoded = self.decoder.decode(pipeline, row, data, scratch)
            points = self.plan.points(row)
            inside = tuple(i[points] for i in self.plan.inside)
            check_extent(pipeline, inside)
            self.target[self.plan.place[points]] = decoded[inside]

    def absent(self, items: Items) -> None:
        """The points in these chunks read as the fill value."""
        for row in items.tolist():
            self.target[self.plan.place[self.plan.points(row)]] = self.fill


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
