"""Manifests that are a formula: chunks of one length at a regular distance in one file.

Contiguous data, uncompressed strips and netCDF-3 records lie like this. A million chunks are a handful of integers
until somebody asks for their rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, NotFound
from byteatlas.manifest.model import ChunkManifest, Rows, SourceInfo
from byteatlas.types import Shape


@dataclass(frozen=True, slots=True)
class Strided:
    """Chunk ``(i, j, ...)`` lies at ``base + i * strides[0] + j * strides[1] + ...``, all ``length`` bytes long.

    Attributes:
        strides: bytes between neighbours along each axis of the grid.

    >>> at = Strided((3,), SourceInfo("a.nc"), base=100, strides=(16,), length=8)
    >>> at.rows(np.array([2])).offset.tolist()
    [132]
    """

    grid_shape: Shape
    source: SourceInfo
    base: int
    strides: tuple[int, ...]
    length: int

    def __post_init__(self) -> None:
        if len(self.strides) != len(self.grid_shape):
            raise BadRequest(f"strides {self.strides} for a grid {self.grid_shape}")

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return (self.source,)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        n = len(chunks)
        offset = np.full(n, self.base, np.uint64)
        if len(self.grid_shape) == 1:
            offset += np.asarray(chunks, np.uint64) * np.uint64(self.strides[0])
        elif n and self.grid_shape:
            for index, stride in zip(np.unravel_index(chunks, self.grid_shape), self.strides, strict=True):
                offset += np.asarray(index, np.uint64) * np.uint64(stride)
        return Rows(np.zeros(n, np.int32), offset, np.full(n, self.length, np.uint64))

    def inline(self, chunk: int) -> bytes:
        raise NotFound(f"chunk {chunk} is not inline")

    def load(self) -> ChunkManifest:
        n = 1
        for count in self.grid_shape:
            n *= count
        rows = self.rows(np.arange(n, dtype=np.int64))
        return ChunkManifest(self.grid_shape, self.sources, rows.source, rows.offset, rows.length)
