"""Inner chunks of shards, located like any other chunk (Zarr v3, sharding codec, "Binary shard format").

A shard's index is fetched once and kept (a bounded number of bytes of them). With it every inner chunk becomes a byte
range of whatever holds the shard, so that planning, merging and decoding need not know of shards. Shards of shards
are locators around locators.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetch import WHOLE, Wanted, fetch
from byteatlas.array.reading.locate import INLINE, MISSING, Located, Locator, sizes
from byteatlas.array.reading.pipelines import check_encodings
from byteatlas.array.reading.pool import Scratch
from byteatlas.codecs import Pipeline, ShardLayout
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ChunkGrid, RegularGrid
from byteatlas.types import Buffer, Shape

Ints = NDArray[np.int64]
EMPTY = np.uint64(2**64 - 1)
MOST_INDEX = 1 << 30
"""The largest shard index that is read, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class ShardIndex:
    """Where the inner chunks of one shard lie, relative to the shard's beginning. ``offset`` -1: empty."""

    offset: Ints
    length: Ints
    size: int


class ShardLocator:
    """Locates inner chunks. ``shards`` locates the shards; ``pipeline_at`` gives a shard's pipeline."""

    def __init__(
        self,
        shards: Locator,
        shape: Shape,
        grid: ChunkGrid,
        inner_shape: Shape,
        pipeline_at: Callable[[int], Pipeline],
        options: ReadOptions,
    ) -> None:
        self._shards, self._shape, self._outer, self._pipeline_at = shards, shape, grid, pipeline_at
        self._options = options
        self.grid = RegularGrid(inner_shape)
        self._counts = chunk_counts(shape, self.grid)
        self._outer_counts = chunk_counts(shape, grid)
        self._kept: OrderedDict[int, ShardIndex] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()

    def locate(self, chunks: Ints) -> Located:
        shard, local = self._split(chunks)
        numbers, inverse = np.unique(shard, return_inverse=True)
        found = self._shards.locate(numbers)
        check_encodings(found.encoding, True)
        indexes = self._indexes(numbers, found)
        source = np.full(len(chunks), MISSING, np.int64)
        offset, length = np.zeros(len(chunks), np.int64), np.zeros(len(chunks), np.int64)
        order = np.argsort(inverse, kind="stable")
        edges = np.searchsorted(inverse[order], np.arange(len(numbers) + 1))
        for k, index in enumerate(indexes):
            if index is None:
                continue
            rows = order[int(edges[k]) : int(edges[k + 1])]
            there = index.offset[local[rows]]
            rows, there = rows[there >= 0], there[there >= 0]
            source[rows] = found.source[k]
            offset[rows] = int(found.offset[k]) + there
            length[rows] = index.length[local[rows]]
        return Located(source, offset, length, None, found.sources)

    def inline(self, chunk: int) -> Buffer:
        shard, local = self._split(np.array([chunk], np.int64))
        number = int(shard[0])
        data = memoryview(self._shards.inline(number))
        index = self._decode(number, data, len(data))
        at = int(index.offset[int(local[0])])
        return data[at : at + int(index.length[int(local[0])])]

    def url(self, located: Located, row: int) -> str:
        return self._shards.url(located, row)

    def _split(self, chunks: Ints) -> tuple[Ints, Ints]:
        """The flat index of each inner chunk's shard, and its flat index within the shard."""
        shard, local = np.zeros(len(chunks), np.int64), np.zeros(len(chunks), np.int64)
        if not self._counts:
            return shard, local
        where = np.unravel_index(chunks, self._counts)
        for axis, position in enumerate(where):
            size = self.grid.chunk_shape[axis]
            begin = position * size
            if isinstance(self._outer, RegularGrid):
                outer = self._outer.chunk_shape[axis]
                number, first = begin // outer, begin // outer * outer
                per_shard: Any = outer // size
            else:
                bounds = boundaries(self._shape[axis], self._outer, axis)
                number = np.searchsorted(bounds[:-1], begin, "right") - 1
                first = bounds[number]
                per_shard = np.asarray(self._outer.edges[axis], np.int64)[number] // size
            shard = shard * self._outer_counts[axis] + number
            local = local * per_shard + (begin - first) // size
        return shard, local

    # --- indexes

    def _indexes(self, numbers: Ints, found: Located) -> list[ShardIndex | None]:
        """The index of each shard; None for one that does not exist."""
        known: list[ShardIndex | None] = [None] * len(numbers)
        need: list[int] = []
        with self._lock:
            for k, number in enumerate(numbers.tolist()):
                if int(found.source[k]) == MISSING:
                    continue
                kept = self._kept.get(number)
                if kept is None:
                    need.append(k)
                else:
                    self._kept.move_to_end(number)
                    known[k] = kept
        for k in list(need):
            if int(found.source[k]) == INLINE:
                data = memoryview(self._shards.inline(int(numbers[k])))
                known[k] = self._decode(int(numbers[k]), data, len(data))
                need.remove(k)
        if need:
            self._fetch(np.array(need, np.int64), numbers, found, known)
        return known

    def _fetch(self, need: Ints, numbers: Ints, found: Located, known: list[ShardIndex | None]) -> None:
        size = sizes(found, need, self._options)
        there = size >= 0
        need, size = need[there], size[there]
        layouts = [self.layout(int(numbers[k])) for k in need.tolist()]
        nbytes = np.array([layout.index_nbytes for layout in layouts], np.int64)
        for k, have, layout in zip(need.tolist(), size.tolist(), layouts, strict=True):
            if layout.index_nbytes > have:
                why = f"{have} bytes cannot hold a shard index of {layout.index_nbytes}"
                raise self.error(int(numbers[k]), found, k, why)
        at_start = np.array([layout.index_location == "start" for layout in layouts], bool)
        begin = found.offset[need] + np.where(at_start, 0, size - nbytes)
        sink = _Indexes(self, numbers, need, size, found, known)
        fetch(Wanted(found.source[need], begin, nbytes), found.sources, sink, self._options)
        # A shard that is a local file of a store may be written again at any time, and its index costs a system call.
        fixed = (found.length[need] != WHOLE) | ~found.sources.local(found.source[need])
        for k in need[fixed].tolist():
            self._keep(int(numbers[k]), known[k])

    def layout(self, number: int) -> ShardLayout:
        layout = self._pipeline_at(number).shard
        assert layout is not None
        if layout.index_nbytes > MOST_INDEX:
            raise Unsupported("too-large", f"a shard index of {layout.index_nbytes} bytes")
        return layout

    def _decode(self, number: int, data: memoryview, size: int) -> ShardIndex:
        """An inline shard's index."""
        layout = self.layout(number)
        n = layout.index_nbytes
        if n > size:
            raise CorruptChunk(f"{size} bytes cannot hold a shard index of {n}", chunk=self.position(number))
        return parse_index(layout, data[:n] if layout.index_location == "start" else data[size - n :], size)

    def _keep(self, number: int, index: ShardIndex | None) -> None:
        if index is None:
            return
        cost = index.offset.nbytes + index.length.nbytes + 256
        with self._lock:
            if number in self._kept or cost > self._options.index_cache:
                return
            self._kept[number] = index
            self._kept_bytes += cost
            while self._kept_bytes > self._options.index_cache:
                _, dropped = self._kept.popitem(last=False)
                self._kept_bytes -= dropped.offset.nbytes + dropped.length.nbytes + 256

    def position(self, number: int) -> tuple[int, ...]:
        counts = self._outer_counts
        return tuple(int(i) for i in np.unravel_index(number, counts)) if counts else ()

    def error(self, number: int, found: Located, row: int, why: str) -> CorruptChunk:
        return CorruptChunk(why, chunk=self.position(number), url=self._shards.url(found, row))


