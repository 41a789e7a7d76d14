"""Projections of the General Cartographic Transformation Package as CF grid mappings and WKT 2 (ISO 19162).

Parameters are those of the HDF-EOS Library User's Guide, volume 1, "Projection parameters".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from byteatlas.types import JSON
from byteatlas_scanners.eos.structure import EosGrid, degrees

ANGLE, LENGTH, SCALE = "angle", "length", "scale"


class GctpParameter(NamedTuple):
    """One parameter: its names in WKT and in CF, what it is, and its place among GCTP's."""

    wkt: str
    cf: str
    kind: str
    place: int


class GctpProjection(NamedTuple):
    """One projection: its names in WKT and CF (None: it has none), and its parameters but for the false origin."""

    method: str
    cf: str | None
    parameters: tuple[GctpParameter, ...]
    easting: str = "False easting"
    northing: str = "False northing"


def _natural(longitude: str = "longitude_of_central_meridian") -> tuple[GctpParameter, GctpParameter]:
    return (
        GctpParameter("Latitude of natural origin", "latitude_of_projection_origin", ANGLE, 5),
        GctpParameter("Longitude of natural origin", longitude, ANGLE, 4),
    )


CONIC = (
    GctpParameter("Latitude of false origin", "latitude_of_projection_origin", ANGLE, 5),
    GctpParameter("Longitude of false origin", "longitude_of_central_meridian", ANGLE, 4),
    GctpParameter("Latitude of 1st standard parallel", "standard_parallel", ANGLE, 2),
    GctpParameter("Latitude of 2nd standard parallel", "standard_parallel", ANGLE, 3),
)
MERIDIAN = GctpParameter("Longitude of natural origin", "longitude_of_projection_origin", ANGLE, 4)
PARALLEL = GctpParameter("Latitude of 1st standard parallel", "standard_parallel", ANGLE, 5)
FALSE_ORIGIN = ("Easting at false origin", "Northing at false origin")
PROJECTIONS: Mapping[str, GctpProjection] = {
    "ALBERS": GctpProjection("Albers Equal Area", "albers_conical_equal_area", CONIC, *FALSE_ORIGIN),
    "LAMCC": GctpProjection("Lambert Conic Conformal (2SP)", "lambert_conformal_conic", CONIC, *FALSE_ORIGIN),
    "MERCAT": GctpProjection("Mercator (variant B)", "mercator", (PARALLEL, MERIDIAN)),
    "PS": GctpProjection(
        "Polar Stereographic (variant B)",
        "polar_stereographic",
        (
            GctpParameter("Latitude of standard parallel", "standard_parallel", ANGLE, 5),
            GctpParameter("Longitude of origin", "straight_vertical_longitude_from_pole", ANGLE, 4),
        ),
    ),
    "TM": GctpProjection(
        "Transverse Mercator",
        "transverse_mercator",
        (*_natural(), GctpParameter("Scale factor at natural origin", "scale_factor_at_central_meridian", SCALE, 2)),
    ),
    "LAMAZ": GctpProjection(
        "Lambert Azimuthal Equal Area",
        "lambert_azimuthal_equal_area",
        _natural("longitude_of_projection_origin"),
    ),
    "AZMEQD": GctpProjection(
        "Azimuthal Equidistant", "azimuthal_equidistant", _natural("longitude_of_projection_origin")
    ),
    "ORTHO": GctpProjection("Orthographic", "orthographic", _natural("longitude_of_projection_origin")),
    "SNSOID": GctpProjection("Sinusoidal", "sinusoidal", (MERIDIAN,)),
    "EQRECT": GctpProjection("Equidistant Cylindrical", None, (PARALLEL, MERIDIAN)),
    "ROBIN": GctpProjection("Robinson", None, (MERIDIAN,)),
    "MOLL": GctpProjection("Mollweide", None, (MERIDIAN,)),
    "CEA": GctpProjection(
        "Lambert Cylindrical Equal Area",
        "lambert_cylindrical_equal_area",
        (PARALLEL, MERIDIAN._replace(cf="longitude_of_central_meridian")),
    ),
}
SAME = {"BCEA": "CEA"}

SPHEROIDS: Mapping[int, tuple[str, float, float]] = {
    0: ("Clarke 1866", 6378206.4, 6356583.8), 1: ("Clarke 1880", 6378249.145, 6356514.86955),
    2: ("Bessel", 6377397.155, 6356078.96284), 3: ("International 1967", 6378157.5, 6356772.2),
    4: ("International 1909", 6378388.0, 6356911.94613), 5: ("WGS 72", 6378135.0, 6356750.519915),
    6: ("Everest", 6377276.3452, 6356075.4133), 7: ("WGS 66", 6378145.0, 6356759.769356),
    8: ("GRS 1980", 6378137.0, 6356752.31414), 9: ("Airy", 6377563.396, 6356256.91),
    10: ("Modified Everest", 6377304.063, 6356103.039), 11: ("Modified Airy", 6377340.189, 6356034.448),
    12: ("WGS 84", 6378137.0, 6356752.314245), 13: ("Southeast Asia", 6378155.0, 6356773.3205),
    14: ("Australian National", 6378160.0, 6356774.719), 15: ("Krassovsky", 6378245.0, 6356863.0188),
    16: ("Hough", 6378270.0, 6356794.343479), 17: ("Mercury 1960", 6378166.0, 6356784.283666),
    18: ("Modified Mercury 1968", 6378150.0, 6356768.337303), 19: ("Sphere", 6370997.0, 6370997.0),
}  # fmt: skip
WGS_84 = 12


