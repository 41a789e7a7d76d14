"""Complex packing and spatial differencing (data representation templates 5.2 and 5.3, data templates 7.2 and 7.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.packing.bits import aligned, groups, numbers
from byteatlas.codecs.grib.packing.coded import Bits, Coded, Floats, constant, scaled
from byteatlas.codecs.grib.packing.differences import undo_differences
from byteatlas.codecs.grib.sections.wire import sign_and_magnitude, unsigned
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "grib complex packing"
HEAD = 5


@dataclass(frozen=True, slots=True)
class Groups:
    """Octets 21 on of section 5."""

    missing: int
    count: int
    least_width: int
    width_bits: int
    least_length: int
    length_step: int
    last_length: int
    length_bits: int
    order: int
    octets: int

    @classmethod
    def of(cls, section: bytes, differences: bool) -> Groups:
        order = unsigned(section, 47, 1) if differences else 0
        return cls(
            unsigned(section, 22, 1),
            unsigned(section, 31, 4),
            unsigned(section, 35, 1),
            unsigned(section, 36, 1),
            unsigned(section, 37, 4),
            unsigned(section, 41, 1),
            unsigned(section, 42, 4),
            unsigned(section, 46, 1),
            order,
            unsigned(section, 48, 1) if order else 0,
        )


def decode(coded: Coded) -> Floats:
    """Values, NaN where the packing itself says that they are missing. Raises `CorruptChunk`."""
    count = coded.bounded(coded.packing.values or 0)
    layout = Groups.of(coded.packing.section, coded.packing.template == 3)
    if not layout.count or not count:
        return constant(coded, count)
    _check(layout, coded.packing.bits, count)
    data = coded.section[HEAD:]
    first, bias, start = _descriptors(data, layout)
    reference = numbers(data, start, coded.packing.bits, layout.count, NAME).astype(np.int64)
    start += aligned(coded.packing.bits * layout.count)
    widths = numbers(data, start, layout.width_bits, layout.count, NAME).astype(np.int64) + layout.least_width
    start += aligned(layout.width_bits * layout.count)
    lengths = _lengths(data, start, layout, count)
    start += aligned(layout.length_bits * layout.count)
    integers = groups(data, start, widths, lengths, NAME)
    missing = _missing(integers, reference, widths, lengths, layout.missing, coded.packing.bits)
    integers += np.repeat(reference, lengths)
    if layout.order and missing is None:
        undo_differences(integers, first, bias)
    elif layout.order and missing is not None:
        present = integers[~missing]
        undo_differences(present, first, bias)
        integers[~missing] = present
    found = scaled(integers, coded.packing)
    if missing is not None:
        found[missing] = np.nan
    return found


def _check(layout: Groups, bits: int, count: int) -> None:
    if layout.count > count:
        raise CorruptChunk(f"{NAME}: {layout.count} groups of {count} values")
    if layout.order > 2 or layout.octets > 8:
        raise CorruptChunk(f"{NAME}: differences of order {layout.order} with {layout.octets} octets")
    if layout.missing > 2 or (layout.missing and bits > 30):
        raise CorruptChunk(f"{NAME}: missing-value management {layout.missing} with references of {bits} bits")


def _descriptors(data: memoryview, layout: Groups) -> tuple[list[int], int, int]:
    """First values, least difference, and the bit that follows them."""
    if not layout.order:
        return [], 0, 0
    size, nbytes = layout.octets, layout.octets * (layout.order + 1)
    if nbytes > len(data):
        raise CorruptChunk(f"{NAME}: {len(data)} bytes")
    words = [int.from_bytes(data[i : i + size], "big") for i in range(0, nbytes, size)] if size else [0, 0, 0]
    return words[: layout.order], sign_and_magnitude(words[layout.order], 8 * size) if size else 0, 8 * nbytes


def _lengths(data: memoryview, start: int, layout: Groups, count: int) -> NDArray[np.int64]:
    """Lengths of groups; together they have ``count`` values. Raises `CorruptChunk`."""
    found = numbers(data, start, layout.length_bits, layout.count, NAME)[:-1]
    longest = int(found.max(initial=0)) * layout.length_step + layout.least_length
    if max(longest if len(found) else 0, layout.last_length) > count:
        raise CorruptChunk(f"{NAME}: a group of {max(longest, layout.last_length)} values where there are {count}")
    lengths = np.full(layout.count, layout.last_length, np.int64)
    lengths[:-1] = found
    lengths[:-1] *= layout.length_step
    lengths[:-1] += layout.least_length
    total = int(lengths.sum())
    if total != count:
        raise CorruptChunk(f"{NAME}: groups of {total} values in all where there are {count}")
    return lengths


def _missing(
    integers: NDArray[np.int64],
    reference: NDArray[np.int64],
    widths: NDArray[np.int64],
    lengths: NDArray[np.int64],
    management: int,
    bits: int,
) -> Bits | None:
    """Which values are missing: all ones, or (management 2) also all ones minus one.

    In groups without bits the group's reference says it, by its own width.
    """
    if not management:
        return None
    plain = widths == 0
    width = np.where(plain, bits, widths)
    ones = (np.int64(1) << width) - 1
    value: NDArray[Any] = integers
    if plain.any():
        value = np.where(np.repeat(plain, lengths), np.repeat(reference, lengths), integers)
    top = np.repeat(ones, lengths)
    missing: Bits = value == top
    if management == 2:
        missing |= value == top - 1
    return missing
