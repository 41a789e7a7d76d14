"""Reading a dataset's chunk index into a `Table`: which kind it is, the trivial kinds, version 2 B-trees.

Format specification VII, "Appendix C: Types of Indexes for Dataset Chunks".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.hdf5.chunks.arrays import read_extensible_array, read_fixed_array
from byteatlas_scanners.hdf5.chunks.btree1 import read_btree1
from byteatlas_scanners.hdf5.chunks.table import Space, Table, defined, empty_table, from_scaled, most_chunks
from byteatlas_scanners.hdf5.format.btree2 import little, read_records, read_tree
from byteatlas_scanners.hdf5.format.layout import Chunked, Index
from byteatlas_scanners.hdf5.format.wire import Form


def read_chunks(form: Form, layout: Chunked, space: Space) -> Parse[Table]:
    """The stored chunks of a dataset. Raises `CorruptFile`, or `Unsupported` when there are too many."""
    if math.prod(space.grid) > most_chunks(form):
        raise Unsupported(Reason.TOO_LARGE, f"a grid of {math.prod(space.grid)} chunks")
    if layout.address is None or not math.prod(space.grid):
        return empty_table()
    match layout.index:
        case Index.BTREE1:
            table = yield from read_btree1(form, layout.address, space)
        case Index.SINGLE:
            table = _single(layout, space)
        case Index.IMPLICIT:
            return _implicit(form, layout.address, space)
        case Index.FIXED_ARRAY:
            table = yield from read_fixed_array(form, layout.address, space)
        case Index.EXTENSIBLE_ARRAY:
            table = yield from read_extensible_array(form, layout.address, space)
        case Index.BTREE2:
            table = yield from _btree2(form, layout.address, space)
    if not table.ordered:
        table = defined(form, table)
    _check(form, table, space)
    return table


def _check(form: Form, table: Table, space: Space) -> None:
    """Every chunk lies inside the file and is listed once."""
    if table.checked or not len(table.flat):
        return
    address = table.address
    # A sum of two numbers below 2**64 may wrap: neither may be larger than the file.
    top, nbytes = np.maximum.reduce, table.nbytes
    fits = int(top(address)) < form.size and (nbytes is None or int(top(nbytes)) <= form.size)
    if fits:
        fits = int(top(address + np.uint64(space.nbytes) if nbytes is None else address + nbytes)) <= form.size
    if not fits:
        raise CorruptFile(form.base + int(address.max()), "a chunk lies outside of the file")
    if table.ordered:
        return
    counts = np.zeros(math.prod(space.grid), np.bool_)
    counts[table.flat] = True
    if np.count_nonzero(counts) != len(table.flat):
        raise CorruptFile(form.base, "a chunk is listed twice")


def _single(layout: Chunked, space: Space) -> Table:
    """One chunk that holds the whole dataset."""
    if math.prod(space.grid) != 1:
        raise CorruptFile(0, f"a single chunk for a grid of {space.grid}")
    size, mask = layout.single or (space.nbytes, 0)
    return Table(
        np.zeros(1, np.int64),
        np.array([layout.address], np.uint64),
        np.array([size], np.uint64),
        np.array([mask], np.uint32),
    )


def _implicit(form: Form, address: int, space: Space) -> Table:
    """All chunks one after the other, in C order of the largest grid (never filtered, allocated at once)."""
    total = math.prod(space.grid)
    full = tuple(-1 if n is None else n for n in space.full_grid)
    if full[1:] != space.grid[1:]:
        raise Unsupported(Reason.LAYOUT, "an implicit chunk index of a dataset smaller than its largest shape")
    if space.filters:
        raise CorruptFile(form.base + address, "an implicit chunk index of filtered chunks")
    if address + total * space.nbytes > form.size:
        raise CorruptFile(form.base + address, "chunks lie outside of the file")
    flat = np.arange(total, dtype=np.int64)
    return Table(flat, (flat * space.nbytes + address).astype(np.uint64), None, None)


def _btree2(form: Form, address: int, space: Space) -> Parse[Table]:
    tree = yield from read_tree(form, address, 11 if space.filters else 10)
    rank = len(space.shape)
    size_width = tree.record_size - form.offsets - 4 - 8 * rank
    if not (1 <= size_width <= 8 if space.filters else size_width == -4):
        raise CorruptFile(form.base + address, f"chunk records of {tree.record_size} bytes")
    rows = yield from read_records(form, tree)
    where = little(rows, 0, form.offsets)
    nbytes: NDArray[Any] | None = None
    mask: NDArray[Any] | None = None
    at = form.offsets
    if space.filters:
        nbytes = little(rows, at, size_width)
        mask = little(rows, at + size_width, 4)
        at += size_width + 4
    scaled = [little(rows, at + 8 * axis, 8) for axis in range(rank)]
    if not _sorted(scaled):
        raise CorruptFile(form.base + address, "chunks out of order: a search in the B-tree would miss some")
    return from_scaled(space, scaled, where, nbytes, mask)


def _sorted(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether each row is larger than the one before it, the first column counting most."""
    equal = np.ones(max(0, len(columns[0]) - 1), np.bool_)
    for column in columns:
        if (equal & (column[1:] < column[:-1])).any():
            return False
        equal &= column[1:] == column[:-1]
    return not equal.any()
