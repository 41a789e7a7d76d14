"""DATASUM: the ones' complement sum of the 32-bit words of a unit's data (FITS 4.0, section 4.4.2.7 and appendix J)."""

from __future__ import annotations

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.types import ByteRange
from byteatlas_scanners.fits.hdus import Hdu

PIECE = 16 << 20
"""Bytes that are read at once; whole words."""
ALL_ONES = 2**32 - 1


def check_sum(unit: Hdu, size: int) -> Parse[None]:
    """Read a unit's data and compare. Nothing is done where there is no DATASUM. Raises `CorruptFile`."""
    said = str(unit.header.first.get("DATASUM", "")).strip()
    if not said.isdecimal():
        return
    total, end = 0, min(unit.end, size)
    for at in range(unit.data, end, PIECE):
        piece = bytes((yield from one(ByteRange(at, min(PIECE, end - at)))))
        words = np.frombuffer(piece + bytes(-len(piece) % 4), ">u4")
        total += int(words.sum(dtype=np.uint64))
    if total % ALL_ONES != int(said) % ALL_ONES:
        raise CorruptFile(unit.data, f"its data have another sum than DATASUM, which is {said}")
