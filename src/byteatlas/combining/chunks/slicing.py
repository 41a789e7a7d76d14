"""Parts of arrays along one axis, by references: whole chunks where borders allow, else parts of chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.common_borders import chunk_borders, full_edges, split_chunks
from byteatlas.manifest.kinds.window import window
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, Encoding, RectilinearGrid, RegularGrid
from byteatlas.values import replace

Span = tuple[int, int]
"""Positions ``start`` to ``stop`` (excluded)."""


def parts(array: VirtualArray, axis: int, spans: Sequence[Span]) -> list[VirtualArray]:
    """One array for each span of positions along an axis.

    A part that begins inside of a chunk refers to the bytes that are its own where the data are uncompressed, and else
    to the whole chunk, with the codec ``byteatlas.crop``. Raises `Unsupported` when that takes too many encodings.
    """
    meta = array.meta
    length = meta.shape[axis]
    if all(span == (0, length) for span in spans):
        return [array] * len(spans)
    borders = boundaries(length, meta.grid, axis)
    inside = np.setdiff1d(np.array([a for a, b in spans if b > a], np.int64), borders)
    if not inside.size:
        return many_whole(array, axis, borders, spans)
    step = raw_step(array, axis)
    if step is not None:
        return [byte_range(array, axis, span, step) for span in spans]
    own = chunk_borders(array, axis)
    fine = split_chunks(array, axis, own, np.union1d(own, inside))
    fine_borders = boundaries(length, fine.meta.grid, axis)
    split_at = set(inside.tolist())
    return [
        simplified(whole_chunks(fine, axis, fine_borders, (a, b)), axis)
        if a in split_at
        else whole_chunks(array, axis, borders, (a, b))
        for a, b in spans
    ]


def whole_chunks(array: VirtualArray, axis: int, borders: NDArray[np.int64], span: Span) -> VirtualArray:
    """A part that begins where a chunk begins; it may end inside of one."""
    start, stop = span
    meta = array.meta
    if (start, stop) == (0, meta.shape[axis]):
        return array
    first = int(np.searchsorted(borders[:-1], start))
    last = int(np.searchsorted(borders[:-1], stop)) if stop > start else first
    grid = meta.grid
    if isinstance(grid, RectilinearGrid):
        grid = RectilinearGrid(tuple(e[first:last] if i == axis else e for i, e in enumerate(grid.edges)))
    shape = tuple(stop - start if i == axis else n for i, n in enumerate(meta.shape))
    return VirtualArray(replace(meta, shape=shape, grid=grid), window(array.manifest, axis, first, last))


def many_whole(array: VirtualArray, axis: int, borders: NDArray[np.int64], spans: Sequence[Span]) -> list[VirtualArray]:
    """`whole_chunks` for each span; thousands of them in a regular grid share metadata and take slices of columns."""
    meta, m = array.meta, array.manifest
    if axis or not isinstance(meta.grid, RegularGrid) or not isinstance(m, ChunkManifest) or m.inlined:
        return [whole_chunks(array, axis, borders, span) for span in spans]
    chunk, layer, inner = meta.grid.chunk_shape[0], math.prod(m.grid_shape[1:]), m.grid_shape[1:]
    metas: dict[int, ArrayMeta] = {}
    result = []
    for start, stop in spans:
        n = stop - start
        own = metas.get(n)
        if own is None:
            own = metas[n] = replace(meta, shape=(n, *meta.shape[1:]))
        first = start // chunk
        count = -(-n // chunk)
        rows = slice(first * layer, (first + count) * layer)
        column = None if m.encoding is None else m.encoding[rows]
        part = ChunkManifest((count, *inner), m.sources, m.source[rows], m.offset[rows], m.length[rows], column)
        result.append(VirtualArray(own, part))
    return result


def simplified(array: VirtualArray, axis: int) -> VirtualArray:
    """A part of a finely cut array: only the encodings that it uses, and a regular grid where its chunks are even."""
    meta, m = array.meta, array.manifest.load()
    if m.encoding is not None:
        used, column = np.unique(m.encoding, return_inverse=True)
        encodings = tuple(meta.encodings[n] for n in used.tolist()) or meta.encodings[:1]
        m = replace(m, encoding=column.reshape(-1).astype(np.uint16) if len(encodings) > 1 else None)
        meta = replace(meta, encodings=encodings)
    edges = [full_edges(meta, i) for i in range(meta.ndim)]
    edges[axis] = clipped_edges(edges[axis], meta.shape[axis])
    if all(e and set(e[:-1]) <= {e[0]} and e[-1] <= e[0] for e in edges):
        meta = replace(meta, grid=RegularGrid(tuple(e[0] for e in edges)))
    return VirtualArray(meta, m)


def clipped_edges(edges: Sequence[int], length: int) -> tuple[int, ...]:
    """Chunk lengths of which the last one ends with the array."""
    return (*edges[:-1], length - sum(edges[:-1])) if edges else ()


def raw_step(array: VirtualArray, axis: int) -> int | None:
    """Bytes per position along an axis that is one chunk of uncompressed elements, outermost in memory; else None."""
    meta, m = array.meta, array.manifest
    size = itemsize(meta)
    if size is None or not isinstance(meta.grid, RegularGrid) or not isinstance(m, ChunkManifest):
        return None
    chunk = meta.grid.chunk_shape
    if m.grid_shape[axis] != 1 or any(n != 1 for n in chunk[:axis]):
        return None
    whole = np.uint64(math.prod(chunk) * size)
    stored = m.source >= 0
    if bool((m.length[stored] != whole).any()) or any(len(v) != whole for v in m.inlined.values()):
        return None
    return size * math.prod(chunk[axis + 1 :])


def byte_range(array: VirtualArray, axis: int, span: Span, step: int) -> VirtualArray:
    """A part of an array of uncompressed elements: fewer bytes of the same chunks."""
    (start, stop), meta, m = span, array.meta, array.manifest.load()
    if start == stop:
        return whole_chunks(array, axis, np.array([0, meta.shape[axis]]), (0, 0))
    n = stop - start
    grid = meta.grid.chunk_shape if isinstance(meta.grid, RegularGrid) else ()
    chunks = RegularGrid(tuple(n if i == axis else c for i, c in enumerate(grid)))
    shape = tuple(n if i == axis else c for i, c in enumerate(meta.shape))
    stored = m.source >= 0
    offset = np.where(stored, m.offset + np.uint64(start * step), m.offset)
    length = np.where(stored, np.uint64(n * step), m.length)
    inlined = {k: v[start * step : stop * step] for k, v in m.inlined.items()}
    manifest = ChunkManifest(m.grid_shape, m.sources, m.source, offset, length, m.encoding, inlined)
    return VirtualArray(replace(meta, shape=shape, grid=chunks), manifest)


def itemsize(meta: ArrayMeta) -> int | None:
    """Bytes per element when a chunk's bytes are the elements in C order; else None."""
    e: Encoding = meta.encodings[0]
    plain = len(e.codecs) == 1 and e.codecs[0].name == "bytes" and e.chunk_shape is None and not e.cast
    if not plain or len(meta.encodings) != 1 or e.data_type is not None or meta.data_type.numpy.hasobject:
        return None
    return meta.data_type.numpy.itemsize
