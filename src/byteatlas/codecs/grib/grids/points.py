"""Latitude and longitude of every point of a grid, in degrees, in the order of its values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.grids.earth import earth_of
from byteatlas.codecs.grib.grids.gaussian import MOST_PARALLELS, gaussian_latitudes
from byteatlas.codecs.grib.grids.healpix import healpix
from byteatlas.codecs.grib.grids.parameters import Numbers, Rotation, numbers_of
from byteatlas.codecs.grib.grids.projections import Angles, EqualArea, Lambert, Mercator, Polar, Projection
from byteatlas.codecs.grib.grids.rows import COLUMNS_FIRST, points_of_rows, scanning_mode, sides
from byteatlas.codecs.grib.grids.transverse import Transverse
from byteatlas.codecs.grib.grids.view import View
from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.errors import CorruptChunk, CorruptFile, Unsupported

I_NEGATIVE, J_POSITIVE = 0x80, 0x40
HEALPIX, FIRST_PIXEL, CENTRES, MOST_SIDE = 150, 45_000_000, 4, 1 << 14
NEAR = 1e-6


def points(edition: int, grid: bytes, size: int) -> tuple[Angles, Angles]:
    """Latitudes and longitudes, each of shape (size,). Raises `CorruptChunk` for another number of points.

    Longitudes of projected grids are from 0 to 360, those of equal-area and of rotated grids from -180 to 180, as
    ecCodes has them. Raises `Unsupported` for grids without
    coordinates that could be made from their numbers.
    """
    if is_healpix(edition, grid):
        return _pixels(grid, size)
    found, scan = numbers_of(edition, grid), scanning_mode(edition, grid)
    reduced = points_of_rows(edition, grid)
    if reduced is not None:
        if int(reduced.sum()) != size:
            raise CorruptChunk(f"grib: rows of {int(reduced.sum())} points where there are {size}")
        return turned(*_reduced(found, reduced, scan), found.rotation)
    columns, rows = sides(edition, grid)
    if columns * rows != size:
        raise CorruptChunk(f"grib: {rows} rows of {columns} points where there are {size}")
    latitude, longitude = _plane(edition, grid, found, (columns, rows, scan))
    if scan & COLUMNS_FIRST:
        latitude, longitude = latitude.T, longitude.T
    return turned(latitude.reshape(-1), longitude.reshape(-1), found.rotation)


def can_make(edition: int, grid: bytes) -> bool:
    """Whether `points` makes coordinates of a grid like this, as far as its numbers tell."""
    if is_healpix(edition, grid):
        return _sound_pixels(grid)
    try:
        found = numbers_of(edition, grid)
        if found.kind not in ("regular_ll", "gaussian", "view"):
            projection_of(edition, grid, found)
        rows = points_of_rows(edition, grid)
        if rows is not None:
            _around_the_globe(found, rows)
    except (Unsupported, CorruptChunk, CorruptFile, ArithmeticError, ValueError):
        return False
    return found.rotation is None or not found.rotation.angle


def is_healpix(edition: int, grid: bytes) -> bool:
    """Grid definition template 3.150."""
    return edition == 2 and unsigned(grid, 12, 2) == HEALPIX


def _sound_pixels(grid: bytes) -> bool:
    """Whether a HEALPix grid is one of centres of pixels, the first at 45 degrees, as ecCodes wants it.

    Nested order is for sides of 1, 2, 4, 8 ... only.
    """
    if len(grid) < 41 or unsigned(grid, 35, 4) != FIRST_PIXEL or grid[39] != CENTRES or grid[40] > 1:
        return False
    side = unsigned(grid, 31, 4)
    return 0 < side <= MOST_SIDE and (not grid[40] or side & (side - 1) == 0)


def _pixels(grid: bytes, size: int) -> tuple[Angles, Angles]:
    if not _sound_pixels(grid):
        raise Unsupported("layout", "grib: a HEALPix grid that does not begin at 45 degrees, or in another order")
    side = unsigned(grid, 31, 4)
    if 12 * side * side != size:
        raise CorruptChunk(f"grib: HEALPix grid of {12 * side * side} pixels where there are {size} points")
    return healpix(side, bool(grid[40]))


def _plane(edition: int, grid: bytes, found: Numbers, layout: tuple[int, int, int]) -> tuple[Angles, Angles]:
    """Coordinates of shape (rows, columns)."""
    columns, rows, scan = layout
    if found.kind in ("regular_ll", "gaussian"):
        latitude, longitude = latitudes(found, rows, scan), longitudes(found, columns, scan)
        both = np.broadcast_arrays(latitude[:, None], longitude[None, :])
        return both[0], both[1]
    if found.kind == "view":
        view = View(
            earth_of(edition, grid), found.centre, found.height, found.steps, found.offset, bool(scan & I_NEGATIVE),
            bool(scan & J_POSITIVE),
        )  # fmt: skip
        return view.points(columns, rows)
    projection = projection_of(edition, grid, found)
    x0, y0 = found.offset
    if found.kind != "transverse":
        x0, y0 = projection.forward(*np.radians(found.first).tolist())
    dx, dy = found.steps
    x = x0 + (-dx if scan & I_NEGATIVE else dx) * np.arange(columns)
    y = y0 + (dy if scan & J_POSITIVE else -dy) * np.arange(rows)
    xs, ys = np.meshgrid(x, y)
    with np.errstate(all="ignore"):
        latitude, longitude = projection.backward(xs, ys)
    degrees = np.degrees(longitude)
    return np.degrees(latitude), about_zero(degrees) if found.kind == "equal_area" else degrees % 360.0


def about_zero(longitude: Angles) -> Angles:
    """Longitudes above -180 and up to 180."""
    return 180.0 - (180.0 - longitude) % 360.0


def projection_of(edition: int, grid: bytes, found: Numbers) -> Projection:
    """The projection of a plane grid."""
    earth = earth_of(edition, grid)
    centre, true, second = np.radians([found.centre, found.true, found.second]).tolist()
    match found.kind:
        case "lambert":
            if abs(true + second) < 1e-10:
                raise Unsupported("layout", "grib: a Lambert projection with opposite parallels")
            return Lambert.of(earth, centre, true, second)
        case "mercator":
            return Mercator.of(earth, centre, true)
        case "polar":
            return Polar.of(earth, centre, true, found.south)
        case "equal_area":
            return EqualArea(earth.major, earth.eccentricity, centre, true)
        case "transverse":
            return Transverse(earth, centre, true, found.scale)
    raise Unsupported("layout", f"grib: grid {found.kind}")


def latitudes(found: Numbers, rows: int, scan: int) -> Angles:
    """Latitudes of rows, as they are stored. Raises `Unsupported`, `CorruptChunk`."""
    first, last = found.first[0], found.last[0]
    if found.kind == "gaussian":
        if not 0 < found.parallels <= MOST_PARALLELS or rows > 2 * found.parallels:
            raise CorruptChunk(f"grib: {rows} rows of {found.parallels} parallels in each hemisphere")
        every: Angles = gaussian_latitudes(found.parallels)
        every = every[::-1] if scan & J_POSITIVE else every
        begin = 0 if rows == len(every) else int(np.abs(every - first).argmin())
        if begin + rows > len(every):
            raise CorruptChunk(f"grib: {rows} Gaussian latitudes from {first} degrees on")
        return every[begin : begin + rows]
    if rows == 1:
        return np.array([first])
    step = found.steps[1] or abs(last - first) / (rows - 1)
    parallels: Angles = first + (step if scan & J_POSITIVE else -step) * np.arange(rows)
    parallels[-1] = last  # steps are rounded, the last latitude is said (as ecCodes has it)
    return parallels


def longitudes(found: Numbers, columns: int, scan: int) -> Angles:
    """Longitudes of columns, as they are stored; where they go beyond 360 they begin below 0 (as ecCodes has it)."""
    first, last = found.first[1], found.last[1]
    if columns == 1:
        return np.array([first])
    spaces = columns - 1
    if scan & I_NEGATIVE:
        return first - ((first - last) % 360.0 or 360.0) / spaces * np.arange(columns)
    step = ((last - first) % 360.0 or 360.0) / spaces
    if first + (columns - 2) * step > 360.0 + NEAR:
        first -= 360.0
    elif first + spaces * step - 360.0 > NEAR:
        step = 360.0 / columns
    return first + step * np.arange(columns)


def _reduced(found: Numbers, rows: NDArray[np.int64], scan: int) -> tuple[Angles, Angles]:
    """Points of a reduced grid around the whole globe. Raises `Unsupported` for a part of it."""
    _around_the_globe(found, rows)
    place = np.arange(int(rows.sum())) - np.repeat(np.cumsum(rows) - rows, rows)
    steps = np.repeat(360.0 / np.maximum(rows, 1), rows)
    return np.repeat(latitudes(found, len(rows), scan), rows), found.first[1] + place * steps


def _around_the_globe(found: Numbers, rows: NDArray[np.int64]) -> None:
    """Raises `Unsupported` for reduced grids of another kind or of a part of the globe."""
    longest = int(rows.max(initial=1))
    width = (found.last[1] - found.first[1]) % 360.0
    whole = longest > 0 and width + 1.5 * 360.0 / longest > 360.0
    if found.kind not in ("gaussian", "regular_ll") or not whole:
        raise Unsupported("layout", "grib: a reduced grid that is not around the whole globe")


def turned(latitude: Angles, longitude: Angles, rotation: Rotation | None) -> tuple[Angles, Angles]:
    """Geographical coordinates of points in the coordinates of a rotated pole (WMO, template 3.1, note 2)."""
    if rotation is None:
        return latitude, longitude
    if rotation.angle:
        raise Unsupported("layout", f"grib: a rotated grid that is turned by {rotation.angle} degrees")
    lat, lon = np.radians(latitude), np.radians(longitude)
    x, y, z = np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)
    tilt = np.radians(-(90.0 + rotation.latitude))
    east, up = np.cos(tilt) * x + np.sin(tilt) * z, -np.sin(tilt) * x + np.cos(tilt) * z
    found = np.degrees(np.arctan2(y, east)) + rotation.longitude
    return np.degrees(np.arcsin(np.clip(up, -1, 1))), about_zero(found)
