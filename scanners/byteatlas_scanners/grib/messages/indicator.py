"""The beginning of a message, section 0: ``GRIB``, the edition, the length of the whole.

Edition 1 (WMO FM 92-VIII): octets 5-7 length, 8 edition. Edition 2 (FM 92-XIV): 7 discipline, 8 edition, 9-16 length.
Lengths above 8 MiB in edition 1 are written in units of 120 bytes, a convention of ECMWF that other centres follow:
the highest bit of the length is set, and the length of the data section says what the last unit lacks.
"""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.types import Buffer

MAGIC, END = b"GRIB", b"7777"
LARGE = 0x800000
UNIT = 120
LEAST = {1: 8 + 28 + 11 + 4, 2: 16 + 21 + 4}
"""Bytes that a message has at least, by edition."""
NEEDED = 24
"""Bytes that `indicator` looks at."""


class Indicator(NamedTuple):
    """Section 0.

    Attributes:
        length: of the whole message in bytes; of a large message of edition 1 the number as written.
        large: of edition 1, the length is in units of 120 bytes.
        discipline: of edition 2, else 0.
    """

    edition: int
    length: int
    discipline: int = 0
    large: bool = False


def indicator(head: Buffer, at: int = 0) -> Indicator | None:
    """Section 0 at a place of some bytes; None when no message begins there, as far as `NEEDED` bytes tell."""
    data = bytes(head[at : at + NEEDED])
    if len(data) < NEEDED or data[:4] != MAGIC:
        return None
    match data[7]:
        case 1:
            length, product = int.from_bytes(data[4:7], "big"), int.from_bytes(data[8:11], "big")
            large = bool(length & LARGE)
            sound = product >= 28 and (large or (LEAST[1] <= length and product < length))
            return Indicator(1, length, 0, large) if sound else None
        case 2:
            length = int.from_bytes(data[8:16], "big")
            first = int.from_bytes(data[16:20], "big")
            sound = data[20] == 1 and first >= 21 and length >= max(LEAST[2], first + 20)
            return Indicator(2, length, data[6]) if sound else None
        case _:
            return None


def large_length(length: int, data_section: int) -> int:
    """Bytes of a message of edition 1 whose length has the highest bit set.

    Args:
        length: as written, with that bit.
        data_section: the length that section 4 says. 120 and more: the length is not in units after all.
    """
    return length if data_section >= UNIT else (length & ~LARGE) * UNIT - data_section + 4
