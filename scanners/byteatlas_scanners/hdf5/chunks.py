"""Reading a dataset's chunk index into a `Table`: version 1 B-trees, the trivial indexes, version 2 B-trees.

Format specification III.A.1 (type 1 B-trees), VII "Appendix C: Types of Indexes for Dataset Chunks". Trees are read
breadth first; each level is one batch and is decoded with a NumPy structured type, all nodes at once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scan.contract import Parse
from byteatlas.scan.reasons import Reason
from byteatlas.types import Buffer
from byteatlas_scanners.hdf5.arrays import read_extensible_array, read_fixed_array
from byteatlas_scanners.hdf5.btree2 import little, read_records, read_tree
from byteatlas_scanners.hdf5.layout import Chunked, Index
from byteatlas_scanners.hdf5.table import Space, Table, defined, empty_table, from_scaled, join, most_chunks
from byteatlas_scanners.hdf5.wire import Form

NODES_AT_ONCE = 2048
MOST_LEVELS = 32


def read_chunks(form: Form, layout: Chunked, space: Space) -> Parse[Table]:
    """The stored chunks of a dataset. Raises `CorruptFile`, or `Unsupported` when there are too many."""
    if math.prod(space.grid) > most_chunks(form):
        raise Unsupported(Reason.TOO_LARGE, f"a grid of {math.prod(space.grid)} chunks")
    if layout.address is None or not math.prod(space.grid):
        return empty_table()
    match layout.index:
        case Index.BTREE1:
            table = yield from _btree1(form, layout.address, space)
        case Index.SINGLE:
            return _single(layout, space)
        case Index.IMPLICIT:
            return _implicit(form, layout.address, space)
        case Index.FIXED_ARRAY:
            table = yield from read_fixed_array(form, layout.address, space)
        case Index.EXTENSIBLE_ARRAY:
            table = yield from read_extensible_array(form, layout.address, space)
        case Index.BTREE2:
            table = yield from _btree2(form, layout.address, space)
    table = defined(form, table)
    _check(form, table, space)
    return table


def _check(form: Form, table: Table, space: Space) -> None:
    """Every chunk lies inside the file and is listed once."""
    if not len(table.flat):
        return
    address = table.address
    if table.nbytes is None:
        fits = int(address.max()) + space.nbytes <= form.size
    else:
        size = np.uint64(form.size)
        fits = bool((table.nbytes <= size).all() and (address <= size - table.nbytes).all())
    if not fits:
        raise CorruptFile(form.base + int(address.max()), "a chunk lies outside of the file")
    if len(table.flat) > math.prod(space.grid):
        raise CorruptFile(form.base, "more chunks than the dataset has room for")
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
    return from_scaled(space, scaled, where, nbytes, mask)


def _btree1(form: Form, address: int, space: Space) -> Parse[Table]:
    """A version 1 B-tree of raw data chunks.

    The library finds a chunk by searching its key; where keys are out of order it would find others than a walk does,
    so such a tree is refused.
    """
    node = _node_dtype(form, len(space.shape))
    places = np.array([address], np.uint64)
    height = -1
    for _ in range(MOST_LEVELS):
        nodes: list[NDArray[Any]] = []
        for at in range(0, len(places), NODES_AT_ONCE):
            part: list[int] = places[at : at + NODES_AT_ONCE].tolist()
            blocks = yield [form.block(place, node.itemsize) for place in part]
            found, level = _entries(form, node, blocks, part)
            if height >= 0 and level != height:
                raise CorruptFile(form.base + part[0], "B-tree nodes of different levels side by side")
            nodes.append(found)
        height = level
        if not height:
            return join([_leaf_table(form, space, part) for part in _ordered(form, nodes)])
        entries = np.concatenate(nodes) if len(nodes) > 1 else nodes[0]
        _ordered(form, [entries])
        places = entries["child"].astype(np.uint64)
        if len(places) * 24 > form.size:
            raise CorruptFile(form.base + address, "more B-tree nodes than the file has room for")
        height -= 1
    raise CorruptFile(form.base + address, "a B-tree that is too deep")


def _node_dtype(form: Form, rank: int) -> np.dtype[Any]:
    """A full node: header, 2k (key, child) pairs, one more key."""
    key = [("nbytes", "<u4"), ("mask", "<u4"), ("at", "<u8", (rank,)), ("byte", "<u8")]
    entry = np.dtype([*key, ("child", f"<u{form.offsets}")])
    head = [("sign", "S4"), ("type", "u1"), ("level", "u1"), ("used", "<u2"), ("sides", f"<u{form.offsets}", (2,))]
    return np.dtype([*head, ("entries", entry, (2 * form.chunk_k,)), ("last", np.dtype(key))])


def _entries(form: Form, node: np.dtype[Any], blocks: list[Buffer], places: list[int]) -> tuple[NDArray[Any], int]:
    """The used entries of nodes of one level, in order, and the level."""
    nodes = np.frombuffer(blocks[0] if len(blocks) == 1 else b"".join(blocks), node)
    level, used = int(nodes["level"][0]), nodes["used"]
    sound = (nodes["sign"] == b"TREE") & (nodes["type"] == 1) & (nodes["level"] == level) & (used <= 2 * form.chunk_k)
    if not sound.all():
        place = places[int(np.argmin(sound))]
        raise CorruptFile(form.base + place, "no B-tree node of raw data chunks")
    if (used == 2 * form.chunk_k).all():
        return nodes["entries"].reshape(-1), level
    return nodes["entries"][np.arange(2 * form.chunk_k) < used[:, None]], level


def _ordered(form: Form, parts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Check that chunk positions grow from entry to entry."""
    last: tuple[int, ...] | None = None
    for part in parts:
        if not len(part):
            continue
        at = part["at"]
        if last is not None and tuple(at[0].tolist()) <= last:
            raise CorruptFile(form.base, "chunks of a B-tree are out of order")
        last = tuple(at[-1].tolist())
        smaller = np.zeros(len(at) - 1, np.bool_)
        equal = np.ones(len(at) - 1, np.bool_)
        for axis in range(at.shape[1]):
            column = at[:, axis]
            smaller |= equal & (column[:-1] < column[1:])
            equal &= column[:-1] == column[1:]
        if not smaller.all():
            raise CorruptFile(form.base, "chunks of a B-tree are out of order")
    return parts


def _leaf_table(form: Form, space: Space, entries: NDArray[Any]) -> Table:
    scaled: list[NDArray[Any]] = []
    for axis, size in enumerate(space.chunk):
        here, odd = np.divmod(entries["at"][:, axis], np.uint64(size))
        if odd.any():
            raise CorruptFile(form.base, "a chunk that is not on the grid")
        scaled.append(here)
    nbytes: NDArray[Any] = entries["nbytes"]
    if not space.filters and len(nbytes) and not (nbytes == space.nbytes).all():
        raise CorruptFile(form.base, f"unfiltered chunks that have not {space.nbytes} bytes")
    return from_scaled(space, scaled, entries["child"], nbytes if space.filters else None, entries["mask"])
