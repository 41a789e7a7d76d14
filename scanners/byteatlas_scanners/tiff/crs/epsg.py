"""The part of the EPSG registry that GeoTIFF files use most: ellipsoids, datums, units, methods, common projected CRSs.

Facts only, by EPSG code. A code that is not here is still named (``EPSG:n``); it has just no WKT of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ELLIPSOIDS: Mapping[int, tuple[str, float, float]] = {
    7001: ("Airy 1830", 6377563.396, 299.3249646),
    7002: ("Airy Modified 1849", 6377340.189, 299.3249646),
    7003: ("Australian National Spheroid", 6378160.0, 298.25),
    7004: ("Bessel 1841", 6377397.155, 299.1528128),
    7008: ("Clarke 1866", 6378206.4, 294.978698213898),
    7011: ("Clarke 1880 (IGN)", 6378249.2, 293.466021293627),
    7012: ("Clarke 1880 (RGS)", 6378249.145, 293.465),
    7015: ("Everest 1830 (1937 Adjustment)", 6377276.345, 300.8017),
    7019: ("GRS 1980", 6378137.0, 298.257222101),
    7022: ("International 1924", 6378388.0, 297.0),
    7024: ("Krassowsky 1940", 6378245.0, 298.3),
    7030: ("WGS 84", 6378137.0, 298.257223563),
    7036: ("GRS 1967", 6378160.0, 298.247167427),
    7043: ("WGS 72", 6378135.0, 298.26),
    7049: ("IAG 1975", 6378140.0, 298.257),
    7050: ("GRS 1967 Modified", 6378160.0, 298.25),
    1024: ("CGCS2000", 6378137.0, 298.257222101),
}
"""Name, semi-major axis in metres, inverse flattening."""

GEOGRAPHIC: Mapping[int, tuple[str, str, int]] = {
    4124: ("RT90", "Rikets koordinatsystem 1990", 7004),
    4148: ("Hartebeesthoek94", "Hartebeesthoek94", 7030),
    4149: ("CH1903", "CH1903", 7004),
    4150: ("CH1903+", "CH1903+", 7004),
    4152: ("NAD83(HARN)", "NAD83 (High Accuracy Reference Network)", 7019),
    4167: ("NZGD2000", "New Zealand Geodetic Datum 2000", 7019),
    4171: ("RGF93 v1", "Reseau Geodesique Francais 1993 v1", 7019),
    4202: ("AGD66", "Australian Geodetic Datum 1966", 7003),
    4203: ("AGD84", "Australian Geodetic Datum 1984", 7003),
    4209: ("Arc 1950", "Arc 1950", 7012),
    4210: ("Arc 1960", "Arc 1960", 7012),
    4214: ("Beijing 1954", "Beijing 1954", 7024),
    4230: ("ED50", "European Datum 1950", 7022),
    4258: ("ETRS89", "European Terrestrial Reference System 1989", 7019),
    4265: ("Monte Mario", "Monte Mario", 7022),
    4267: ("NAD27", "North American Datum 1927", 7008),
    4269: ("NAD83", "North American Datum 1983", 7019),
    4272: ("NZGD49", "New Zealand Geodetic Datum 1949", 7022),
    4275: ("NTF", "Nouvelle Triangulation Francaise", 7011),
    4277: ("OSGB36", "Ordnance Survey of Great Britain 1936", 7001),
    4283: ("GDA94", "Geocentric Datum of Australia 1994", 7019),
    4284: ("Pulkovo 1942", "Pulkovo 1942", 7024),
    4289: ("Amersfoort", "Amersfoort", 7004),
    4301: ("Tokyo", "Tokyo", 7004),
    4312: ("MGI", "Militar-Geographische Institut", 7004),
    4313: ("BD72", "Reseau National Belge 1972", 7022),
    4314: ("DHDN", "Deutsches Hauptdreiecksnetz", 7004),
    4322: ("WGS 72", "World Geodetic System 1972", 7043),
    4326: ("WGS 84", "World Geodetic System 1984", 7030),
    4490: ("China Geodetic Coordinate System 2000", "China 2000", 1024),
    4610: ("Xian 1980", "Xian 1980", 7049),
    4612: ("JGD2000", "Japanese Geodetic Datum 2000", 7019),
    4617: ("NAD83(CSRS)", "NAD83 Canadian Spatial Reference System", 7019),
    4618: ("SAD69", "South American Datum 1969", 7050),
    4619: ("SWEREF99", "SWEREF99", 7019),
    4674: ("SIRGAS 2000", "Sistema de Referencia Geocentrico para las AmericaS 2000", 7019),
    4759: ("NAD83(NSRS2007)", "NAD83 (National Spatial Reference System 2007)", 7019),
    6318: ("NAD83(2011)", "NAD83 (National Spatial Reference System 2011)", 7019),
    6668: ("JGD2011", "Japanese Geodetic Datum 2011", 7019),
    7844: ("GDA2020", "Geocentric Datum of Australia 2020", 7019),
}
"""Name of the CRS, name of its datum, ellipsoid. Datums of the first generation have the CRS's code plus 2000."""

