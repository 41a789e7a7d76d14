"""Manifests one after the other that are not all in memory: rows are asked of the manifest that has them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import NotFound
from byteatlas.manifest.columns import concatenated_manifests
from byteatlas.manifest.kinds.recent import RecentlyRead
from byteatlas.manifest.merged_sources import MergedSources
from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo, unpickled
from byteatlas.types import Shape


class SegmentedManifest:
    """The concatenation of manifests along the first axis of their grids.

    The segments may read their rows on demand, and then learn of their sources only while doing so; the merged table
    of sources grows with them. Safe to use from many threads.

    Args:
        recent: which segments keep what they read: one for all variables that read from the same maps.
    """

    __slots__ = ("_grid_shape", "_lock", "_numbers", "_recent", "_table", "segments", "starts")

    def __init__(self, grid_shape: Shape, segments: Sequence[Manifest], recent: RecentlyRead | None = None) -> None:
        sizes = [int(np.prod(s.grid_shape, dtype=np.int64)) for s in segments]
        self._grid_shape = grid_shape
        self.segments = tuple(segments)
        self.starts = np.array([0, *accumulate(sizes)], np.int64)
        self._table = MergedSources()
        self._numbers: list[NDArray[np.int32]] = [np.zeros(0, np.int32) for _ in segments]
        self._lock = threading.Lock()
        self._recent = recent or RecentlyRead()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.load(),)

    @property
    def grid_shape(self) -> Shape:
        return self._grid_shape

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far (all of them, where segments know theirs)."""
        for i in range(len(self.segments)):
            self._renumber(i)
        return tuple(self._table.sources)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        n = len(chunks)
        if n and (int(chunks.min()) < 0 or int(chunks.max()) >= int(self.starts[-1])):
            raise NotFound(f"a chunk outside of the grid {self._grid_shape}")
        if n:
            first, last = (np.searchsorted(self.starts, [chunks.min(), chunks.max()], side="right") - 1).tolist()
            if first == last:
                return self._segment_rows(first, chunks - self.starts[first])
        which = np.searchsorted(self.starts, chunks, side="right") - 1
        source, encoding = np.empty(n, np.int32), np.zeros(n, np.uint16)
        offset, length = np.empty(n, np.uint64), np.empty(n, np.uint64)
        for i in np.unique(which).tolist():
            mine = np.flatnonzero(which == i)
            part = self._segment_rows(i, chunks[mine] - self.starts[i])
            source[mine], offset[mine], length[mine] = part.source, part.offset, part.length
            if part.encoding is not None:
                encoding[mine] = part.encoding
        return Rows(source, offset, length, encoding if encoding.any() else None)

    def _segment_rows(self, i: int, chunks: NDArray[np.int64]) -> Rows:
        part = self.segments[i].rows(chunks)
        self._recent.read(self.segments[i])
        numbers = self._renumber(i)
        if len(part.source) and int(part.source.min()) >= 0:
            return Rows(numbers[part.source], part.offset, part.length, part.encoding)
        present = part.source >= 0
        source = part.source.copy()
        source[present] = numbers[part.source[present]]
        return Rows(source, part.offset, part.length, part.encoding)

    def _renumber(self, i: int) -> NDArray[np.int32]:
        """The numbers, in the merged table, of a segment's sources."""
        sources = self.segments[i].sources
        if len(self._numbers[i]) < len(sources):
            with self._lock:
                known = self._numbers[i].tolist()
                known += [self._table.place(s) for s in sources[len(known) :]]
                self._numbers[i] = np.array(known, np.int32)
        return self._numbers[i]

    def inline(self, chunk: int) -> bytes:
        i = int(np.searchsorted(self.starts, chunk, side="right")) - 1
        if not 0 <= i < len(self.segments):
            raise NotFound(f"a chunk outside of the grid {self._grid_shape}")
        return self.segments[i].inline(chunk - int(self.starts[i]))

    def load(self) -> ChunkManifest:
        return concatenated_manifests(self._grid_shape, [self._loaded(s) for s in self.segments])

    def _loaded(self, segment: Manifest) -> ChunkManifest:
        found = segment.load()
        self._recent.read(segment)
        return found
