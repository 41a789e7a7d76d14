"""Coefficients of spherical harmonics: simple (5.50) and complex packing (5.51), of edition 1 as well.

The order of coefficients is the message's: for each m, all n from m to the truncation J, real and imaginary part.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.packing.bits import numbers
from byteatlas.codecs.grib.packing.coded import Coded, Floats, power
from byteatlas.codecs.grib.packing.plain import ieee
from byteatlas.codecs.grib.packing.simple import HEAD2, count1, unpack
from byteatlas.codecs.grib.sections.wire import ibm32, ieee32, signed, unsigned
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "grib spectral"
HEAD1_SIMPLE, HEAD1_COMPLEX = 15, 18


@dataclass(frozen=True, slots=True)
class Subset:
    """The part of the coefficients that is stored as plain numbers, and what scales the others.

    Attributes:
        j: truncation of that part.
        precision: 0: IBM's single precision; 1 and 2: IEEE's single and double precision.
        laplacian: the power of n(n + 1) that packed coefficients are divided by.
        last_scaled: the coefficients with n = j are scaled as well (a mistake of GRIBEX that stayed, edition 1).
    """

    j: int
    precision: int
    laplacian: float
    last_scaled: bool


def truncation(coded: Coded) -> int:
    """J of a triangular truncation with the field's number of coefficients. Raises `CorruptChunk`."""
    if coded.edition == 1:
        found = [unsigned(coded.grid, at, 2) for at in (6, 8, 10)]
    else:
        found = [unsigned(coded.grid, at, 4) for at in (14, 18, 22)]
    j = found[0]
    if found != [j, j, j]:
        raise CorruptChunk(f"{NAME}: truncation {found}")
    coded.bounded((j + 1) * (j + 2))
    return j


def decode_simple(coded: Coded) -> Floats:
    """The first coefficient as a number, the others in simple packing. Raises `CorruptChunk`."""
    j = truncation(coded)
    count = (j + 1) * (j + 2)
    if coded.edition == 2:
        first, data, packed = ieee32(coded.packing.section, 20), coded.section[HEAD2:], count - 1
    else:
        first, data = ibm32(coded.packing.section, 11), coded.section[HEAD1_SIMPLE:]
        packed = count1(coded, HEAD1_SIMPLE) if coded.packing.bits else 0
    if packed != count - 1:
        raise CorruptChunk(f"{NAME}: {packed} packed numbers where there are {count - 1}")
    found = np.empty(count)
    found[0] = first
    found[1:] = unpack(coded, data, packed)
    return found


def decode_complex(coded: Coded) -> Floats:
    """Low wave numbers as plain numbers, the others packed after multiplication. Raises `CorruptChunk`."""
    section = coded.packing.section
    if coded.edition == 2:
        subset = Subset(_same(section, (24, 26, 28), 2), section[34], signed(section, 20, 4) / 1000000, False)
        data = coded.section[HEAD2:]
    else:
        subset = Subset(_same(section, (15, 16, 17), 1), 0, signed(section, 13, 2) / 1000, True)
        data = coded.section[HEAD1_COMPLEX:]
    j = truncation(coded)
    if subset.j > j:
        raise CorruptChunk(f"{NAME}: a part of truncation {subset.j} of coefficients of truncation {j}")
    if subset.j == j:
        return decode_plain(coded, data, max(1, subset.precision))
    return coefficients(coded, data, subset, j)


def decode_ieee(coded: Coded) -> Floats:
    """All coefficients as plain numbers (template 5.50000). Raises `CorruptChunk`."""
    truncation(coded)
    return decode_plain(coded, coded.section[HEAD2:], unsigned(coded.packing.section, 28, 1))


def decode_plain(coded: Coded, data: memoryview, precision: int) -> Floats:
    """All coefficients as plain numbers."""
    count = coded.points
    size = 4 if precision == 1 else 8
    if precision not in (1, 2) or len(data) < size * count:
        raise CorruptChunk(f"{NAME}: {len(data)} bytes of precision {precision} for {count} coefficients")
    found = ieee(coded, data[: size * count], precision, count)
    found *= power(10, -coded.packing.decimal_scale)
    return found


def _same(section: bytes, places: tuple[int, ...], size: int) -> int:
    found = {unsigned(section, at, size) for at in places}
    if len(found) != 1:
        raise CorruptChunk(f"{NAME}: a part of truncation {sorted(found)}")
    return found.pop()


def coefficients(coded: Coded, data: memoryview, subset: Subset, j: int) -> Floats:
    """Both parts, in the order of the message."""
    plain = plain_numbers(data, subset.precision, (subset.j + 1) * (subset.j + 2), NAME)
    size = 8 if subset.precision == 2 else 4
    rest = (j + 1) * (j + 2) - len(plain)
    packed = numbers(data, 8 * size * len(plain), coded.packing.bits, rest, NAME)
    width = coded.packing.bits
    integers = packed if width else np.zeros(rest, np.uint32)
    scale = _scales(j, subset.laplacian)
    with np.errstate(all="ignore"):
        values = np.multiply(integers, power(2, coded.packing.binary_scale), dtype=np.float64)
        values += coded.packing.reference
        values = power(10, -coded.packing.decimal_scale) * values
    found = np.empty((j + 1) * (j + 2))
    place = low = high = 0
    for m in range(j + 1):
        kept = 2 * max(0, subset.j + 1 - m)
        total = 2 * (j + 1 - m)
        row = found[place : place + total]
        row[:kept] = plain[low : low + kept]
        if kept and subset.last_scaled:
            row[kept - 2 : kept] *= scale[subset.j]
        with np.errstate(all="ignore"):
            row[kept:] = values[high : high + total - kept] * np.repeat(scale[m + kept // 2 :], 2)
        if m == 0:
            row[kept + 1 :: 2] = 0.0  # the imaginary part of zonal coefficients
        place, low, high = place + total, low + kept, high + total - kept
    return found


def plain_numbers(data: memoryview, precision: int, count: int, name: str) -> Floats:
    """``count`` numbers as ecCodes reads single ones (`ieee32`). Raises `CorruptChunk`.

    Args:
        precision: 0: IBM's single precision; 1 and 2: IEEE's single and double precision.
    """
    size = 8 if precision == 2 else 4
    if precision > 2 or len(data) < size * count:
        raise CorruptChunk(f"{name}: {len(data)} bytes for {count} numbers of precision {precision}")
    if precision == 0:
        return np.array([ibm32(data, 4 * i) for i in range(count)])
    words = np.frombuffer(data, f">u{size}", count)
    found = words.view(f">f{size}").astype(np.float64)
    odd = np.flatnonzero(~np.isfinite(found) | ((np.abs(found) < np.finfo(f"f{size}").tiny) & (found != 0)))
    if len(odd) and size == 8:
        raise CorruptChunk(f"{name}: a number beyond the range of normal ones")
    for at in odd.tolist():
        found[at] = ieee32(data, 4 * at)
    return found


def _scales(j: int, laplacian: float) -> NDArray[np.float64]:
    found = np.zeros(j + 1)
    for n in range(1, j + 1):
        try:
            operator = math.pow(n * (n + 1), laplacian)
        except OverflowError:
            operator = math.inf
        found[n] = 1.0 / operator if operator else 0.0
    return found
