"""Numbers as GRIB writes them: big-endian, signs in the first bit, IBM's floating point in edition 1."""

from __future__ import annotations

import math

from byteatlas.errors import CorruptFile
from byteatlas.types import Buffer


def unsigned(data: Buffer, at: int, size: int) -> int:
    """A whole number of ``size`` bytes. Raises `CorruptFile` where they are not all there."""
    if at + size > len(data):
        raise CorruptFile(at, f"a number of {size} bytes where a section ends after {len(data)}")
    return int.from_bytes(data[at : at + size], "big")


def signed(data: Buffer, at: int, size: int) -> int:
    """A whole number whose first bit is its sign, the others its magnitude."""
    return sign_and_magnitude(unsigned(data, at, size), 8 * size)


def sign_and_magnitude(value: int, bits: int) -> int:
    """
    >>> sign_and_magnitude(0x8003, 16)
    -3
    """
    sign = 1 << (bits - 1)
    return sign - value if value & sign else value


def ieee32(data: Buffer, at: int) -> float:
    """A single-precision number of IEEE 754. Raises `CorruptFile` for infinity and for what is no number.

    Denormal numbers (below 1.2e-38) are what ecCodes makes of them: it takes them for normal ones.
    """
    word = unsigned(data, at, 4)
    exponent, fraction = word >> 23 & 0xFF, word & 0x7FFFFF
    if exponent == 0xFF:
        raise CorruptFile(at, "a number that is not finite")
    size = math.ldexp(fraction | 0x800000, max(exponent, 1) - 150) if exponent or fraction else 0.0
    return -size if word >> 31 else size


def ibm32(data: Buffer, at: int) -> float:
    """A single-precision number of IBM's System/360: sign, 7 bits of exponent to base 16, 24 bits of fraction.

    The smallest number of all is 0, as ecCodes has it.

    >>> ibm32(bytes.fromhex("42640000"), 0)
    100.0
    """
    word = unsigned(data, at, 4)
    if word & 0x7FFFFFFF <= 1:
        return 0.0
    size = float(word & 0xFFFFFF) * 16.0 ** ((word >> 24 & 0x7F) - 70)
    return -size if word >> 31 else size
