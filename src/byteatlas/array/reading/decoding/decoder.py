"""Decode the chunks of one read. Every chunk of every strategy is decoded here, so that errors say which it was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.decoding.pipelines import ChunkPipelines
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.locating.places import ChunkPlaces
from byteatlas.array.spaces import PlanRows
from byteatlas.codecs import Pipeline, RawLayout
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer, Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ChunkDecoder:
    """Decodes chunks, given by their rows. Safe to use from many threads.

    ``exact``: all chunks decode to what the grid says they cover.
    """

    pipelines: ChunkPipelines
    places: ChunkPlaces
    exact: bool = False

    def pipeline(self, row: int) -> Pipeline:
        """The pipeline of a chunk's encoding and shape."""
        column = self.places.located.encoding
        return self.pipelines.at(0 if column is None else int(column[row]), int(self.places.chunks[row]))

    def decode(self, pipeline: Pipeline, row: int, data: Buffer, scratch: ReadScratch) -> NDArray[Any]:
        """A chunk's array; its memory is used again for the next one. Raises `CorruptChunk`."""
        # Raw chunks decode to a view of their bytes, and objects to an array of their own.
        out = None
        if pipeline.raw is None and not pipeline.dtype.hasobject:
            out = scratch.array(pipeline.shape, pipeline.dtype)
        return self.decode_into(pipeline, row, data, out)

    def decode_into(self, pipeline: Pipeline, row: int, data: Buffer, out: NDArray[Any] | None) -> NDArray[Any]:
        """The same into an array that is contiguous and of the pipeline's shape and type."""
        try:
            return pipeline.decode(data, out)
        except CorruptChunk as error:
            raise self.places.corrupt(error, row) from error

    def decode_each(self, rows: PlanRows, values: Sequence[Buffer], out: Iterable[NDArray[Any]]) -> None:
        """Chunks of the one pipeline that all chunks have, each into its array."""
        first = self.pipelines.first
        assert first is not None
        decode, done = first.decode, 0
        try:
            for data, array in zip(values, out, strict=True):
                decode(data, array)
                done += 1
        except CorruptChunk as error:
            raise self.places.corrupt(error, int(rows[done])) from error


def raw_chunks(rows: NDArray[np.uint8], raw: RawLayout, shape: Shape) -> NDArray[Any]:
    """Chunks whose bytes are the array's bytes: shape (rows, chunk shape...)."""
    values = rows.view(raw.dtype)
    if raw.order == "C":
        return values.reshape((len(rows), *shape))
    return values.reshape((len(rows), *reversed(shape))).transpose(0, *range(len(shape), 0, -1))
