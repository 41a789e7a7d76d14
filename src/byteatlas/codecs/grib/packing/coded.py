"""What a packing's decoder works on, and the arithmetic that all share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.sections.values import GribPacking
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

Floats = NDArray[np.float64]
Present = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Coded:
    """Packed values of one field.

    Attributes:
        edition: 1 or 2.
        packing: how they are packed.
        section: the data section (7; in edition 1: 4), with its head.
        points: points of the grid. No decoder makes more values than these.
        grid: the grid section.
        bitmap: which points have values; None: all.
    """

    edition: int
    packing: GribPacking
    section: memoryview
    points: int
    grid: bytes
    bitmap: Present | None

    @property
    def present(self) -> int:
        """Points that have values."""
        return self.points if self.bitmap is None else int(np.count_nonzero(self.bitmap))

    def bounded(self, count: int) -> int:
        """A number of values that the field can have. Raises `CorruptChunk`."""
        if not 0 <= count <= self.points:
            raise CorruptChunk(f"grib: {count} packed values where the grid has {self.points} points")
        return count


def power(base: int, exponent: int) -> float:
    """``base**exponent`` by repeated multiplication or division: the last bit is ecCodes'.

    >>> power(10, -3), power(2, 5)
    (0.001, 32.0)
    """
    if base == 2:
        return math.ldexp(1.0, exponent) if exponent < 1024 else math.inf
    found = 1.0
    for _ in range(min(abs(exponent), 400)):  # both ends of the range of a double lie before that
        found = found / base if exponent < 0 else found * base
    return found


def constant(coded: Coded, count: int) -> Floats:
    """Values of a field that has one value only: the reference value, without any scaling (as ecCodes has it)."""
    return np.full(count, coded.packing.reference)


def scaled(integers: NDArray[Any], packing: GribPacking, out: Floats | None = None) -> Floats:
    """``(integers * 2**E + R) * 10**-D`` in double precision, in this order."""
    with np.errstate(all="ignore"):
        found: Floats = np.multiply(integers, power(2, packing.binary_scale), out=out)
        found += packing.reference
        found *= power(10, -packing.decimal_scale)
    return found
