"""Section 3 of edition 2: grid definition templates (code table 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import CorruptFile
from byteatlas.scanning.grib import ieee32, signed, unsigned
from byteatlas.types import JSON
from byteatlas_scanners.grib.grids.model import LATLON, PLANE, POINTS, Grid, arranged, figure_of

MICRO = 1e-6
ABSENT = 0xFFFFFFFF
I_GIVEN, J_GIVEN = 0x20, 0x10
"""Flags of the resolution (flag table 3.3): the increments are given."""
NAMES: Mapping[int, str] = {
    0: "regular_ll", 1: "rotated_ll", 2: "stretched_ll", 3: "stretched_rotated_ll", 10: "mercator",
    12: "transverse_mercator", 20: "polar_stereographic", 30: "lambert", 31: "albers", 40: "regular_gg",
    41: "rotated_gg", 42: "stretched_gg", 43: "stretched_rotated_gg", 50: "sh", 51: "rotated_sh", 52: "stretched_sh",
    53: "stretched_rotated_sh", 61: "mercator_bf", 62: "polar_stereographic_bf", 63: "lambert_bf",
    90: "space_view", 100: "triangular_grid", 101: "unstructured_grid", 110: "equatorial_azimuthal_equidistant",
    120: "azimuth_range", 140: "lambert_azimuthal_equal_area", 150: "healpix", 32769: "ncep_32769",
}  # fmt: skip
ARAKAWA = 32769
"""NCEP's own: rotated, the pole in the middle of the grid."""
RECTANGLES = frozenset({0, 1, 2, 3, 40, 41, 42, 43, ARAKAWA})
PLANES = frozenset({10, 12, 20, 30, 31, 90, 110, 140})
GAUSSIAN = frozenset({40, 41, 42, 43})
ROTATED, STRETCHED = {1: 72, 3: 72, 41: 72, 43: 72}, {2: 72, 3: 84, 42: 72, 43: 84}
"""Where rotation and stretching stand, counted from the section's beginning."""
TAIL: Mapping[int, int] = {0: 72, 1: 84, 2: 84, 3: 96, 40: 72, 41: 84, 42: 84, 43: 96}
"""Where the list of points on each parallel begins."""
_PLANE = "Nx:30 Ny:34 La1:38s Lo1:42s"
FIELDS: Mapping[int, str] = {
    10: f"{_PLANE} flags:46b LaD:47s La2:51s Lo2:55s scan:59b orientation:60s Dx:64m Dy:68m",
    12: "Nx:30 Ny:34 LaR:38s LoR:42s flags:46b scale:47f XR:51c YR:55c scan:59b Dx:60c Dy:64c X1:68c Y1:72c X2:76c "
    "Y2:80c",
    20: f"{_PLANE} flags:46b LaD:47s LoV:51s Dx:55m Dy:59m centre:63b scan:64b",
    30: f"{_PLANE} flags:46b LaD:47s LoV:51s Dx:55m Dy:59m centre:63b scan:64b Latin1:65s Latin2:69s LaSP:73s LoSP:77s",
    31: f"{_PLANE} flags:46b LaD:47s LoV:51s Dx:55m Dy:59m centre:63b scan:64b Latin1:65s Latin2:69s LaSP:73s LoSP:77s",
    90: "Nx:30 Ny:34 Lap:38s Lop:42s flags:46b dx:47 dy:51 Xp:55 Yp:59 scan:63b orientation:64s Nr:68 Xo:72 Yo:76",
    110: "Nx:30 Ny:34 La1:38s Lo1:42s flags:46b Dx:47m Dy:51m centre:55b scan:56b",
    140: f"{_PLANE} standardParallel:46s centralLongitude:50s flags:54b Dx:55m Dy:59m scan:63b",
}
"""``name:octet`` from 0. Suffix s: signed, 1e-6 degree; m: millimetres; c: signed, centimetres; f: IEEE; b: octet."""


def grid2(section: bytes) -> Grid:
    """The grid of a section 3. Raises `CorruptFile` for a section that is too short."""
    template, points = unsigned(section, 12, 2), unsigned(section, 6, 4)
    kind = NAMES.get(template, f"template_{template}")
    if template in RECTANGLES and len(section) >= 72:
        return _rectangle(section, template, points)
    if template in PLANES:
        return _plane(section, template, points)
    values: dict[str, JSON] = {"gridType": kind, "numberOfDataPoints": points}
    scan = 0
    if 50 <= template <= 53:
        values |= {"J": unsigned(section, 14, 4), "K": unsigned(section, 18, 4), "M": unsigned(section, 22, 4)}
    elif template == 150 and len(section) >= 41:
        values |= {
            "Nside": unsigned(section, 30, 4),
            "longitudeOfFirstGridPointInDegrees": unsigned(section, 34, 4) * MICRO,
            "gridPointPosition": section[38],
            "orderingConvention": {0: "ring", 1: "nested"}.get(section[39], "unknown"),
        }
        scan = section[40]
    elif template == 101 and len(section) >= 35:
        values |= {
            "numberOfGridUsed": unsigned(section, 15, 3),
            "numberOfGridInReference": section[18],
            "uuidOfHGrid": section[19:35].hex(),
        }
    return Grid(kind, (points,), POINTS, 0, 0, scan, figure_of(2, section), values, (), section, 2)


