"""What an array's chunks are once its shards are opened up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.locate import Locator
from byteatlas.array.reading.pipelines import ChunkPipelines, InnerPipelines
from byteatlas.array.reading.shards import ShardLocator
from byteatlas.meta.model import ArrayMeta, ChunkGrid, RegularGrid
from byteatlas.types import Shape


@dataclass(frozen=True, slots=True, eq=False)
class InnerChunks:
    """How to read an array: the finest grid of chunks that can be read by themselves, and where those lie.

    Attributes:
        chunk_shape: the inner chunks of the (outermost) shards; None when there are no shards.
    """

    grid: ChunkGrid
    locator: Locator
    pipelines: ChunkPipelines
    chunk_shape: Shape | None = None


def unsharded(meta: ArrayMeta, locator: Locator, pipelines: ChunkPipelines, options: ReadOptions) -> InnerChunks:
    """Open up shards, and shards within shards. Arrays without them, or with several encodings, are left alone."""
    found = InnerChunks(meta.grid, locator, pipelines)
    encoding = meta.encodings[0]
    if len(meta.encodings) > 1 or encoding.chunk_shape is not None or encoding.data_type is not None:
        return found
    while found.pipelines.first is not None and found.pipelines.first.shard is not None:
        layout = found.pipelines.first.shard
        shards = found.pipelines
        inner = ShardLocator(
            found.locator,
            meta.shape,
            found.grid,
            layout.chunk_shape,
            partial(shards.at, 0),
            options,
        )
        outermost = found.chunk_shape or layout.chunk_shape
        found = InnerChunks(RegularGrid(layout.chunk_shape), inner, InnerPipelines(layout.inner), outermost)
    return found
