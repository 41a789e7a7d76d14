"""Manifests whose sources have other URLs (sizes, stamps) than those of the manifest behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo, unpickled
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(slots=True, eq=False)
class RenamedManifest:
    """The same chunks; ``change`` gives what a source has become. It is asked once for each source."""

    inner: Manifest
    change: Callable[[SourceInfo], SourceInfo]
    _snapshot: tuple[SourceInfo, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.load(),)

    @property
    def grid_shape(self) -> Shape:
        return self.inner.grid_shape

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        inner, known = self.inner.sources, self._snapshot
        if len(inner) > len(known):
            known = self._snapshot = known + tuple(self.change(s) for s in inner[len(known) :])
        return known

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        return self.inner.rows(chunks)

    def inline(self, chunk: int) -> bytes:
        return self.inner.inline(chunk)

    def load(self) -> ChunkManifest:
        return replace(self.inner.load(), sources=self.sources)
