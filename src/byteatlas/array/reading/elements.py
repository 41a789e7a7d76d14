"""A strategy: of chunks whose bytes are the array's bytes, fetch only the points' bytes.

Points that lie close together share a request. A chunk with many points is better fetched as a whole.
Benchmark: ``selections``, "5000 points" of uncompressed chunks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.decoding.pipelines import check_extent
from byteatlas.array.reading.fetching.fetch import fetch
from byteatlas.array.reading.fetching.gaps import measured, meter_for
from byteatlas.array.reading.locating.located import Located, sizes
from byteatlas.array.reading.planning.points import PointPlan
from byteatlas.array.reading.planning.strides import strides_of
from byteatlas.array.reading.raw_parts import PARTIAL_KEY
from byteatlas.array.reading.scattering.points import ElementScatter, PointScatter
from byteatlas.array.spaces import Ints, Items, PlanRows
from byteatlas.codecs import Pipeline, RawLayout
from byteatlas.values import dataclass

MOST_POINTS = 1 << 20
"""Points fetched one by one that are asked for together, about."""
LOCAL_POINT, REMOTE_POINT = 700, 64
"""Bytes that could be read in the time that fetching one point by itself takes."""
MOST_CELLS = 1 << 24
"""Stretches of ``gap`` bytes that are looked at to see how dense points lie."""


@dataclass(frozen=True, slots=True, eq=False)
class RawElements:
    """Reads single elements of raw chunks. ``pipeline`` is the one of all chunks."""

    plan: PointPlan
    target: NDArray[Any]
    located: Located
    pipeline: Pipeline
    raw: RawLayout

    def read(self, rows: PlanRows, scatter: PointScatter, options: ReadOptions) -> PlanRows:
        """Read the points in those chunks where that is worth it; returns the rows that are still to be read.

        ``scatter`` is told of chunks that turn out to be absent.
        """
        nbytes = self.pipeline.nbytes or 0
        if nbytes < PARTIAL_KEY and bool((self.located.length[rows] < 0).any()):
            return rows
        size = sizes(self.located, rows, options)
        scatter.absent(Items(rows[size < 0]))
        chosen = PlanRows(rows[size == nbytes])
        left = [rows[(size >= 0) & (size != nbytes)]]
        # Some chunks at a time: the columns of points stay small.
        ends = np.cumsum(np.diff(self.plan.edges)[chosen])
        for some in np.split(chosen, np.flatnonzero(np.diff(ends // MOST_POINTS)) + 1):
            if len(some):
                left.append(self._fetch(PlanRows(some), options))
        return PlanRows(np.sort(np.concatenate(left)))

    def _fetch(self, rows: PlanRows, options: ReadOptions) -> PlanRows:
        """Fetch the points in some chunks; returns those chunks that are better read as a whole."""
        count = np.diff(self.plan.edges)[rows]
        ends = np.cumsum(count)
        points = np.arange(int(ends[-1])) + np.repeat(self.plan.edges[rows] - (ends - count), count)
        offset = self._offsets(points)
        local = self.located.local(rows)
        found = self.located
        dense = self._dense(
            offset, count, options if local else measured(options, meter_for(found.sources, found.source[rows])), local
        )
        if dense.any():
            keep = ~np.repeat(dense, count)
            points, offset = points[keep], offset[keep]
        owners = PlanRows(np.repeat(rows[~dense], count[~dense]))
        if len(owners):
            dtype = self.raw.dtype
            wanted = self.located.parts(
                owners, self.located.offset[owners] + offset, np.full(len(owners), dtype.itemsize, np.int64)
            )
            fetch(wanted, ElementScatter(dtype, self.target, self.plan.place[points]), options)
        return PlanRows(rows[dense])

    def _offsets(self, points: Ints) -> Ints:
        """Where each point lies in its chunk, in bytes."""
        inside = tuple(i[points] for i in self.plan.inside)
        check_extent(self.pipeline, inside)
        offset = np.zeros(len(points), np.int64)
        strides = strides_of(self.pipeline.shape, self.raw.dtype.itemsize, self.raw.order)
        for at, stride in zip(inside, strides, strict=True):
            offset += at * stride
        return offset

    def _dense(self, offset: Ints, count: Ints, options: ReadOptions, local: bool) -> NDArray[np.bool_]:
        """Which chunks have so many points that most of their bytes would be fetched, and one by one.

        ``offset``: each point's byte within its chunk, ``count`` of them for each chunk.
        """
        gap, one = (options.local_gap, LOCAL_POINT) if local else (options.gap, REMOTE_POINT)
        nbytes = self.pipeline.nbytes or 0
        many: NDArray[np.bool_] = count * one > nbytes
        cells = nbytes // max(gap, 1) + 1
        if cells < 4 or not many.any():
            return many
        if len(count) * cells > MOST_CELLS:
            return np.zeros(len(count), bool)
        touched = np.zeros((len(count), cells), bool)
        touched[np.repeat(np.arange(len(count)), count), offset // max(gap, 1)] = True
        most: NDArray[np.bool_] = 2 * touched.sum(axis=1) > cells
        return many & most
