"""Projection methods of GeoTIFF's keys (GeoTIFF 1.1, annex on methods), and which keys hold their parameters."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas_scanners.tiff.crs import epsg
from byteatlas_scanners.tiff.crs.epsg import Method
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys

Source = tuple[GeoKey, ...]
LAT: Source = (GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT, GeoKey.FALSE_ORIGIN_LAT)
LON: Source = (
    GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG, GeoKey.FALSE_ORIGIN_LONG, GeoKey.STRAIGHT_VERT_POLE_LONG,
)  # fmt: skip
CENTRE_LAT: Source = (GeoKey.CENTER_LAT, GeoKey.NAT_ORIGIN_LAT)
CENTRE_LON: Source = (GeoKey.CENTER_LONG, GeoKey.NAT_ORIGIN_LONG)
FALSE_LAT: Source = (GeoKey.FALSE_ORIGIN_LAT, GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT)
FALSE_LON: Source = (GeoKey.FALSE_ORIGIN_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
POLE_LON: Source = (GeoKey.STRAIGHT_VERT_POLE_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
SCALE: Source = (GeoKey.SCALE_AT_NAT_ORIGIN, GeoKey.SCALE_AT_CENTER)
X: Source = (GeoKey.FALSE_EASTING, GeoKey.FALSE_ORIGIN_EASTING, GeoKey.CENTER_EASTING)
Y: Source = (GeoKey.FALSE_NORTHING, GeoKey.FALSE_ORIGIN_NORTHING, GeoKey.CENTER_NORTHING)
P1: Source = (GeoKey.STD_PARALLEL_1,)
P2: Source = (GeoKey.STD_PARALLEL_2,)
NATURAL = {epsg.LAT_0: LAT, epsg.LON_0: LON, epsg.X_0: X, epsg.Y_0: Y}
LONGITUDE = {epsg.LON_0: LON, epsg.X_0: X, epsg.Y_0: Y}
CONIC = {
    epsg.LAT_F: FALSE_LAT, epsg.LON_F: FALSE_LON, epsg.LAT_1: P1, epsg.LAT_2: P2, epsg.X_F: X, epsg.Y_F: Y,
}  # fmt: skip
OBLIQUE = {
    epsg.LAT_C: CENTRE_LAT, epsg.LON_C: CENTRE_LON, epsg.AZIMUTH: (GeoKey.AZIMUTH,),
    epsg.RECTIFIED: (GeoKey.RECTIFIED_GRID_ANGLE,), epsg.K_C: (GeoKey.SCALE_AT_CENTER, GeoKey.SCALE_AT_NAT_ORIGIN),
}  # fmt: skip

# ProjMethodGeoKey (GeoTIFF 1.1 annex on methods) -> method, and for each of its parameters the keys that may hold it.
METHODS: Mapping[int, tuple[Method, Mapping[int, Source]]] = {
    1: (epsg.TM, {**NATURAL, epsg.K_0: SCALE}),
    3: (epsg.HOTINE_A, {**OBLIQUE, epsg.X_0: X, epsg.Y_0: Y}),
    4: (
        epsg.LABORDE,
        {
            epsg.LAT_C: CENTRE_LAT, epsg.LON_C: CENTRE_LON, epsg.AZIMUTH: (GeoKey.AZIMUTH,),
            epsg.K_C: (GeoKey.SCALE_AT_CENTER, GeoKey.SCALE_AT_NAT_ORIGIN), epsg.X_0: X, epsg.Y_0: Y,
        },
    ),
    7: (epsg.MERCATOR_A, {**NATURAL, epsg.K_0: SCALE}),
    8: (epsg.LCC_2, CONIC),
    9: (epsg.LCC_1, {**NATURAL, epsg.K_0: SCALE}),
    10: (epsg.LAEA, {**NATURAL, epsg.LAT_0: CENTRE_LAT, epsg.LON_0: CENTRE_LON}),
    11: (epsg.ALBERS, {**CONIC, epsg.LAT_F: LAT, epsg.LON_F: LON}),
    12: (epsg.AEQD, {**NATURAL, epsg.LAT_0: CENTRE_LAT, epsg.LON_0: CENTRE_LON}),
    13: (epsg.EQUIDISTANT_CONIC, CONIC),
    14: (epsg.STEREO, {**NATURAL, epsg.K_0: SCALE}),
    15: (epsg.POLAR_A, {**NATURAL, epsg.LON_0: POLE_LON, epsg.K_0: SCALE}),
    16: (epsg.OBLIQUE_STEREO, {**NATURAL, epsg.K_0: SCALE}),
    17: (epsg.EQUIRECTANGULAR, {epsg.LAT_1: (GeoKey.STD_PARALLEL_1, GeoKey.CENTER_LAT), **LONGITUDE}),
    18: (epsg.CASSINI, NATURAL),
    19: (epsg.GNOMONIC, NATURAL),
    20: (epsg.MILLER, LONGITUDE),
    21: (epsg.ORTHOGRAPHIC, NATURAL),
    22: (epsg.POLYCONIC, NATURAL),
    23: (epsg.ROBINSON, LONGITUDE),
    24: (epsg.SINUSOIDAL, LONGITUDE),
    25: (epsg.VAN_DER_GRINTEN, LONGITUDE),
    26: (epsg.NZMG, NATURAL),
    27: (epsg.TM_SOUTH, {**NATURAL, epsg.K_0: SCALE}),
    28: (epsg.CEA, {epsg.LAT_1: P1, **LONGITUDE}),
}  # fmt: skip


def conversion_of(keys: Keys) -> tuple[str, Method, dict[int, float]] | None:
    """Name, method and parameters: by the projection's code (UTM), or from the keys."""
    code = keys.code(GeoKey.PROJECTION)
    if code is not None:
        zone, south = code % 100, 16100 < code <= 16160
        if not (16000 < code <= 16060 or south):
            return None
        return f"UTM zone {zone}{'S' if south else 'N'}", epsg.TM, epsg.utm(zone, south)
    number = keys.code(GeoKey.METHOD)
    if number is None or number not in METHODS:
        return None
    method, sources = METHODS[number]
    if number == 7 and keys.number(GeoKey.STD_PARALLEL_1) is not None and keys.number(SCALE[0]) is None:
        method, sources = epsg.MERCATOR_B, {epsg.LAT_1: P1, **LONGITUDE}
    values: dict[int, float] = {}
    for parameter, candidates in sources.items():
        given = next((v for v in (keys.number(k) for k in candidates) if v is not None), None)
        values[parameter] = float(given) if given is not None else _default(parameter)
    if method is epsg.POLAR_A and abs(values[epsg.LAT_0]) != 90:
        # GeoTIFF writers put the latitude of true scale here: that is variant B.
        method = epsg.POLAR_B
        values = {
            epsg.LAT_TS: values[epsg.LAT_0], epsg.LON_ORIGIN: values[epsg.LON_0],
            epsg.X_0: values[epsg.X_0], epsg.Y_0: values[epsg.Y_0],
        }  # fmt: skip
    return method.name, method, values


def _default(parameter: int) -> float:
    return {epsg.K_0: 1.0, epsg.K_C: 1.0, epsg.RECTIFIED: 90.0}.get(parameter, 0.0)
