"""Files whose chunks are cut at different places: all are cut at all of these places.

A smaller chunk refers to the bytes of the whole chunk that it is a part of; its encoding says where it begins
(``byteatlas.crop``). Reading such an array decodes some chunks more than once; its values are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from byteatlas.combine.layout import Member, edges_of
from byteatlas.combine.same import Class
from byteatlas.errors import Unsupported
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.types import Shape

MOST_ENCODINGS = 255
MOST_CHUNKS = 1 << 27


def refine(members: Sequence[Member], by_input: dict[int, VirtualArray], axis: int) -> dict[int, VirtualArray]:
    """The arrays with common cuts along one axis, block by block.

    Raises `Unsupported` when that takes too many encodings or chunks.
    """
    result = dict(by_input)
    blocks: dict[int, list[Member]] = {}
    for member in members:
        blocks.setdefault(member.block[axis], []).append(member)
    for group in blocks.values():
        own = {m.input: cuts(by_input[m.input], axis) for m in group}
        common = np.unique(np.concatenate(list(own.values())))
        for member in group:
            if len(own[member.input]) != len(common):
                result[member.input] = split(by_input[member.input], axis, own[member.input], common)
    return result


def cuts(array: VirtualArray, axis: int) -> NDArray[np.int64]:
    """Where chunks begin, and the end."""
    return np.unique(boundaries(array.meta.shape[axis], array.meta.grid, axis))


def split(array: VirtualArray, axis: int, own: NDArray[np.int64], common: NDArray[np.int64]) -> VirtualArray:
    """One array with more cuts along an axis."""
    meta, m = array.meta, array.manifest.load()
    parents = np.searchsorted(own, common[:-1], side="right") - 1
    origins, numbers = np.unique(common[:-1] - own[parents], return_inverse=True)
    if len(origins) * len(meta.encodings) > MOST_ENCODINGS:
        raise Unsupported("chunks", f"chunks cut at {len(origins)} different places inside")
    if len(m.source) // max(1, m.grid_shape[axis]) * len(parents) > MOST_CHUNKS:
        raise Unsupported("chunks", "too many chunks after cutting")
    encodings = [cropped(meta, e, axis, int(o)) for e in meta.encodings for o in origins.tolist()]
    flat = np.arange(len(m.source), dtype=np.int64).reshape(m.grid_shape).take(parents, axis=axis)
    old = np.zeros(len(m.source), np.int64) if m.encoding is None else m.encoding.astype(np.int64)
    along = numbers.reshape([-1 if i == axis else 1 for i in range(meta.ndim)])
    column = (old[flat] * len(origins) + along).astype(np.uint8)
    rows = flat.reshape(-1)
    inlined = {i: m.inlined[k] for i, k in enumerate(rows.tolist()) if k in m.inlined} if m.inlined else {}
    manifest = ChunkManifest(
        flat.shape, m.sources, m.source[rows], m.offset[rows], m.length[rows], column.reshape(-1), inlined
    )
    edges = tuple(tuple(np.diff(common).tolist()) if i == axis else full_edges(meta, i) for i in range(meta.ndim))
    return VirtualArray(replace(meta, grid=RectilinearGrid(edges), encodings=tuple(encodings)), manifest)


def full_edges(meta: ArrayMeta, axis: int) -> tuple[int, ...]:
    """Chunk lengths along an axis, the last one as stored."""
    if isinstance(meta.grid, RectilinearGrid):
        return meta.grid.edges[axis]
    edges = edges_of(meta.grid, meta.shape[axis], axis)
    return (*edges.logical[:-1], edges.full) if edges.logical else ()


def cropped(meta: ArrayMeta, e: Encoding, axis: int, origin: int) -> Encoding:
    """The encoding of a part that begins at ``origin``; it decodes to all that follows, which is cut off in reading."""
    shape = e.chunk_shape
    if shape is None:
        if not isinstance(meta.grid, RegularGrid):
            raise Unsupported("chunks", "a map with uneven chunks cannot be cut again")
        shape = meta.grid.chunk_shape
    if origin == 0:
        return replace(e, chunk_shape=shape)
    begin: Shape = tuple(origin if i == axis else 0 for i in range(meta.ndim))
    rest = tuple(n - o for n, o in zip(shape, begin, strict=True))
    crop = CodecSpec("byteatlas.crop", {"origin": list(begin), "shape": list(shape)})
    return replace(e, codecs=(crop, *e.codecs), chunk_shape=rest)


def reclassified(classes: Sequence[Class], by_input: dict[int, VirtualArray]) -> list[Class]:
    """Classes by the arrays that were cut: each grid and encoding is one of its own."""
    found: dict[tuple[int, object, object], tuple[ArrayMeta, list[int]]] = {}
    for number, cls in enumerate(classes):
        for i in cls.members:
            if i in by_input:
                meta = by_input[i].meta
                grid = meta.grid if isinstance(meta.grid, RectilinearGrid) else None
                chunk_shapes = tuple(e.chunk_shape for e in meta.encodings)
                found.setdefault((number, grid, chunk_shapes), (meta, []))[1].append(i)
    return [Class(meta, tuple(members)) for meta, members in found.values()]
