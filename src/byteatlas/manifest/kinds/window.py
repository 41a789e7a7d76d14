"""Manifests that are some layers of another manifest's grid: chunks ``start`` to ``start + count`` along one axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import INLINE, ChunkManifest, Manifest, Rows, SourceInfo
from byteatlas.types import Shape
from byteatlas.values import dataclass


def window(manifest: Manifest, axis: int, first: int, last: int) -> Manifest:
    """Chunks ``first`` to ``last`` (excluded) along one axis: columns of columns, else rows read on demand."""
    if isinstance(manifest, ChunkManifest):
        return sliced_columns(manifest, axis, first, last)
    return WindowManifest(manifest, axis, first, last - first)


@dataclass(frozen=True, slots=True, eq=False)
class WindowManifest:
    """Chunks ``start`` to ``start + count`` along one axis of another manifest; rows are read when asked for."""

    inner: Manifest
    axis: int
    start: int
    count: int

    @property
    def grid_shape(self) -> Shape:
        whole = self.inner.grid_shape
        return (*whole[: self.axis], self.count, *whole[self.axis + 1 :])

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return self.inner.sources

    def _inner_chunks(self, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers that chunks have in the other manifest."""
        layer = math.prod(self.inner.grid_shape[self.axis + 1 :])
        if self.axis == 0:
            return chunks + self.start * layer
        outer, rest = np.divmod(chunks, self.count * layer)
        return outer * (self.inner.grid_shape[self.axis] * layer) + rest + self.start * layer

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        return self.inner.rows(self._inner_chunks(chunks) if len(chunks) else chunks)

    def inline(self, chunk: int) -> bytes:
        return self.inner.inline(int(self._inner_chunks(np.array([chunk], np.int64))[0]))

    def load(self) -> ChunkManifest:
        rows = self.rows(np.arange(math.prod(self.grid_shape), dtype=np.int64))
        inlined = {i: self.inline(i) for i in np.flatnonzero(rows.source == INLINE).tolist()}
        return ChunkManifest(
            self.grid_shape, self.sources, rows.source, rows.offset, rows.length, rows.encoding, inlined
        )


def sliced_columns(m: ChunkManifest, axis: int, first: int, last: int) -> ChunkManifest:
    """The same for a manifest in memory: its columns, sliced."""
    grid = m.grid_shape
    outer, count, layer = math.prod(grid[:axis]), grid[axis], math.prod(grid[axis + 1 :])

    def part(column: NDArray[Any]) -> NDArray[Any]:
        return column.reshape(outer, count, layer)[:, first:last].reshape(-1)

    shape = (*grid[:axis], last - first, *grid[axis + 1 :])
    encoding = None if m.encoding is None else part(m.encoding)
    source = part(m.source)
    inlined: dict[int, bytes] = {}
    if m.inlined:
        window_of_m = WindowManifest(m, axis, first, last - first)
        inlined = {i: window_of_m.inline(i) for i in np.flatnonzero(source == INLINE).tolist()}
    return ChunkManifest(shape, m.sources, source, part(m.offset), part(m.length), encoding, inlined)
