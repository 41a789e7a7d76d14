"""Groups cut or masked by coordinate values, at every level of a tree by the coordinates that hold there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from byteatlas.combining.chunks.small_arrays import SMALL
from byteatlas.combining.coordinates.values import nbytes
from byteatlas.combining.model import ReadArray
from byteatlas.combining.select.labels import LabelledAxis, Region, axis_of, span_of
from byteatlas.combining.select.ops import masked_array, select_array
from byteatlas.errors import BadRequest, BadSelection, unknown_text
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.grid import boundaries
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Positions ``start`` to ``stop`` (excluded) along one dimension, and the coordinate that says so."""

    axis: LabelledAxis
    start: int
    stop: int


RegionChange = Callable[[str, VirtualArray, Mapping[str, Found]], VirtualArray]


def select_by_value(group: VirtualGroup, region: Region, *, read: ReadArray, cut: bool = False) -> VirtualGroup:
    """The part of a group between coordinate values, in all arrays that have the dimensions.

    It must begin where chunks begin, but in small arrays, which are read and kept in the map. ``cut``: chunks may be
    read in part (the codec ``byteatlas.crop``; the array is Zarr v3 then). Raises `BadSelection` otherwise, with the
    coordinate values at which chunks begin, and when no values are there; `BadRequest` for a dimension without a
    coordinate variable.
    """
    return throughout(group, region, read, partial(selected, read=read, cut=cut))


def selected(path: str, array: VirtualArray, found: Mapping[str, Found], *, read: ReadArray, cut: bool) -> VirtualArray:
    names = array.meta.dimension_names or ()
    for dim, run in found.items():
        if names.count(dim) != 1:
            continue
        axis = names.index(dim)
        check_length(path, array, axis, run)
        if not cut:
            check_borders(path, array, axis, run)
        small = nbytes(array) <= SMALL
        array = select_array(array, axis, run.start, run.stop, path=path, read=read, cut=cut and not small)
    return array


def mask_by_value(
    group: VirtualGroup, region: Region, *, read: ReadArray, keep_cut: bool = False, fill: float | None = None
) -> VirtualGroup:
    """Everything outside of a box of coordinate values reads as the fill value; shapes and coordinates stay.

    As `byteatlas.mask`, which says what ``keep_cut`` and ``fill`` are and what is refused.
    """

    def change(path: str, array: VirtualArray, found: Mapping[str, Found]) -> VirtualArray:
        names = array.meta.dimension_names or ()
        if not all(names.count(d) == 1 for d in found) or path.rpartition("/")[2] in names:
            return array
        for dim, run in found.items():
            check_length(path, array, names.index(dim), run)
        boxes = {names.index(d): (run.start, run.stop) for d, run in found.items()}
        return masked_array(array, boxes, path=path, keep_cut=keep_cut, fill=fill)

    return throughout(group, region, read, change)


def throughout(group: VirtualGroup, region: Region, read: ReadArray, change: RegionChange) -> VirtualGroup:
    """RegionChange all arrays of a tree; a group's own coordinates go before those of the groups above."""
    used: set[str] = set()

    def below(node: VirtualGroup, prefix: str, above: Mapping[str, Found]) -> VirtualGroup:
        found = dict(above)
        for dim, wanted in region.items():
            own = node.arrays.get(dim)
            if own is not None and (own.meta.dimension_names or (dim,)) == (dim,):
                axis = axis_of(dim, own, read)
                found[dim] = Found(axis, *span_of(axis, wanted))
                used.add(dim)
            elif own is not None:
                axis_of(dim, own, read)  # says what is wrong with it
        arrays = {n: change(prefix + n, a, found) for n, a in node.arrays.items()}
        groups = {n: below(g, f"{prefix}{n}/", found) for n, g in node.groups.items()}
        return replace(node, arrays=arrays, groups=groups)

    result = below(group, "", {})
    for dim in region:
        if dim not in used:
            lines = {p.rpartition("/")[2] for p, n in group.walk() if isinstance(n, VirtualArray) and n.meta.ndim == 1}
            raise BadRequest(f"nothing to select by: {unknown_text('coordinate variable', dim, sorted(lines))}")
    return result


def check_length(path: str, array: VirtualArray, axis: int, run: Found) -> None:
    length = array.meta.shape[axis]
    if length != len(run.axis.values):
        detail = f"{path} has length {length} along {run.axis.name!r}, its coordinate {len(run.axis.values)}"
        raise BadSelection(detail)


def check_borders(path: str, array: VirtualArray, axis: int, run: Found) -> None:
    """Raise `BadSelection` when a large array would be cut inside of a chunk; name the nearest places."""
    length = array.meta.shape[axis]
    borders = np.unique(boundaries(length, array.meta.grid, axis))
    if run.start in borders or nbytes(array) <= SMALL:
        return
    at = int(np.searchsorted(borders, run.start))
    near = [int(b) for b in borders[max(0, at - 1) : at + 1] if b < length]
    places = " and ".join(f"{run.axis.shown(b)} (position {b})" for b in near)
    here = f"{run.axis.name!r} {run.axis.shown(run.start)} (position {run.start}) is inside of a chunk of {path}"
    raise BadSelection(f"{here}; chunks begin at {places}: select from there, or let chunks be read in part (cut)")
