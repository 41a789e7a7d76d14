"""The GeoKey directory (GeoTIFF 1.1 section 7.1): short values in place, doubles and text in two other tags."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from byteatlas.errors import CorruptFile
from byteatlas.values import dataclass, field
from byteatlas_scanners.tiff.ifd import Ifd
from byteatlas_scanners.tiff.tags import Tag

USER_DEFINED = 32767


class GeoKey(IntEnum):
    """GeoTIFF 1.1 requirements 7.2 to 7.5, in the names of GeoTIFF 1.0's registry where they differ."""

    GT_MODEL_TYPE = 1024
    GT_RASTER_TYPE = 1025
    GT_CITATION = 1026
    GEODETIC_CRS = 2048
    GEODETIC_CITATION = 2049
    GEODETIC_DATUM = 2050
    PRIME_MERIDIAN = 2051
    LINEAR_UNITS_GEO = 2052
    LINEAR_UNIT_SIZE_GEO = 2053
    ANGULAR_UNITS = 2054
    ANGULAR_UNIT_SIZE = 2055
    ELLIPSOID = 2056
    SEMI_MAJOR = 2057
    SEMI_MINOR = 2058
    INVERSE_FLATTENING = 2059
    PRIME_MERIDIAN_LONGITUDE = 2061
    PROJECTED_CRS = 3072
    PROJECTED_CITATION = 3073
    PROJECTION = 3074
    METHOD = 3075
    LINEAR_UNITS = 3076
    LINEAR_UNIT_SIZE = 3077
    STD_PARALLEL_1 = 3078
    STD_PARALLEL_2 = 3079
    NAT_ORIGIN_LONG = 3080
    NAT_ORIGIN_LAT = 3081
    FALSE_EASTING = 3082
    FALSE_NORTHING = 3083
    FALSE_ORIGIN_LONG = 3084
    FALSE_ORIGIN_LAT = 3085
    FALSE_ORIGIN_EASTING = 3086
    FALSE_ORIGIN_NORTHING = 3087
    CENTER_LONG = 3088
    CENTER_LAT = 3089
    CENTER_EASTING = 3090
    CENTER_NORTHING = 3091
    SCALE_AT_NAT_ORIGIN = 3092
    SCALE_AT_CENTER = 3093
    AZIMUTH = 3094
    STRAIGHT_VERT_POLE_LONG = 3095
    RECTIFIED_GRID_ANGLE = 3096
    VERTICAL_CRS = 4096
    VERTICAL_CITATION = 4097


@dataclass(frozen=True, slots=True)
class Keys:
    """Values by key number: numbers and texts apart."""

    numbers: Mapping[int, float] = field(default_factory=dict)
    texts: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.numbers or self.texts)

    def number(self, key: GeoKey) -> float | None:
        return self.numbers.get(key)

    def code(self, key: GeoKey) -> int | None:
        """A code of the EPSG registry; None when absent, undefined or user-defined."""
        value = self.numbers.get(key)
        return int(value) if value is not None and 0 < value < USER_DEFINED and value == int(value) else None

    def text(self, key: GeoKey) -> str | None:
        return self.texts.get(key)


def read_keys(ifd: Ifd) -> Keys:
    """The keys of a directory; empty when there are none, or when they make no sense."""
    try:
        directory = ifd.array(Tag.GEO_KEY_DIRECTORY)
        doubles = ifd.array(Tag.GEO_DOUBLE_PARAMS)
    except CorruptFile:
        return Keys()
    if directory is None or directory.ndim != 1 or directory.dtype.kind not in "iu" or len(directory) < 4:
        return Keys()
    raw = ifd.bytes(Tag.GEO_ASCII_PARAMS) or b""
    numbers: dict[int, float] = {}
    texts: dict[int, str] = {}
    rows = directory[4 : 4 + 4 * int(directory[3])]
    for key, location, count, value in rows[: len(rows) // 4 * 4].reshape(-1, 4).tolist():
        if location == 0:
            numbers[key] = value
        elif location == Tag.GEO_DOUBLE_PARAMS and doubles is not None and doubles.ndim == 1 and value < len(doubles):
            numbers[key] = float(doubles[value])
        elif location == Tag.GEO_ASCII_PARAMS and value < len(raw):
            texts[key] = raw[value : value + count].decode("utf-8", "replace").partition("\0")[0].rstrip("|").strip()
    return Keys(numbers, texts)
