"""Where values lie on the Earth: a bounding box in degrees, and a GeoJSON geometry (RFC 7946, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array
from byteatlas.meta.conventions import step_of
from byteatlas.stac.values import numbers, text_of
from byteatlas.types import JSON

DegreeBox: TypeAlias = tuple[float, float, float, float]
EAST = ("degrees_east", "degree_east", "degree_e", "degrees_e", "degreee", "degreese")
NORTH = ("degrees_north", "degree_north", "degree_n", "degrees_n", "degreen", "degreesn")
"""Units that CF has for longitudes and latitudes (sections 4.1 and 4.2), in small letters."""
AROUND = 1.5
"""How much wider than the widest other step the gap may be at which a circle of longitudes closes."""


def is_longitude(array: Array) -> bool:
    return text_of(array, "standard_name") == "longitude" or text_of(array, "units").lower() in EAST


def is_latitude(array: Array) -> bool:
    return text_of(array, "standard_name") == "latitude" or text_of(array, "units").lower() in NORTH


def box_of(arrays: Mapping[str, Array]) -> DegreeBox | None:
    """The box of the longitudes and latitudes among arrays; None where there are none of either."""
    longitudes = [v for v in map(_edges, filter(is_longitude, arrays.values())) if v is not None]
    latitudes = [v for v in map(_edges, filter(is_latitude, arrays.values())) if v is not None]
    if not longitudes or not latitudes:
        return None
    south, north = min(float(v.min()) for v in latitudes), max(float(v.max()) for v in latitudes)
    if south > 90 or north < -90:
        return None
    west, east = around(np.concatenate(longitudes))
    return west, max(south, -90.0), east, min(north, 90.0)


def _edges(array: Array) -> NDArray[np.float64] | None:
    """The values of a coordinate; of even ones the outer edges of their cells, too."""
    values = numbers(array)
    if values is None or not len(values):
        return None
    step = step_of(values) if array.ndim == 1 else None
    if step is None:
        return values
    return np.concatenate([values[:1] - step / 2, values, values[-1:] + step / 2])


def around(longitudes: NDArray[np.float64]) -> tuple[float, float]:
    """The shortest way around the Earth that holds all longitudes, from west to east, as -180 to 180 degrees.

    >>> around(np.array([0.0, 90.0, 180.0, 270.0, 360.0])), around(np.array([170.0, 175.0, 190.0]))
    ((-180.0, 180.0), (170.0, -170.0))
    """
    if float(longitudes.max() - longitudes.min()) >= 360 - 1e-9:
        return -180.0, 180.0
    circle = np.unique(np.round(longitudes % 360, 12))
    steps = np.diff(circle, append=circle[0] + 360)
    widest = int(np.argmax(steps))
    if len(circle) > 2 and float(steps[widest]) <= AROUND * float(np.partition(steps, -2)[-2]):
        return -180.0, 180.0
    west, east = float(circle[(widest + 1) % len(circle)]), float(circle[widest])
    return _signed(west), _signed(east) if _signed(east) != -180 else 180.0


def _signed(degrees: float) -> float:
    return round((degrees + 180) % 360 - 180, 12)


def geometry_of(box: DegreeBox) -> dict[str, JSON]:
    """A polygon; two where the box crosses the antimeridian (RFC 7946, section 3.1.9)."""
    west, south, east, north = box
    if west <= east:
        return {"type": "Polygon", "coordinates": _ring(west, south, east, north)}
    parts: list[JSON] = [_ring(west, south, 180.0, north), _ring(-180.0, south, east, north)]
    return {"type": "MultiPolygon", "coordinates": parts}


def _ring(west: float, south: float, east: float, north: float) -> list[JSON]:
    corners: list[JSON] = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return [corners]


def stated(attributes: Mapping[str, Any]) -> DegreeBox | None:
    """The box that a data set states of itself (Attribute Convention for Data Discovery 1.3)."""
    names = ("geospatial_lon_min", "geospatial_lat_min", "geospatial_lon_max", "geospatial_lat_max")
    try:
        west, south, east, north = (float(attributes[name]) for name in names)
    except (KeyError, TypeError, ValueError):
        return None
    if not (-90 <= south <= north <= 90 and -360 <= west <= 360 and -360 <= east <= 360):
        return None
    if east - west >= 360:
        return -180.0, south, 180.0, north
    return _signed(west), south, _signed(east) if _signed(east) != -180 else 180.0, north
