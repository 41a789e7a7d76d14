"""Manifests that come as a stream: a generator gives rows in order, a writer takes them once, nothing is kept.

For maps too large for memory: a hundred million references cost the writer one block at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, NotFound
from byteatlas.manifest.kinds.sparse import SourceTable
from byteatlas.manifest.model import INLINE, ChunkManifest, Rows, SourceInfo
from byteatlas.types import Shape
from byteatlas.values import dataclass, field


@dataclass(slots=True, eq=False)
class StreamedManifest:
    """Rows of all chunks in C order, from an iterator of blocks of any size.

    Attributes:
        blocks: each block's ``source`` column numbers sources of ``table``, which may grow with each block.
    """

    grid_shape: Shape
    blocks: Iterator[Rows]
    table: SourceTable
    _at: int = 0
    _held: list[Rows] = field(default_factory=list)

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far: ask for rows first."""
        return self.table.infos

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        """The next rows. Raises `BadRequest` unless exactly the next chunks are asked for, in order."""
        n = len(chunks)
        if n and (int(chunks[0]) != self._at or int(chunks[-1]) != self._at + n - 1):
            raise BadRequest(f"a stream gives chunk {self._at} next, not {int(chunks[0])}; load() it to look around")
        have = sum(len(b.source) for b in self._held)
        while have < n:
            block = next(self.blocks, None)
            if block is None:
                raise BadRequest(f"the stream ends after {self._at + have} of {math.prod(self.grid_shape)} chunks")
            self._held.append(block)
            have += len(block.source)
        joined = self._held[0] if len(self._held) == 1 else _joined(self._held)
        self._at += n
        self._held = [_slice(joined, n, have)] if have > n else []
        found = _slice(joined, 0, n)
        if bool((found.source == INLINE).any()):
            raise BadRequest("inline chunks cannot be streamed")
        return found

    def inline(self, chunk: int) -> bytes:
        raise NotFound(f"chunk {chunk} is not inline")

    def load(self) -> ChunkManifest:
        rows = self.rows(np.arange(math.prod(self.grid_shape), dtype=np.int64))
        return ChunkManifest(self.grid_shape, self.sources, rows.source, rows.offset, rows.length, rows.encoding)


def _slice(rows: Rows, begin: int, end: int) -> Rows:
    encoding = None if rows.encoding is None else rows.encoding[begin:end]
    return Rows(rows.source[begin:end], rows.offset[begin:end], rows.length[begin:end], encoding)


def _joined(parts: list[Rows]) -> Rows:
    encoding = None
    if any(p.encoding is not None for p in parts):
        columns = [np.zeros(len(p.source), np.uint16) if p.encoding is None else p.encoding for p in parts]
        encoding = np.concatenate(columns)
    return Rows(
        np.concatenate([p.source for p in parts]),
        np.concatenate([p.offset for p in parts]),
        np.concatenate([p.length for p in parts]),
        encoding,
    )
