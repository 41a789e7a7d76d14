"""Which coordinate values of a new file a map has already, and where."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.coordinates.find import no_dimension
from byteatlas.combining.coordinates.times import common_calendar, is_time, parse_units
from byteatlas.combining.coordinates.values import read_all
from byteatlas.combining.inputs import find_variable, flatten
from byteatlas.combining.model import FlatInput, ReadArray
from byteatlas.errors import BadRequest, NotFound
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.compare import equal_in_value

Positions: TypeAlias = tuple[int, int]
"""Positions ``start`` to ``stop`` (excluded) in the map."""
CoordinateValues: TypeAlias = NDArray[Any]
"""Coordinate values, one-dimensional."""


def coordinate_of(group: VirtualGroup, dim: str, read: ReadArray) -> CoordinateValues | None:
    """The map's coordinate values; None when it has the dimension, and no variable of its name: files go behind it.

    Raises `BadRequest` when it does not have the dimension.
    """
    item = flatten([group], ["map"])[0]
    path = find_variable(dim, item)
    if path is None:
        known = dict.fromkeys(d for a in item.arrays.values() for d in a.meta.dimension_names or () if d)
        if dim not in known:
            raise BadRequest(no_dimension(dim, list(known)).replace("no file has", "the map does not have"))
        return None
    if item.arrays[path].meta.ndim != 1:
        raise BadRequest(f"the map's variable {dim!r} has not one dimension: nothing can be appended along it")
    return read_all([item.arrays[path]], read)[0]


def where_in(
    known: CoordinateValues, item: FlatInput, dim: str, existing: VirtualGroup, read: ReadArray
) -> list[Positions]:
    """The runs of positions in the map that hold this input's coordinate values; none when they are not all there."""
    values = own_values(item, dim, existing, read)
    if values is None or not len(values) or not len(known):
        return []
    for at in np.flatnonzero(known == values[0]).tolist():
        if np.array_equal(known[at : at + len(values)], values):
            return [(at, at + len(values))]
    order = np.argsort(known, kind="stable")
    places = order[np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)]
    if not np.array_equal(known[places], values):
        return []
    starts = np.flatnonzero(np.append(True, np.diff(places) != 1))
    stops = np.append(starts[1:], len(places))
    return [(int(places[a]), int(places[b - 1]) + 1) for a, b in zip(starts, stops, strict=True)]


def shares(known: CoordinateValues, item: FlatInput, dim: str, existing: VirtualGroup, read: ReadArray) -> bool:
    """Whether some of an input's coordinate values are in the map."""
    values = own_values(item, dim, existing, read)
    return values is not None and bool(np.isin(values, known).any())


def own_values(item: FlatInput, dim: str, existing: VirtualGroup, read: ReadArray) -> CoordinateValues | None:
    """An input's coordinate values; None when it has none, or they are in other units (or of another calendar) than
    those of the map.

    Such an input is left to the combination to sort out.
    """
    path = find_variable(dim, item)
    if path is None:
        return None
    array, old = item.arrays[path], find(existing, path)
    names = ("units", "scale_factor", "add_offset")
    own, other = ([a.meta.attributes.get(n) for n in names] for a in (array, old or array))
    if not equal_in_value(own, other):
        return None
    values = read_all([array], read)[0].reshape(-1)
    return values if old is None or same_calendar(array, old, values) else None


def same_calendar(one: VirtualArray, other: VirtualArray, values: CoordinateValues) -> bool:
    """Whether these values, in the same units, are the same times in both; they are where they are no times."""
    pairs = [(a.meta.attributes.get("units"), a.meta.attributes.get("calendar")) for a in (one, other)]
    units = [u for pair in pairs if (u := parse_units(*pair)) is not None]
    if len(units) < 2:
        return not is_time(pairs[0][0]) or equal_in_value(*(calendar for _, calendar in pairs))
    return common_calendar(units, [values, values]) is not None


def find(group: VirtualGroup, path: str) -> VirtualArray | None:
    """The array at a path, or None."""
    try:
        node = group[path]
    except NotFound:
        return None
    return node if isinstance(node, VirtualArray) else None
