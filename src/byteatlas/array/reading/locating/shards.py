"""Inner chunks of shards, located like any other chunk (Zarr v3, sharding codec, "Binary shard format").

A shard's index is fetched once and kept (a bounded number of bytes of them). With it every inner chunk becomes a byte
range of whatever holds the shard, so that planning, merging and decoding need not know of shards. Shards of shards
are locators around locators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.decoding.pipelines import check_encodings
from byteatlas.array.reading.fetching.fetch import fetch
from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.fetching.sources import WHOLE
from byteatlas.array.reading.locating.located import Located, Locator, sizes
from byteatlas.array.reading.locating.places import ChunkPlaces
from byteatlas.array.reading.locating.shard_index import (
    IndexCache,
    ShardIndex,
    check_layout,
    index_begin,
    index_in,
    parse_index,
)
from byteatlas.array.spaces import ChunkNumbers, Ints, Items, PlanRows, SourceNumbers
from byteatlas.codecs import Pipeline, ShardLayout
from byteatlas.manifest.model import INLINE, MISSING
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ChunkGrid, RegularGrid
from byteatlas.types import Buffer, Shape
from byteatlas.values import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class ShardGrid:
    """The grid of shards over an array, and the grid of inner chunks within them."""

    shape: Shape
    outer: ChunkGrid
    inner: RegularGrid

    def counts(self) -> Shape:
        """Shards along each axis."""
        return chunk_counts(self.shape, self.outer)

    def split(self, chunks: ChunkNumbers) -> tuple[ChunkNumbers, Ints]:
        """The shard of each inner chunk, and the inner chunk's place within the shard (C order)."""
        shard, local = np.zeros(len(chunks), np.int64), np.zeros(len(chunks), np.int64)
        if not self.shape:
            return ChunkNumbers(shard), local
        shards = self.counts()
        for axis, position in enumerate(np.unravel_index(chunks, chunk_counts(self.shape, self.inner))):
            number, within, per_shard = self._split_axis(axis, position)
            shard = shard * shards[axis] + number
            local = local * per_shard + within
        return ChunkNumbers(shard), local

    def _split_axis(self, axis: int, position: Ints) -> tuple[Ints, Ints, Any]:
        """Along one axis: the shard, the inner chunk within it, and how many inner chunks it has."""
        size = self.inner.chunk_shape[axis]
        begin = position * size
        if isinstance(self.outer, RegularGrid):
            length = self.outer.chunk_shape[axis]
            number = begin // length
            return number, (begin - number * length) // size, length // size
        bounds = boundaries(self.shape[axis], self.outer, axis)
        number = np.searchsorted(bounds[:-1], begin, "right") - 1
        return number, (begin - bounds[number]) // size, np.asarray(self.outer.edges[axis], np.int64)[number] // size


@dataclass(frozen=True, slots=True, eq=False)
class ShardLocator:
    """Locates inner chunks. ``shards`` locates the shards, ``pipeline_at`` gives the pipeline of each."""

    shards: Locator
    grid: ShardGrid
    pipeline_at: Callable[[int], Pipeline]
    options: ReadOptions
    _kept: IndexCache = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_kept", IndexCache(self.options.index_cache))

    def locate(self, chunks: ChunkNumbers) -> Located:
        shard, local = self.grid.split(chunks)
        unique, inverse = np.unique(shard, return_inverse=True)
        numbers = ChunkNumbers(unique)
        found = self.shards.locate(numbers)
        check_encodings(found.encoding, True)
        source = np.full(len(chunks), MISSING, np.int64)
        offset, length = np.zeros(len(chunks), np.int64), np.zeros(len(chunks), np.int64)
        order = np.argsort(inverse, kind="stable")
        edges = np.searchsorted(inverse[order], np.arange(len(numbers) + 1))
        for row, index in enumerate(self._indexes(numbers, found)):
            if index is None:
                continue
            at = order[int(edges[row]) : int(edges[row + 1])]
            begin = index.offset[local[at]]
            at, begin = at[begin >= 0], begin[begin >= 0]
            source[at] = found.source[row]
            offset[at] = int(found.offset[row]) + begin
            length[at] = index.length[local[at]]
        return Located(SourceNumbers(source), offset, length, None, found.sources)

    def inline(self, chunk: int) -> Buffer:
        shard, local = self.grid.split(ChunkNumbers(np.array([chunk], np.int64)))
        data = memoryview(self.shards.inline(int(shard[0])))
        index = index_in(self.layout(int(shard[0])), data)
        at = int(index.offset[int(local[0])])
        return data[at : at + int(index.length[int(local[0])])]

    def url(self, located: Located, row: int) -> str:
        return self.shards.url(located, row)

    def layout(self, shard: int) -> ShardLayout:
        """How a shard is laid out."""
        return check_layout(self.pipeline_at(shard).shard)

    # --- indexes

    def _indexes(self, numbers: ChunkNumbers, found: Located) -> list[ShardIndex | None]:
        """The index of each shard; None for one that does not exist."""
        known = [self._kept.get(number) for number in numbers.tolist()]
        need = np.array([index is None for index in known], bool)
        places = ChunkPlaces(None, self.grid.counts(), self.shards, numbers, found)
        for row in np.flatnonzero(need & (found.source == INLINE)).tolist():
            shard = int(numbers[row])
            with places.about(row):
                known[row] = index_in(self.layout(shard), memoryview(self.shards.inline(shard)))
        stored = PlanRows(np.flatnonzero(need & (found.source >= 0)))
        if len(stored):
            self._fetch(stored, places, known)
        return known

    def _fetch(self, rows: PlanRows, places: ChunkPlaces, known: list[ShardIndex | None]) -> None:
        found = places.located
        size = sizes(found, rows, self.options)
        rows, size = PlanRows(rows[size >= 0]), size[size >= 0]
        layouts = [self.layout(number) for number in places.chunks[rows].tolist()]
        begin = np.zeros(len(rows), np.int64)
        for k, layout in enumerate(layouts):
            with places.about(int(rows[k])):
                begin[k] = index_begin(layout, int(size[k]))
        nbytes = np.array([layout.index_nbytes for layout in layouts], np.int64)
        receiver = _IndexReceiver(places, rows, layouts, size, known)
        fetch(found.parts(rows, found.offset[rows] + begin, nbytes), receiver, self.options)
        # A shard that is a local file of a store may be written again at any time, and its index costs a system call.
        fixed = (found.length[rows] != WHOLE) | ~found.sources.local(SourceNumbers(found.source[rows]))
        for row in rows[fixed].tolist():
            index = known[row]
            if index is not None:
                self._kept.keep(int(places.chunks[row]), index)


@dataclass(frozen=True, slots=True, eq=False)
class _IndexReceiver:
    """Takes the encoded indexes of some shards, which are ``rows`` of ``known``."""

    places: ChunkPlaces
    rows: PlanRows
    layouts: Sequence[ShardLayout]
    size: Ints
    known: list[ShardIndex | None]

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        for item, data in zip(items.tolist(), fetched, strict=True):
            row = int(self.rows[item])
            with self.places.about(row):
                self.known[row] = parse_index(self.layouts[item], data, int(self.size[item]))
