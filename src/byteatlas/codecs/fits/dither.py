"""Quantised floating-point numbers of tiles: scale, zero and subtractive dithering (FITS 4.0, section 10.2 and app. I).

The random numbers are part of the standard: 10,000 of a multiplicative congruential generator, the same for everybody.
A tile begins at a place in them that its number gives, and at their end goes on at a place that the next one gives.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.values import dataclass

COUNT = 10_000
MULTIPLIER, MODULUS = 16807, 2**31 - 1
ZERO = -2147483646
"""What SUBTRACTIVE_DITHER_2 stores for exactly zero."""
NO_DITHER, DITHER_1, DITHER_2 = 0, 1, 2


@cache
def random_numbers() -> NDArray[np.float64]:
    """The sequence of the standard, rounded to single precision as its reference implementation keeps it."""
    found, seed = np.empty(COUNT, np.float32), 1
    for i in range(COUNT):
        seed = MULTIPLIER * seed % MODULUS
        found[i] = seed / MODULUS
    wide = found.astype(np.float64)
    wide.flags.writeable = False
    return wide


def dither(start: int, count: int) -> NDArray[np.float64]:
    """The numbers for ``count`` pixels of a tile; ``start``: its place, 0 to 9,999."""
    numbers = random_numbers()
    first = int(numbers[start] * 500)
    if first + count <= COUNT:
        return numbers[first : first + count]
    parts: list[NDArray[np.float64]] = []
    left = count
    while left > 0:
        part = numbers[int(numbers[start] * 500) :][:left]
        parts.append(part)
        left -= len(part)
        start = (start + 1) % COUNT
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True)
class Quantised:
    """How integers become floating-point numbers.

    Attributes:
        method: `NO_DITHER`, `DITHER_1` or `DITHER_2`.
        start: the tile's place in the random numbers.
        blank: the integer that stands for NaN.
    """

    scale: float
    zero: float
    method: int
    start: int
    blank: int | None

    def restore(self, stored: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The numbers, computed in double precision in the order of the reference implementation."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = stored.astype(np.float64)
            if self.method != NO_DITHER:
                values -= dither(self.start, len(stored))
                values += 0.5
            values *= self.scale
            values += self.zero
            found = values.astype(dtype)
        if self.method == DITHER_2 and stored.dtype.itemsize == 4:
            found[stored == ZERO] = 0
        if self.blank is not None:
            found[stored == self.blank] = np.nan
        return found
