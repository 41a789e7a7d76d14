"""Projected grids: CF grid mappings, and the x and y of their points.

The place of the first point comes from its latitude and longitude by the equations of the projection on an ellipsoid
(Snyder, "Map Projections: A Working Manual", USGS 1395, 1987), the others lie at equal distances from it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from math import asin, cos, log, pi, radians, sin, sqrt, tan

from byteatlas.scanning.grib import Spheroid
from byteatlas.types import JSON
from byteatlas_scanners.grib.grids.model import Grid


def figure(earth: Spheroid) -> dict[str, JSON]:
    """The earth's figure in CF's words."""
    if earth.major == earth.minor:
        return {"earth_radius": earth.major}
    return {"semi_major_axis": earth.major, "semi_minor_axis": earth.minor}


def mapping_of(grid: Grid) -> dict[str, JSON] | None:
    """Attributes of the grid mapping (CF appendix F); None where there is none."""
    make = MAPPINGS.get(grid.kind.replace("reduced_", "").replace("stretched_", ""))
    if make is None:
        return None
    own = make(grid)
    plane = own["grid_mapping_name"] not in ("latitude_longitude", "rotated_latitude_longitude")
    if plane and "false_easting" not in own:
        own |= {"false_easting": 0.0, "false_northing": 0.0}
    return {**own, **figure(grid.earth)}


def _named(name: str, **numbers: float) -> dict[str, JSON]:
    return {"grid_mapping_name": name, **numbers}


def _rotated(grid: Grid) -> dict[str, JSON]:
    pole = grid.number("longitudeOfSouthernPoleInDegrees") + 180.0
    return _named(
        "rotated_latitude_longitude",
        grid_north_pole_latitude=-grid.number("latitudeOfSouthernPoleInDegrees"),
        grid_north_pole_longitude=pole - 360.0 if pole > 180.0 else pole,
        north_pole_grid_longitude=grid.number("angleOfRotationInDegrees"),
    )


def _transverse(grid: Grid) -> dict[str, JSON]:
    return _named(
        "transverse_mercator",
        scale_factor_at_central_meridian=grid.number("scale"),
        latitude_of_projection_origin=grid.number("LaR"),
        longitude_of_central_meridian=grid.number("LoR"),
        false_easting=grid.number("XR"),
        false_northing=grid.number("YR"),
    )


def _view(grid: Grid) -> dict[str, JSON]:
    height = (grid.number("Nr") / 1e6 - 1.0) * grid.earth.major
    return {
        **_centred("geostationary", "Lap", "Lop")(grid),
        "perspective_point_height": height,
        "sweep_angle_axis": "y",
    }


def _stereographic(grid: Grid) -> dict[str, JSON]:
    return _named(
        "polar_stereographic",
        straight_vertical_longitude_from_pole=grid.number("LoV"),
        latitude_of_projection_origin=-90.0 if south(grid) else 90.0,
        standard_parallel=_parallel(grid),
    )


def _centred(name: str, latitude: str, longitude: str) -> Callable[[Grid], dict[str, JSON]]:
    """A mapping with an origin that two numbers of the grid say."""
    return lambda grid: _named(
        name,
        latitude_of_projection_origin=grid.number(latitude),
        longitude_of_projection_origin=grid.number(longitude),
    )


def _geographic(grid: Grid) -> dict[str, JSON]:
    return _named("latitude_longitude")


def _conic(name: str, grid: Grid) -> dict[str, JSON]:
    first, second = grid.number("Latin1"), grid.number("Latin2")
    return {
        "grid_mapping_name": name,
        "standard_parallel": first if first == second else [first, second],
        "longitude_of_central_meridian": grid.number("LoV"),
        "latitude_of_projection_origin": grid.number("LaD") if "LaD" in grid.values else first,
    }


def south(grid: Grid) -> bool:
    """Whether the south pole is on the plane (flag table 3.5)."""
    return bool(int(grid.number("centre")) & 0x80)


def _parallel(grid: Grid) -> float:
    """Where distances are true; some centres write the other hemisphere's."""
    found = grid.number("LaD")
    return -abs(found) if south(grid) else abs(found)


def first_point(grid: Grid) -> tuple[float, float] | None:
    """The x and y of the first point in metres; None for grids without a plane."""
    forward = FORWARD.get(grid.kind)
    if forward is None:
        return None
    try:
        x, y = forward(grid)
    except (ArithmeticError, ValueError):  # parameters that are no projection: a parallel beyond the pole and the like
        return None
    return (x, y) if math.isfinite(x) and math.isfinite(y) else None


def _wrapped(angle: float) -> float:
    """An angle in radians between -pi and pi."""
    return (angle + pi) % (2 * pi) - pi


def _t(phi: float, e: float) -> float:
    """Snyder (15-9)."""
    return tan(pi / 4 - phi / 2) / math.pow((1 - e * sin(phi)) / (1 + e * sin(phi)), e / 2)


def _m(phi: float, e: float) -> float:
    """Snyder (14-15)."""
    return cos(phi) / sqrt(1 - (e * sin(phi)) ** 2)


def _q(phi: float, e: float) -> float:
    """Snyder (3-12)."""
    s = sin(phi)
    if e < 1e-10:
        return 2 * s
    return (1 - e * e) * (s / (1 - (e * s) ** 2) - log((1 - e * s) / (1 + e * s)) / (2 * e))


def _first(grid: Grid) -> tuple[float, float]:
    return radians(grid.number("La1")), radians(grid.number("Lo1"))