def grid_mapping(grid: EosGrid) -> dict[str, JSON]:
    """Attributes of the grid mapping variable; empty for a projection that cannot be said."""
    name, a, b = _figure(grid)
    figure: dict[str, JSON] = {"earth_radius": a} if a == b else {"semi_major_axis": a, "semi_minor_axis": b}
    base = _geographic(name, a, b)
    if grid.projection == "GEO":
        text = f"GEOG{base},CS[ellipsoidal,2],{_LATITUDE},{_LONGITUDE}]"
        return {"grid_mapping_name": "latitude_longitude", **figure, "crs_wkt": text, "spatial_ref": text}
    found = _utm(grid) if grid.projection == "UTM" else _projected(grid)
    if found is None:
        return {}
    projection, values, false = found
    cf: dict[str, JSON] = {} if projection.cf is None else {"grid_mapping_name": projection.cf, **figure}
    for parameter, value in zip(projection.parameters, values, strict=True):
        first = cf.get(parameter.cf)
        cf[parameter.cf] = value if first is None else [first, value]
    if projection.cf == "polar_stereographic":
        cf["latitude_of_projection_origin"] = math.copysign(90.0, values[0])
    cf |= {"false_easting": false[0], "false_northing": false[1]}
    text = _wkt(grid.name, base, projection, values, false)
    return {**(cf if projection.cf else {}), "crs_wkt": text, "spatial_ref": text}


def _projected(grid: EosGrid) -> tuple[GctpProjection, list[float], tuple[float, float]] | None:
    projection = PROJECTIONS.get(SAME.get(grid.projection, grid.projection))
    if projection is None:
        return None
    given = grid.parameters
    values = [degrees(given[p.place]) if p.kind == ANGLE else given[p.place] for p in projection.parameters]
    for parameter, value in zip(projection.parameters, values, strict=True):
        if (parameter.kind == SCALE and not value > 0) or (parameter.wkt.startswith("Latitude") and abs(value) > 90):
            return None
    return projection, values, (given[6], given[7])


def _utm(grid: EosGrid) -> tuple[GctpProjection, list[float], tuple[float, float]] | None:
    """South of the equator zones are negative."""
    if not 1 <= abs(grid.zone) <= 60:
        return None
    return PROJECTIONS["TM"], [0.0, 6.0 * abs(grid.zone) - 183, 0.9996], (500000.0, 0.0 if grid.zone > 0 else 1e7)


def _figure(grid: EosGrid) -> tuple[str, float, float]:
    """Name and axes of the ellipsoid: by its number, or as the first two parameters give it."""
    first, second = abs(grid.parameters[0]), abs(grid.parameters[1])
    if grid.sphere in SPHEROIDS and not (grid.sphere == 0 and first):
        return SPHEROIDS[grid.sphere]
    if first and grid.projection != "UTM":
        if second > 1:
            return "unknown", first, second
        return "unknown", first, first * math.sqrt(1 - second)
    return SPHEROIDS[WGS_84 if grid.projection == "GEO" else 19]


DEGREE = f'ANGLEUNIT["degree",{math.pi / 180!r}]'
METRE = 'LENGTHUNIT["metre",1]'
_LATITUDE = f'AXIS["geodetic latitude (Lat)",north,ORDER[1],{DEGREE}]'
_LONGITUDE = f'AXIS["geodetic longitude (Lon)",east,ORDER[2],{DEGREE}]'


def _geographic(name: str, a: float, b: float) -> str:
    """The geographic system, to be written behind ``GEOG`` or ``BASEGEOG``; its bracket is left open."""
    inverse = 0.0 if a == b else a / (a - b)
    if name == SPHEROIDS[WGS_84][0]:
        inverse = 298.257223563
    label, datum = ("WGS 84", "World Geodetic System 1984") if name == "WGS 84" else ("unknown", f"unknown ({name})")
    ellipsoid = f'ELLIPSOID["{name}",{a!r},{inverse!r},{METRE}]'
    return f'CRS["{label}",DATUM["{datum}",{ellipsoid}],PRIMEM["Greenwich",0,{DEGREE}]'


def _wkt(name: str, base: str, projection: GctpProjection, values: list[float], false: tuple[float, float]) -> str:
    units = {ANGLE: DEGREE, LENGTH: METRE, SCALE: 'SCALEUNIT["unity",1]'}
    parameters = [
        f'PARAMETER["{p.wkt}",{v!r},{units[p.kind]}]' for p, v in zip(projection.parameters, values, strict=True)
    ]
    parameters += [
        f'PARAMETER["{label}",{v!r},{METRE}]'
        for label, v in zip((projection.easting, projection.northing), false, strict=True)
    ]
    quoted = name.replace('"', '""')
    axes = ",".join(
        f'AXIS["{label}",{way},ORDER[{i}],{METRE}]' for i, (label, way) in enumerate(_axes(projection, values), 1)
    )
    method = f'METHOD["{projection.method}"],{",".join(parameters)}'
    return f'PROJCRS["{quoted}",BASEGEOG{base}],CONVERSION["{projection.method}",{method}],CS[Cartesian,2],{axes}]'


def _axes(projection: GctpProjection, values: list[float]) -> list[tuple[str, str]]:
    """Both axes point away from a pole."""
    if projection.cf != "polar_stereographic":
        return [("easting (E)", "east"), ("northing (N)", "north")]
    way = "south" if values[0] > 0 else "north"
    return [("easting (E)", way), ("northing (N)", way)]
