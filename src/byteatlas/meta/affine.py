"""Affine transforms from the grid of an image to map coordinates."""

from __future__ import annotations

from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class Affine:
    """``x = a * column + b * row + c``, ``y = d * column + e * row + f``; columns and rows count from the corner."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def of(self, column: float, row: float) -> tuple[float, float]:
        """Position of a point of the grid.

        >>> Affine(60, 0, 440720, 0, -60, 3751320).of(1, 2)
        (440780, 3751200)
        """
        return self.a * column + self.b * row + self.c, self.d * column + self.e * row + self.f

    @property
    def gdal(self) -> tuple[float, ...]:
        """GDAL's order."""
        return (self.c, self.a, self.b, self.f, self.d, self.e)

    @property
    def is_rectilinear(self) -> bool:
        return self.b == 0 and self.d == 0

    def moved(self, columns: float, rows: float) -> Affine:
        """The same grid with its origin at another place of it."""
        return replace(self, c=self.c + columns * self.a + rows * self.b, f=self.f + columns * self.d + rows * self.e)
