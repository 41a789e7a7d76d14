"""Simple packing (data representation template 5.0; edition 1: section 4 without flags)."""

from __future__ import annotations

import numpy as np

from byteatlas.codecs.grib.packing.bits import BLOCK, numbers, stream
from byteatlas.codecs.grib.packing.coded import Coded, Floats, constant, scaled
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer

HEAD2, HEAD1 = 5, 11
"""Bytes of the data section before the packed values, in edition 2 and 1."""


def decode2(coded: Coded) -> Floats:
    """Edition 2. Raises `CorruptChunk`."""
    count = coded.bounded(coded.packing.values or 0)
    return unpack(coded, coded.section[HEAD2:], count)


def decode1(coded: Coded) -> Floats:
    """Edition 1. Raises `CorruptChunk`."""
    if not coded.packing.bits:
        return constant(coded, coded.present)
    return unpack(coded, coded.section[HEAD1:], coded.bounded(count1(coded, HEAD1)))


def count1(coded: Coded, head: int) -> int:
    """Values of edition 1, where only the length of the section and the unused bits at its end say how many."""
    unused = coded.section[3] & 0x0F
    return (8 * (len(coded.section) - head) - unused) // coded.packing.bits


def unpack(coded: Coded, data: Buffer, count: int) -> Floats:
    """``count`` values of equal width; all are the reference value when they have no bits."""
    width = coded.packing.bits
    if not width:
        return constant(coded, count)
    if width > 64:
        raise CorruptChunk(f"grib: packed values of {width} bits")
    stream(data, "grib", 0, width * count)
    found = np.empty(count)
    for first in range(0, count, BLOCK):
        part = found[first : first + BLOCK]
        scaled(numbers(data, first * width, width, len(part)), coded.packing, part)
    return found
