"""The numbers of a grid section that its coordinates are made from, in one form for both editions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from byteatlas.codecs.grib.sections.wire import ibm32, ieee32, signed, unsigned
from byteatlas.errors import Unsupported

SOUTH = 0x80
"""Flag of the projection centre: the south pole is on the plane."""
ROTATED1, STRETCHED1 = (10, 14), (20, 24, 30, 34)


class Rotation(NamedTuple):
    """Where the southern pole of a rotated grid lies, and by how much the grid is turned about it; degrees."""

    latitude: float
    longitude: float
    angle: float


class Numbers(NamedTuple):
    """Numbers of a grid: angles in degrees, lengths in metres; those that its kind does not have are 0.

    Attributes:
        kind: ``regular_ll``, ``gaussian``, ``mercator``, ``polar``, ``lambert``, ``equal_area``, ``transverse``,
            ``view``.
        first, last: latitude and longitude of the first and the last point.
        centre: longitude of the projection's centre.
        true: latitude that the projection is true at; the first of two; of the centre in the equal-area projection.
        second: the second of two such latitudes.
        steps: from point to point along x and y.
        parallels: those between a pole and the equator in a Gaussian grid.
        south: the projection's pole is the southern one.
        scale: on the central meridian.
        offset: of the first point from the reference point (transverse Mercator); in a view, columns and rows from
            there to the point under the satellite.
        height: of the satellite above the centre of the earth, in radii of the equator.
    """

    kind: str
    first: tuple[float, float] = (0.0, 0.0)
    last: tuple[float, float] = (0.0, 0.0)
    centre: float = 0.0
    true: float = 0.0
    second: float = 0.0
    steps: tuple[float, float] = (0.0, 0.0)
    parallels: int = 0
    south: bool = False
    scale: float = 1.0
    offset: tuple[float, float] = (0.0, 0.0)
    height: float = 0.0
    rotation: Rotation | None = None


def numbers_of(edition: int, grid: bytes) -> Numbers:
    """The numbers. Raises `Unsupported` for kinds of grids without coordinates of their own."""
    if edition == 1:
        return _edition1(grid)
    template = unsigned(grid, 12, 2)
    if template not in EDITION2:
        raise Unsupported("layout", f"grib: no coordinates are made for grid definition template {template}")
    return EDITION2[template](grid)


def _micro(grid: bytes, at: int) -> float:
    return signed(grid, at, 4) / 1e6


def _angle_unit(grid: bytes) -> float:
    """Angles of latitude-longitude grids may have a unit of their own."""
    basic, parts = unsigned(grid, 38, 4), unsigned(grid, 42, 4)
    return parts / basic if basic not in (0, 0xFFFFFFFF) and parts not in (0, 0xFFFFFFFF) else 1e6


def _rotation2(grid: bytes) -> Rotation | None:
    if unsigned(grid, 12, 2) not in (1, 41):
        return None
    unit = _angle_unit(grid)
    return Rotation(signed(grid, 72, 4) / unit, signed(grid, 76, 4) / unit, ieee32(grid, 80))


def _latlon2(grid: bytes) -> Numbers:
    unit = _angle_unit(grid)
    first, last = ((signed(grid, at, 4) / unit, signed(grid, at + 4, 4) / unit) for at in (46, 55))
    steps = unsigned(grid, 63, 4), unsigned(grid, 67, 4)
    x, y = (0.0 if step == 0xFFFFFFFF else step / unit for step in steps)
    return Numbers("regular_ll", first, last, steps=(x, y), rotation=_rotation2(grid))


def _gaussian2(grid: bytes) -> Numbers:
    found = _latlon2(grid)
    return found._replace(kind="gaussian", parallels=unsigned(grid, 67, 4))


def _plane2(grid: bytes, kind: str) -> Numbers:
    steps = unsigned(grid, 55, 4) / 1000, unsigned(grid, 59, 4) / 1000
    return Numbers(kind, (_micro(grid, 38), _micro(grid, 42)), steps=steps)


def _mercator2(grid: bytes) -> Numbers:
    if unsigned(grid, 60, 4):
        raise Unsupported("layout", "grib: a Mercator grid that is turned")
    first, steps = (_micro(grid, 38), _micro(grid, 42)), (unsigned(grid, 64, 4) / 1000, unsigned(grid, 68, 4) / 1000)
    return Numbers("mercator", first, centre=first[1], true=_micro(grid, 47), steps=steps)


def _polar2(grid: bytes) -> Numbers:
    true = _micro(grid, 47)
    south = bool(grid[63] & SOUTH) or true < 0
    return _plane2(grid, "polar")._replace(true=true, centre=_micro(grid, 51), south=south)


def _lambert2(grid: bytes) -> Numbers:
    return _plane2(grid, "lambert")._replace(
        centre=_micro(grid, 51), true=_micro(grid, 65), second=_micro(grid, 69)
    )  # fmt: skip


def _equal_area2(grid: bytes) -> Numbers:
    return _plane2(grid, "equal_area")._replace(true=_micro(grid, 46), centre=_micro(grid, 50))


def _transverse2(grid: bytes) -> Numbers:
    x, y = ((signed(grid, at + 17, 4) - signed(grid, at, 4)) / 100 for at in (51, 55))
    steps = unsigned(grid, 60, 4) / 100, unsigned(grid, 64, 4) / 100
    return Numbers(
        "transverse", centre=_micro(grid, 42), true=_micro(grid, 38), scale=ieee32(grid, 47), steps=steps, offset=(x, y)
    )


def _view2(grid: bytes) -> Numbers:
    centre = unsigned(grid, 55, 4) / 1000 - unsigned(grid, 72, 4), unsigned(grid, 59, 4) / 1000 - unsigned(grid, 76, 4)
    return _view(
        signed(grid, 38, 4),
        _micro(grid, 42),
        (unsigned(grid, 47, 4), unsigned(grid, 51, 4)),
        centre,
        unsigned(grid, 68, 4),
    )


def _view(latitude: int, longitude: float, steps: tuple[int, int], centre: tuple[float, float], height: int) -> Numbers:
    if latitude or not all(steps) or not 1000000 < height < 0xFFFFFF00:
        raise Unsupported("layout", "grib: a view that is not one of a geostationary satellite")
    return Numbers(
        "view", centre=longitude, steps=(float(steps[0]), float(steps[1])), offset=centre, height=height / 1e6
    )


EDITION2: Mapping[int, Callable[[bytes], Numbers]] = {
    0: _latlon2,
    1: _latlon2,
    10: _mercator2,
    12: _transverse2,
    20: _polar2,
    30: _lambert2,
    40: _gaussian2,
    41: _gaussian2,
    90: _view2,
    140: _equal_area2,
}
"""By grid definition template."""


def _milli(grid: bytes, at: int) -> float:
    return signed(grid, at, 3) / 1000


def _edition1(grid: bytes) -> Numbers:
    kind = unsigned(grid, 5, 1)
    first = _milli(grid, 10), _milli(grid, 13)
    match kind:
        case 0 | 10:
            return _latlon1(grid, kind)
        case 4 | 14:
            return _latlon1(grid, kind)._replace(kind="gaussian", parallels=unsigned(grid, 25, 2))
        case 1:
            steps = float(unsigned(grid, 28, 3)), float(unsigned(grid, 31, 3))
            return Numbers("mercator", first, centre=first[1], true=_milli(grid, 23), steps=steps)
        case 3 | 5:
            steps = float(unsigned(grid, 20, 3)), float(unsigned(grid, 23, 3))
            plane = Numbers("polar", first, centre=_milli(grid, 17), true=60.0, steps=steps)
            if kind == 5:
                return plane._replace(south=bool(grid[26] & SOUTH))
            return plane._replace(kind="lambert", true=_milli(grid, 28), second=_milli(grid, 31))
        case 90:
            centre = unsigned(grid, 23, 2) - unsigned(grid, 34, 2), unsigned(grid, 25, 2) - unsigned(grid, 36, 2)
            steps1 = unsigned(grid, 17, 3), unsigned(grid, 20, 3)
            return _view(signed(grid, 10, 3), first[1], steps1, centre, unsigned(grid, 31, 3))
    raise Unsupported("layout", f"grib: no coordinates are made for data representation type {kind}")


def _latlon1(grid: bytes, kind: int) -> Numbers:
    first, last = ((_milli(grid, at), _milli(grid, at + 3)) for at in (10, 17))
    steps = unsigned(grid, 23, 2), unsigned(grid, 25, 2)
    x, y = (0.0 if step == 0xFFFF else step / 1000 for step in steps)
    rotation = Rotation(_milli(grid, 32), _milli(grid, 35), ibm32(grid, 38)) if kind in ROTATED1 else None
    return Numbers("regular_ll", first, last, steps=(x, y), rotation=rotation)
