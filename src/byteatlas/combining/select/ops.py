"""Operations on virtual groups that touch references and metadata only: select, mask, rename, drop, transpose..."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.slicing import itemsize, parts, whole_chunks
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.coordinates.values import inline_values, nbytes
from byteatlas.combining.model import ByOrder, CombineOptions, ReadArray
from byteatlas.combining.plan import combine
from byteatlas.errors import BadRequest, BadSelection, Unsupported
from byteatlas.manifest.model import (
    INLINE,
    MISSING,
    ChunkManifest,
    VirtualArray,
    VirtualGroup,
)
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.types import Shape

SMALL = 64 << 20
"""Bytes; arrays up to this are read and kept in the map where references alone cannot say a selection."""


def map_arrays(
    group: VirtualGroup, change: Callable[[str, VirtualArray], VirtualArray | None], prefix: str = ""
) -> VirtualGroup:
    """The tree with every array changed, or left out where ``change`` gives None."""
    arrays: dict[str, VirtualArray] = {}
    for name, array in group.arrays.items():
        new = change(prefix + name, array)
        if new is not None:
            arrays[name] = new
    groups = {n: map_arrays(g, change, f"{prefix}{n}/") for n, g in group.groups.items()}
    return replace(group, arrays=arrays, groups=groups)


def select(
    group: VirtualGroup, dim: str, start: int, stop: int, *, read: ReadArray | None = None, cut: bool = False
) -> VirtualGroup:
    """Positions ``start`` to ``stop`` (excluded) along a dimension, in all arrays that have it.

    ``start`` must be where a chunk begins, but in small arrays, which are read and kept in the map instead, or when
    ``cut`` says that chunks may be read in part (``byteatlas.crop``; the array is Zarr v3 then). ``stop`` may be
    anywhere. Raises `BadSelection` otherwise.
    """

    def change(path: str, array: VirtualArray) -> VirtualArray:
        names = array.meta.dimension_names
        if names is None or dim not in names:
            return array
        return select_array(array, names.index(dim), start, stop, path=path, read=read, cut=cut)

    return map_arrays(group, change)


def select_array(
    array: VirtualArray,
    axis: int,
    start: int,
    stop: int,
    *,
    path: str = "",
    read: ReadArray | None = None,
    cut: bool = False,
) -> VirtualArray:
    """Positions ``start`` to ``stop`` (excluded) along one axis of one array."""
    length = array.meta.shape[axis]
    if not 0 <= start <= stop <= length:
        raise BadSelection(f"{path}: {start}:{stop} is not inside of 0:{length}")
    if (start, stop) == (0, length):
        return array
    borders = boundaries(length, array.meta.grid, axis)
    if start == stop:
        return select_values(array, axis, start, stop, path, read)
    if start in borders[:-1]:
        return whole_chunks(array, axis, borders, (start, stop))
    if cut:
        return parts(array, axis, [(start, stop)])[0]
    return select_values(array, axis, start, stop, path, read)


def select_values(
    array: VirtualArray, axis: int, start: int, stop: int, path: str, read: ReadArray | None
) -> VirtualArray:
    """A selection that references cannot express, for arrays that are small enough to be in the map."""
    if nbytes(array) > SMALL:
        raise BadSelection(f"{path}: position {start} is inside of a chunk; chunks cannot be cut in front")
    values = inline_values([array])[0]
    if values is None:
        if read is None:
            raise BadSelection(f"{path}: position {start} is inside of a chunk, and there is no way to read it")
        values = read(array)
    part = values[tuple(slice(start, stop) if i == axis else slice(None) for i in range(values.ndim))]
    meta = array.meta
    dims = meta.dimension_names or (None,) * meta.ndim
    return inline_array(np.ascontiguousarray(part), dims, meta.attributes, meta.zarr_format)


def picked(m: ChunkManifest, flat: NDArray[np.int64]) -> ChunkManifest:
    """A manifest of the chunks at these flat positions; the grid has the shape of ``flat``."""
    rows = flat.reshape(-1)
    inlined = {i: m.inlined[k] for i, k in enumerate(rows.tolist()) if k in m.inlined} if m.inlined else {}
    encoding = None if m.encoding is None else m.encoding[rows]
    return ChunkManifest(flat.shape, m.sources, m.source[rows], m.offset[rows], m.length[rows], encoding, inlined)


def concat(
    groups: Sequence[VirtualGroup], dim: str, *, read: ReadArray | None = None, options: CombineOptions | None = None
) -> VirtualGroup:
    """Groups one after the other along a dimension, in the order given, whatever their coordinate values are.

    As xarray's ``concat``: arrays without the dimension must be the same in all groups; a dimension that no group has
    becomes a new leading one. Everything else is as in `combine`, which raises `Conflict`. Without ``read``, arrays
    that must be compared but refer to different bytes raise `BadRequest` (``options.trust`` takes the first one).
    """
    chosen = replace(options or CombineOptions(), concat=(dim,), coords={dim: ByOrder()}, order="given")

    def nobody(array: VirtualArray) -> NDArray[Any]:
        raise BadRequest(f"an array without {dim!r} refers to different bytes in some groups: comparing needs read=")

    return combine(groups, chosen, read=read or nobody)


def mask(
    group: VirtualGroup, region: Mapping[str, tuple[int, int]], *, keep_cut: bool = False, fill: float | None = None
) -> VirtualGroup:
    """Everything outside of a box reads as the fill value; shapes and coordinates stay.

    Args:
        region: first and last position (excluded) along each of some dimensions. Arrays that have all of them are
            masked, but for coordinate variables (those with the name of a dimension).
        keep_cut: keep chunks whole that are inside in part. Otherwise they raise `BadSelection`: chunks cannot be cut.
        fill: the fill value of arrays that have none. Without it they raise `Unsupported`, as do arrays whose missing
            chunks it would change.
    """

    def change(path: str, array: VirtualArray) -> VirtualArray:
        names = array.meta.dimension_names or ()
        if not all(d in names for d in region) or path.rpartition("/")[2] in names:
            return array
        boxes = {names.index(d): box for d, box in region.items()}
        return masked_array(array, boxes, path=path, keep_cut=keep_cut, fill=fill)

    return map_arrays(group, change)


def masked_array(
    array: VirtualArray, boxes: Mapping[int, tuple[int, int]], *, path: str, keep_cut: bool, fill: float | None
) -> VirtualArray:
    """One array without the chunks that are outside of the box, which is given by axis."""
    meta, m = array.meta, array.manifest.load()
    outside = np.zeros(m.grid_shape, np.bool_)
    for axis, (start, stop) in boxes.items():
        length = meta.shape[axis]
        if not 0 <= start <= stop <= length:
            raise BadSelection(f"{path}: {start}:{stop} is not inside of 0:{length}")
        borders = np.minimum(boundaries(length, meta.grid, axis), length)
        begin, end = borders[:-1], borders[1:]
        gone = (end <= start) | (begin >= stop)
        cut = ~gone & ((begin < start) | (end > stop))
        if bool(cut.any()) and not keep_cut:
            first = int(np.flatnonzero(cut)[0])
            detail = f"{start}:{stop} cuts the chunk {int(begin[first])}:{int(end[first])} of axis {axis}"
            raise BadSelection(f"{path}: {detail}; chunks cannot be cut")
        outside |= gone.reshape([-1 if i == axis else 1 for i in range(meta.ndim)])
    flat = outside.reshape(-1)
    if meta.fill_value is None:
        if fill is None:
            raise Unsupported("fill", f"{path} has no fill value for what is outside of the region; give one")
        if bool((m.source == MISSING).any()):
            raise Unsupported("fill", f"{path} has missing chunks, which a fill value would change")
        value = np.asarray(fill).astype(meta.data_type.numpy)[()]
        if value != fill and not (value != value and fill != fill):
            raise Unsupported("fill", f"{path}: {fill} is no value of {meta.data_type.name}")
        meta = replace(meta, fill_value=value)
    source = np.where(flat, np.int32(MISSING), m.source)
    offset, length_column = np.where(flat, np.uint64(0), m.offset), np.where(flat, np.uint64(0), m.length)
    inlined = {k: v for k, v in m.inlined.items() if source[k] == INLINE}
    return VirtualArray(
        meta, ChunkManifest(m.grid_shape, m.sources, source, offset, length_column, m.encoding, inlined)
    )


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
