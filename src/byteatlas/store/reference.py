"""A reference map as a store: metadata documents and chunk bytes under Zarr's keys, fetched from where they lie.

A key that the map does not have, or a chunk that was never written, is missing; a chunk that cannot be fetched is an
error (`FetchFailed`), never a missing one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.layers import Coalescing
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.parts import SourceWindow
from byteatlas.io.stamp import Check
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, SourceInfo, VirtualNode
from byteatlas.manifest.tree import WrittenArray, node_documents
from byteatlas.meta.keys import chunk_keys, parse_key
from byteatlas.store.base import check_size
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

LISTED = 1 << 16
"""Chunk keys made at once when all keys are listed."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Bytes ``[start, stop)`` of a key's value; ``stop`` None: to its end. A negative start counts from the end."""

    key: str
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class _ChunkPlace:
    """Where a chunk lies; ``length`` None: the whole file."""

    source: SourceInfo
    offset: int
    length: int | None


class ReferenceStore:
    """The keys of a virtual tree, read-only."""

    __slots__ = ("_arrays", "_check", "_documents", "_opener", "_tree", "_url")

    def __init__(
        self, node: VirtualNode, opener: Opener, url: str = "references:", *, check: Check | None = None
    ) -> None:
        documents, arrays = node_documents(node)
        self._opener, self._url, self._check = opener, url, check
        self._documents = {key: json.dumps(value).encode() for key, value in documents.items()}
        self._arrays: Mapping[str, WrittenArray] = {a.path: a for a in arrays}
        self._tree: dict[str, dict[str, None]] = {}
        for key in documents:
            while key:
                folder, _, name = key.rpartition("/")
                self._tree.setdefault(folder, {})[name] = None
                key = folder

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return False

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        data = self.get_many([KeyRange(key)])[0]
        if data is not None:
            check_size(f"{self._url}{key}", len(data), most)
        return data

    def get_many(self, asks: Sequence[KeyRange]) -> list[Buffer | None]:
        """Many values, or parts of them, in order; requests to one file are merged."""
        out: list[Buffer | None] = [None] * len(asks)
        by_source: dict[SourceInfo, list[tuple[int, ByteRange]]] = {}
        for i, ask in enumerate(asks):
            found = self._find(ask.key)
            match found:
                case None:
                    continue
                case _ChunkPlace(info, offset, length):
                    size = opened(self._opener, info, self._check).size() if length is None else length
                    start, stop = _bounds(ask, size)
                    by_source.setdefault(info, []).append((i, ByteRange(offset + start, stop - start)))
                case data:
                    start, stop = _bounds(ask, len(data))
                    out[i] = memoryview(data)[start:stop]
        for info, rows in by_source.items():
            source = Coalescing(opened(self._opener, info, self._check))
            for (i, _), data in zip(rows, source.read([where for _, where in rows]), strict=True):
                out[i] = data
        return out

    def source(self, key: str) -> Source | None:
        match self._find(key):
            case None:
                return None
            case _ChunkPlace(info, offset, length):
                inner = opened(self._opener, info, self._check)
                return inner if length is None else SourceWindow(inner, offset, length, f"{info.url} [{key}]")
            case data:
                return MemorySource(data, f"{self._url}{key}")

    def names(self, prefix: str) -> Sequence[str]:
        """Nodes and documents, and the first segments of the chunk keys that exist."""
        known = dict(self._tree.get(prefix, {}))
        array, below = self._array_of(prefix)
        if array is not None:
            start = f"{below}/" if below else ""
            for key in self._chunk_keys(array):
                if key.startswith(start):
                    known[key[len(start) :].partition("/")[0]] = None
        return sorted(known)

    def exists(self, key: str) -> bool:
        return self._find(key) is not None

    def list_keys(self, prefix: str = "") -> Iterator[str]:
        """All keys that have a value and begin with a prefix: documents first, then chunks array by array."""
        yield from (k for k in self._documents if k.startswith(prefix))
        for path, array in self._arrays.items():
            base = f"{path}/" if path else ""
            if base.startswith(prefix):
                yield from (base + k for k in self._chunk_keys(array))
            elif prefix.startswith(base):
                yield from (base + k for k in self._chunk_keys(array) if (base + k).startswith(prefix))

    def _chunk_keys(self, array: WrittenArray) -> Iterator[str]:
        counts = array.manifest.grid_shape
        total = int(np.prod(counts, dtype=object)) if counts else 1
        for begin in range(0, total, LISTED):
            chunks = np.arange(begin, min(begin + LISTED, total), dtype=np.int64)
            there = array.manifest.rows(chunks).source != MISSING
            yield from chunk_keys(array.meta.keys, counts, chunks[there])

    def _array_of(self, path: str) -> tuple[WrittenArray | None, str]:
        """The array that a key or prefix belongs to, and what is left of it."""
        head, rest = path, ""
        while True:
            if head in self._arrays:
                return self._arrays[head], rest
            if not head:
                return None, path
            head, _, name = head.rpartition("/")
            rest = f"{name}/{rest}" if rest else name

    def _find(self, key: str) -> _ChunkPlace | Buffer | None:
        document = self._documents.get(key)
        if document is not None:
            return document
        array, tail = self._array_of(key)
        if array is None:
            return None
        counts = array.manifest.grid_shape
        index = parse_key(array.meta.keys, tail, len(counts))
        if index is None or any(i >= n for i, n in zip(index, counts, strict=True)):
            return None
        chunk = int(np.ravel_multi_index(index, counts)) if counts else 0
        row = array.manifest.rows(np.array([chunk], np.int64))
        where = int(row.source[0])
        if where == MISSING:
            return None
        if where == INLINE:
            return array.manifest.inline(chunk)
        whole = bool(row.length[0] == WHOLE)
        return _ChunkPlace(array.manifest.sources[where], int(row.offset[0]), None if whole else int(row.length[0]))


def _bounds(ask: KeyRange, size: int) -> tuple[int, int]:
    """The part of a value that is asked for, cut to the value."""
    start = max(size + ask.start, 0) if ask.start < 0 else min(ask.start, size)
    stop = size if ask.stop is None else min(ask.stop, size)
    return start, max(start, stop)