def _lambert(grid: Grid) -> tuple[float, float]:
    """Snyder, section 15."""
    e, a = grid.earth.eccentricity, grid.earth.major
    phi, lam = _first(grid)
    one, two = radians(grid.number("Latin1")), radians(grid.number("Latin2"))
    origin = radians(grid.number("LaD")) if "LaD" in grid.values else one
    if abs(one - two) < 1e-12:
        n = sin(one)
    else:
        n = (log(_m(one, e)) - log(_m(two, e))) / (log(_t(one, e)) - log(_t(two, e)))
    f = a * _m(one, e) / (n * math.pow(_t(one, e), n))
    theta = n * _wrapped(lam - radians(grid.number("LoV")))
    rho, rho0 = f * math.pow(_t(phi, e), n), f * math.pow(_t(origin, e), n)
    return rho * sin(theta), rho0 - rho * cos(theta)


def _albers(grid: Grid) -> tuple[float, float]:
    """Snyder, section 14."""
    e, a = grid.earth.eccentricity, grid.earth.major
    phi, lam = _first(grid)
    one, two = radians(grid.number("Latin1")), radians(grid.number("Latin2"))
    origin = radians(grid.number("LaD")) if "LaD" in grid.values else one
    n = sin(one) if abs(one - two) < 1e-12 else (_m(one, e) ** 2 - _m(two, e) ** 2) / (_q(two, e) - _q(one, e))
    c = _m(one, e) ** 2 + n * _q(one, e)
    rho, rho0 = (a * sqrt(c - n * _q(angle, e)) / n for angle in (phi, origin))
    theta = n * _wrapped(lam - radians(grid.number("LoV")))
    return rho * sin(theta), rho0 - rho * cos(theta)


def _polar(grid: Grid) -> tuple[float, float]:
    """Snyder, section 21."""
    e, a = grid.earth.eccentricity, grid.earth.major
    side = -1.0 if south(grid) else 1.0
    phi, lam = _first(grid)
    true = side * radians(_parallel(grid))
    delta = side * _wrapped(lam - radians(grid.number("LoV")))
    if abs(true - pi / 2) < 1e-12:
        scale = 2 * a / sqrt((1 + e) ** (1 + e) * (1 - e) ** (1 - e))
    else:
        scale = a * _m(true, e) / _t(true, e)
    rho = scale * _t(side * phi, e)
    return side * rho * sin(delta), -side * rho * cos(delta)


def _mercator(grid: Grid) -> tuple[float, float]:
    """Snyder, section 7."""
    e, a = grid.earth.eccentricity, grid.earth.major
    phi, lam = _first(grid)
    scale = a * _m(radians(grid.number("LaD")), e)
    return scale * _wrapped(lam), -scale * log(_t(phi, e))


def _equal_area(grid: Grid) -> tuple[float, float]:
    """Lambert's azimuthal equal-area projection; Snyder, section 24."""
    e, a = grid.earth.eccentricity, grid.earth.major
    phi, lam = _first(grid)
    origin, delta = radians(grid.number("standardParallel")), _wrapped(lam - radians(grid.number("centralLongitude")))
    pole = _q(pi / 2, e)
    beta, beta0 = (asin(max(-1.0, min(1.0, _q(angle, e) / pole))) for angle in (phi, origin))
    radius = a * sqrt(pole / 2)
    d = a * _m(origin, e) / (radius * cos(beta0))
    b = radius * sqrt(2 / (1 + sin(beta0) * sin(beta) + cos(beta0) * cos(beta) * cos(delta)))
    x = b * d * cos(beta) * sin(delta)
    return x, b / d * (cos(beta0) * sin(beta) - sin(beta0) * cos(beta) * cos(delta))


def _tangent(grid: Grid) -> tuple[float, float]:
    """A plane whose origin is in the middle of the grid."""
    side = 1.0 if grid.scan & 0x40 else -1.0
    return -(grid.ni - 1) / 2 * grid.number("Dx"), -side * (grid.nj - 1) / 2 * grid.number("Dy")


FORWARD: Mapping[str, Callable[[Grid], tuple[float, float]]] = {
    "lambert": _lambert,
    "albers": _albers,
    "polar_stereographic": _polar,
    "mercator": _mercator,
    "lambert_azimuthal_equal_area": _equal_area,
    "equatorial_azimuthal_equidistant": _tangent,
    "transverse_mercator": lambda grid: (grid.number("X1"), grid.number("Y1")),
}

MAPPINGS: Mapping[str, Callable[[Grid], dict[str, JSON]]] = {
    "lambert": lambda grid: _conic("lambert_conformal_conic", grid),
    "albers": lambda grid: _conic("albers_conical_equal_area", grid),
    "polar_stereographic": _stereographic,
    "mercator": lambda grid: _named(
        "mercator", longitude_of_projection_origin=0.0, standard_parallel=grid.number("LaD")
    ),
    "lambert_azimuthal_equal_area": _centred("lambert_azimuthal_equal_area", "standardParallel", "centralLongitude"),
    "equatorial_azimuthal_equidistant": _centred("azimuthal_equidistant", "La1", "Lo1"),
    "transverse_mercator": _transverse,
    "space_view": _view,
    **dict.fromkeys(("rotated_ll", "rotated_gg"), _rotated),
    **dict.fromkeys(("regular_ll", "regular_gg", "ll", "gg", "healpix"), _geographic),
}
