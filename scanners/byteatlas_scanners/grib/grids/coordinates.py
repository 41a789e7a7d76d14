"""The coordinate arrays of a grid."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import VirtualArray
from byteatlas.scanning.grib import MOST_PARALLELS, gaussian_latitudes
from byteatlas.types import JSON
from byteatlas_scanners.grib.grids.model import I_NEGATIVE, J_POSITIVE, Grid
from byteatlas_scanners.grib.grids.projection import first_point, mapping_of
from byteatlas_scanners.grib.kept import kept

LONGEST = 1 << 20
"""Points along an axis whose coordinates are kept in the map; longer axes are damage, not grids."""
CRS = "crs"
LATITUDE: dict[str, JSON] = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north"}
LONGITUDE: dict[str, JSON] = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east"}


class GridCoordinates(NamedTuple):
    """Arrays of a grid that the map holds.

    Attributes:
        mapping: name of the array with the grid mapping, or None.
    """

    arrays: dict[str, VirtualArray]
    mapping: str | None


def grid_coordinates(grid: Grid, *, straight: bool = False) -> GridCoordinates:
    """The coordinates of a grid, as far as it has any.

    Args:
        straight: rows that run to and fro are turned when they are read; else the axis along them has no coordinate.
    """
    arrays: dict[str, VirtualArray] = {}
    attributes = mapping_of(grid)
    if attributes is not None:
        arrays[CRS] = kept(np.zeros((), np.int32), (), attributes)
    if grid.ni and max(grid.shape) <= LONGEST:
        axes = _axes(grid)
        if grid.alternates and not straight:
            axes.pop(grid.dims[-1], None)
        arrays |= axes
    return GridCoordinates(arrays, CRS if attributes is not None else None)


def _axes(grid: Grid) -> dict[str, VirtualArray]:
    if "latitude" in grid.dims:
        latitudes = latitudes_of(grid)
        if latitudes is None:
            return {}
        return {
            "latitude": kept(latitudes, ("latitude",), {**LATITUDE, "axis": "Y"}),
            "longitude": kept(longitudes_of(grid), ("longitude",), {**LONGITUDE, "axis": "X"}),
        }
    if "latitudeOfSouthernPoleInDegrees" in grid.values:
        latitudes = latitudes_of(grid)
        if latitudes is None:
            return {}
        words: dict[str, JSON] = {"units": "degrees"}
        north = {**words, "standard_name": "grid_latitude", "long_name": "latitude in rotated pole grid", "axis": "Y"}
        east = {**words, "standard_name": "grid_longitude", "long_name": "longitude in rotated pole grid", "axis": "X"}
        return {"y": kept(latitudes, ("y",), north), "x": kept(longitudes_of(grid), ("x",), east)}
    return _plane(grid)


def _plane(grid: Grid) -> dict[str, VirtualArray]:
    if grid.kind == "space_view":
        return _view(grid)
    first = first_point(grid)
    if first is None:
        return {}
    dx, dy = _steps(grid)
    x = first[0] + dx * np.arange(grid.ni)
    y = first[1] + dy * np.arange(grid.nj)
    words: dict[str, JSON] = {"units": "m"}
    return {
        "y": kept(y, ("y",), {**words, "standard_name": "projection_y_coordinate", "axis": "Y"}),
        "x": kept(x, ("x",), {**words, "standard_name": "projection_x_coordinate", "axis": "X"}),
    }


def _steps(grid: Grid) -> tuple[float, float]:
    """Metres from point to point, with the direction in which rows and columns go."""
    dx, dy = abs(grid.number("Dx")), abs(grid.number("Dy"))
    return (-dx if grid.scan & I_NEGATIVE else dx), (dy if grid.scan & J_POSITIVE else -dy)


def _view(grid: Grid) -> dict[str, VirtualArray]:
    """Angles of a satellite's view, counted from the point under it."""
    height, dx, dy = grid.number("Nr") / 1e6, grid.number("dx"), grid.number("dy")
    if height <= 1.0 or not dx or not dy:
        return {}
    size = 2 * math.asin(1 / height)
    unit = 1.0 if grid.edition == 1 else 1e-3
    x = (np.arange(grid.ni) + grid.number("Xo") - grid.number("Xp") * unit) * size / dx
    y = (np.arange(grid.nj) + grid.number("Yo") - grid.number("Yp") * unit) * size / dy
    x, y = (-x if grid.scan & I_NEGATIVE else x), (y if grid.scan & J_POSITIVE else -y)
    words: dict[str, JSON] = {"units": "radian"}
    return {
        "y": kept(y, ("y",), {**words, "standard_name": "projection_y_angular_coordinate", "axis": "Y"}),
        "x": kept(x, ("x",), {**words, "standard_name": "projection_x_angular_coordinate", "axis": "X"}),
    }


def latitudes_of(grid: Grid) -> NDArray[np.floating[Any]] | None:
    """Latitudes of the rows in degrees; None where a Gaussian grid's number of parallels is absurd.

    Where the increment is given it counts, but for the last row, as in ecCodes.
    """
    first, last = (grid.number(f"latitudeOf{which}GridPointInDegrees") for which in ("First", "Last"))
    if grid.kind.endswith("_gg"):
        return _gaussian(grid, first)
    if grid.nj == 1:
        return np.array([first])
    step = grid.number("jDirectionIncrementInDegrees")
    if not step:  # not given
        return np.linspace(first, last, grid.nj)
    found = first + (step if grid.scan & J_POSITIVE else -step) * np.arange(grid.nj)
    found[-1] = last
    return found


def _gaussian(grid: Grid, first: float) -> NDArray[np.floating[Any]] | None:
    n = int(grid.number("N"))
    if not 0 < n <= MOST_PARALLELS or grid.nj > 2 * n:
        return None
    every = gaussian_latitudes(n)
    if grid.scan & J_POSITIVE:
        every = every[::-1]
    begin = 0 if grid.nj == 2 * n else int(np.abs(every - first).argmin())
    return every[begin : begin + grid.nj] if begin + grid.nj <= 2 * n else None


def longitudes_of(grid: Grid) -> NDArray[np.floating[Any]]:
    """Longitudes of the columns in degrees, as ecCodes gives them: growing past 360 where they must."""
    first, last = (grid.number(f"longitudeOf{which}GridPointInDegrees") for which in ("First", "Last"))
    if grid.ni == 1:
        return np.array([first])
    spaces = grid.ni - 1
    if grid.scan & I_NEGATIVE:
        step = -((first - last) if first > last else (first + 360.0 - last)) / spaces
        return first + step * np.arange(grid.ni)
    step = ((last - first) if last > first else (last + 360.0 - first)) / spaces
    if first + (grid.ni - 2) * step > 360.0 + 1e-6:
        first -= 360.0
    elif first + spaces * step - 360.0 > 1e-6:
        step = 360.0 / grid.ni
    return first + step * np.arange(grid.ni)
