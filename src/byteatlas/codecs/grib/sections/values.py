"""What a message says of itself and of its fields, as frozen values."""

from __future__ import annotations

from byteatlas.types import ByteRange
from byteatlas.values import dataclass

MOST_FIELDS = 1 << 16
"""Fields of one message."""
MOST_HEADER = 1 << 26
"""Bytes of one section that is read as a whole (lists of points make the longest ones)."""

NO_BITMAP = 255
PREVIOUS_BITMAP = 254


@dataclass(frozen=True, slots=True)
class GribPacking:
    """How values are packed: section 5 of edition 2; the head of section 4 in edition 1.

    A value is ``(reference + integer * 2**binary_scale) * 10**-decimal_scale`` in most packings.

    Attributes:
        name: as ecCodes names the packing type (``grid_simple``); ``template_N`` for unknown templates.
        template: number of the data representation template; None in edition 1.
        values: coded values; None where the message does not say it (edition 1).
        reference: reference value.
        binary_scale, decimal_scale: exponents of 2 and of 10.
        bits: bits of one packed value (of one group's reference, in the complex packings).
        flags: edition 1's flags of section 4 (its upper four bits, as the upper half of a byte), 0 in edition 2.
        section: edition 2: the whole section. Edition 1: its first bytes, 24 of them if there are so many.
    """

    name: str
    template: int | None
    values: int | None
    reference: float
    binary_scale: int
    decimal_scale: int
    bits: int
    flags: int
    section: bytes


@dataclass(frozen=True, slots=True)
class Bitmap:
    """Where the bit map is that says which points have values.

    Attributes:
        indicator: 0 when the message has the bit map, 255 when every point has a value, 1 to 253 (edition 1: or more)
            for one that the centre has defined and that the message does not have.
        bits: the bytes that the bits are in; None without them. A field that uses the bit map of a field before it
            (indicator 254 in edition 2) has that field's.
        unused: bits at the end of the bytes that are no part of it (edition 1).
    """

    indicator: int
    bits: ByteRange | None = None
    unused: int = 0


@dataclass(frozen=True, slots=True)
class GribField:
    """One field of a message. Sections are given whole, with their lengths and numbers; offsets are in the message.

    Attributes:
        number: its place in the message, from 0.
        identification: section 1.
        local: section 2 of edition 2; in edition 1 what section 1 has from octet 41 on. Empty without one.
        grid: section 3; in edition 1 section 2. Empty where edition 1 has none (a grid that is known by its number).
        grid_template: number of the grid definition template; in edition 1 of the data representation type. None
            without a grid section.
        product: section 4; in edition 1 section 1.
        product_template: number of the product definition template; None in edition 1.
        points: number of data points; None where the message does not say it (edition 1).
        packing: section 5; in edition 1 the head of section 4.
        bitmap: section 6; in edition 1 section 3.
        data: section 7; in edition 1 section 4.
    """

    number: int
    identification: bytes
    local: bytes
    grid: bytes
    grid_template: int | None
    product: bytes
    product_template: int | None
    points: int | None
    packing: GribPacking
    bitmap: Bitmap
    data: ByteRange


@dataclass(frozen=True, slots=True)
class GribMessage:
    """A message.

    Attributes:
        edition: 1 or 2.
        length: bytes from ``GRIB`` to ``7777``.
        discipline: octet 7 of section 0; None in edition 1.
        fields: in the order of the message.
    """

    edition: int
    length: int
    discipline: int | None
    fields: tuple[GribField, ...]
