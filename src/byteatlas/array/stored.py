"""Open native Zarr stores: version 1, 2 and 3."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Kind, Node
from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.fetch import WHOLE
from byteatlas.array.reading.locate import Located
from byteatlas.errors import FetchFailed, InvalidMetadata
from byteatlas.io.access import DEFAULT as ACCESS
from byteatlas.io.access import Access
from byteatlas.io.source import Source
from byteatlas.meta.grid import chunk_counts, chunk_shape_at
from byteatlas.meta.keys import chunk_key, chunk_keys
from byteatlas.meta.model import ArrayMeta, EncodingColumn, GroupMeta
from byteatlas.store.base import Store
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.nodes import Nodes, StoredArray
from byteatlas.store.open import open_as_store
from byteatlas.store.remote import RemoteStore
from byteatlas.store.zip import ZipStore
from byteatlas.types import Buffer, Shape

Ints = NDArray[np.int64]

SLACK = 16 << 20
"""Bytes that any chunk may have beyond a multiple of what it decodes to."""
ZIP_MEMBERS = 64
"""Members of a remote ZIP file asked for together."""


@dataclass(frozen=True, slots=True, eq=False)
class StoreLocator:
    """Chunks under keys. Each is a source of its own, numbered by its flat index; a missing key is a missing chunk."""

    store: Store
    path: str
    meta: ArrayMeta
    counts: Shape
    column: EncodingColumn | None
    most: int | None

    @staticmethod
    def of(store: Store, path: str, stored: StoredArray) -> StoreLocator:
        meta = stored.meta
        counts = chunk_counts(meta.shape, meta.grid)
        most = None
        if not meta.data_type.numpy.hasobject and 0 not in counts:
            # Encoded chunks are rarely larger than decoded ones, and never by this much.
            largest = chunk_shape_at(meta.grid, (0,) * meta.ndim) if meta.ndim else ()
            most = 16 * math.prod(largest) * meta.data_type.numpy.itemsize + SLACK
        if stored.column is not None and len(stored.column) != math.prod(counts):
            raise InvalidMetadata(path, f"{len(stored.column)} encodings for {math.prod(counts)} chunks")
        return StoreLocator(store, path, meta, counts, stored.column, most)

    def locate(self, chunks: Ints) -> Located:
        zeros = np.zeros(len(chunks), np.int64)
        encoding = None if self.column is None else self.column[chunks]
        return Located(chunks, zeros, np.full(len(chunks), WHOLE, np.int64), encoding, self)

    def inline(self, chunk: int) -> Buffer:
        raise InvalidMetadata(self.path, f"chunk {chunk} is not inline")

    def url(self, located: Located, row: int) -> str:
        return f"{self.store.url}/{self.key(int(located.source[row]))}"

    def key(self, chunk: int) -> str:
        index: list[int] = []
        for n in reversed(self.counts):
            chunk, last = divmod(chunk, n)
            index.append(last)
        key = chunk_key(self.meta.keys, tuple(reversed(index)))
        return f"{self.path}/{key}" if self.path else key

    # --- as sources

    def local(self, numbers: Ints) -> NDArray[np.bool_]:
        return np.full(len(numbers), self.store.local)

    def open(self, source: int) -> Source:
        if isinstance(self.store, RemoteStore):  # `size` was asked before: the key exists
            return self.store.unchecked(self.key(source))
        found = self.store.source(self.key(source))
        if found is None:
            raise FetchFailed(f"{self.store.url}/{self.key(source)}", "was there a moment ago and is no more")
        return found

    def size(self, source: int) -> int | None:
        found = self.store.source(self.key(source))
        return None if found is None else found.size()

    @property
    def at_once(self) -> int:
        return ZIP_MEMBERS if isinstance(self.store, ZipStore) else 1

    def whole(self, numbers: Ints) -> list[Buffer | None]:
        base = f"{self.path}/" if self.path else ""
        keys = [base + key for key in chunk_keys(self.meta.keys, self.counts, numbers)]
        match self.store:
            case DirectoryStore():
                guess = 4096 if self.most is None else min((self.most - SLACK) // 16 + 256, 64 << 10)
                return self.store.get_many(keys, self.most, guess)
            case ZipStore():
                return self.store.get_many(keys, self.most)
        return [self.store.get(key, self.most) for key in keys]

    def whole_into(self, number: int, memory: Callable[[int], memoryview]) -> Buffer | None:
        if isinstance(self.store, DirectoryStore):
            return self.store.get_into(self.key(number), memory, self.most)
        return self.store.get(self.key(number), self.most)


@dataclass(frozen=True, slots=True, eq=False)
class StoredHierarchy:
    """The members of a stored hierarchy."""

    nodes: Nodes
    options: ReadOptions = DEFAULT
    registry: Mapping[str, Any] | None = None

    def members(self, path: str) -> Mapping[str, Kind]:
        return self.nodes.children(path)

    def open(self, path: str, *, strict: bool = True) -> Node:
        found = self.nodes.read(path)
        if isinstance(found, GroupMeta):
            return Group(found, self, path)
        locator = StoreLocator.of(self.nodes.store, path, found)
        return Array(found.meta, locator, path, self.options, self.registry, strict=strict)


def open_store(
    target: str | os.PathLike[str] | Mapping[str, Buffer] | Store,
    path: str = "",
    *,
    access: Access = ACCESS,
    consolidated: bool | None = None,
    options: ReadOptions = DEFAULT,
    registry: Mapping[str, Any] | None = None,
) -> Node:
    """A native Zarr hierarchy as something to read from.

    Args:
        target: a directory, a ZIP file, any fsspec URL, a mapping of keys to bytes, or a store.
        path: open this member instead of the root.
        consolidated: True = only with consolidated metadata, False = without, None = where it is there.

    Raises:
        NotFound: there is no Zarr, or no such member. FetchFailed: the storage cannot be reached.
        InvalidMetadata, Unsupported: its metadata breaks the specification, or needs what we do not have.
    """
    nodes = Nodes(open_as_store(target, access), consolidated=consolidated)
    return StoredHierarchy(nodes, options, registry).open(path.strip("/"))