def parse_index(layout: ShardLayout, data: Buffer, size: int) -> ShardIndex:
    """A shard index from its encoded bytes; every entry is checked to lie within ``size`` bytes."""
    table = layout.decode_index(data)
    offset, length = table[:, 0], table[:, 1]
    empty = (offset == EMPTY) & (length == EMPTY)
    limit = np.uint64(size)
    inside = (offset <= limit) & (length <= limit - np.minimum(offset, limit))
    if not bool((empty | inside).all()):
        bad = int(np.flatnonzero(~(empty | inside))[0])
        raise CorruptChunk(f"inner chunk {bad} at {offset[bad]}+{length[bad]} lies outside of the shard ({size} bytes)")
    return ShardIndex(
        np.where(empty, 0, offset).astype(np.int64) - empty, np.where(empty, 0, length).astype(np.int64), size
    )


class _Indexes:
    """Receives the encoded indexes."""

    def __init__(
        self, owner: ShardLocator, numbers: Ints, need: Ints, size: Ints, found: Located, known: list[ShardIndex | None]
    ) -> None:
        self._owner, self._numbers, self._need, self._size = owner, numbers, need, size
        self._found, self._known = found, known

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start, length in zip(items.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            k = int(self._need[item])
            number = int(self._numbers[k])
            try:
                data = block[start : start + length]
                self._known[k] = parse_index(self._owner.layout(number), data, int(self._size[item]))
            except CorruptChunk as error:
                raise self._owner.error(number, self._found, k, error.why) from error

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        raise AssertionError("indexes are ranges")

    def missing(self, items: Ints) -> None:
        raise AssertionError("only shards that exist are asked for")

    def direct(self, item: int) -> memoryview | None:
        return None
