"""Manifests of arrays with several encodings whose column of encodings is kept apart: in the array's metadata."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo
from byteatlas.meta.model import EncodingColumn
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class EncodedManifest:
    """A manifest together with the encoding column that its array's metadata holds."""

    inner: Manifest
    encoding: EncodingColumn

    @property
    def grid_shape(self) -> Shape:
        return self.inner.grid_shape

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return self.inner.sources

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        return replace(self.inner.rows(chunks), encoding=self.encoding[chunks])

    def inline(self, chunk: int) -> bytes:
        return self.inner.inline(chunk)

    def load(self) -> ChunkManifest:
        return replace(self.inner.load(), encoding=self.encoding)
