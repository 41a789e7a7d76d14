"""Complex packing and spatial differencing (data representation templates 5.2 and 5.3, data templates 7.2 and 7.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.packing.bits import Groups, aligned, numbers
from byteatlas.codecs.grib.packing.coded import Coded, Floats, Present, constant, scaled
from byteatlas.codecs.grib.packing.differences import Differences
from byteatlas.codecs.grib.sections.wire import sign_and_magnitude, unsigned
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

NAME = "grib complex packing"
HEAD = 5


@dataclass(frozen=True, slots=True)
class GroupLayout:
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
    def of(cls, section: bytes, differences: bool) -> GroupLayout:
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
    layout = GroupLayout.of(coded.packing.section, coded.packing.template == 3)
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
    found = np.empty(count)
    differences = Differences(first, bias) if layout.order else None
    packed, done = Groups(widths, lengths, reference), 0
    for which, integers in packed.blocks(data, start, NAME):
        part = found[done : done + len(integers)]
        done += len(integers)
        missing = _missing(integers, packed, which, layout.missing, coded.packing.bits) if layout.missing else None
        if differences is not None and missing is not None:
            present = integers[~missing]
            differences.undo(present)
            integers[~missing] = present
        elif differences is not None:
            differences.undo(integers)
        scaled(integers, coded.packing, part)
        if missing is not None:
            part[missing] = np.nan
    return found


def _check(layout: GroupLayout, bits: int, count: int) -> None:
    if layout.count > count:
        raise CorruptChunk(f"{NAME}: {layout.count} groups of {count} values")
    if layout.order > 2 or layout.octets > 8:
        raise CorruptChunk(f"{NAME}: differences of order {layout.order} with {layout.octets} octets")
    if layout.missing > 2 or (layout.missing and bits > 30):
        raise CorruptChunk(f"{NAME}: missing-value management {layout.missing} with references of {bits} bits")


def _descriptors(data: memoryview, layout: GroupLayout) -> tuple[list[int], int, int]:
    """First values, least difference, and the bit that follows them."""
    if not layout.order:
        return [], 0, 0
    size, nbytes = layout.octets, layout.octets * (layout.order + 1)
    if nbytes > len(data):
        raise CorruptChunk(f"{NAME}: {len(data)} bytes")
    words = [int.from_bytes(data[i : i + size], "big") for i in range(0, nbytes, size)] if size else [0, 0, 0]
    return words[: layout.order], sign_and_magnitude(words[layout.order], 8 * size) if size else 0, 8 * nbytes


def _lengths(data: memoryview, start: int, layout: GroupLayout, count: int) -> NDArray[np.int64]:
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


def _missing(integers: NDArray[np.int64], packed: Groups, which: slice, management: int, bits: int) -> Present:
    """Which of a block's integers are missing: all ones, or (management 2) also all ones minus one.

    In groups without bits the group's reference says it, by its own width.
    """
    widths, lengths, references = packed.widths[which], packed.lengths[which], packed.references[which]
    plain = widths == 0
    top = np.where(plain, 0, references) + (np.int64(1) << np.where(plain, bits, widths)) - 1
    highest = np.repeat(top, lengths)
    missing: Present = integers == highest
    if management == 2:
        highest -= 1
        missing |= integers == highest
    return missing
