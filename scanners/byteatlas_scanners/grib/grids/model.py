"""What a grid is, in the same terms for both editions."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import FileFault
from byteatlas.scanning.grib import Spheroid, earth_of
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass

I_NEGATIVE, J_POSITIVE, J_CONSECUTIVE, ALTERNATIVE = 0x80, 0x40, 0x20, 0x10
"""Flags of the scanning mode (flag table 3.4 of edition 2, 8 of edition 1)."""


MODERN = Spheroid(6_371_229.0, 6_371_229.0)
"""What stands for a figure of the earth that is not defined."""


def figure_of(edition: int, section: bytes) -> Spheroid:
    """The figure of the earth of a grid (code table 3.2)."""
    try:
        return earth_of(edition, section)
    except FileFault:
        return MODERN


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """A grid.

    Attributes:
        kind: as ecCodes names the type of the grid (``regular_ll``); ``template_N`` for unknown ones.
        shape, dims: of a field's values, in the order that ecCodes gives them.
        ni, nj: points along a parallel (or x axis) and a meridian (y axis); 0 where they are not defined.
        scan: the scanning mode.
        values: the numbers of the grid under ecCodes' names, angles in degrees, lengths in metres.
        rows: points on each parallel of a reduced grid ("PL").
        section: the bytes that say all this.
        key: of all fields of this grid (`byteatlas.codecs.grib.sections.fingerprint`); the codec checks it.
    """

    kind: str
    shape: Shape
    dims: tuple[str, ...]
    ni: int
    nj: int
    scan: int
    earth: Spheroid
    values: Mapping[str, JSON]
    rows: tuple[int, ...]
    section: bytes
    edition: int
    key: str = ""

    @property
    def alternates(self) -> bool:
        """Whether every second row (column) runs the other way: points along it have no coordinate in common."""
        return self.edition == 2 and self.ni > 0 and bool(self.scan & ALTERNATIVE)

    def number(self, name: str) -> float:
        """A number of the grid; 0 where it has none."""
        value = self.values.get(name)
        return float(value) if isinstance(value, (int, float)) else 0.0


LATLON = ("latitude", "longitude")
PLANE = ("y", "x")
POINTS = ("values",)


def arranged(ni: int, nj: int, scan: int, names: tuple[str, str]) -> tuple[Shape, tuple[str, ...]]:
    """Shape and dimensions of ``nj`` rows; points that stand column by column are columns first."""
    return ((ni, nj), (names[1], names[0])) if scan & J_CONSECUTIVE else ((nj, ni), names)
