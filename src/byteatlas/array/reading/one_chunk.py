"""A strategy: what lies in one chunk of a local source is read without the columns that plans of many chunks have.

Whatever is unusual is left to the general way: other codecs, other storage, and all that is wrong, of which the general
way says where. So nothing is raised here. Benchmark: ``selections``, "one element" and "one inner chunk".
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.locating.located import Locator
from byteatlas.array.reading.locating.manifest import ManifestLocator
from byteatlas.array.reading.locating.shard_index import index_begin, parse_index
from byteatlas.array.reading.locating.shards import ShardLocator
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.array.reading.opening import ArrayChunks
from byteatlas.array.selection import AxisSelection, Pick, Stepped
from byteatlas.array.spaces import ChunkNumbers
from byteatlas.errors import ByteatlasError
from byteatlas.io.local import LocalSource
from byteatlas.manifest.model import MISSING
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import RegularGrid
from byteatlas.types import Buffer, ByteRange, Shape

LARGE = 4 << 20
"""Chunks that decode to more bytes gain nothing."""


class _Found(NamedTuple):
    """The bytes of a chunk; None: it was never written."""

    data: Buffer | None


Inside: TypeAlias = tuple[int | slice, ...]
"""What is selected of a chunk."""


def read_one(
    selection: tuple[AxisSelection, ...], result: NDArray[Any], array: ArrayChunks, options: ReadOptions
) -> bool:
    """Fill the result with a selection that lies in one chunk; False (and nothing is promised) for any other one."""
    grid, first = array.grid, array.pipelines.first
    if not isinstance(grid, RegularGrid) or first is None or first.raw is not None or not array.pipelines.single:
        return False
    nbytes = first.nbytes or 0
    if not 0 < nbytes <= LARGE or first.shape != grid.chunk_shape:
        return False
    if options.most_extra is not None and 3 * nbytes > options.most_extra:
        return False
    place = _place(selection, grid.chunk_shape)
    if place is None:
        return False
    index, inside = place
    try:
        found = _fetched(array.locator, index, array)
        if found is None:
            return False
        if found.data is None:
            result[...] = array.fill
        elif result.shape == first.shape and result.flags.c_contiguous:
            first.decode(found.data, result)
        else:
            result[...] = first.decode(found.data)[inside]
    except ByteatlasError:
        return False
    return True


def _place(selection: tuple[AxisSelection, ...], chunk_shape: Shape) -> tuple[tuple[int, ...], Inside] | None:
    """The one chunk that a selection touches, and what of it; None where it touches others too."""
    index: list[int] = []
    inside: list[int | slice] = []
    for axis, length in zip(selection, chunk_shape, strict=True):
        if type(axis) is Pick:
            number, at = divmod(axis.at, length)
            inside.append(at)
        elif type(axis) is Stepped and not axis.flip:
            number, at = divmod(axis.start, length)
            last = at + (axis.count - 1) * axis.step
            if last >= length:
                return None
            inside.append(slice(at, last + 1, axis.step))
        else:
            return None
        index.append(number)
    return tuple(index), tuple(inside)


def _fetched(locator: Locator, index: tuple[int, ...], array: ArrayChunks) -> _Found | None:
    """The bytes of the chunk at a place of the grid; None where they are to be had in the general way only."""
    match locator:
        case StoreLocator(sources, None) if sources.store.local:
            return _Found(sources.store.get(sources.key_at(index), sources.most))
        case ShardLocator(StoreLocator(sources, None)) if sources.store.local:
            return _inner(locator, index)
        case ManifestLocator():
            return _referenced(locator, _flat(index, chunk_counts(array.shape, array.grid)))
        case _:
            return None


def _flat(index: tuple[int, ...], counts: tuple[int, ...]) -> int:
    number = 0
    for i, n in zip(index, counts, strict=True):
        number = number * n + i
    return number


def _inner(locator: ShardLocator, index: tuple[int, ...]) -> _Found | None:
    """An inner chunk of a shard in a local store: the shard is opened once for its index and the chunk.

    The index is not kept: somebody may write the shard anew at any time, and it costs one system call.
    """
    outer, inner, shards = locator.grid.outer, locator.grid.inner.chunk_shape, locator.shards
    if not isinstance(outer, RegularGrid) or not isinstance(shards, StoreLocator):
        return None
    per_shard = tuple([n // c for n, c in zip(outer.chunk_shape, inner, strict=True)])
    place = tuple([i // n for i, n in zip(index, per_shard, strict=True)])
    layout = locator.layout(_flat(place, locator.grid.counts()))
    source = shards.sources.store.source(shards.sources.key_at(place))
    if source is None:
        return _Found(None)
    size = source.size()
    (head,) = source.read([ByteRange(index_begin(layout, size), layout.index_nbytes)])
    table = parse_index(layout, head, size)
    local = _flat(tuple([i % n for i, n in zip(index, per_shard, strict=True)]), per_shard)
    offset, length = int(table.offset[local]), int(table.length[local])
    return _Found(None if offset < 0 else source.read([ByteRange(offset, length)])[0])


def _referenced(locator: ManifestLocator, chunk: int) -> _Found | None:
    """A chunk that a manifest says is a range of a local file."""
    row = locator.locate(ChunkNumbers(np.array([chunk], np.int64)))
    source, offset, length = int(row.source[0]), int(row.offset[0]), int(row.length[0])
    if source == MISSING:
        return _Found(None)
    if source < 0 or length < 0 or row.encoding is not None:
        return None
    opened = row.sources.open(source)
    return _Found(opened.read([ByteRange(offset, length)])[0]) if isinstance(opened, LocalSource) else None
