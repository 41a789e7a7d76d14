"""Indexes of shards: read, checked, kept (Zarr v3, sharding codec, "Binary shard format")."""

from __future__ import annotations

import threading
from collections import OrderedDict

import numpy as np

from byteatlas.array.spaces import Ints
from byteatlas.codecs import ShardLayout
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.types import Buffer
from byteatlas.values import dataclass, field

EMPTY = np.uint64(2**64 - 1)
MOST_INDEX = 1 << 30
"""The largest shard index that is read, in bytes."""
OVERHEAD = 256
"""Bytes that keeping an index takes beside its columns, about."""


@dataclass(frozen=True, slots=True, eq=False)
class ShardIndex:
    """Where the inner chunks of one shard lie, relative to the shard's beginning. ``offset`` -1: empty."""

    offset: Ints
    length: Ints

    @property
    def nbytes(self) -> int:
        """What keeping it takes."""
        return self.offset.nbytes + self.length.nbytes + OVERHEAD


def check_layout(layout: ShardLayout | None) -> ShardLayout:
    """The layout of a pipeline that is known to be a shard's. Raises `Unsupported` for an absurdly large index."""
    assert layout is not None
    if layout.index_nbytes > MOST_INDEX:
        raise Unsupported("too-large", f"a shard index of {layout.index_nbytes} bytes")
    return layout


def index_begin(layout: ShardLayout, size: int) -> int:
    """Where in a shard of this size its index begins. Raises `CorruptChunk` for a shard that cannot hold one."""
    if layout.index_nbytes > size:
        raise CorruptChunk(f"{size} bytes cannot hold a shard index of {layout.index_nbytes}")
    return 0 if layout.index_location == "start" else size - layout.index_nbytes


def index_in(layout: ShardLayout, shard: memoryview) -> ShardIndex:
    """The index of a shard that is in memory."""
    begin = index_begin(layout, len(shard))
    return parse_index(layout, shard[begin : begin + layout.index_nbytes], len(shard))


def parse_index(layout: ShardLayout, data: Buffer, size: int) -> ShardIndex:
    """A shard index from its encoded bytes; every entry is checked to lie within ``size`` bytes.

    Raises `CorruptChunk`.
    """
    table = layout.decode_index(data)
    offset, length = table[:, 0], table[:, 1]
    empty = (offset == EMPTY) & (length == EMPTY)
    limit = np.uint64(size)
    inside = (offset <= limit) & (length <= limit - np.minimum(offset, limit))
    if not bool((empty | inside).all()):
        bad = int(np.flatnonzero(~(empty | inside))[0])
        raise CorruptChunk(f"inner chunk {bad} at {offset[bad]}+{length[bad]} lies outside of the shard ({size} bytes)")
    return ShardIndex(np.where(empty, 0, offset).astype(np.int64) - empty, np.where(empty, 0, length).astype(np.int64))


@dataclass(slots=True)
class IndexCache:
    """Indexes by shard, the least recently used ones dropped beyond ``most`` bytes. Safe to use from many threads."""

    most: int
    _kept: OrderedDict[int, ShardIndex] = field(default_factory=OrderedDict)
    _nbytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, shard: int) -> ShardIndex | None:
        with self._lock:
            found = self._kept.get(shard)
            if found is not None:
                self._kept.move_to_end(shard)
            return found

    def keep(self, shard: int, index: ShardIndex) -> None:
        with self._lock:
            if shard in self._kept or index.nbytes > self.most:
                return
            self._kept[shard] = index
            self._nbytes += index.nbytes
            while self._nbytes > self.most:
                _, dropped = self._kept.popitem(last=False)
                self._nbytes -= dropped.nbytes
