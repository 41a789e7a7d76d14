"""IEEE floating point (5.4), run length with levels (5.200), and logarithms in simple packing (5.61)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.packing.bits import numbers
from byteatlas.codecs.grib.packing.coded import Coded, Floats, power
from byteatlas.codecs.grib.packing.simple import HEAD2, decode2
from byteatlas.codecs.grib.sections.wire import ieee32, sign_and_magnitude, unsigned
from byteatlas.errors import CorruptChunk

PRECISIONS = {1: ">f4", 2: ">f8"}
"""Code table 5.7; 128 bits (3) are not read."""
HEAD1_IEEE = 12


def decode_ieee2(coded: Coded) -> Floats:
    """Edition 2. Raises `CorruptChunk`."""
    return ieee(coded, coded.section[HEAD2:], unsigned(coded.packing.section, 11, 1), coded.packing.values or 0)


def decode_ieee1(coded: Coded) -> Floats:
    """Edition 1, an extension of ECMWF's: as many numbers as the section has. Raises `CorruptChunk`."""
    return ieee(coded, coded.section[HEAD1_IEEE:], unsigned(coded.packing.section, 11, 1), None)


def ieee(coded: Coded, data: memoryview, precision: int, count: int | None) -> Floats:
    """Plain numbers; their bytes say how many, and ``count`` has to agree."""
    if precision not in PRECISIONS:
        raise CorruptChunk(f"grib ieee: precision {precision}")
    kind = np.dtype(PRECISIONS[precision])
    stored = coded.bounded(len(data) // kind.itemsize)
    if count is not None and stored != count:
        raise CorruptChunk(f"grib ieee: {stored} numbers where there are {count} values")
    with np.errstate(invalid="ignore"):
        return np.frombuffer(data, kind, stored).astype(np.float64)


def decode_log(coded: Coded) -> Floats:
    """``exp(packed) - parameter``. Equal integers make equal values, so that each exponential is taken once."""
    parameter = ieee32(coded.packing.section, 20)
    packed = decode2(coded)
    different, where = np.unique(packed, return_inverse=True)
    values = np.array([_exp(v) for v in different.tolist()])
    if parameter != 0:
        values -= parameter
    return values[where]


def _exp(value: float) -> float:
    """The platform's function: NumPy's own may differ from it in the last bit."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def decode_runs(coded: Coded) -> Floats:
    """Run length packing: numbers up to the highest level are levels, those above it digits of a run's length."""
    section, name = coded.packing.section, "grib run length"
    count = coded.bounded(coded.packing.values or 0)
    width, top, known = unsigned(section, 11, 1), unsigned(section, 12, 2), unsigned(section, 14, 2)
    scale = sign_and_magnitude(unsigned(section, 16, 1), 8)
    data = coded.section[HEAD2:]
    if not 0 < width <= 16:
        raise CorruptChunk(f"{name}: numbers of {width} bits")
    stored = 8 * len(data) // width
    if not stored or not top:
        return np.full(count, np.nan)
    base = (1 << width) - 1 - top
    if top > known or base <= 0 or 17 + 2 * known > len(section):
        raise CorruptChunk(f"{name}: levels up to {top} of {known}, in numbers of {width} bits")
    levels = np.full(top + 1, np.nan)
    levels[1:] = np.frombuffer(section, ">u2", top, 17) * power(10, -scale)
    found = numbers(data, 0, width, stored, name).astype(np.int64)
    starts = np.flatnonzero(found <= top)
    lengths = _lengths(found, starts, top, base, count)
    if lengths is None or int(lengths.sum()) != count:
        raise CorruptChunk(f"{name}: the runs are not those of {count} values")
    return np.repeat(levels[found[starts]], lengths)


def _lengths(
    found: NDArray[np.int64], starts: NDArray[np.int64], top: int, base: int, count: int
) -> NDArray[np.int64] | None:
    """Lengths of runs; None when the first number is no level, or a run is longer than all values."""
    if not len(starts) or starts[0]:
        return None
    place = np.arange(len(found)) - np.repeat(starts, np.diff(starts, append=len(found))) - 1
    digits = np.where(place < 0, 0, found - top - 1)
    with np.errstate(over="ignore"):
        sizes = np.where(digits > 0, digits * float(base) ** np.maximum(place, 0), 0.0)
        total: NDArray[np.float64] = np.add.reduceat(sizes, starts) + 1
    if not bool((total <= count).all()):
        return None
    return total.astype(np.int64)
