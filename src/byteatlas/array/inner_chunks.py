"""Shards of virtual arrays as their inner chunks: one reference each, from the indexes (v3 core, "Sharding codec")."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.locating.manifest import ManifestLocator, ManifestSources
from byteatlas.array.reading.locating.places import raise_of_array
from byteatlas.array.reading.opening import open_chunks
from byteatlas.array.spaces import ChunkNumbers
from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.io.source import Opener
from byteatlas.manifest.kinds.sparse import Collector, writable_total
from byteatlas.manifest.model import INLINE, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, CodecSpec, RegularGrid
from byteatlas.meta.parts import codecs_of
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace

AT_ONCE = 1 << 18
"""Inner chunks that are looked up together."""
SHARDING = "sharding_indexed"


def inner_chunks(node: VirtualNode, opener: Opener, options: ReadOptions = DEFAULT, path: str = "") -> VirtualNode:
    """The tree with each sharded array as one of plain chunks, which lie within the shards; shards of shards too.

    Only the indexes of shards are read, some at a time; their checksums are compared. An inner chunk that a shard does
    not have is missing, as the whole of a missing shard is.

    Raises:
        FetchFailed: an index cannot be read.
        CorruptChunk: an index that is damaged, or leads out of its shard.
        Unsupported: shards whose inner chunks cannot be told apart by ranges, since codecs follow the sharding.
    """
    if isinstance(node, VirtualArray):
        return _array(node, opener, options, path)
    base = f"{path}/" if path else ""
    arrays = {name: _array(array, opener, options, base + name) for name, array in node.arrays.items()}
    groups: dict[str, VirtualGroup] = {}
    for name, group in node.groups.items():
        inner = inner_chunks(group, opener, options, base + name)
        assert isinstance(inner, VirtualGroup)
        groups[name] = inner
    return replace(node, arrays=arrays, groups=groups)


def _array(array: VirtualArray, opener: Opener, options: ReadOptions, path: str) -> VirtualArray:
    meta = array.meta
    if not any(spec.name == SHARDING for encoding in meta.encodings for spec in encoding.codecs):
        return array
    if len(meta.encodings) > 1 or len(meta.encodings[0].codecs) > 1 or not isinstance(meta.grid, RegularGrid):
        raise Unsupported("layout", "its inner chunks are no ranges of its shards: codecs or grids beside them", path)
    found = open_chunks(meta, ManifestLocator(array.manifest, opener, options.check), path, options, None)
    inner = _inner_meta(meta)
    assert isinstance(inner.grid, RegularGrid)
    shards = _Shards(meta.shape, meta.grid.chunk_shape, inner.grid.chunk_shape)
    collector = Collector(chunk_counts(meta.shape, inner.grid), path or "/")
    writable_total(collector.grid_shape)
    for numbers in shards.blocks():
        try:
            located = found.locator.locate(numbers)
        except ByteatlasError as error:
            raise_of_array(error, path)
        assert isinstance(located.sources, ManifestSources)
        there = located.source >= 0
        collector.add(
            numbers[there],
            located.source[there].astype(np.int32),
            located.offset[there].astype(np.uint64),
            located.length[there].astype(np.uint64),
        )
        for number in numbers[located.source == INLINE].tolist():
            collector.add_inline(number, bytes(found.locator.inline(number)))
    return VirtualArray(inner, collector.finish(array.manifest.sources))


def _inner_meta(meta: ArrayMeta) -> ArrayMeta:
    """The metadata of the innermost chunks as an array's own."""
    encoding = meta.encodings[0]
    codecs, chunks = encoding.codecs, None
    while len(codecs) == 1 and codecs[0].name == SHARDING:
        codecs, chunks = _of_shard(codecs[0])
    assert chunks is not None
    return replace(meta, grid=RegularGrid(chunks), encodings=(replace(encoding, codecs=codecs),))


def _of_shard(spec: CodecSpec) -> tuple[tuple[CodecSpec, ...], Shape]:
    chunks = spec.configuration["chunk_shape"]
    assert isinstance(chunks, (list, tuple))
    return codecs_of(spec.configuration["codecs"], "codecs"), tuple(int(n) for n in chunks if isinstance(n, int))


@dataclass(frozen=True, slots=True)
class _Shards:
    """Shards over an array, and the inner chunks within them."""

    shape: Shape
    outer: Shape
    inner: Shape

    def blocks(self) -> Iterator[ChunkNumbers]:
        """All inner chunks, shard by shard, some shards at a time: each index is needed once."""
        counts = chunk_counts(self.shape, RegularGrid(self.outer))
        total, step = math.prod(counts), max(1, AT_ONCE // max(1, math.prod(self._of_one())))
        for begin in range(0, total, step):
            yield self._within(np.arange(begin, min(begin + step, total), dtype=np.int64), counts)

    def _of_one(self) -> Shape:
        """Inner chunks of a shard along each axis, as far as the array reaches: a shard may be much larger than it."""
        grid = chunk_counts(self.shape, RegularGrid(self.inner))
        return tuple([min(o // i, n) for o, i, n in zip(self.outer, self.inner, grid, strict=True)])

    def _within(self, shards: NDArray[np.int64], counts: Shape) -> ChunkNumbers:
        if not self.shape:
            return ChunkNumbers(shards)
        per_shard = tuple(o // i for o, i in zip(self.outer, self.inner, strict=True))
        grid = chunk_counts(self.shape, RegularGrid(self.inner))
        local = np.unravel_index(np.arange(math.prod(self._of_one())), self._of_one())
        flat = np.zeros((len(shards), len(local[0])), np.int64)
        inside = np.ones(flat.shape, np.bool_)
        for position, within, n, count in zip(np.unravel_index(shards, counts), local, per_shard, grid, strict=True):
            at = position[:, None] * n + within[None, :]
            inside &= at < count
            flat = flat * count + np.minimum(at, count - 1)
        return ChunkNumbers(flat[inside])
