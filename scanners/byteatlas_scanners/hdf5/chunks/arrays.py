"""Fixed and extensible arrays as chunk indexes (format specification VII.C and VII.D).

Either is a long row of elements, cut into blocks and pages that were allocated when they were needed. The elements that
exist are copied into one byte table, the others stay 0xFF (an undefined address), and the table is decoded at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Buffer
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.chunks.table import Space, Table, from_linear, most_chunks
from byteatlas_scanners.hdf5.format.btree2 import little
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, verify, verify_all

CHECKSUM = 4


@dataclass(frozen=True, slots=True)
class _Run:
    """Elements that lie together: ``count`` elements at ``address``, to be put at row ``first``."""

    address: int
    first: int
    count: int


def _decode(form: Form, space: Space, order: tuple[int, ...], rows: NDArray[np.uint8]) -> Table:
    """Elements to chunks: an address, and for filtered chunks their size and mask."""
    where = little(rows, 0, form.offsets)
    if not space.filters:
        return from_linear(space, order, 0, where, None, None)
    width = rows.shape[1] - form.offsets - 4
    nbytes: NDArray[Any] = little(rows, form.offsets, width)
    return from_linear(space, order, 0, where, nbytes, little(rows, form.offsets + width, 4))


def _element_size(form: Form, space: Space, client: int, size: int, address: int) -> None:
    least, most = (form.offsets + 5, form.offsets + 12) if space.filters else (form.offsets, form.offsets)
    if client != bool(space.filters) or not least <= size <= most:
        raise CorruptFile(form.base + address, f"chunk index elements of {size} bytes")


def _read_runs(form: Form, runs: Sequence[_Run], rows: NDArray[np.uint8], what: str) -> Parse[None]:
    """Fetch checksummed runs of elements and put them where they belong."""
    if not runs:
        return
    size = rows.shape[1]
    blocks = buffers((yield [form.block(run.address, run.count * size + CHECKSUM) for run in runs]))
    verify_all(blocks, what)
    for run, block in zip(runs, blocks, strict=True):
        _put(rows, run.first, block, 0, run.count)


def _put(rows: NDArray[np.uint8], first: int, data: Buffer, at: int, count: int) -> None:
    count = min(count, len(rows) - first)
    if count > 0:
        found = np.frombuffer(data, np.uint8, count * rows.shape[1], at)
        rows[first : first + count] = found.reshape(count, rows.shape[1])


def _bits(data: bytes) -> NDArray[np.bool_]:
    """A bitmap, most significant bit first (H5VM_bit_get)."""
    return np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.bool_)


def _table(form: Form, count: int, size: int) -> NDArray[np.uint8]:
    if count > most_chunks(form):
        raise Unsupported(Reason.TOO_LARGE, f"a chunk index of {count} elements")
    return np.full((count, size), 0xFF, np.uint8)


def read_fixed_array(form: Form, address: int, space: Space) -> Parse[Table]:
    """A fixed array: one data block, in pages when it is long. Raises `CorruptFile`."""
    (data,) = buffers((yield (form.block(address, 12 + form.lengths + form.offsets),)))
    verify(data, form.base + address, "a fixed array")
    cursor = Cursor(form, data)
    cursor.expect(b"FAHD", 0)
    client, size, page_bits, count = cursor.u8(), cursor.u8(), cursor.u8(), cursor.length()
    block = cursor.address()
    _element_size(form, space, client, size, address)
    full = [n for n in space.full_grid if n is not None]
    if len(full) != len(space.shape) or count != math.prod(full):
        raise CorruptFile(form.base + address, f"a fixed array of {count} elements for a grid of {space.full_grid}")
    rows = _table(form, count, size)
    if block is not None:
        yield from _fixed_block(form, block, address, client, page_bits, rows)
    return _decode(form, space, tuple(range(len(full))), rows)


def _fixed_block(
    form: Form, block: int, owner: int, client: int, page_bits: int, rows: NDArray[np.uint8]
) -> Parse[None]:
    count, size = rows.shape
    prefix = 6 + form.offsets
    if page_bits > 31:
        raise CorruptFile(form.base + block, "pages of an impossible size")
    per_page = 1 << page_bits
    pages = -(-count // per_page) if count > per_page else 0
    head = prefix + (-(-pages // 8) + CHECKSUM if pages else count * size + CHECKSUM)
    (data,) = buffers((yield (form.block(block, head),)))
    verify(data, form.base + block, "a fixed array's data block")
    cursor = Cursor(form, data)
    cursor.expect(b"FADB", 0)
    if cursor.u8() != client or cursor.address() != owner:
        raise CorruptFile(form.base + block, "a data block of another fixed array")
    if not pages:
        _put(rows, 0, data, prefix, count)
        return
    initialised = _bits(cursor.take(-(-pages // 8)))[:pages]
    yield from _read_pages(form, block + head, per_page, initialised, rows)


def _read_pages(
    form: Form, address: int, per_page: int, initialised: NDArray[np.bool_], rows: NDArray[np.uint8]
) -> Parse[None]:
    """The pages of a fixed array, the last one short; those never initialised hold no element."""
    size = rows.shape[1]
    step = per_page * size + CHECKSUM
    runs = []
    for page in np.flatnonzero(initialised).tolist():
        at = page * per_page
        runs.append(_Run(address + page * step, at, min(per_page, len(rows) - at)))
    yield from _read_runs(form, runs, rows, "a page of a chunk index")


@dataclass(frozen=True, slots=True)
class _Extensible:
    """An extensible array's header."""

    address: int
    client: int
    size: int
    offset_width: int
    in_index: int
    least: int
    pointers: int
    per_page: int
    levels: int
    rows: NDArray[np.uint8]

    def blocks(self, level: int) -> int:
        """Data blocks of one super block."""
        return 1 << (level // 2)

    def elements(self, level: int) -> int:
        """Elements of each of these."""
        return (1 << ((level + 1) // 2)) * self.least


def read_extensible_array(form: Form, address: int, space: Space) -> Parse[Table]:
    """An extensible array: index block, data blocks, super blocks with more data blocks. Raises `CorruptFile`."""
    (data,) = buffers((yield (form.block(address, 16 + 6 * form.lengths + form.offsets),)))
    verify(data, form.base + address, "an extensible array")
    cursor = Cursor(form, data)
    cursor.expect(b"EAHD", 0)
    client, size, bits, in_index, least, pointers, page_bits = cursor.take(7)
    cursor.skip(4 * form.lengths)
    used = cursor.length()
    cursor.skip(form.lengths)
    block = cursor.address()
    _element_size(form, space, client, size, address)
    powers = all(n and not n & (n - 1) for n in (least, pointers))
    if not powers or bits > 64 or bits < least.bit_length() - 1 or page_bits > 31 or pointers < 2:
        raise CorruptFile(form.base + address, "an extensible array with impossible sizes")
    full = space.full_grid
    free = [axis for axis, n in enumerate(full) if n is None]
    if len(free) != 1:
        raise CorruptFile(form.base + address, "an extensible array of chunks without exactly one unlimited dimension")
    order = (free[0], *[axis for axis in range(len(full)) if axis != free[0]])
    needed = space.grid[free[0]] * math.prod(n for n in full if n is not None)
    levels = 1 + bits - (least.bit_length() - 1)
    rows = _table(form, min(used, needed), size)
    array = _Extensible(address, client, size, (bits + 7) // 8, in_index, least, pointers, 1 << page_bits, levels, rows)
    if block is not None and len(rows):
        yield from _index_block(form, array, block)
    return _decode(form, space, order, rows)


def _index_block(form: Form, array: _Extensible, address: int) -> Parse[None]:
    """The index block: the first elements, then addresses of data blocks, then of super blocks."""
    direct, levels = 2 * (array.pointers - 1), 2 * (array.pointers.bit_length() - 1)
    supers = max(0, array.levels - levels)
    head = 6 + form.offsets
    elements = array.in_index * array.size
    size = head + elements + (direct + supers) * form.offsets + CHECKSUM
    (data,) = buffers((yield (form.block(address, size),)))
    cursor = _owned(form, array, data, address, b"EAIB")
    _put(array.rows, 0, data, head, array.in_index)
    cursor.skip(elements)
    addresses = [cursor.address() for _ in range(direct + supers)]
    runs, first, number = [], array.in_index, 0
    supers_at: list[tuple[int, int, int]] = []  # (address, level, first element)
    for level in range(array.levels):
        count = array.elements(level)
        for _ in range(array.blocks(level) if level < levels else 0):
            where = addresses[number]
            number += 1
            if where is not None and first < len(array.rows):
                if count > array.per_page:
                    raise Unsupported(Reason.LAYOUT, "an extensible array with pages in its first data blocks")
                runs.append(_Run(where, first, count))
            first += count
        if level >= levels:
            where = addresses[direct + level - levels]
            if where is not None and first < len(array.rows):
                supers_at.append((where, level, first))
            first += count * array.blocks(level)
        if first >= len(array.rows):
            break
    # The small data blocks and the super blocks are independent: one batch for both.
    asks = [form.block(r.address, _block_size(form, array, r.count)) for r in runs]
    asks += [form.block(at, _super_size(form, array, level)) for at, level, _ in supers_at]
    blocks = buffers((yield asks))
    for run, block in zip(runs, blocks, strict=False):
        _owned(form, array, block, run.address, b"EADB")
        _put(array.rows, run.first, block, head + array.offset_width, run.count)
    yield from _super_blocks(form, array, supers_at, blocks[len(runs) :])


def _owned(form: Form, array: _Extensible, data: Buffer, address: int, signature: bytes) -> Cursor:
    """Check a block's checksum, kind and owner."""
    verify(data, form.base + address, "a block of an extensible array")
    cursor = Cursor(form, data)
    cursor.expect(signature, 0)
    if cursor.u8() != array.client or cursor.address() != array.address:
        raise CorruptFile(form.base + address, "a block of another extensible array")
    return cursor


def _block_size(form: Form, array: _Extensible, count: int) -> int:
    """Bytes of a data block, or of its prefix when its elements are in pages."""
    paged = count > array.per_page
    return 6 + form.offsets + array.offset_width + (0 if paged else count * array.size) + CHECKSUM


def _super_size(form: Form, array: _Extensible, level: int) -> int:
    blocks = array.blocks(level)
    size = 6 + form.offsets + array.offset_width + blocks * (form.offsets + _bitmap(array, level)) + CHECKSUM
    if size > form.size:
        raise CorruptFile(form.base + array.address, "a super block larger than the file")
    return size


def _bitmap(array: _Extensible, level: int) -> int:
    """Bytes of page bits per data block of a super block."""
    pages = array.elements(level) // array.per_page
    return -(-pages // 8) if array.elements(level) > array.per_page else 0


def _super_blocks(
    form: Form, array: _Extensible, places: list[tuple[int, int, int]], blocks: Sequence[Buffer]
) -> Parse[None]:
    runs: list[_Run] = []
    paged: list[tuple[_Run, NDArray[np.bool_]]] = []
    for (address, level, first), data in zip(places, blocks, strict=True):
        cursor = _owned(form, array, data, address, b"EASB")
        cursor.skip(array.offset_width)
        count, total = array.elements(level), array.blocks(level)
        pages = count // array.per_page
        # The bits of all data blocks follow each other without padding, in a field that was sized with padding.
        bits = _bits(cursor.take(total * _bitmap(array, level)))
        for number in range(total):
            where = cursor.address()
            if where is None or first + number * count >= len(array.rows):
                continue
            run = _Run(where, first + number * count, count)
            if len(bits):
                paged.append((run, bits[number * pages : (number + 1) * pages]))
            else:
                runs.append(run)
    asks = [form.block(r.address, _block_size(form, array, r.count)) for r in runs]
    asks += [form.block(r.address, _block_size(form, array, r.count)) for r, _ in paged]
    if not asks:
        return
    found = buffers((yield asks))
    head = 6 + form.offsets + array.offset_width
    for run, block in zip(runs, found, strict=False):
        _owned(form, array, block, run.address, b"EADB")
        _put(array.rows, run.first, block, head, run.count)
    pages_of: list[_Run] = []
    step = array.per_page * array.size + CHECKSUM
    for (run, bits), block in zip(paged, found[len(runs) :], strict=True):
        _owned(form, array, block, run.address, b"EADB")
        begin = run.address + head + CHECKSUM
        for page in np.flatnonzero(bits).tolist():
            at = run.first + page * array.per_page
            if at < len(array.rows):
                pages_of.append(_Run(begin + page * step, at, array.per_page))
    yield from _read_runs(form, pages_of, array.rows, "a page of a chunk index")
