"""Quantised floating-point numbers of tiles: scale, zero and subtractive dithering (FITS 4.0, section 10.2 and app. I).

The random numbers are part of the standard: 10,000 of a multiplicative congruential generator, the same for everybody.
A tile begins at a place in them that its number gives, and at their end goes on at a place that the next one gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.values import dataclass

COUNT = 10_000
MULTIPLIER, MODULUS = 16807, 2**31 - 1
ZERO = -2147483646
"""What SUBTRACTIVE_DITHER_2 stores for exactly zero."""
NO_DITHER, DITHER_1, DITHER_2 = 0, 1, 2

Rule: TypeAlias = tuple[int, int | None]
"""The dithering method, and the integer that stands for NaN."""


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
        """The numbers of one tile, flat."""
        noise = None if self.method == NO_DITHER else dither(self.start, len(stored))
        return _restored(stored, noise, self.scale, self.zero, dtype, (self.method, self.blank))


def _restored(
    stored: NDArray[Any], noise: NDArray[np.float64] | None, scale: Any, zero: Any, dtype: np.dtype[Any], rule: Rule
) -> NDArray[Any]:
    """Computed in double precision in the order of the reference implementation: no step may be merged with another."""
    with np.errstate(over="ignore", invalid="ignore"):
        if noise is None:
            values = stored * scale
        else:
            values = np.subtract(stored, noise)
            values += 0.5
            values *= scale
        values += zero
        found: NDArray[Any] = values.astype(dtype)
    method, blank = rule
    if method == DITHER_2 and stored.dtype.itemsize == 4:
        found[stored == ZERO] = 0
    if blank is not None:
        found[stored == blank] = np.nan
    return found


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedRun:
    """Tiles of one size and one method, each with its own scale and zero: shape (tiles, pixels)."""

    scale: NDArray[np.float64]
    zero: NDArray[np.float64]
    starts: tuple[int, ...]
    count: int
    rule: Rule

    def restore(self, stored: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """The numbers of all tiles."""
        noise = None
        if self.rule[0] != NO_DITHER:
            noise = np.empty(stored.shape, np.float64)
            for row, start in zip(noise, self.starts, strict=True):
                row[:] = dither(start, self.count)
        return _restored(stored, noise, self.scale, self.zero, dtype, self.rule)


def quantised_run(tiles: Sequence[Quantised | None], count: int) -> QuantisedRun | None:
    """Tiles of ``count`` pixels as one; None when they are not of one kind."""
    known = [t for t in tiles if t is not None]
    if len(known) < len(tiles) or len({(t.method, t.blank) for t in known}) != 1:
        return None
    scale, zero = np.array([[t.scale] for t in known]), np.array([[t.zero] for t in known])
    return QuantisedRun(scale, zero, tuple(t.start for t in known), count, (known[0].method, known[0].blank))
