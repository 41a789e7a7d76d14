"""The chunks of an opened array: where they lie, how they decode, and what a missing one reads as."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.decoding.pipelines import ChunkPipelines, InnerPipelines, Pipelines, check_encodings
from byteatlas.array.reading.locating.located import Locator
from byteatlas.array.reading.locating.places import ChunkPlaces, raise_of_array
from byteatlas.array.reading.locating.shards import ShardGrid, ShardLocator
from byteatlas.array.spaces import ChunkNumbers
from byteatlas.errors import ByteatlasError
from byteatlas.meta.fill import default
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, ChunkGrid, RegularGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class ArrayChunks:
    """The finest grid of chunks that can be read by themselves: within shards the inner chunks.

    Attributes:
        path: the array's, for messages.
        fill: what a missing chunk reads as.
        inner_shape: the inner chunks of the (outermost) shards; None when there are no shards.
    """

    path: str
    shape: Shape
    grid: ChunkGrid
    locator: Locator
    pipelines: ChunkPipelines
    fill: object
    inner_shape: Shape | None = None

    @property
    def exact(self) -> bool:
        """Whether every chunk decodes to what the grid says it covers: then no position lies outside of a chunk."""
        first, grid = self.pipelines.first, self.grid
        return (
            self.pipelines.single
            and first is not None
            and isinstance(grid, RegularGrid)
            and (first.shape == grid.chunk_shape)
        )

    def locate(self, chunks: ChunkNumbers) -> ChunkPlaces:
        """Where these chunks lie. Errors name the array."""
        try:
            found = self.locator.locate(chunks)
            check_encodings(found.encoding, self.pipelines.single)
        except ByteatlasError as error:
            raise_of_array(error, self.path)
        return ChunkPlaces(self.path, chunk_counts(self.shape, self.grid), self.locator, chunks, found)


def open_chunks(
    meta: ArrayMeta, locator: Locator, path: str, options: ReadOptions, registry: Mapping[str, Any] | None
) -> ArrayChunks:
    """Build the codec pipelines, and open up shards, and shards within shards.

    Arrays without shards, or with several encodings, are left as they are.

    Raises:
        Unsupported: a codec that is not known, a chunk that is too large.
        InvalidMetadata: codecs that cannot work together.
    """
    pipelines = Pipelines(meta, registry)
    found = ArrayChunks(path, meta.shape, meta.grid, locator, pipelines, fill_of(meta))
    encoding = meta.encodings[0]
    if len(meta.encodings) > 1 or encoding.chunk_shape is not None or encoding.data_type is not None:
        return found
    while found.pipelines.first is not None and found.pipelines.first.shard is not None:
        layout = found.pipelines.first.shard
        grid = RegularGrid(layout.chunk_shape)
        shards = ShardGrid(meta.shape, found.grid, grid)
        found = replace(
            found,
            grid=grid,
            locator=ShardLocator(found.locator, shards, partial(found.pipelines.at, 0), options),
            pipelines=InnerPipelines(layout.inner),
            inner_shape=found.inner_shape or layout.chunk_shape,
        )
    return found


def fill_of(meta: ArrayMeta) -> Any:
    """What a missing chunk reads as: the fill value, or zero (an empty string) where there is none."""
    value = default(meta.data_type) if meta.fill_value is None else meta.fill_value
    if not meta.data_type.numpy.hasobject:
        return value
    boxed = np.empty((), object)  # so that assigning it broadcasts, whatever the value is
    boxed[()] = value
    return boxed
