"""Chunk grids: how many chunks, and which part of the array each covers (Zarr v3 core, "Chunk grids")."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.model import ChunkGrid, RectilinearGrid, RegularGrid
from byteatlas.types import Shape


def chunk_counts(shape: Shape, grid: ChunkGrid) -> Shape:
    """Chunks along each axis; the last may be partial, an empty axis has none.

    >>> chunk_counts((10, 0), RegularGrid((4, 4)))
    (3, 0)
    """
    match grid:
        case RegularGrid(chunk_shape):
            return tuple([-(-n // c) if n else 0 for n, c in zip(shape, chunk_shape, strict=True)])
        case RectilinearGrid(edges):
            return tuple(len(e) for e in edges)


def chunk_total(shape: Shape, grid: ChunkGrid) -> int:
    """Number of chunks in the whole grid; a scalar has one."""
    return math.prod(chunk_counts(shape, grid))


def boundaries(length: int, grid: ChunkGrid, axis: int) -> NDArray[np.int64]:
    """Positions at which chunks begin along one axis, and the axis' length at the end.

    >>> boundaries(10, RegularGrid((4,)), 0).tolist()
    [0, 4, 8, 10]
    """
    match grid:
        case RegularGrid(chunk_shape):
            starts = np.arange(0, length, chunk_shape[axis], dtype=np.int64) if length else np.empty(0, np.int64)
            return np.append(starts, np.int64(length))
        case RectilinearGrid(edges):
            ends = np.cumsum(np.asarray(edges[axis], np.int64), dtype=np.int64)
            clipped: NDArray[np.int64] = np.minimum(np.concatenate([np.zeros(1, np.int64), ends]), length)
            return clipped


def chunk_shape_at(grid: ChunkGrid, index: tuple[int, ...]) -> Shape:
    """The full (not cropped) shape of the chunk at one grid position."""
    match grid:
        case RegularGrid(chunk_shape):
            return chunk_shape
        case RectilinearGrid(edges):
            return tuple(e[i] for e, i in zip(edges, index, strict=True))
