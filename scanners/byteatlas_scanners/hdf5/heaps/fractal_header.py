"""The header of a fractal heap (format specification III.G.1)."""

from __future__ import annotations

import struct
from functools import cache
from typing import NamedTuple

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.types import Buffer
from byteatlas_scanners.hdf5.filters.message import FilterPipeline
from byteatlas_scanners.hdf5.filters.message import parse as parse_pipeline
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, verify, width_of


class Heap(NamedTuple):
    """A heap's header, with the widths that follow from it.

    Attributes:
        managed: bytes of the space for managed objects: all lie below it.
        rows: rows of the root indirect block; 0 = the root is a direct block.
        filter_size, filter_mask: of the root direct block, when the heap is filtered.
        offset_width, length_width: of the fields in a managed object's id.
    """

    address: int
    id_size: int
    checked: bool
    largest_managed: int
    managed: int
    huge_tree: int | None
    width: int
    start: int
    largest_direct: int
    bits: int
    root: int | None
    rows: int
    pipeline: FilterPipeline | None
    filter_size: int
    filter_mask: int
    offset_width: int
    length_width: int

    @property
    def prefix(self) -> int:
        """Bytes of the block offset field in every block."""
        return self.offset_width

    def row_size(self, row: int) -> int:
        """Size of the blocks in one row of the doubling table."""
        return self.start if row < 2 else self.start << (row - 1)

    @property
    def direct_rows(self) -> int:
        return self.largest_direct.bit_length() - self.start.bit_length() + 2


@cache
def _fields(offsets: int, lengths: int) -> struct.Struct:
    """The fixed part of a heap's header; what is skipped are statistics and the free space's address."""
    free_space = lengths + offsets
    return struct.Struct(
        f"<4sBHHBI{lengths}x{offsets}s{free_space}x{lengths}s{7 * lengths}xH{lengths}s{lengths}sHH{offsets}sH"
    )


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _address(form: Form, data: bytes) -> int | None:
    value = int.from_bytes(data, "little")
    return None if value == form.undefined else value


def heap_size(form: Form) -> int:
    """Bytes of a heap's header without filters."""
    return 26 + 12 * form.lengths + 3 * form.offsets


def read_heap(form: Form, address: int) -> Parse[Heap]:
    """A heap's header. Raises `CorruptFile`."""
    (data,) = buffers((yield (form.block(address, heap_size(form)),)))
    return (yield from parse_heap(form, address, data))


def parse_heap(form: Form, address: int, data: Buffer) -> Parse[Heap]:
    """A heap's header from its first `heap_size` bytes; more are asked for when it is filtered."""
    filtered = int.from_bytes(data[7:9], "little")
    if filtered:
        size = heap_size(form) + form.lengths + 4 + filtered
        (data,) = buffers((yield (form.block(address, size),)))
    verify(data, form.base + address, "a fractal heap")
    fields = _fields(form.offsets, form.lengths).unpack_from(data)
    if fields[0] != b"FRHP" or fields[1]:
        raise CorruptFile(form.base + address, "no fractal heap, or one of an unknown version")
    id_size, flags, largest, huge = fields[2], fields[4], fields[5], _address(form, fields[6])
    managed, width, bits, rows = _number(fields[7]), fields[8], fields[11], fields[14]
    start, direct, root = *map(_number, fields[9:11]), _address(form, fields[13])
    pipeline, stored, mask = None, 0, 0
    if filtered:
        cursor = Cursor(form, data, 22 + 12 * form.lengths + 3 * form.offsets)
        stored, mask = cursor.length(), cursor.u32()
        pipeline = parse_pipeline(cursor.take(filtered))
    powers = all(n and not n & (n - 1) for n in (width, start, direct))
    if not powers or start > direct or bits > 64 or id_size < 2 or rows > 64:
        raise CorruptFile(form.base + address, "a fractal heap with impossible sizes")
    length_width = min((direct.bit_length() + 6) // 8, width_of(largest))
    checked = bool(flags & 2)
    return Heap(
        address, id_size, checked, largest, managed, huge, width, start, direct, bits, root, rows,
        pipeline, stored, mask, (bits + 7) // 8, length_width,
    )  # fmt: skip
