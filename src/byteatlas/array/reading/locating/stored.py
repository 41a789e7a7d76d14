"""Chunks under keys of a store."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.fetching.sources import WHOLE, Memory
from byteatlas.array.reading.locating.located import Located
from byteatlas.array.spaces import ChunkNumbers, SourceNumbers
from byteatlas.errors import FetchFailed, InvalidMetadata
from byteatlas.io.source import Source
from byteatlas.meta.grid import chunk_counts, chunk_shape_at
from byteatlas.meta.keys import chunk_key, chunk_keys
from byteatlas.meta.model import ArrayMeta, EncodingColumn
from byteatlas.store.base import GetsInto, GetsMany, Store, gets_into, gets_many
from byteatlas.store.nodes import StoredArray
from byteatlas.store.remote import RemoteStore
from byteatlas.types import Buffer, Shape
from byteatlas.values import dataclass, field

SLACK = 16 << 20
"""Bytes that any chunk may have beyond a multiple of what it decodes to."""
PAGE = 4096
"""Bytes asked for first of a small file whose size is not known."""


@dataclass(frozen=True, slots=True, eq=False)
class KeySources:
    """The chunks of one stored array as sources, by their chunk numbers. A missing key is a missing chunk.

    Attributes:
        most: bytes beyond which no chunk is read; None where chunks have no fixed size.
        many, into: the store, where it can do these; else None.
    """

    store: Store
    path: str
    meta: ArrayMeta
    counts: Shape
    most: int | None
    many: GetsMany | None = field(init=False)
    into: GetsInto | None = field(init=False)

    def __post_init__(self) -> None:
        # Asked here once: asking costs as much as reading a small chunk.
        object.__setattr__(self, "many", self.store if gets_many(self.store) else None)
        object.__setattr__(self, "into", self.store if gets_into(self.store) else None)

    def key(self, number: int) -> str:
        """The key of a chunk."""
        index: list[int] = []
        for n in reversed(self.counts):
            number, last = divmod(number, n)
            index.append(last)
        return self.key_at(tuple(reversed(index)))

    def key_at(self, index: tuple[int, ...]) -> str:
        """The key of the chunk at a place of the grid."""
        key = chunk_key(self.meta.keys, index)
        return f"{self.path}/{key}" if self.path else key

    def local(self, numbers: SourceNumbers) -> NDArray[np.bool_]:
        return np.full(len(numbers), self.store.local)

    def open(self, number: int) -> Source:
        if isinstance(self.store, RemoteStore):  # its size was asked for before: the key exists
            return self.store.unchecked(self.key(number))
        found = self.store.source(self.key(number))
        if found is None:
            raise FetchFailed(f"{self.store.url}/{self.key(number)}", "was there a moment ago and is no more")
        return found

    def size(self, number: int) -> int | None:
        found = self.store.source(self.key(number))
        return None if found is None else found.size()

    def at_once(self) -> int:
        return 1 if self.many is None else self.many.at_once

    def get_many(self, numbers: SourceNumbers) -> list[Buffer | None]:
        base = f"{self.path}/" if self.path else ""
        keys = [base + key for key in chunk_keys(self.meta.keys, self.counts, numbers)]
        if self.many is not None:
            usual = PAGE if self.most is None else min((self.most - SLACK) // 16 + 256, 64 << 10)
            return self.many.get_many(keys, self.most, usual)
        return [self.store.get(key, self.most) for key in keys]

    def get_into(self, number: int, memory: Memory) -> Buffer | None:
        if self.into is not None:
            return self.into.get_into(self.key(number), memory, self.most)
        return self.store.get(self.key(number), self.most)


@dataclass(frozen=True, slots=True, eq=False)
class StoreLocator:
    """Every chunk is a source of its own, all of it. ``column``: which encoding each chunk has (None: the first)."""

    sources: KeySources
    column: EncodingColumn | None

    @staticmethod
    def of(store: Store, path: str, stored: StoredArray) -> StoreLocator:
        """Raises `InvalidMetadata` for a column that does not fit the grid."""
        meta = stored.meta
        counts = chunk_counts(meta.shape, meta.grid)
        most = None
        if not meta.data_type.numpy.hasobject and 0 not in counts:
            # Encoded chunks are rarely larger than decoded ones, and never by this much.
            largest = chunk_shape_at(meta.grid, (0,) * meta.ndim) if meta.ndim else ()
            most = 16 * math.prod(largest) * meta.data_type.numpy.itemsize + SLACK
        if stored.column is not None and len(stored.column) != math.prod(counts):
            raise InvalidMetadata(path, f"{len(stored.column)} encodings for {math.prod(counts)} chunks")
        return StoreLocator(KeySources(store, path, meta, counts, most), stored.column)

    def locate(self, chunks: ChunkNumbers) -> Located:
        zeros = np.zeros(len(chunks), np.int64)
        encoding = None if self.column is None else self.column[chunks]
        return Located(SourceNumbers(chunks), zeros, np.full(len(chunks), WHOLE, np.int64), encoding, self.sources)

    def inline(self, chunk: int) -> Buffer:
        raise InvalidMetadata(self.sources.path, f"chunk {chunk} is not inline")

    def url(self, located: Located, row: int) -> str:
        return f"{self.sources.store.url}/{self.sources.key(int(located.source[row]))}"
