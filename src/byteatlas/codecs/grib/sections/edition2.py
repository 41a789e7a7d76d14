"""Sections of edition 2 (WMO Manual on Codes, volume I.2, FM 92-XIV GRIB)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TypeAlias

from byteatlas.codecs.grib.sections.values import (
    MOST_FIELDS,
    MOST_HEADER,
    NO_BITMAP,
    PREVIOUS_BITMAP,
    Bitmap,
    GribField,
    GribMessage,
    GribPacking,
)
from byteatlas.codecs.grib.sections.wire import ieee32, signed, unsigned
from byteatlas.errors import CorruptFile
from byteatlas.types import Buffer, ByteRange

Reading: TypeAlias = Generator[ByteRange, Buffer, GribMessage]
"""Yields the bytes of the message that it has to see next, is sent them, and returns the message."""

NAMES: Mapping[int, str] = {
    0: "grid_simple",
    1: "grid_simple_matrix",
    2: "grid_complex",
    3: "grid_complex_spatial_differencing",
    4: "grid_ieee",
    40: "grid_jpeg",
    41: "grid_png",
    42: "grid_ccsds",
    50: "spectral_simple",
    51: "spectral_complex",
    53: "bifourier_complex",
    61: "grid_simple_log_preprocessing",
    200: "grid_run_length",
    40000: "grid_jpeg",
    40010: "grid_png",
    50000: "spectral_ieee",
    50001: "grid_second_order_no_boustrophedonic",
    50002: "grid_second_order_boustrophedonic",
}
"""Data representation templates (code table 5.0), and those that ECMWF and NCEP have added."""
WITHOUT_REFERENCE = (4, 200)
"""Templates that do not begin with a reference value and two scale factors."""

END = b"7777"
HEAD = 16
_WHOLE = (1, 2, 3, 4, 5)


def read(total: int, discipline: int) -> Reading:
    """The sections after section 0 of a message of ``total`` bytes. Raises `CorruptFile`."""
    fields: list[GribField] = []
    sections: dict[int, bytes] = {}
    bitmap = Bitmap(NO_BITMAP)
    last: Bitmap | None = None
    place, before = HEAD, 0
    while place + 4 < total:
        head = yield ByteRange(place, min(6, total - 4 - place))
        length, number = unsigned(head, 0, 4), unsigned(head, 4, 1)
        _check(place, length, number, before, total)
        if number in _WHOLE:
            if length > MOST_HEADER:
                raise CorruptFile(place, f"section {number} has {length} bytes")
            sections[number] = bytes((yield ByteRange(place, length)))
            for later in [n for n in sections if n > number]:
                del sections[later]
        elif number == 6:
            bitmap = _bitmap(unsigned(head, 5, 1), ByteRange(place + 6, length - 6), last)
            last = bitmap if bitmap.bits is not None else last
        else:
            fields.append(_field(len(fields), sections, bitmap, ByteRange(place, length)))
            if len(fields) > MOST_FIELDS:
                raise CorruptFile(place, f"more than {MOST_FIELDS} fields")
        place, before = place + length, number
    if place + 4 != total or before != 7:
        raise CorruptFile(place, f"the sections end here, and the message has {total} bytes")
    return GribMessage(2, total, discipline, tuple(fields))


FOLLOWS: Mapping[int, tuple[int, ...]] = {0: (1,), 1: (2, 3), 2: (3,), 3: (4,), 4: (5,), 5: (6,), 6: (7,), 7: (2, 3, 4)}
"""Which sections may follow which; those from 2, 3 or 4 on come again for each field."""
LEAST: Mapping[int, int] = {1: 21, 2: 5, 3: 14, 4: 9, 5: 11, 6: 6, 7: 5}
"""Bytes that each section has at least."""


def _check(place: int, length: int, number: int, before: int, total: int) -> None:
    if number not in FOLLOWS[before]:
        raise CorruptFile(place, f"section {number} after section {before}")
    if length < LEAST[number] or place + length > total - 4:
        raise CorruptFile(place, f"section {number} of {length} bytes in a message of {total}")


def _bitmap(indicator: int, bits: ByteRange, before: Bitmap | None) -> Bitmap:
    if indicator == 0:
        return Bitmap(0, bits)
    if indicator != PREVIOUS_BITMAP:
        return Bitmap(indicator)
    if before is None:
        raise CorruptFile(bits.offset - 6, "the bit map of the field before, where no field before has one")
    return before


def _field(number: int, sections: Mapping[int, bytes], bitmap: Bitmap, data: ByteRange) -> GribField:
    grid, product = sections[3], sections[4]
    return GribField(
        number,
        sections[1],
        sections.get(2, b""),
        grid,
        unsigned(grid, 12, 2),
        product,
        unsigned(product, 7, 2),
        unsigned(grid, 6, 4),
        packing(sections[5]),
        bitmap,
        data,
    )


def packing(section: bytes) -> GribPacking:
    """Section 5 as a value. Raises `CorruptFile` for one that is too short for its template."""
    values, template = unsigned(section, 5, 4), unsigned(section, 9, 2)
    name = NAMES.get(template, f"template_{template}")
    match template:
        case 4 | 200:
            return GribPacking(name, template, values, 0.0, 0, 0, section[11] if template == 200 else 0, 0, section)
        case _ if template not in NAMES:
            return GribPacking(name, template, values, 0.0, 0, 0, 0, 0, section)
    reference = ieee32(section, 11)
    scales = signed(section, 15, 2), signed(section, 17, 2)
    bits = unsigned(section, 19, 1)
    return GribPacking(name, template, values, reference, *scales, bits, 0, section)
