"""Files whose chunks are cut at different places: all are cut at all of these places.

A smaller chunk refers to the bytes of the whole chunk that it is a part of; its encoding says where it begins
(``byteatlas.crop``). Reading such an array decodes some chunks more than once; its values are right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.layout import MosaicTile, edges_of
from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.model import InputNumber
from byteatlas.errors import Unsupported
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, CodecSpec, Encoding, RectilinearGrid
from byteatlas.types import Shape
from byteatlas.values import replace

MOST_CHUNKS = 1 << 27
MOST_PARTS = 255
"""Kinds of parts of chunks in one array: whoever reads a part reads its whole chunk, and more would be a trap."""


def split_at_common_borders(
    tiles: Sequence[MosaicTile], by_input: dict[InputNumber, VirtualArray], axis: int
) -> dict[InputNumber, VirtualArray]:
    """The arrays with chunk borders in common along one axis, block by block.

    Raises `Unsupported` when that takes too many encodings or chunks.
    """
    result = dict(by_input)
    blocks: dict[int, list[MosaicTile]] = {}
    for tile in tiles:
        blocks.setdefault(tile.block[axis], []).append(tile)
    for group in blocks.values():
        own = {m.input: chunk_borders(by_input[m.input], axis) for m in group}
        common = np.unique(np.concatenate(list(own.values())))
        for tile in group:
            if len(own[tile.input]) != len(common):
                result[tile.input] = split_chunks(by_input[tile.input], axis, own[tile.input], common)
    return result


def chunk_borders(array: VirtualArray, axis: int) -> NDArray[np.int64]:
    """Where chunks begin, and the end."""
    return np.unique(boundaries(array.meta.shape[axis], array.meta.grid, axis))


def split_chunks(array: VirtualArray, axis: int, own: NDArray[np.int64], common: NDArray[np.int64]) -> VirtualArray:
    """One array with chunks split at more places along an axis."""
    meta, m = array.meta, array.manifest.load()
    parents = np.searchsorted(own, common[:-1], side="right") - 1
    if len(m.source) // max(1, m.grid_shape[axis]) * len(parents) > MOST_CHUNKS:
        raise Unsupported("chunks", "too many chunks after cutting")
    flat = np.arange(len(m.source), dtype=np.int64).reshape(m.grid_shape).take(parents, axis=axis)
    parts, kinds = part_kinds(meta, axis, parents, common[:-1] - own[parents], flat.shape)
    old = np.zeros(len(m.source), np.int64) if m.encoding is None else m.encoding.astype(np.int64)
    used, column = np.unique(old[flat] * len(parts) + kinds, return_inverse=True)
    if len(used) > MOST_PARTS:
        raise Unsupported("chunks", f"parts of chunks of {len(used)} kinds")
    encodings = [cropped(meta.encodings[n // len(parts)], axis, *parts[n % len(parts)]) for n in used.tolist()]
    rows = flat.reshape(-1)
    inlined = {i: m.inlined[k] for i, k in enumerate(rows.tolist()) if k in m.inlined} if m.inlined else {}
    numbers = column.reshape(-1).astype(np.uint16)
    manifest = ChunkManifest(flat.shape, m.sources, m.source[rows], m.offset[rows], m.length[rows], numbers, inlined)
    edges = tuple(tuple(np.diff(common).tolist()) if i == axis else full_edges(meta, i) for i in range(meta.ndim))
    # An array without chunks uses no encoding, but has one.
    kept = tuple(encodings) or meta.encodings[:1]
    return VirtualArray(replace(meta, grid=RectilinearGrid(edges), encodings=kept), manifest)


def with_explicit_shapes(array: VirtualArray) -> VirtualArray:
    """The array with encodings that say the shape of each chunk, whatever the grid will say."""
    meta, m = array.meta, array.manifest.load()
    if not meta.ndim or not len(m.source):
        return array
    everywhere = np.arange(m.grid_shape[0])
    parts, kinds = part_kinds(meta, 0, everywhere, np.zeros(len(everywhere), np.int64), m.grid_shape)
    old = np.zeros(len(m.source), np.int64) if m.encoding is None else m.encoding.astype(np.int64)
    used, column = np.unique(old * len(parts) + kinds.reshape(-1), return_inverse=True)
    if len(used) > MOST_ENCODINGS:
        raise Unsupported("chunks", f"chunks of {len(used)} shapes, some of which would be cut")
    encodings = [cropped(meta.encodings[n // len(parts)], 0, *parts[n % len(parts)]) for n in used.tolist()]
    manifest = replace(m, encoding=column.reshape(-1).astype(np.uint16))
    return VirtualArray(replace(meta, encodings=tuple(encodings)), manifest)


def part_kinds(
    meta: ArrayMeta, axis: int, parents: NDArray[np.int64], origins: NDArray[np.int64], counts: Shape
) -> tuple[list[tuple[int, Shape]], NDArray[np.int64]]:
    """The kinds of parts, as (where it begins along the axis, shape of the whole chunk), and the kind of each part."""
    begins, kinds = np.unique(origins, return_inverse=True)
    code = np.zeros(counts, np.int64) + spread(kinds, axis, meta.ndim)
    lengths = []
    for i in range(meta.ndim):
        edges = np.asarray(full_edges(meta, i), np.int64)
        values, which = np.unique(edges[parents] if i == axis else edges, return_inverse=True)
        code = code * len(values) + spread(which, i, meta.ndim)
        lengths.append(values.tolist())
    used, found = np.unique(code, return_inverse=True)
    parts = []
    for n in used.tolist():
        shape: list[int] = []
        for values in reversed(lengths):
            n, k = divmod(n, len(values))
            shape.insert(0, values[k])
        parts.append((int(begins[n]), tuple(shape)))
    return parts, found.reshape(counts)


def spread(values: NDArray[np.int64], axis: int, ndim: int) -> NDArray[np.int64]:
    """Values along one axis, to be broadcast along the others."""
    return values.reshape([-1 if i == axis else 1 for i in range(ndim)])


def full_edges(meta: ArrayMeta, axis: int) -> tuple[int, ...]:
    """Chunk lengths along an axis, the last one as stored."""
    if isinstance(meta.grid, RectilinearGrid):
        return meta.grid.edges[axis]
    edges = edges_of(meta.grid, meta.shape[axis], axis)
    return (*edges.logical[:-1], edges.full) if edges.logical else ()


def cropped(e: Encoding, axis: int, origin: int, whole: Shape) -> Encoding:
    """The encoding of a part that begins at ``origin``; it decodes to all that follows, which is cut off in reading."""
    shape = whole if e.chunk_shape is None else e.chunk_shape
    if origin == 0:
        return replace(e, chunk_shape=shape)
    begin: Shape = tuple(origin if i == axis else 0 for i in range(len(shape)))
    rest = tuple(n - o for n, o in zip(shape, begin, strict=True))
    crop = CodecSpec("byteatlas.crop", {"origin": list(begin), "shape": list(shape)})
    return replace(e, codecs=(crop, *e.codecs), chunk_shape=rest)


def reclassified(classes: Sequence[MetadataClass], by_input: dict[InputNumber, VirtualArray]) -> list[MetadataClass]:
    """Classes by the arrays that were cut: each grid and encoding is one of its own."""
    found: dict[tuple[int, object, str], tuple[ArrayMeta, list[InputNumber]]] = {}
    for number, cls in enumerate(classes):
        for i in cls.members:
            if i in by_input:
                meta = by_input[i].meta
                grid = meta.grid if isinstance(meta.grid, RectilinearGrid) else None
                # Parts use different ones of their class's encodings, in which only codecs may differ.
                found.setdefault((number, grid, repr(meta.encodings)), (meta, []))[1].append(i)
    return [
        MetadataClass(meta, tuple(members), documents=classes[number].documents)
        for (number, _, _), (meta, members) in found.items()
    ]
