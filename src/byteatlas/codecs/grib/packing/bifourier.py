"""Coefficients of two-dimensional Fourier series of limited areas (data representation template 5.53)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.packing.bits import numbers
from byteatlas.codecs.grib.packing.coded import Coded, Floats, Present, scaled
from byteatlas.codecs.grib.packing.simple import HEAD2
from byteatlas.codecs.grib.packing.spectral import plain_numbers
from byteatlas.codecs.grib.sections.wire import signed, unsigned
from byteatlas.errors import CorruptChunk

NAME = "grib bi-Fourier"
RECTANGLE, ELLIPSE, DIAMOND = 77, 88, 99
"""Code table 3.25 and 5.25: shapes of truncations."""


def limits(kind: int, last: int, rows: int) -> NDArray[np.int64]:
    """The highest first wave number of each second one (0 to ``rows``). Raises `CorruptChunk`."""
    j = np.arange(rows + 1)
    match kind:
        case 77:
            return np.full(rows + 1, last, np.int64)
        case 88:
            ratio = last / rows if rows else 0.0
            found = np.array([int(ratio * math.sqrt(max(0.0, rows * rows - k * k)) + 1e-10) for k in range(rows + 1)])
            found[-1], found[0] = 0, last
            return found.astype(np.int64)
        case 99:
            return last - (j * last) // rows if rows else np.array([-1])
    raise CorruptChunk(f"{NAME}: truncation {kind}")


def decode(coded: Coded) -> Floats:
    """Four coefficients for each pair of wave numbers. Raises `CorruptChunk`."""
    section, grid = coded.packing.section, coded.grid
    count = coded.bounded(coded.packing.values or 0)
    ni, nj, kind = unsigned(grid, 15, 4), unsigned(grid, 19, 4), unsigned(grid, 23, 1)
    if max(ni, nj) > coded.points:
        raise CorruptChunk(f"{NAME}: wave numbers up to {ni} and {nj} for {coded.points} coefficients")
    last = limits(kind, ni, nj)
    lengths = last + 1
    if 4 * int(lengths.sum()) != count:
        raise CorruptChunk(f"{NAME}: {4 * int(lengths.sum())} coefficients where there are {count}")
    j = np.repeat(np.arange(nj + 1), lengths)
    i = np.arange(len(j)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    plain = _plain(section, i, j)
    precision = unsigned(section, 34, 1)
    stored = plain_numbers(coded.section[HEAD2:], precision, 4 * int(plain.sum()), NAME)
    rest = 4 * int((~plain).sum())
    start = 8 * len(stored) * (8 if precision == 2 else 4)
    packed = numbers(coded.section[HEAD2:], start, coded.packing.bits, rest, NAME)
    with np.errstate(all="ignore"):
        values = scaled(packed, coded.packing) / np.repeat(_weights(i[~plain], j[~plain], section), 4)
    found = np.empty((len(i), 4))
    found[plain], found[~plain] = stored.reshape(-1, 4), values.reshape(-1, 4)
    return found.reshape(-1)


def _plain(section: bytes, i: NDArray[np.int64], j: NDArray[np.int64]) -> Present:
    """Which pairs of wave numbers are stored as plain numbers."""
    kind, axes = unsigned(section, 20, 1), unsigned(section, 21, 1)
    si, sj = unsigned(section, 26, 2), unsigned(section, 28, 2)
    of_i, of_j = limits(kind, si, sj), limits(kind, sj, si)
    inside = (i <= si) & (j <= sj)
    inside &= (i <= of_i[np.minimum(j, sj)]) & (j <= of_j[np.minimum(i, si)])
    return inside | (i == 0) | (j == 0) if axes else inside


def _weights(i: NDArray[np.int64], j: NDArray[np.int64], section: bytes) -> Floats:
    """Powers of ``i**2 + j**2``, each taken once and with the platform's function."""
    power = signed(section, 22, 4) / 1000000
    different, where = np.unique(i * i + j * j, return_inverse=True)
    return np.array([_pow(float(v), power) for v in different.tolist()])[where]


def _pow(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except (OverflowError, ValueError):
        return math.inf
