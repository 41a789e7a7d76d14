"""Sections of edition 1 (WMO Manual on Codes, volume I.2, FM 92-IX Ext. GRIB), with ECMWF's way for long messages."""

from __future__ import annotations

from collections.abc import Generator

from byteatlas.codecs.grib.sections.edition2 import Reading
from byteatlas.codecs.grib.sections.values import NO_BITMAP, Bitmap, GribField, GribMessage, GribPacking
from byteatlas.codecs.grib.sections.wire import ibm32, signed, unsigned
from byteatlas.errors import CorruptFile
from byteatlas.types import Buffer, ByteRange

HEAD = 8
LONG = 0x800000
"""A bit of the message's length: the other bits count units of 120 bytes."""
LONG_UNIT = 120
GRID_PRESENT, BITMAP_PRESENT = 0x80, 0x40
SPECTRAL, COMPLEX, INTEGERS, MORE_FLAGS = 0x80, 0x40, 0x20, 0x10
"""Flags of section 4 (code table 11)."""
PACKING_HEAD = 24


def read(stated: int) -> Reading:
    """The sections after section 0, whose length is ``stated``. Raises `CorruptFile`."""
    most = stated if not stated & LONG else (stated & ~LONG) * LONG_UNIT + 4
    product = yield from _whole(HEAD, 28, most)
    place, flags = HEAD + len(product), product[7]
    grid, bitmap = b"", Bitmap(NO_BITMAP)
    if flags & GRID_PRESENT:
        grid = yield from _whole(place, 6, most)
        place += len(grid)
    if flags & BITMAP_PRESENT:
        head = yield _within(place, 6, most)
        length = _length(head, place, 6, most)
        number = unsigned(head, 4, 2)
        bitmap = Bitmap(number, None if number else ByteRange(place + 6, length - 6), unsigned(head, 3, 1))
        place += length
    head = yield _within(place, 11, most)
    total, length = _long(stated, unsigned(head, 0, 3), place)
    if length < 11 or place + length > total - 4:
        raise CorruptFile(place, f"section 4 of {length} bytes in a message of {total}")
    head = bytes((yield ByteRange(place, min(length, PACKING_HEAD))))
    template = unsigned(grid, 5, 1) if grid else None
    field = GribField(
        0, product, product[40:], grid, template, product, None, None, packing(head, signed(product, 26, 2)),
        bitmap, ByteRange(place, length),
    )  # fmt: skip
    return GribMessage(1, total, None, (field,))


def _long(stated: int, section: int, place: int) -> tuple[int, int]:
    """Lengths of the message and of section 4.

    In messages beyond 2**23 bytes the length counts units of 120 bytes, and section 4's says by how many bytes that is
    too many.
    """
    if section < LONG_UNIT and stated & LONG:
        total = (stated & ~LONG) * LONG_UNIT - section + 4
        return total, total - place - 4
    return stated, section


def _within(place: int, length: int, most: int) -> ByteRange:
    if place + length > most:
        raise CorruptFile(place, f"a section in a message of {most} bytes")
    return ByteRange(place, length)


def _length(head: Buffer, place: int, least: int, most: int) -> int:
    length = unsigned(head, 0, 3)
    if length < least or place + length > most:
        raise CorruptFile(place, f"a section of {length} bytes in a message of {most}")
    return length


def _whole(place: int, least: int, most: int) -> Generator[ByteRange, Buffer, bytes]:
    head = yield _within(place, 3, most)
    return bytes((yield ByteRange(place, _length(head, place, least, most))))


def packing(head: bytes, decimal_scale: int) -> GribPacking:
    """The head of section 4 as a value; the name says how it is laid out."""
    flags = unsigned(head, 3, 1) & 0xF0
    return GribPacking(
        _name(head, flags), None, None, ibm32(head, 6), signed(head, 4, 2), decimal_scale, head[10], flags, head
    )


def _name(head: bytes, flags: int) -> str:
    match bool(flags & SPECTRAL), bool(flags & COMPLEX), bool(flags & MORE_FLAGS):
        case True, True, _:
            return "spectral_complex"
        case True, False, _:
            return "spectral_simple"
        case False, False, False:
            return "grid_simple"
        case False, False, True:
            return "grid_ieee" if flags & INTEGERS else "grid_simple_matrix"
    return _second_order(unsigned(head, 13, 1))


def _second_order(flags: int) -> str:
    """The layout of second-order packing, from its flags (octet 14)."""
    if flags & 0x40:
        return "grid_second_order_matrix"
    secondary, widths, extended = bool(flags & 0x20), bool(flags & 0x10), bool(flags & 0x08)
    match secondary, widths, extended:
        case False, True, False:
            return "grid_second_order_row_by_row"
        case True, False, False:
            return "grid_second_order_constant_width"
        case True, True, False:
            return "grid_second_order_general_grib1"
        case False, True, True:
            return "grid_second_order" if flags & 0x03 else "grid_second_order_no_SPD"
    return "grid_second_order_unknown"