LINEAR_UNITS: Mapping[int, tuple[str, float]] = {
    9001: ("metre", 1.0),
    9002: ("foot", 0.3048),
    9003: ("US survey foot", 12 / 39.37),
    9005: ("Clarke's foot", 0.3047972654),
    9036: ("kilometre", 1000.0),
}
ANGULAR_UNITS: Mapping[int, tuple[str, float]] = {
    9101: ("radian", 1.0),
    9102: ("degree", 0.017453292519943295),
    9105: ("grad", 0.015707963267948967),
}

LAT_0, LON_0, K_0, X_0, Y_0 = 8801, 8802, 8805, 8806, 8807
LAT_C, LON_C, AZIMUTH, RECTIFIED, K_C, X_C, Y_C = 8811, 8812, 8813, 8814, 8815, 8816, 8817
LAT_F, LON_F, LAT_1, LAT_2, X_F, Y_F = 8821, 8822, 8823, 8824, 8826, 8827
LAT_TS, LON_ORIGIN = 8832, 8833

PARAMETERS: Mapping[int, tuple[str, str]] = {
    LAT_0: ("Latitude of natural origin", "angle"),
    LON_0: ("Longitude of natural origin", "angle"),
    K_0: ("Scale factor at natural origin", "scale"),
    X_0: ("False easting", "length"),
    Y_0: ("False northing", "length"),
    LAT_C: ("Latitude of projection centre", "angle"),
    LON_C: ("Longitude of projection centre", "angle"),
    AZIMUTH: ("Azimuth at projection centre", "angle"),
    RECTIFIED: ("Angle from Rectified to Skew Grid", "angle"),
    K_C: ("Scale factor at projection centre", "scale"),
    X_C: ("Easting at projection centre", "length"),
    Y_C: ("Northing at projection centre", "length"),
    LAT_F: ("Latitude of false origin", "angle"),
    LON_F: ("Longitude of false origin", "angle"),
    LAT_1: ("Latitude of 1st standard parallel", "angle"),
    LAT_2: ("Latitude of 2nd standard parallel", "angle"),
    X_F: ("Easting at false origin", "length"),
    Y_F: ("Northing at false origin", "length"),
    LAT_TS: ("Latitude of standard parallel", "angle"),
    LON_ORIGIN: ("Longitude of origin", "angle"),
}


@dataclass(frozen=True, slots=True)
class Method:
    """A projection method: its name, EPSG code (None: not in the registry), and its name in the CF conventions."""

    name: str
    code: int | None
    cf: str | None = None


TM = Method("Transverse Mercator", 9807, "transverse_mercator")
TM_SOUTH = Method("Transverse Mercator (South Orientated)", 9808)
MERCATOR_A = Method("Mercator (variant A)", 9804, "mercator")
MERCATOR_B = Method("Mercator (variant B)", 9805, "mercator")
PSEUDO_MERCATOR = Method("Popular Visualisation Pseudo Mercator", 1024)
HOTINE_A = Method("Hotine Oblique Mercator (variant A)", 9812)
HOTINE_B = Method("Hotine Oblique Mercator (variant B)", 9815)
LABORDE = Method("Laborde Oblique Mercator", 9813)
LCC_1 = Method("Lambert Conic Conformal (1SP)", 9801, "lambert_conformal_conic")
LCC_2 = Method("Lambert Conic Conformal (2SP)", 9802, "lambert_conformal_conic")
LAEA = Method("Lambert Azimuthal Equal Area", 9820, "lambert_azimuthal_equal_area")
ALBERS = Method("Albers Equal Area", 9822, "albers_conical_equal_area")
AEQD = Method("Azimuthal Equidistant", 1125, "azimuthal_equidistant")
EQUIDISTANT_CONIC = Method("Equidistant Conic", 1119)
STEREO = Method("Stereographic", None, "stereographic")
POLAR_A = Method("Polar Stereographic (variant A)", 9810, "polar_stereographic")
POLAR_B = Method("Polar Stereographic (variant B)", 9829, "polar_stereographic")
OBLIQUE_STEREO = Method("Oblique Stereographic", 9809)
EQUIRECTANGULAR = Method("Equidistant Cylindrical", 1028)
CASSINI = Method("Cassini-Soldner", 9806)
GNOMONIC = Method("Gnomonic", None)
MILLER = Method("Miller Cylindrical", None)
ORTHOGRAPHIC = Method("Orthographic", 9840, "orthographic")
POLYCONIC = Method("American Polyconic", 9818)
ROBINSON = Method("Robinson", None)
SINUSOIDAL = Method("Sinusoidal", None, "sinusoidal")
VAN_DER_GRINTEN = Method("Van Der Grinten", None)
NZMG = Method("New Zealand Map Grid", 9811)
CEA = Method("Lambert Cylindrical Equal Area", 9835, "lambert_cylindrical_equal_area")


