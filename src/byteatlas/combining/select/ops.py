"""Parts of virtual groups by position: select, mask, concatenate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.slicing import parts, whole_chunks
from byteatlas.combining.chunks.small_arrays import SMALL as SMALL_ARRAY
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
from byteatlas.manifest.ops.common import map_group
from byteatlas.meta.grid import boundaries
from byteatlas.values import replace

SMALL = 64 << 20
"""Bytes; arrays up to this are read and kept in the map where references alone cannot say a selection."""


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

    return map_group(group, change)


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


def kept_in_map(read: ReadArray) -> Callable[[str, VirtualArray, int, int, int], VirtualArray]:
    """Parts of small arrays that chunks do not express: read (once) and kept in the map.

    This is for coordinates, and for arrays of one chunk along the axis. Raises `BadSelection` for others.
    """
    known: dict[int, NDArray[Any]] = {}

    def once(array: VirtualArray) -> NDArray[Any]:
        if id(array) not in known:
            known[id(array)] = read(array)
        return known[id(array)]

    def part(path: str, array: VirtualArray, axis: int, start: int, stop: int) -> VirtualArray:
        edges = boundaries(array.meta.shape[axis], array.meta.grid, axis)
        names = array.meta.dimension_names or ()
        coordinate = len(edges) <= 2 or (bool(names) and path.rpartition("/")[2] == names[axis])
        if nbytes(array) > SMALL_ARRAY or not coordinate:
            places = ", ".join(map(str, edges[:8].tolist())) + (" ..." if len(edges) > 8 else "")
            detail = f"no chunk begins at {start} or ends at {stop} along axis {axis}"
            raise BadSelection(f"{path}: {detail}; chunks begin at {places}")
        return select_values(array, axis, start, stop, path, once)

    return part


def concat(
    groups: Sequence[VirtualGroup], dim: str, *, read: ReadArray | None = None, options: CombineOptions | None = None
) -> VirtualGroup:
    """Groups one after the other along a dimension, in the order given, whatever their coordinate values are.

    As xarray's ``concat``: arrays without the dimension must be the same in all groups; a dimension that no group has
    becomes a new leading one. Everything else is as in `combine`, which raises `Conflict`. Without ``read``, arrays
    that must be compared but refer to different bytes raise `BadRequest` (``options.trust`` takes the first one).
    """
    chosen = replace(options or CombineOptions(), concat=(dim,), coords={dim: ByOrder()}, order="given")
    if read is None:  # nothing can be read and kept in the map
        chosen = replace(chosen, inline_uneven=0)

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

    return map_group(group, change)


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
