"""Decode the chunks of an orthogonal plan, and put the selected parts into the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.decoding.decoder import ChunkDecoder, raw_chunks
from byteatlas.array.reading.decoding.pipelines import check_extent
from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.reading.scattering.assign import put, take
from byteatlas.array.reading.scattering.tiles import FEW, Tiles
from byteatlas.array.spaces import AxisParts, Items, PlanRows
from byteatlas.codecs import Pipeline
from byteatlas.types import Buffer


class ChunkScatter:
    """Receives chunks; items are rows of the plan. How it treats them is chosen in `reading.strategies`.

    ``whole``: for each row, whether all of the chunk's extent is selected.
    """

    __slots__ = ("_decoder", "_fill", "_lends", "_plan", "_target", "_tiles", "whole")

    def __init__(
        self,
        plan: ReadPlan,
        target: NDArray[Any],
        decoder: ChunkDecoder,
        fill: object,
        tiles: Tiles | None,
        lends: bool,
    ) -> None:
        self._plan, self._target, self._decoder, self._fill = plan, target, decoder, fill
        self._tiles, self._lends = tiles, lends
        self.whole = plan.whole()

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        rows = PlanRows(items)
        if self._tiles is not None and len(rows) > FEW:
            parts = self._plan.parts(rows)
            alike = self._tiles.covers(parts)
            if alike.all():
                self._together(self._tiles, rows, parts, fetched, scratch)
                return
            if alike.any():
                chosen = tuple(AxisParts(p[alike]) for p in parts)
                self._together(self._tiles, PlanRows(rows[alike]), chosen, fetched.only(alike), scratch)
                rows, fetched = PlanRows(rows[~alike]), fetched.only(~alike)
        for row, data in zip(rows.tolist(), fetched, strict=True):
            self._one(row, data, scratch)

    def absent(self, items: Items) -> None:
        """These chunks read as the fill value."""
        rows = PlanRows(items)
        if self._tiles is not None and len(rows) > FEW:
            parts = self._plan.parts(rows)
            alike = self._tiles.covers(parts)
            self._tiles.fill(tuple(AxisParts(p[alike]) for p in parts), self._fill)
            rows = PlanRows(rows[~alike])
        for row in rows.tolist():
            _, where = self._plan.places(row)
            put(self._target, where, self._fill)

    def memory(self, item: int) -> memoryview | None:
        """The place in the result of a chunk whose bytes go there as they are."""
        if not self._lends or not self.whole[item]:
            return None
        pipeline = self._decoder.pipeline(item)
        raw = pipeline.raw
        if raw is None or raw.order != "C" or raw.dtype != pipeline.dtype:
            return None
        _, where = self._plan.places(item)
        view = self._target[(*where, ...)]
        return view.reshape(-1).view(np.uint8).data if _fits(view, pipeline) else None

    def _one(self, row: int, data: Buffer, scratch: ReadScratch) -> None:
        """Any chunk: decoded in place where its place is contiguous, else into a buffer and copied from there."""
        pipeline = self._decoder.pipeline(row)
        inside, where = self._plan.places(row)
        if self.whole[row]:
            view = self._target[(*where, ...)]
            if _fits(view, pipeline):
                self._decoder.decode_into(pipeline, row, data, view)
                return
        decoded = self._decoder.decode(pipeline, row, data, scratch)
        if not self._decoder.exact:
            check_extent(pipeline, inside)
        put(self._target, where, take(decoded, inside))

    def _together(
        self, tiles: Tiles, rows: PlanRows, parts: tuple[AxisParts, ...], fetched: Fetched, scratch: ReadScratch
    ) -> None:
        """Small chunks of one pipeline, selected alike: decoded into rows of one array, then put in place together."""
        pipeline = self._decoder.pipelines.first
        assert pipeline is not None
        if pipeline.raw is not None:
            equal = fetched.rows(pipeline.nbytes or 0)
            if equal is not None:
                tiles.put(parts, raw_chunks(equal, pipeline.raw, pipeline.shape))
                return
        values = list(fetched)
        together = pipeline.decode_many(values)
        if together is not None:
            tiles.put(parts, together)
            return
        views = tiles.contiguous(parts) if self._target.dtype == pipeline.dtype else None
        if views is not None:
            self._decoder.decode_each(rows, values, views)
            return
        decoded = scratch.array((len(rows), *pipeline.shape), pipeline.dtype)
        self._decoder.decode_each(rows, values, decoded)
        tiles.put(parts, decoded)


def _fits(view: NDArray[Any], pipeline: Pipeline) -> bool:
    """Whether a chunk can be decoded straight into this part of the result."""
    return view.shape == pipeline.shape and view.dtype == pipeline.dtype and view.flags.c_contiguous
