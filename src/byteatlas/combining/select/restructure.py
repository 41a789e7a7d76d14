"""Names, axes and chunks of virtual arrays changed by metadata and references only."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.slicing import itemsize
from byteatlas.errors import BadRequest, Unsupported
from byteatlas.manifest.model import (
    ChunkManifest,
    VirtualArray,
    VirtualGroup,
)
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.types import Shape
from byteatlas.values import replace


def picked(m: ChunkManifest, flat: NDArray[np.int64]) -> ChunkManifest:
    """A manifest of the chunks at these flat positions; the grid has the shape of ``flat``."""
    rows = flat.reshape(-1)
    inlined = {i: m.inlined[k] for i, k in enumerate(rows.tolist()) if k in m.inlined} if m.inlined else {}
    encoding = None if m.encoding is None else m.encoding[rows]
    return ChunkManifest(flat.shape, m.sources, m.source[rows], m.offset[rows], m.length[rows], encoding, inlined)


def drop(group: VirtualGroup, paths: Sequence[str]) -> VirtualGroup:
    """The tree without these arrays or groups. Raises `NotFound` for one that is not there."""
    for path in paths:
        group[path]
    gone = set(paths)

    def below(node: VirtualGroup, prefix: str) -> VirtualGroup:
        arrays = {n: a for n, a in node.arrays.items() if prefix + n not in gone}
        groups = {n: below(g, f"{prefix}{n}/") for n, g in node.groups.items() if prefix + n not in gone}
        return replace(node, arrays=arrays, groups=groups)

    return below(group, "")


def rename(group: VirtualGroup, names: Mapping[str, str]) -> VirtualGroup:
    """Arrays and dimensions under other names (not paths), everywhere in the tree.

    The attributes ``coordinates``, ``bounds``, ``climatology`` and ``grid_mapping`` follow. Raises `BadRequest` when a
    new name is taken.
    """

    def below(node: VirtualGroup) -> VirtualGroup:
        arrays = {names.get(n, n): renamed(a) for n, a in node.arrays.items()}
        if len(arrays) != len(node.arrays) or set(arrays) & set(node.groups):
            raise BadRequest(f"two arrays would have one name: {sorted(names.values())}")
        return replace(node, arrays=arrays, groups={n: below(g) for n, g in node.groups.items()})

    def renamed(array: VirtualArray) -> VirtualArray:
        meta = array.meta
        attributes = dict(meta.attributes)
        for key in ("coordinates", "bounds", "climatology", "grid_mapping"):
            if isinstance(text := attributes.get(key), str):
                attributes[key] = " ".join(names.get(word, word) for word in text.split(" "))
        dims = meta.dimension_names
        if dims is not None:
            dims = tuple(None if d is None else names.get(d, d) for d in dims)
            if len({d for d in dims if d is not None}) < sum(d is not None for d in dims):
                raise BadRequest(f"two dimensions of one array would have one name: {dims}")
        return VirtualArray(replace(meta, attributes=attributes, dimension_names=dims), array.manifest)

    return below(group)


def transpose(array: VirtualArray, order: Sequence[int]) -> VirtualArray:
    """The axes in another order; the bytes stay and get a ``transpose`` codec (Zarr v3, "Transpose codec").

    Raises `Unsupported` for sharded arrays and for encodings that convert types.
    """
    meta = array.meta
    order = tuple(int(i) for i in order)
    if sorted(order) != list(range(meta.ndim)):
        raise BadRequest(f"{order} is not an order of {meta.ndim} axes")
    if order == tuple(range(meta.ndim)):
        return array
    inverse = [order.index(i) for i in range(meta.ndim)]
    encodings = tuple(transposed_encoding(e, order, inverse) for e in meta.encodings)
    grid = meta.grid
    if isinstance(grid, RegularGrid):
        grid = RegularGrid(tuple(grid.chunk_shape[i] for i in order))
    else:
        grid = RectilinearGrid(tuple(grid.edges[i] for i in order))
    dims = None if meta.dimension_names is None else tuple(meta.dimension_names[i] for i in order)
    shape = tuple(meta.shape[i] for i in order)
    m = array.manifest.load()
    flat = np.arange(len(m.source), dtype=np.int64).reshape(m.grid_shape).transpose(order)
    new = replace(meta, shape=shape, grid=grid, encodings=encodings, dimension_names=dims)
    return VirtualArray(new, picked(m, np.ascontiguousarray(flat)))


def transposed_encoding(e: Encoding, order: Sequence[int], inverse: Sequence[int]) -> Encoding:
    if e.cast:
        raise Unsupported("codecs", "an array whose values are converted when read cannot be transposed virtually")
    shape = None if e.chunk_shape is None else tuple(e.chunk_shape[i] for i in order)
    head = e.codecs[0]
    if head.name == "transpose":
        inner = head.configuration.get("order")
        if not isinstance(inner, (list, tuple)):
            raise Unsupported("codecs", f"transpose order {inner!r}")
        combined = [inverse[int(i)] for i in inner]
        rest = e.codecs[1:]
        codecs = rest if combined == sorted(combined) else (CodecSpec("transpose", {"order": combined}), *rest)
        return replace(e, codecs=codecs, chunk_shape=shape)
    return replace(e, codecs=(CodecSpec("transpose", {"order": list(inverse)}), *e.codecs), chunk_shape=shape)


def rechunk(array: VirtualArray, chunks: Sequence[int]) -> VirtualArray:
    """Smaller chunks of uncompressed data, by references into the chunks that are there.

    New chunks must be contiguous runs of the old ones' bytes: from the first axis on, lengths of 1 up to some axis,
    where the old length must be a multiple of the new one, and whole old chunks along the axes behind it.
    Raises `Unsupported` when the data are compressed or the new chunks are no such runs.
    """
    meta = array.meta
    new = tuple(int(c) for c in chunks)
    if not isinstance(meta.grid, RegularGrid) or len(meta.encodings) != 1 or len(new) != meta.ndim:
        raise Unsupported("chunks", "only arrays of one regular grid and one encoding can be re-chunked virtually")
    old = meta.grid.chunk_shape
    size = itemsize(meta)
    if size is None:
        raise Unsupported("chunks", "only uncompressed data in C order can be re-chunked virtually")
    check_runs(old, new)
    factors = tuple(o // n for o, n in zip(old, new, strict=True))
    counts = chunk_counts(meta.shape, RegularGrid(new))
    m = array.manifest.load()
    if m.inlined:
        raise Unsupported("chunks", "inline chunks cannot be re-chunked virtually")
    axes = np.meshgrid(*(np.arange(n, dtype=np.int64) for n in counts), indexing="ij")
    parent = np.ravel_multi_index([a // f for a, f in zip(axes, factors, strict=True)], m.grid_shape)
    within = np.zeros(counts, np.int64)
    for a, f in zip(axes, factors, strict=True):
        within = within * f + a % f
    step = np.uint64(math.prod(new) * size)
    flat = parent.reshape(-1)
    source = m.source[flat]
    if bool((m.length[flat][source >= 0] != np.uint64(math.prod(old) * size)).any()):
        raise Unsupported("chunks", "a chunk is not as long as its shape says")
    offset = np.where(source >= 0, m.offset[flat] + within.reshape(-1).astype(np.uint64) * step, np.uint64(0))
    length = np.where(source >= 0, step, np.uint64(0))
    return VirtualArray(replace(meta, grid=RegularGrid(new)), ChunkManifest(counts, m.sources, source, offset, length))


def check_runs(old: Shape, new: Shape) -> None:
    """New chunks must be contiguous in the old ones."""
    split = next((i for i, n in enumerate(new) if n != 1), len(new) - 1)
    for i, (o, n) in enumerate(zip(old, new, strict=True)):
        if n < 1 or o % n or (i > split and n != o):
            raise Unsupported("chunks", f"chunks of {new} are no contiguous runs inside chunks of {old}")
