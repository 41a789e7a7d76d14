"""Dimensions and variables of a data cube (STAC datacube extension 2.2.0)."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.array import Array
from byteatlas.meta.conventions import X_NAMES, Y_NAMES, step_of
from byteatlas.stac.extent import is_latitude, is_longitude
from byteatlas.stac.times import is_time_array, span
from byteatlas.stac.values import numbers, text_of
from byteatlas.types import JSON

LEVELS = ("height", "depth", "altitude", "air_pressure")


def dimensions_of(arrays: Mapping[str, Array]) -> dict[str, JSON]:
    """``cube:dimensions``: those of a group other than the root are named with its path where lengths differ."""
    found: dict[str, JSON] = {}
    for name, (path, length) in sorted(_lengths(arrays).items()):
        coordinate = arrays.get(path)
        alone = coordinate is not None and coordinate.shape == (length,)
        found[name] = _dimension(coordinate if alone else None, length)
    return found


def _lengths(arrays: Mapping[str, Array]) -> dict[str, tuple[str, int]]:
    """Each dimension's coordinate variable and length, by the name that it has in the item."""
    found: dict[str, tuple[str, int]] = {}
    for path, array in arrays.items():
        group = path.rpartition("/")[0]
        for dim, n in zip(array.dims or (), array.shape, strict=False):
            if dim is not None:
                found[_named(group, dim)] = (_coordinate(arrays, group, dim), n)
    return found


def _named(group: str, dim: str) -> str:
    return f"{group}/{dim}" if group else dim


def _coordinate(arrays: Mapping[str, Array], group: str, dim: str) -> str:
    """The coordinate variable of a dimension: in its group, or the nearest above."""
    while group and _named(group, dim) not in arrays:
        group = group.rpartition("/")[0]
    return _named(group, dim)


def _dimension(coordinate: Array | None, length: int) -> JSON:
    if coordinate is None:
        return {"type": "count", "extent": [0, max(length - 1, 0)]}
    if is_time_array(coordinate):
        ends = span(coordinate)
        return {"type": "temporal", "extent": [None, None] if ends is None else [*ends], **_words(coordinate)}
    values = numbers(coordinate)
    if values is None or not len(values):
        return {"type": "count", "extent": [0, max(length - 1, 0)], **_words(coordinate)}
    extent: list[JSON] = [float(values.min()), float(values.max())]
    axis = _axis(coordinate)
    kind: dict[str, JSON] = {"type": "spatial", "axis": axis} if axis else {"type": "coordinate"}
    step = step_of(values)
    if step is not None:
        kind["step"] = step
    unit = text_of(coordinate, "units")
    if unit and axis not in ("x", "y"):
        kind["unit"] = unit
    return {**kind, "extent": extent, **_words(coordinate)}


def _axis(array: Array) -> str | None:
    """x, y or z of a coordinate (CF 1.11, chapter 4); None for others."""
    said, standard = text_of(array, "axis"), text_of(array, "standard_name")
    name = array.path.rpartition("/")[2].lower()
    if said in ("X", "Y", "Z"):
        return said.lower()
    if is_longitude(array) or standard.endswith("x_coordinate") or name in X_NAMES:
        return "x"
    if is_latitude(array) or standard.endswith("y_coordinate") or name in Y_NAMES:
        return "y"
    if text_of(array, "positive") or standard in LEVELS:
        return "z"
    return None


def _words(array: Array) -> dict[str, JSON]:
    text = text_of(array, "long_name") or text_of(array, "standard_name")
    return {"description": text} if text else {}


def variables_of(arrays: Mapping[str, Array]) -> dict[str, JSON]:
    """``cube:variables``: all arrays but the coordinate variables of dimensions."""
    aside = helpers(arrays)
    found: dict[str, JSON] = {}
    for path, array in arrays.items():
        group, _, name = path.rpartition("/")
        if array.dims == (name,):
            continue
        dims: list[JSON] = [_named(group, d) for d in array.dims or () if d is not None]
        kind = "auxiliary" if path in aside or not dims else "data"
        unit = text_of(array, "units")
        found[path] = {"dimensions": dims, "type": kind, **({"unit": unit} if unit else {}), **_words(array)}
    return found


def helpers(arrays: Mapping[str, Array]) -> set[str]:
    """What others name as their coordinates, bounds, grid mapping or the like (CF 1.11, appendix A)."""
    named: set[str] = set()
    roles = ("coordinates", "bounds", "climatology", "grid_mapping", "ancillary_variables", "cell_measures")
    for path, array in arrays.items():
        group = path.rpartition("/")[0]
        for role in roles:
            named |= {_coordinate(arrays, group, word.rstrip(":")) for word in text_of(array, role).split()}
    return named
