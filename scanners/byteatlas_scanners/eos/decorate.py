"""Grids get coordinates, dimension names and a CRS, swaths their coordinates: on finished trees of either HDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import replace
from byteatlas_scanners.eos.gctp import grid_mapping
from byteatlas_scanners.eos.structure import EosGrid, Structure, Swath

T = TypeVar("T")

GRID_MAPPING = "spatial_ref"
LONGEST_AXIS = 1 << 20
X_DIM, Y_DIM = "XDim", "YDim"
FIELDS = ("Data Fields", "Geolocation Fields")
"""Groups below a grid or a swath, in files where they are groups of their own (HDF-EOS5)."""


def decorate(root: VirtualGroup, structure: Structure, inside: Mapping[str, str]) -> VirtualGroup:
    """The tree with what its metadata say; ``inside``: the paths of the groups that hold grids and swaths."""
    for grid in structure.grids:
        root = _changed(root, _path(inside["grids"], grid.name), _grid, grid)
    for swath in structure.swaths:
        root = _changed(root, _path(inside["swaths"], swath.name), _swath, swath)
    return root


def _path(above: str, name: str) -> list[str]:
    return [*filter(None, above.split("/")), name.replace("/", "_")]


def _changed(
    group: VirtualGroup, path: list[str], change: Callable[[VirtualGroup, T], VirtualGroup], what: T
) -> VirtualGroup:
    if not path:
        return change(group, what)
    if path[0] not in group.groups:
        return group
    return replace(group, groups={**group.groups, path[0]: _changed(group.groups[path[0]], path[1:], change, what)})


def _grid(group: VirtualGroup, grid: EosGrid) -> VirtualGroup:
    """The fields' dimensions become y and x. Coordinates are cell centres."""
    mapping = grid_mapping(grid)
    attributes: dict[str, JSON] = {"grid_mapping": GRID_MAPPING} if mapping else {}
    below = {
        name: _grid_fields(part, grid, attributes) if name in FIELDS else part for name, part in group.groups.items()
    }
    changed = replace(_grid_fields(group, grid, attributes), groups=below)
    target = next((name for name in FIELDS if name in below), None)
    extra = {**_coordinates(grid), **({GRID_MAPPING: _inline(np.zeros((), np.int64), (), mapping)} if mapping else {})}
    if target is None:
        return replace(changed, arrays={**changed.arrays, **_new(extra, changed)})
    part = below[target]
    return replace(changed, groups={**below, target: replace(part, arrays={**part.arrays, **_new(extra, part)})})


def _new(extra: Mapping[str, VirtualArray], group: VirtualGroup) -> dict[str, VirtualArray]:
    """Without those whose names are taken."""
    return {name: array for name, array in extra.items() if name not in group.arrays and name not in group.groups}


def _grid_fields(group: VirtualGroup, grid: EosGrid, attributes: Mapping[str, JSON]) -> VirtualGroup:
    sizes = {"y": grid.rows, "x": grid.columns}
    names = {X_DIM: "x", Y_DIM: "y"}
    arrays: dict[str, VirtualArray] = {}
    for name, array in group.arrays.items():
        dims = _dims(array, grid.fields.get(name))
        renamed = tuple(names.get(dim or "", dim) for dim in dims)
        fits = all(sizes.get(d or "", n) == n for d, n in zip(renamed, array.meta.shape, strict=False))
        meta = array.meta
        if dims and len(set(renamed)) == len(renamed) and fits:
            meta = replace(meta, dimension_names=renamed)
            if {"x", "y"} <= set(renamed):
                meta = meta.with_attributes({**meta.attributes, **attributes})
        arrays[name] = replace(array, meta=meta)
    return replace(group, arrays=arrays)


def _plain(dim: str | None) -> str | None:
    """HDF-EOS2 writes a dimension with its grid's name behind it."""
    return None if dim is None else dim.partition(":")[0] or dim


def _coordinates(grid: EosGrid) -> dict[str, VirtualArray]:
    if grid.upper_left is None or grid.lower_right is None or not min(grid.columns, grid.rows) > 0:
        return {}
    if max(grid.columns, grid.rows) > LONGEST_AXIS:
        return {}
    found: dict[str, VirtualArray] = {}
    corners = zip("xy", grid.upper_left, grid.lower_right, (grid.columns, grid.rows), grid.origin, strict=True)
    for name, first, last, count, way in corners:
        step = (last - first) / count
        values = first + (np.arange(count) + 0.5) * step
        if step:
            found[name] = _inline(values[::way].copy(), (name,), _axis(name, grid.projection == "GEO"))
    return found


def _axis(name: str, geographic: bool) -> dict[str, JSON]:
    if geographic:
        standard, units = ("longitude", "degrees_east") if name == "x" else ("latitude", "degrees_north")
        return {"standard_name": standard, "long_name": standard, "units": units, "axis": name.upper()}
    return {"standard_name": f"projection_{name}_coordinate", "units": "m", "axis": name.upper()}


def _swath(group: VirtualGroup, swath: Swath) -> VirtualGroup:
    """Fields on the dimensions of the geolocation name it as their coordinates."""
    parts = [group, *(group.groups[name] for name in FIELDS if name in group.groups)]
    located = {n: a for part in parts for n, a in part.arrays.items() if n in swath.geolocation}
    latitude, longitude = (next((n for n in located if n.lower() == word), None) for word in ("latitude", "longitude"))
    over: set[str | None] | None = None
    if latitude is not None and longitude is not None:
        over = set(_dims(located[latitude], swath.fields.get(latitude)))

    def fields(part: VirtualGroup) -> VirtualGroup:
        arrays: dict[str, VirtualArray] = {}
        for name, array in part.arrays.items():
            dims = _dims(array, swath.fields.get(name))
            unique = len(set(dims)) == len(dims)
            meta = replace(array.meta, dimension_names=dims) if dims and unique else array.meta
            here = over is not None and latitude in part.arrays and longitude in part.arrays
            if here and over and over <= set(dims) and name not in (latitude, longitude):
                meta = meta.with_attributes({"coordinates": f"{latitude} {longitude}", **meta.attributes})
            arrays[name] = replace(array, meta=meta)
        return replace(part, arrays=arrays)

    changed = fields(group)
    if swath.maps:
        keys = ("geolocation", "data", "offset", "increment")
        maps: list[JSON] = [dict(zip(keys, values, strict=True)) for values in swath.maps]
        changed = replace(
            changed, meta=replace(changed.meta, attributes={**changed.meta.attributes, "dimension_maps": maps})
        )
    below = {name: fields(part) if name in FIELDS else part for name, part in changed.groups.items()}
    return replace(changed, groups=below)


def _dims(array: VirtualArray, said: tuple[str, ...] | None) -> tuple[str | None, ...]:
    """As the metadata say where they fit the array, else its own."""
    if said is not None and len(said) == len(array.meta.shape):
        return said
    return tuple(_plain(dim) for dim in array.meta.dimension_names or ())


def _inline(values: NDArray[np.generic], dims: tuple[str, ...], attributes: Mapping[str, JSON]) -> VirtualArray:
    raw = np.ascontiguousarray(values, values.dtype.newbyteorder("<")).tobytes()
    whole = Encoding((CodecSpec("bytes", {"endian": "little"}),))
    meta = ArrayMeta(
        shape=values.shape,
        data_type=from_numpy(values.dtype),
        grid=RegularGrid(values.shape),
        encodings=(whole,),
        dimension_names=dims,
        attributes=attributes,
    )
    return VirtualArray(meta, inline_manifest((1,) * values.ndim, {0: raw}))
