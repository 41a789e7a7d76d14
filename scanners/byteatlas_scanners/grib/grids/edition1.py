"""Section 2 of edition 1: data representation types (code table 6)."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.scanning.grib import NO_BITMAP, GribField, ibm32, signed, unsigned
from byteatlas.types import JSON
from byteatlas_scanners.grib.grids.model import LATLON, MODERN, PLANE, POINTS, Grid, arranged, figure_of

NAMES: Mapping[int, str] = {
    0: "regular_ll", 1: "mercator", 3: "lambert", 4: "regular_gg", 5: "polar_stereographic", 8: "albers",
    10: "rotated_ll", 13: "lambert_bf", 14: "rotated_gg", 20: "stretched_ll", 24: "stretched_gg",
    30: "stretched_rotated_ll", 34: "stretched_rotated_gg", 50: "sh", 60: "rotated_sh", 70: "stretched_sh",
    80: "stretched_rotated_sh", 90: "space_view", 192: "unknown_PLPresent", 193: "unknown",
}  # fmt: skip
RECTANGLES = frozenset({0, 4, 10, 14, 20, 24, 30, 34})
GAUSSIAN = frozenset({4, 14, 24, 34})
ROTATED = frozenset({10, 14, 30, 34})
SPECTRAL = frozenset({50, 60, 70, 80})
ABSENT = 0xFFFF
FIELDS: Mapping[int, str] = {
    1: "La1:10s Lo1:13s flags:16b La2:17s Lo2:20s LaD:23s scan:27b Dx:28 Dy:31",
    3: "La1:10s Lo1:13s flags:16b LoV:17s Dx:20 Dy:23 centre:26b scan:27b Latin1:28s Latin2:31s LaSP:34s LoSP:37s",
    5: "La1:10s Lo1:13s flags:16b LoV:17s Dx:20 Dy:23 centre:26b scan:27b",
    8: "La1:10s Lo1:13s flags:16b LoV:17s Dx:20 Dy:23 centre:26b scan:27b Latin1:28s Latin2:31s LaSP:34s LoSP:37s",
    90: "Lap:10s Lop:13s flags:16b dx:17 dy:20 Xp:23w Yp:25w scan:27b orientation:28s Nr:31 Xo:34w Yo:36w",
}
"""``name:octet`` from 0, three octets each. Suffix s: signed, 1e-3 degree; b: one octet; w: two."""


def grid1(field: GribField) -> Grid:
    """The grid of a field of edition 1. Raises `CorruptFile` for a section that is too short."""
    section, points = field.grid, coded_points(field)
    if len(section) < 32:
        values: dict[str, JSON] = {"gridType": "unknown", "gridDefinition": field.product[6]}
        # Only its number says what the grid is: fields of the same number have the same one.
        key = section or bytes([field.product[4], field.product[6]]) + points.to_bytes(8, "big")
        return Grid("unknown", (points,), POINTS, 0, 0, 0, MODERN, values, (), key, 1)
    number = section[5]
    kind = NAMES.get(number, f"type_{number}")
    if number in SPECTRAL:
        j, k, m = (unsigned(section, at, 2) for at in (6, 8, 10))
        triangle = (j + 1) * (j + 2) if j == k == m else points
        values = {"gridType": kind, "J": j, "K": k, "M": m}
        return Grid(kind, (triangle,), POINTS, 0, 0, 0, figure_of(1, section), values, (), section, 1)
    if number in RECTANGLES:
        return _rectangle(section, number, points)
    if number in FIELDS and len(section) >= (40 if number in (3, 8) else 32):
        return _plane(section, number, points)
    return Grid(kind, (points,), POINTS, 0, 0, 0, figure_of(1, section), {"gridType": kind}, (), section, 1)


def coded_points(field: GribField) -> int:
    """Points as far as bitmap and data tell: for a few bits the last octet may seem to hold more than it does."""
    if field.bitmap.indicator != NO_BITMAP and field.bitmap.bits is not None:
        return field.bitmap.bits.length * 8 - field.bitmap.unused
    packing = field.packing
    if packing.name != "grid_simple" or not packing.bits or len(packing.section) < 11:
        return 0
    return ((field.data.length - 11) * 8 - (packing.section[3] & 0x0F)) // packing.bits


def _rectangle(section: bytes, number: int, points: int) -> Grid:
    ni, nj, scan = unsigned(section, 6, 2), unsigned(section, 8, 2), section[27]
    values: dict[str, JSON] = {
        "latitudeOfFirstGridPointInDegrees": signed(section, 10, 3) / 1e3,
        "longitudeOfFirstGridPointInDegrees": signed(section, 13, 3) / 1e3,
        "resolutionAndComponentFlags": section[16],
        "latitudeOfLastGridPointInDegrees": signed(section, 17, 3) / 1e3,
        "longitudeOfLastGridPointInDegrees": signed(section, 20, 3) / 1e3,
    }
    increment, last = unsigned(section, 23, 2), unsigned(section, 25, 2)
    if section[16] & 0x80 and increment != ABSENT:
        values["iDirectionIncrementInDegrees"] = increment / 1e3
    if number in GAUSSIAN:
        values["N"] = last
    elif section[16] & 0x80 and last != ABSENT:
        values["jDirectionIncrementInDegrees"] = last / 1e3
    if number in ROTATED and len(section) >= 42:
        values |= {
            "latitudeOfSouthernPoleInDegrees": signed(section, 32, 3) / 1e3,
            "longitudeOfSouthernPoleInDegrees": signed(section, 35, 3) / 1e3,
            "angleOfRotationInDegrees": ibm32(section, 38),
        }
    rows = _rows(section, nj) if ni == ABSENT else ()
    kind = NAMES[number]
    if rows:
        kind = kind.replace("regular_", "reduced_").replace("rotated_", "reduced_rotated_", 1)
        return _points(section, kind, points or sum(rows), scan, values, rows)
    if ABSENT in (ni, nj) or not ni * nj:
        return _points(section, kind, points, scan, values, ())
    return _plain(section, kind, (ni, nj), scan, values, PLANE if number in ROTATED else LATLON)


def _rows(section: bytes, nj: int) -> tuple[int, ...]:
    """The list of points on each parallel, which stands behind the vertical coordinates."""
    begin = section[4] - 1 + 4 * section[3]
    if section[4] == 255 or len(section) < begin + 2 * nj:
        return ()
    return tuple(int.from_bytes(section[k : k + 2], "big") for k in range(begin, begin + 2 * nj, 2))


def _plane(section: bytes, number: int, points: int) -> Grid:
    values: dict[str, JSON] = {}
    for word in FIELDS[number].split():
        name, _, place = word.partition(":")
        values[name] = _value(section, int(place.rstrip("sbw")), place[-1])
    scan = values.pop("scan")
    size = unsigned(section, 6, 2), unsigned(section, 8, 2)
    if number == 5:
        values["LaD"] = -60.0 if section[26] & 0x80 else 60.0
    return _plain(section, NAMES[number], size, int(scan) if isinstance(scan, int) else 0, values, PLANE)


def _value(section: bytes, at: int, form: str) -> JSON:
    match form:
        case "s":
            return signed(section, at, 3) / 1e3
        case "b":
            return unsigned(section, at, 1)
        case "w":
            return unsigned(section, at, 2)
        case _:
            return unsigned(section, at, 3)


def _plain(
    section: bytes, kind: str, size: tuple[int, int], scan: int, values: Mapping[str, JSON], names: tuple[str, str]
) -> Grid:
    ni, nj = size
    shape, dims = arranged(ni, nj, scan, names)
    known = {"gridType": kind, "numberOfDataPoints": ni * nj, "scanningMode": scan, "Ni": ni, "Nj": nj, **values}
    return Grid(kind, shape, dims, ni, nj, scan, figure_of(1, section), known, (), section, 1)


def _points(
    section: bytes, kind: str, points: int, scan: int, values: Mapping[str, JSON], rows: tuple[int, ...]
) -> Grid:
    known = {"gridType": kind, "numberOfDataPoints": points, "scanningMode": scan, **values}
    return Grid(kind, (points,), POINTS, 0, 0, scan, figure_of(1, section), known, rows, section, 1)
