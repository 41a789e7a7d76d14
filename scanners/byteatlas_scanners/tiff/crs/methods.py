"""Projection methods of GeoTIFF's keys (GeoTIFF 1.1, annex on methods), and which keys hold their parameters."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.values import dataclass
from byteatlas_scanners.tiff.crs.geokeys import GeoKey

ParameterKeys = tuple[GeoKey, ...]

# EPSG codes of parameters.
LAT_0, LON_0, K_0, X_0, Y_0 = 8801, 8802, 8805, 8806, 8807
LAT_C, LON_C, AZIMUTH, RECTIFIED, K_C, X_C, Y_C = 8811, 8812, 8813, 8814, 8815, 8816, 8817
LAT_F, LON_F, LAT_1, LAT_2, X_F, Y_F = 8821, 8822, 8823, 8824, 8826, 8827
LAT_TS, LON_ORIGIN = 8832, 8833
DEFAULTS = {K_0: 1.0, K_C: 1.0, RECTIFIED: 90.0}
"""Of parameters that are not 0 when no key gives them."""

LAT: ParameterKeys = (GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT, GeoKey.FALSE_ORIGIN_LAT)
LON: ParameterKeys = (
    GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG, GeoKey.FALSE_ORIGIN_LONG, GeoKey.STRAIGHT_VERT_POLE_LONG,
)  # fmt: skip
CENTRE_LAT: ParameterKeys = (GeoKey.CENTER_LAT, GeoKey.NAT_ORIGIN_LAT)
CENTRE_LON: ParameterKeys = (GeoKey.CENTER_LONG, GeoKey.NAT_ORIGIN_LONG)
FALSE_LAT: ParameterKeys = (GeoKey.FALSE_ORIGIN_LAT, GeoKey.NAT_ORIGIN_LAT, GeoKey.CENTER_LAT)
FALSE_LON: ParameterKeys = (GeoKey.FALSE_ORIGIN_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
POLE_LON: ParameterKeys = (GeoKey.STRAIGHT_VERT_POLE_LONG, GeoKey.NAT_ORIGIN_LONG, GeoKey.CENTER_LONG)
SCALE: ParameterKeys = (GeoKey.SCALE_AT_NAT_ORIGIN, GeoKey.SCALE_AT_CENTER)
CENTRE_SCALE: ParameterKeys = (GeoKey.SCALE_AT_CENTER, GeoKey.SCALE_AT_NAT_ORIGIN)
X: ParameterKeys = (GeoKey.FALSE_EASTING, GeoKey.FALSE_ORIGIN_EASTING, GeoKey.CENTER_EASTING)
Y: ParameterKeys = (GeoKey.FALSE_NORTHING, GeoKey.FALSE_ORIGIN_NORTHING, GeoKey.CENTER_NORTHING)
CENTRE_X: ParameterKeys = (GeoKey.CENTER_EASTING, GeoKey.FALSE_EASTING, GeoKey.FALSE_ORIGIN_EASTING)
CENTRE_Y: ParameterKeys = (GeoKey.CENTER_NORTHING, GeoKey.FALSE_NORTHING, GeoKey.FALSE_ORIGIN_NORTHING)
P1: ParameterKeys = (GeoKey.STD_PARALLEL_1,)
P2: ParameterKeys = (GeoKey.STD_PARALLEL_2,)
PLACE = {X_0: X, Y_0: Y}
NATURAL = {LAT_0: LAT, LON_0: LON, **PLACE}
SCALED = {LAT_0: LAT, LON_0: LON, K_0: SCALE, **PLACE}
LONGITUDE = {LON_0: LON, **PLACE}
CENTRED = {LAT_0: CENTRE_LAT, LON_0: CENTRE_LON, **PLACE}
CONIC = {LAT_F: FALSE_LAT, LON_F: FALSE_LON, LAT_1: P1, LAT_2: P2, X_F: X, Y_F: Y}
OBLIQUE = {
    LAT_C: CENTRE_LAT, LON_C: CENTRE_LON, AZIMUTH: (GeoKey.AZIMUTH,), RECTIFIED: (GeoKey.RECTIFIED_GRID_ANGLE,),
    K_C: CENTRE_SCALE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Method:
    """A projection method.

    Attributes:
        code: in the EPSG registry; None where it has none.
        sources: for each parameter, in the registry's order, the keys that may hold it.
    """

    name: str
    code: int | None
    sources: Mapping[int, ParameterKeys]


MERCATOR = 7
MERCATOR_B = Method("Mercator (variant B)", 9805, {LAT_1: (*P1, *LAT), **LONGITUDE})
EQUIRECTANGULAR = 17
EQUIRECTANGULAR_FROM = Method(
    "Equidistant Cylindrical", 1028, {LAT_0: CENTRE_LAT, LON_0: LON, LAT_1: (GeoKey.STD_PARALLEL_1,), **PLACE}
)
"""With northings that do not begin at the equator."""
POLAR = 15
POLAR_B = Method("Polar Stereographic (variant B)", 9829, {LAT_TS: LAT, LON_ORIGIN: POLE_LON, **PLACE})
METHODS: Mapping[int, Method] = {
    1: Method("Transverse Mercator", 9807, SCALED),
    3: Method("Hotine Oblique Mercator (variant A)", 9812, {**OBLIQUE, **PLACE}),
    4: Method(
        "Laborde Oblique Mercator", 9813,
        {LAT_C: CENTRE_LAT, LON_C: CENTRE_LON, AZIMUTH: (GeoKey.AZIMUTH,), K_C: CENTRE_SCALE, **PLACE},
    ),
    MERCATOR: Method("Mercator (variant A)", 9804, SCALED),
    8: Method("Lambert Conic Conformal (2SP)", 9802, CONIC),
    9: Method("Lambert Conic Conformal (1SP)", 9801, SCALED),
    10: Method("Lambert Azimuthal Equal Area", 9820, CENTRED),
    11: Method("Albers Equal Area", 9822, {**CONIC, LAT_F: LAT, LON_F: LON}),
    12: Method("Azimuthal Equidistant", 1125, CENTRED),
    13: Method("Equidistant Conic", 1119, CONIC),
    14: Method("Stereographic", None, SCALED),
    POLAR: Method("Polar Stereographic (variant A)", 9810, {**SCALED, LON_0: POLE_LON}),
    16: Method("Oblique Stereographic", 9809, SCALED),
    EQUIRECTANGULAR: Method(
        "Equidistant Cylindrical", 1028, {LAT_1: (GeoKey.STD_PARALLEL_1, GeoKey.CENTER_LAT), **LONGITUDE}
    ),
    18: Method("Cassini-Soldner", 9806, NATURAL),
    19: Method("Gnomonic", None, NATURAL),
    20: Method("Miller Cylindrical", None, LONGITUDE),
    21: Method("Orthographic", 9840, NATURAL),
    22: Method("American Polyconic", 9818, NATURAL),
    23: Method("Robinson", None, LONGITUDE),
    24: Method("Sinusoidal", None, LONGITUDE),
    25: Method("Van Der Grinten", None, LONGITUDE),
    26: Method("New Zealand Map Grid", 9811, NATURAL),
    27: Method("Transverse Mercator (South Orientated)", 9808, SCALED),
    28: Method("Lambert Cylindrical Equal Area", 9835, {LAT_1: P1, **LONGITUDE}),
    9815: Method("Hotine Oblique Mercator (variant B)", 9815, {**OBLIQUE, X_C: CENTRE_X, Y_C: CENTRE_Y}),
}  # fmt: skip
"""By ProjMethodGeoKey. 9815 is what GDAL writes; GeoTIFF has no number for that variant."""
