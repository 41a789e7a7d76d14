"""Second-order packing of edition 1 in all its layouts, and ECMWF's templates 5.50001 and 5.50002 of edition 2.

The layouts of the WMO are row by row, constant width and general; the others ("general extended") are ECMWF's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.grids.rows import row_lengths, straightened
from byteatlas.codecs.grib.packing.bits import Groups, aligned, numbers
from byteatlas.codecs.grib.packing.coded import Coded, Floats, scaled
from byteatlas.codecs.grib.packing.differences import Differences
from byteatlas.codecs.grib.sections.wire import sign_and_magnitude, unsigned
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "grib second-order packing"
FLAGS = 13
"""Where edition 1 has the flags of these packings, from the beginning of section 4."""
BOUSTROPHEDONIC = 0x04


@dataclass(frozen=True, slots=True)
class SecondOrder:
    """Head of the section in edition 1: groups, values, and where the widths of groups begin."""

    first_width: int
    flags: int
    groups: int
    values: int

    @classmethod
    def of(cls, section: memoryview) -> SecondOrder:
        return cls(
            unsigned(section, 10, 1),
            unsigned(section, FLAGS, 1),
            unsigned(section, 16, 2) + 65536 * unsigned(section, 20, 1),
            unsigned(section, 18, 2),
        )


def boustrophedonic(coded: Coded) -> bool:
    """Whether every second row is stored from its end to its beginning, whatever the scanning mode says."""
    if coded.edition == 2:
        return coded.packing.template == 50002 and bool(unsigned(coded.packing.section, 31, 1) & 0x80)
    rows = coded.packing.name == "grid_second_order_row_by_row"
    return not rows and bool(coded.section[FLAGS] & BOUSTROPHEDONIC)


def straight(coded: Coded, values: Floats) -> Floats:
    """Values of all points with their rows in one direction."""
    return straightened(values, row_lengths(coded.edition, coded.grid, coded.points))


def decode_constant_width(coded: Coded) -> Floats:
    """One width for all groups; a bit for each value says where a group begins. Raises `CorruptChunk`."""
    layout = SecondOrder.of(coded.section)
    count, width = coded.bounded(layout.values), unsigned(coded.section, 21, 1)
    data = coded.section[22:]
    begins = _begins(data, count)
    start = aligned(count)
    first = _first(data, start, layout)
    start += aligned(layout.first_width * layout.groups)
    integers = numbers(data, start, min(width, 64), count, NAME).astype(np.int64)
    group = np.cumsum(begins) - 1
    known = (group >= 0) & (group < len(first))
    integers[known] += first[group[known]]
    return scaled(integers, coded.packing)


def decode_general(coded: Coded) -> Floats:
    """A width for each group; a bit for each value says where a group begins. Raises `CorruptChunk`."""
    layout = SecondOrder.of(coded.section)
    count = coded.bounded(layout.values)
    widths = _octets(coded.section, layout.groups)
    data = coded.section[21 + layout.groups :]
    begins = _begins(data, count)
    places = np.flatnonzero(begins)
    if count and (not len(places) or places[0] or len(places) > layout.groups):
        raise CorruptChunk(f"{NAME}: {len(places)} groups begin where there are {layout.groups}")
    start = aligned(count)
    first = _first(data, start, layout)[: len(places)]
    start += aligned(layout.first_width * layout.groups)
    lengths = np.diff(places, append=count)
    return scaled(Groups(widths[: len(places)], lengths, first).all(data, start, NAME), coded.packing)


def decode_rows(coded: Coded) -> Floats:
    """Each row is a group. Raises `CorruptChunk`."""
    layout = SecondOrder.of(coded.section)
    lengths = row_lengths(coded.edition, coded.grid, coded.points)
    if coded.bitmap is not None:
        lengths = np.add.reduceat(np.append(coded.bitmap, False), np.cumsum(lengths) - lengths, dtype=np.int64) * (
            lengths > 0
        )
    if layout.groups != len(lengths):
        raise CorruptChunk(f"{NAME}: {layout.groups} groups where the grid has {len(lengths)} rows")
    widths = _octets(coded.section, layout.groups)
    data = coded.section[21 + layout.groups :]
    first = _first(data, 0, layout)
    start = aligned(layout.first_width * layout.groups)
    return scaled(Groups(widths, lengths, first).all(data, start, NAME), coded.packing)


def decode_extended(coded: Coded) -> Floats:
    """Widths, lengths and first values of groups as streams of bits, perhaps of differences. Raises `CorruptChunk`."""
    layout = SecondOrder.of(coded.section)
    section = coded.section
    order, at = layout.flags & 0x03, 25
    width_bits, length_bits = unsigned(section, 21, 1), unsigned(section, 22, 1)
    first: list[int] = []
    bias = 0
    if order:
        first, bias, size = _start(section[at + 1 :], unsigned(section, at, 1), order)
        at += 1 + size
    shape = Extended(layout.groups, width_bits, length_bits, layout.first_width)
    return _extended(coded, section[at:], shape, first, bias)


def decode_extended2(coded: Coded) -> Floats:
    """The same in edition 2. Raises `CorruptChunk`."""
    section = coded.packing.section
    if not coded.packing.bits and coded.packing.template == 50001:
        raise CorruptChunk(f"{NAME}: no bits for values")
    at = 31 + (coded.packing.template == 50002)
    order = unsigned(section, at, 1)
    if order > 3:
        raise CorruptChunk(f"{NAME}: differences of order {order}")
    first: list[int] = []
    bias = 0
    if order:
        first, bias, _ = _start(memoryview(section)[at + 2 :], unsigned(section, at + 1, 1), order)
    shape = Extended(
        unsigned(section, 21, 4), unsigned(section, 29, 1), unsigned(section, 30, 1), unsigned(section, 20, 1)
    )
    return _extended(coded, coded.section[5:], shape, first, bias)


@dataclass(frozen=True, slots=True)
class Extended:
    """Groups of the general extended layout, and the widths of the numbers that describe them."""

    groups: int
    width_bits: int
    length_bits: int
    first_width: int


def _extended(coded: Coded, data: memoryview, shape: Extended, first: list[int], bias: int) -> Floats:
    coded.bounded(shape.groups)
    count, start = shape.groups, 0
    widths = numbers(data, start, shape.width_bits, count, NAME)
    start += aligned(shape.width_bits * count)
    lengths = numbers(data, start, shape.length_bits, count, NAME)
    start += aligned(shape.length_bits * count)
    reference = numbers(data, start, shape.first_width, count, NAME).astype(np.int64)
    start += aligned(shape.first_width * count)
    if not count:
        return np.empty(0)
    if int(lengths.max()) > coded.points or int(widths.max()) > 56:
        raise CorruptChunk(f"{NAME}: groups of {int(lengths.max())} values of {int(widths.max())} bits")
    long = lengths.astype(np.int64)
    total = coded.bounded(int(long.sum()) + len(first))
    integers = np.empty(total, np.int64)
    integers[len(first) :] = Groups(widths.astype(np.int64), long, reference).all(data, start, NAME)
    if first:
        Differences(first, bias).undo(integers)
    return scaled(integers, coded.packing)


def _start(data: memoryview, width: int, order: int) -> tuple[list[int], int, int]:
    """First values, bias, and the bytes that they take."""
    found = [int(v) for v in numbers(data, 0, width, order + 1, NAME)]
    return found[:-1], sign_and_magnitude(found[-1], width) if width else 0, aligned(width * (order + 1)) // 8


def _begins(data: memoryview, count: int) -> NDArray[np.uint8]:
    if 8 * len(data) < count:
        raise CorruptChunk(f"{NAME}: {len(data)} bytes for a bit map of {count} bits")
    return np.unpackbits(np.frombuffer(data, np.uint8, (count + 7) // 8), count=count)


def _octets(section: memoryview, count: int) -> NDArray[np.int64]:
    if 21 + count > len(section):
        raise CorruptChunk(f"{NAME}: {count} groups in {len(section)} bytes")
    return np.frombuffer(section, np.uint8, count, 21).astype(np.int64)


def _first(data: memoryview, start: int, layout: SecondOrder) -> NDArray[np.int64]:
    return numbers(data, start, layout.first_width, layout.groups, NAME).astype(np.int64)
