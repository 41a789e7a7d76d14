"""Fields with room for a matrix at each point (edition 1: flag 4 of section 4; data representation template 5.1).

Those that have one value at each point after all are simple packing behind a longer head. Matrices themselves are
refused: no file with any was found to check a decoder with.
"""

from __future__ import annotations

from byteatlas.codecs.grib.packing.coded import Coded, Floats, constant
from byteatlas.codecs.grib.packing.simple import count1, unpack
from byteatlas.codecs.grib.packing.simple import decode2 as decode_simple2
from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.errors import Unsupported

HEAD1 = 24
"""Bytes of edition 1's section 4 before the coefficients."""
OF_MATRICES1 = 0x08


def _one_value(matrices: bool) -> None:
    if matrices:
        raise Unsupported("compression", "grib: a matrix of values at each point")


def decode1(coded: Coded) -> Floats:
    """Edition 1. Raises `CorruptChunk`, `Unsupported`."""
    section = coded.section
    _one_value(bool(unsigned(section, 13, 1) & OF_MATRICES1))
    if not coded.packing.bits:
        return constant(coded, coded.present)
    head = HEAD1 + 4 * (unsigned(section, 19, 1) + unsigned(section, 21, 1))
    return unpack(coded, section[head:], coded.bounded(count1(coded, head)))


def decode2(coded: Coded) -> Floats:
    """Edition 2. Raises `CorruptChunk`, `Unsupported`."""
    _one_value(unsigned(coded.packing.section, 20, 1) == 1)
    return decode_simple2(coded)