@dataclass(frozen=True, slots=True)
class Projected:
    """A projected CRS: its name, geographic CRS, conversion, and unit (metres unless said)."""

    name: str
    base: int
    conversion: str
    method: Method
    values: Mapping[int, float] = field(default_factory=dict)
    unit: int = 9001


def utm(zone: int, south: bool) -> dict[int, float]:
    """Parameters of a UTM zone."""
    return {LAT_0: 0.0, LON_0: 6.0 * zone - 183.0, K_0: 0.9996, X_0: 500000.0, Y_0: 1e7 if south else 0.0}


UTM_FAMILIES: tuple[tuple[range, int, int, bool, str], ...] = (
    # EPSG codes, first zone, geographic CRS, southern hemisphere, name
    (range(32601, 32661), 1, 4326, False, "WGS 84 / UTM zone {}"),
    (range(32701, 32761), 1, 4326, True, "WGS 84 / UTM zone {}"),
    (range(32201, 32261), 1, 4322, False, "WGS 72 / UTM zone {}"),
    (range(32301, 32361), 1, 4322, True, "WGS 72 / UTM zone {}"),
    (range(26901, 26924), 1, 4269, False, "NAD83 / UTM zone {}"),
    (range(26701, 26723), 1, 4267, False, "NAD27 / UTM zone {}"),
    (range(25828, 25839), 28, 4258, False, "ETRS89 / UTM zone {}"),
    (range(23028, 23039), 28, 4230, False, "ED50 / UTM zone {}"),
    (range(28348, 28359), 48, 4283, True, "GDA94 / MGA zone {}"),
    (range(7846, 7860), 46, 7844, True, "GDA2020 / MGA zone {}"),
    (range(31965, 31977), 11, 4674, False, "SIRGAS 2000 / UTM zone {}"),
    (range(31977, 31986), 17, 4674, True, "SIRGAS 2000 / UTM zone {}"),
    (range(6330, 6349), 1, 6318, False, "NAD83(2011) / UTM zone {}"),
)

