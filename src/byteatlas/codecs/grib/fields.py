"""A field's values in ecCodes' order: packed values, bit map, rows that run to and fro."""

from __future__ import annotations

import numpy as np

from byteatlas.codecs.grib.grids.rows import ALTERNATING, after_vertical, row_lengths, scanning_mode, straightened
from byteatlas.codecs.grib.packing import second_order
from byteatlas.codecs.grib.packing.coded import Coded, Floats, Present
from byteatlas.codecs.grib.packing.table import decoder
from byteatlas.codecs.grib.sections.message import parse
from byteatlas.codecs.grib.sections.values import NO_BITMAP, Bitmap, GribField, GribMessage
from byteatlas.errors import CorruptChunk, CorruptFile, Unsupported
from byteatlas.types import Buffer

NO_VALUES = -32767
"""Binary scale factor of fields without any value (an extension of ECMWF's to edition 1)."""


def message(data: Buffer) -> GribMessage:
    """The message that a chunk is. Raises `CorruptChunk`, `Unsupported`."""
    try:
        return parse(data)
    except CorruptFile as error:
        raise corrupt(error) from error


def corrupt(error: CorruptFile) -> CorruptChunk:
    """What is wrong with a message, as what is wrong with a chunk."""
    return CorruptChunk(f"grib: byte {error.offset}: {error.why}")


def field_of(found: GribMessage, number: int) -> GribField:
    """One field of a message. Raises `CorruptChunk` when it has fewer."""
    if number >= len(found.fields):
        raise CorruptChunk(f"grib: field {number} of a message of {len(found.fields)}")
    return found.fields[number]


def values(data: Buffer, edition: int, field: GribField, size: int, stored_rows: bool = False) -> Floats:
    """Values of a field of ``size`` points, NaN where there is none: float64, shape (size,).

    Args:
        data: the whole message.
        size: points that the field has to have: any other number is `CorruptChunk`.
        stored_rows: leave rows as they are where the message stores them to and fro (else every second one is turned).

    The direction of rows and columns is the message's. Raises `CorruptChunk`, `Unsupported`.
    """
    try:
        found = _values(memoryview(data), edition, field, size)
        if stored_rows or edition == 1 or not scanning_mode(edition, field.grid) & ALTERNATING:
            return found
        return straightened(found, row_lengths(edition, field.grid, size))
    except CorruptFile as error:
        raise corrupt(error) from error


def _values(data: memoryview, edition: int, field: GribField, size: int) -> Floats:
    if field.points is not None and field.points != size:
        raise CorruptChunk(f"grib: {field.points} points where the chunk has {size} values")
    packing = field.packing
    if edition == 1 and field.grid:
        after_vertical(field.grid)
    if edition == 1 and packing.binary_scale == NO_VALUES:
        return np.full(size, np.nan)
    decode = decoder(edition, packing.name, packing.template)
    if decode is None:
        raise Unsupported("compression", f"grib: packing {packing.name}")
    bitmap = present(data, field.bitmap, size, edition == 1)
    section = data[field.data.offset : field.data.end]
    coded = Coded(edition, packing, section, size, field.grid, bitmap)
    found = spread(decode(coded), bitmap, size)
    if packing.name.startswith("grid_second_order") and second_order.boustrophedonic(coded):
        found = second_order.straight(coded, found)
    return found


def present(data: memoryview, bitmap: Bitmap, size: int, exact: bool) -> Present | None:
    """Which points have values; None: all. ``exact``: its bits have to be as many as there are points.

    Raises `CorruptChunk`, `Unsupported` for a bit map known to its centre.
    """
    if bitmap.bits is None:
        if bitmap.indicator == NO_BITMAP:
            return None
        raise Unsupported("layout", f"grib: bit map {bitmap.indicator} of the centre's own, which the message lacks")
    bits = 8 * bitmap.bits.length
    if bits < size or (exact and bits - bitmap.unused != size):
        raise CorruptChunk(f"grib: a bit map of {bits} bits, {bitmap.unused} of them unused, for {size} points")
    octets = np.frombuffer(data, np.uint8, (size + 7) // 8, bitmap.bits.offset)
    return np.unpackbits(octets, count=size).view(np.bool_)


def spread(coded: Floats, bitmap: Present | None, size: int) -> Floats:
    """Values at their points; NaN at the others. Raises `CorruptChunk` when there are too few or too many."""
    if bitmap is None:
        if len(coded) != size:
            raise CorruptChunk(f"grib: {len(coded)} values for {size} points")
        return coded
    there = int(np.count_nonzero(bitmap))
    if len(coded) == size == there:
        return coded
    found = np.full(size, np.nan)
    if len(coded):  # none at all: every point is missing, whatever the bit map says (as ecCodes has it)
        if len(coded) < there:
            raise CorruptChunk(f"grib: {len(coded)} values for {there} points that have one")
        found[bitmap] = coded[:there]
    return found
