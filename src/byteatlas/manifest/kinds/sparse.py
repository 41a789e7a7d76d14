"""Source tables that grow while a map is read, and manifests built from what was found."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, InvalidMetadata
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, Manifest, Rows, SourceInfo
from byteatlas.types import Shape
from byteatlas.values import dataclass, field

DENSE_LIMIT = 1 << 31
"""Grids with more chunks than this are never expanded into columns."""


def writable_total(counts: Shape) -> int:
    """Chunks of a grid that a map is written of, one by one. Raises `BadRequest` for more than can be gone through."""
    total = math.prod(counts)
    if total > DENSE_LIMIT:
        raise BadRequest(f"a grid of {total} chunks is too large to be written as a map")
    return total


class SourceTable:
    """URLs by number. It only grows, so a number once given stays valid.

    Args:
        known: what was recorded of sources, by URL.
        make: what is known of any other.
    """

    __slots__ = ("_by_url", "_infos", "_known", "_lock", "_make", "_snapshot")

    def __init__(
        self, known: Mapping[str, SourceInfo] | None = None, make: Callable[[str], SourceInfo] = SourceInfo
    ) -> None:
        self._make = make
        self._by_url: dict[str, int] = {}
        self._infos: list[SourceInfo] = []
        self._known = known or {}
        self._snapshot: tuple[SourceInfo, ...] = ()
        self._lock = threading.Lock()

    def number(self, url: str) -> int:
        """The URL's number, a new one if it was not seen before."""
        found = self._by_url.get(url)
        if found is not None:
            return found
        with self._lock:
            found = self._by_url.get(url)
            if found is None:
                found = len(self._infos)
                self._infos.append(self._known.get(url) or self._make(url))
                self._by_url[url] = found  # last: whoever finds the number finds the source
            return found

    @property
    def infos(self) -> tuple[SourceInfo, ...]:
        """All sources so far, by number."""
        if len(self._snapshot) != len(self._infos):
            self._snapshot = tuple(self._infos)
        return self._snapshot


@dataclass(frozen=True, slots=True, eq=False)
class SparseManifest:
    """A manifest that keeps rows only for chunks that exist: sorted flat indices beside the columns."""

    grid_shape: Shape
    sources: tuple[SourceInfo, ...]
    chunk: NDArray[np.int64]
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    inlined: Mapping[int, bytes] = field(default_factory=dict)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        n = len(chunks)
        if not len(self.chunk):
            return Rows(np.full(n, MISSING, np.int32), np.zeros(n, np.uint64), np.zeros(n, np.uint64))
        place = np.minimum(np.searchsorted(self.chunk, chunks), len(self.chunk) - 1)
        there = self.chunk[place] == chunks
        zero = np.uint64(0)
        return Rows(
            np.where(there, self.source[place], np.int32(MISSING)),
            np.where(there, self.offset[place], zero),
            np.where(there, self.length[place], zero),
        )

    def inline(self, chunk: int) -> bytes:
        return self.inlined[chunk]

    def load(self) -> ChunkManifest:
        total = math.prod(self.grid_shape)
        if total > DENSE_LIMIT:
            raise BadRequest(f"a grid of {total} chunks is too large to be held in memory")
        rows = self.rows(np.arange(total, dtype=np.int64))
        return ChunkManifest(self.grid_shape, self.sources, rows.source, rows.offset, rows.length, None, self.inlined)


class Collector:
    """Rows of one array, in any order, until `finish` makes them a manifest."""

    def __init__(self, grid_shape: Shape, where: str) -> None:
        self.grid_shape, self.where = grid_shape, where
        self.total = math.prod(grid_shape)
        self.inlined: dict[int, bytes] = {}
        self._parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64]]] = []
        self.count = 0

    def add(
        self,
        chunk: NDArray[np.int64],
        source: NDArray[np.int32],
        offset: NDArray[np.uint64],
        length: NDArray[np.uint64],
    ) -> None:
        """Rows that point into sources."""
        self._parts.append((chunk, source, offset, length))
        self.count += len(chunk)

    def add_inline(self, chunk: int, data: bytes) -> None:
        if chunk in self.inlined:
            raise InvalidMetadata(self.where, f"two references for chunk {chunk}")
        self.inlined[chunk] = data
        self.count += 1

    def finish(self, sources: tuple[SourceInfo, ...]) -> Manifest:
        """Dense columns, or sparse ones where the grid is much larger than what was found."""
        if self.inlined:
            keys = np.fromiter(self.inlined, np.int64, len(self.inlined))
            nothing = np.zeros(len(keys), np.uint64)
            self._parts.append((keys, np.full(len(keys), INLINE, np.int32), nothing, nothing))
        parts, self._parts = self._parts, []
        if self.total <= max(1 << 16, 4 * self.count):
            return self._dense(parts, sources)
        if not parts:
            empty = np.empty(0, np.uint64)
            return SparseManifest(self.grid_shape, sources, np.empty(0, np.int64), np.empty(0, np.int32), empty, empty)
        chunk = np.concatenate([p[0] for p in parts])
        order = np.argsort(chunk, kind="stable")
        chunk = chunk[order]
        if len(chunk) > 1 and (chunk[1:] == chunk[:-1]).any():
            raise InvalidMetadata(self.where, "two references for one chunk")
        source, offset, length = (
            np.concatenate([p[1] for p in parts])[order],
            np.concatenate([p[2] for p in parts])[order],
            np.concatenate([p[3] for p in parts])[order],
        )
        return SparseManifest(self.grid_shape, sources, chunk, source, offset, length, self.inlined)

    def _dense(
        self,
        parts: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint64], NDArray[np.uint64]]],
        sources: tuple[SourceInfo, ...],
    ) -> Manifest:
        source = np.full(self.total, MISSING, np.int32)
        offset, length = np.zeros(self.total, np.uint64), np.zeros(self.total, np.uint64)
        while parts:
            chunk, which, start, size = parts.pop(0)
            source[chunk], offset[chunk], length[chunk] = which, start, size
        if int((source != MISSING).sum()) != self.count:
            raise InvalidMetadata(self.where, "two references for one chunk")
        return ChunkManifest(self.grid_shape, sources, source, offset, length, None, self.inlined)