PROJECTED: Mapping[int, Projected] = {
    3857: Projected(
        "WGS 84 / Pseudo-Mercator", 4326, "Popular Visualisation Pseudo-Mercator", PSEUDO_MERCATOR,
        {LAT_0: 0, LON_0: 0, X_0: 0, Y_0: 0},
    ),
    3395: Projected(
        "WGS 84 / World Mercator", 4326, "World Mercator", MERCATOR_A, {LAT_0: 0, LON_0: 0, K_0: 1, X_0: 0, Y_0: 0}
    ),
    4087: Projected(
        "WGS 84 / World Equidistant Cylindrical", 4326, "World Equidistant Cylindrical", EQUIRECTANGULAR,
        {LAT_1: 0, LON_0: 0, X_0: 0, Y_0: 0},
    ),
    3035: Projected(
        "ETRS89-extended / LAEA Europe", 4258, "Europe Equal Area 2001", LAEA,
        {LAT_0: 52, LON_0: 10, X_0: 4321000, Y_0: 3210000},
    ),
    3034: Projected(
        "ETRS89-extended / LCC Europe", 4258, "Europe Conformal 2001", LCC_2,
        {LAT_F: 52, LON_F: 10, LAT_1: 35, LAT_2: 65, X_F: 4000000, Y_F: 2800000},
    ),
    5070: Projected(
        "NAD83 / Conus Albers", 4269, "Conus Albers", ALBERS,
        {LAT_F: 23, LON_F: -96, LAT_1: 29.5, LAT_2: 45.5, X_F: 0, Y_F: 0},
    ),
    3338: Projected(
        "NAD83 / Alaska Albers", 4269, "Alaska Albers (meter)", ALBERS,
        {LAT_F: 50, LON_F: -154, LAT_1: 55, LAT_2: 65, X_F: 0, Y_F: 0},
    ),
    3005: Projected(
        "NAD83 / BC Albers", 4269, "British Columbia Albers", ALBERS,
        {LAT_F: 45, LON_F: -126, LAT_1: 50, LAT_2: 58.5, X_F: 1000000, Y_F: 0},
    ),
    3577: Projected(
        "GDA94 / Australian Albers", 4283, "Australian Albers", ALBERS,
        {LAT_F: 0, LON_F: 132, LAT_1: -18, LAT_2: -36, X_F: 0, Y_F: 0},
    ),
    3978: Projected(
        "NAD83 / Canada Atlas Lambert", 4269, "Canada Atlas Lambert", LCC_2,
        {LAT_F: 49, LON_F: -95, LAT_1: 49, LAT_2: 77, X_F: 0, Y_F: 0},
    ),
    3413: Projected(
        "WGS 84 / NSIDC Sea Ice Polar Stereographic North", 4326, "US NSIDC Sea Ice polar stereographic north", POLAR_B,
        {LAT_TS: 70, LON_ORIGIN: -45, X_0: 0, Y_0: 0},
    ),
    3976: Projected(
        "WGS 84 / NSIDC Sea Ice Polar Stereographic South", 4326, "US NSIDC Sea Ice polar stereographic south", POLAR_B,
        {LAT_TS: -70, LON_ORIGIN: 0, X_0: 0, Y_0: 0},
    ),
    3031: Projected(
        "WGS 84 / Antarctic Polar Stereographic", 4326, "Antarctic Polar Stereographic", POLAR_B,
        {LAT_TS: -71, LON_ORIGIN: 0, X_0: 0, Y_0: 0},
    ),
    3995: Projected(
        "WGS 84 / Arctic Polar Stereographic", 4326, "Arctic Polar Stereographic", POLAR_B,
        {LAT_TS: 71, LON_ORIGIN: 0, X_0: 0, Y_0: 0},
    ),
    2154: Projected(
        "RGF93 v1 / Lambert-93", 4171, "Lambert-93", LCC_2,
        {LAT_F: 46.5, LON_F: 3, LAT_1: 49, LAT_2: 44, X_F: 700000, Y_F: 6600000},
    ),
    2193: Projected(
        "NZGD2000 / New Zealand Transverse Mercator 2000", 4167, "New Zealand Transverse Mercator 2000", TM,
        {LAT_0: 0, LON_0: 173, K_0: 0.9996, X_0: 1600000, Y_0: 10000000},
    ),
    27200: Projected(
        "NZGD49 / New Zealand Map Grid", 4272, "New Zealand Map Grid", NZMG,
        {LAT_0: -41, LON_0: 173, X_0: 2510000, Y_0: 6023150},
    ),
    27700: Projected(
        "OSGB36 / British National Grid", 4277, "British National Grid", TM,
        {LAT_0: 49, LON_0: -2, K_0: 0.9996012717, X_0: 400000, Y_0: -100000},
    ),
    28992: Projected(
        "Amersfoort / RD New", 4289, "RD New", OBLIQUE_STEREO,
        {LAT_0: 52.1561605555556, LON_0: 5.38763888888889, K_0: 0.9999079, X_0: 155000, Y_0: 463000},
    ),
    3006: Projected(
        "SWEREF99 TM", 4619, "SWEREF99 TM", TM, {LAT_0: 0, LON_0: 15, K_0: 0.9996, X_0: 500000, Y_0: 0}
    ),
    3067: Projected("ETRS89 / TM35FIN(E,N)", 4258, "TM35FIN", TM, utm(35, False)),
}  # fmt: skip


def projected(code: int) -> Projected | None:
    """A projected CRS by EPSG code, or None when it is not in the tables."""
    if code in PROJECTED:
        return PROJECTED[code]
    for codes, first, base, south, name in UTM_FAMILIES:
        if code in codes:
            zone = first + code - codes.start
            label = str(zone) if "MGA" in name else f"{zone}{'S' if south else 'N'}"
            conversion = f"Map Grid of Australia zone {zone}" if "MGA" in name else f"UTM zone {label}"
            return Projected(name.format(label), base, conversion, TM, utm(zone, south))
    return None
