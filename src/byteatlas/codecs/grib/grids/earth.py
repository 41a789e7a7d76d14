"""The figure of the earth that a grid says (code table 3.2; edition 1: a flag of octet 17)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.errors import Unsupported


class Spheroid(NamedTuple):
    """Half axes in metres; equal for a sphere."""

    major: float
    minor: float

    @property
    def eccentricity(self) -> float:
        return math.sqrt(1.0 - (self.minor / self.major) ** 2)


SPHERE1 = Spheroid(6367470.0, 6367470.0)
IAU1965 = Spheroid(6378160.0, 6356775.0)
KNOWN: Mapping[int, Spheroid] = {
    0: SPHERE1,
    2: IAU1965,
    4: Spheroid(6378137.0, 6356752.314),
    5: Spheroid(6378137.0, 6356752.314245179),
    6: Spheroid(6371229.0, 6371229.0),
    8: Spheroid(6371200.0, 6371200.0),
    9: Spheroid(6377563.396, 6356256.909),
    11: Spheroid(6378137.0, 6356752.314140356),
}
OBLATE1 = 0x40


def earth_of(edition: int, grid: bytes) -> Spheroid:
    """The figure. Raises `Unsupported` for one that is not defined."""
    if edition == 1:
        return IAU1965 if unsigned(grid, 16, 1) & OBLATE1 else SPHERE1
    shape = unsigned(grid, 14, 1)
    if shape == 1:
        radius = _scaled(grid, 15)
        found = Spheroid(radius, radius)
    elif shape in (3, 7):
        unit = 1000.0 if shape == 3 else 1.0
        found = Spheroid(_scaled(grid, 20) * unit, _scaled(grid, 25) * unit)
    elif shape in KNOWN:
        found = KNOWN[shape]
    else:
        raise Unsupported("layout", f"grib: shape of the earth {shape}")
    if not 0.5 < found.minor / max(found.major, 1.0) <= 1.0:
        raise Unsupported("layout", f"grib: an earth with half axes of {found.major} and {found.minor} metres")
    return found


def _scaled(grid: bytes, at: int) -> float:
    return unsigned(grid, at + 1, 4) / 10.0 ** min(unsigned(grid, at, 1), 99)