def _rectangle(section: bytes, template: int, points: int) -> Grid:
    angle, parts = unsigned(section, 38, 4), unsigned(section, 42, 4)
    unit = MICRO if angle in (0, ABSENT) or parts in (0, ABSENT) else angle / parts
    ni, nj = unsigned(section, 30, 4), unsigned(section, 34, 4)
    scan = section[71]
    values: dict[str, JSON] = {
        "latitudeOfFirstGridPointInDegrees": _degrees(signed(section, 46, 4), unit),
        "longitudeOfFirstGridPointInDegrees": _degrees(signed(section, 50, 4), unit),
        "resolutionAndComponentFlags": section[54],
        "latitudeOfLastGridPointInDegrees": _degrees(signed(section, 55, 4), unit),
        "longitudeOfLastGridPointInDegrees": _degrees(signed(section, 59, 4), unit),
    }
    increment, last = unsigned(section, 63, 4), unsigned(section, 67, 4)
    if increment != ABSENT and section[54] & I_GIVEN:
        values["iDirectionIncrementInDegrees"] = _degrees(increment, unit)
    if template in GAUSSIAN:
        values["N"] = last
    elif last != ABSENT and section[54] & J_GIVEN:
        values["jDirectionIncrementInDegrees"] = _degrees(last, unit)
    if template in ROTATED and len(section) >= 84:
        values |= {
            "latitudeOfSouthernPoleInDegrees": signed(section, 72, 4) * 1.0 / 1e6,
            "longitudeOfSouthernPoleInDegrees": signed(section, 76, 4) * 1.0 / 1e6,
            "angleOfRotationInDegrees": ieee32(section, 80),
        }
    rows = _rows(section, template)
    kind = NAMES[template]
    if rows:
        kind = kind.replace("regular_", "reduced_").replace("rotated_", "reduced_rotated_", 1)
    reduced = bool(rows) or ABSENT in (ni, nj)
    rotated = template in ROTATED or template == ARAKAWA
    return _grid(
        section, kind, points, (0, 0) if reduced else (ni, nj), scan, values, rows, PLANE if rotated else LATLON
    )


def _degrees(value: int, unit: float) -> float:
    """In micro-degrees the division gives the nearest number; a product would not."""
    return value / 1e6 if unit == MICRO else value * unit


def _rows(section: bytes, template: int) -> tuple[int, ...]:
    octets, begin = section[10], TAIL.get(template)
    if not octets or begin is None:
        return ()
    tail = section[begin:]
    return tuple(int.from_bytes(tail[k : k + octets], "big") for k in range(0, len(tail) - octets + 1, octets))


def _grid(
    section: bytes, kind: str, points: int, size: tuple[int, int], scan: int, values: Mapping[str, JSON],
    rows: tuple[int, ...], names: tuple[str, str],
) -> Grid:  # fmt: skip
    ni, nj = size
    known = {"gridType": kind, "numberOfDataPoints": points, "scanningMode": scan, **values}
    if ni * nj == points and points:
        shape, dims = arranged(ni, nj, scan, names)
        return Grid(
            kind, shape, dims, ni, nj, scan, figure_of(2, section), {**known, "Ni": ni, "Nj": nj}, (), section, 2
        )
    return Grid(kind, (points,), POINTS, 0, 0, scan, figure_of(2, section), known, rows, section, 2)


def _plane(section: bytes, template: int, points: int) -> Grid:
    values: dict[str, JSON] = {}
    for word in FIELDS[template].split():
        name, _, place = word.partition(":")
        values[name] = _value(section, int(place.rstrip("smcfb")), place[-1])
    ni, nj, scan = values.pop("Nx"), values.pop("Ny"), values.pop("scan")
    if not (isinstance(ni, int) and isinstance(nj, int) and isinstance(scan, int)):
        raise CorruptFile(0, "a grid without a size")
    return _grid(section, NAMES[template], points, (ni, nj), scan, values, (), PLANE)


def _value(section: bytes, at: int, form: str) -> JSON:
    match form:
        case "s":
            return signed(section, at, 4) / 1e6
        case "m":
            return unsigned(section, at, 4) / 1e3
        case "c":
            return signed(section, at, 4) / 1e2
        case "f":
            return ieee32(section, at)
        case "b":
            return unsigned(section, at, 1)
        case _:
            return unsigned(section, at, 4)
