"""Version 1 B-trees of raw data chunks (format specification III.A.1, node type 1).

A tree is read breadth first; each level is one batch and is decoded with NumPy, all nodes at once.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.types import Buffer
from byteatlas_scanners.hdf5.chunks.table import Space, Table, from_scaled, join
from byteatlas_scanners.hdf5.format.wire import Form

NODES_AT_ONCE = 2048
SMALL_NODE = 8
"""Entries up to which a tree that is one leaf is decoded without NumPy."""


def read_btree1(form: Form, address: int, space: Space) -> Parse[Table]:
    """A version 1 B-tree of raw data chunks.

    libhdf5 finds a chunk by searching the keys from the root down. Where keys are out of order a search would find
    other chunks than this walk does, so such a tree is refused: every node's entries must lie between the keys that its
    parent has for it, in increasing order, and before the node's own last key.
    """
    size = _node_size(form, space)
    places, bounds, height = [address], np.zeros(0, np.int64), -1
    tables: list[Table] = []
    while True:  # the level is a byte, and falls by one each time
        children: list[NDArray[Any]] = []
        keys: list[NDArray[Any]] = []
        for at in range(0, len(places), NODES_AT_ONCE):
            part = places[at : at + NODES_AT_ONCE]
            blocks = buffers((yield [form.block(place, size) for place in part]))
            if height < 0 and (small := _small_leaf(form, space, blocks[0])) is not None:
                return small
            nodes = _decode_nodes(form, space, blocks, part)
            if height >= 0 and nodes.level != height:
                raise CorruptFile(form.base + part[0], "B-tree nodes of another level than their place")
            _check_order(form, nodes, bounds[at : at + NODES_AT_ONCE + 1])
            if nodes.level:
                children.append(nodes.child)
                keys.append(nodes.linear)
            else:
                tables.append(_leaf_table(form, space, nodes))
        if not nodes.level:
            return join(tables)
        height = nodes.level - 1
        places = np.concatenate(children).tolist()
        bounds = np.concatenate(keys)
        if len(places) * size > form.size:  # nodes have their full size, and do not overlap
            raise CorruptFile(form.base + address, "more B-tree nodes than the file has room for")


class _Nodes(NamedTuple):
    """The used entries of nodes of one level, in order.

    Attributes:
        ends: where each node's entries end.
        linear: each entry's position as one number that grows as the positions do; its index in the grid when
            ``inside``: no chunk is beyond the dataset's present shape.
    """

    level: int
    ends: NDArray[Any]
    child: NDArray[Any]
    nbytes: NDArray[Any]
    mask: NDArray[Any]
    scaled: NDArray[Any]
    linear: NDArray[Any]
    inside: bool


def _node_size(form: Form, space: Space) -> int:
    """A full node: header, 2k (key, child) pairs, one more key."""
    key = 16 + 8 * len(space.shape)
    return 8 + 2 * form.offsets + 2 * form.chunk_k * (key + form.offsets) + key


def _decode_nodes(form: Form, space: Space, blocks: Sequence[Buffer], places: list[int]) -> _Nodes:
    """Decode nodes of one size and level, all at once: their fields are strided views of the joined bytes."""
    count, rank, slots = len(blocks), len(space.shape), 2 * form.chunk_k
    head, key, level = 8 + 2 * form.offsets, 16 + 8 * rank, blocks[0][5]
    step = key + form.offsets
    sign = b"TREE\x01" + bytes((level,))
    if any(block[:6] != sign for block in blocks):
        raise CorruptFile(form.base + places[0], "no B-tree nodes of raw data chunks, or of different levels")
    numbers = [block[6] | block[7] << 8 for block in blocks]
    if max(numbers) > slots or not min(numbers):
        if count == 1 and not numbers[0]:
            return _no_nodes(level, rank)
        raise CorruptFile(form.base + places[0], f"B-tree nodes of {min(numbers)} to {max(numbers)} entries")
    # Only the used part of each node is joined: then every field is one strided view.
    stops = [head + n * step for n in numbers]
    raw = b"".join([block[head:stop] for block, stop in zip(blocks, stops, strict=True)])
    tails = b"".join([block[stop + 8 : stop + key] for block, stop in zip(blocks, stops, strict=True)])
    total = len(raw) // step
    entries: NDArray[Any] = np.ndarray((total, rank + 1), "<u8", raw, 8, (step, 8))
    ends = np.array(list(accumulate(numbers)))
    last = np.frombuffer(tails, "<u8").reshape(count, rank + 1)
    if not _all_less(entries[ends - 1], last) or np.count_nonzero(last % np.array((*space.chunk, 1), np.uint64)):
        raise CorruptFile(form.base + places[0], "a B-tree node whose last key is not behind its entries")
    scaled, odd = np.divmod(entries, np.array((*space.chunk, 1), np.uint64))
    if np.count_nonzero(odd) or np.count_nonzero(scaled[:, rank]):  # the last field, a byte in the element, is 0
        raise CorruptFile(form.base + places[0], "a chunk that is not on the grid")
    sizes: NDArray[Any] = np.ndarray((total, 2), "<u4", raw, 0, (step, 4))
    child: NDArray[Any] = np.ndarray((total,), f"<u{form.offsets}", raw, key, (step,))
    linear, inside = _linear(space, scaled)
    return _Nodes(level, ends, child, sizes[:, 0], sizes[:, 1], scaled, linear, inside)


def _small_leaf(form: Form, space: Space, block: Buffer) -> Table | None:
    """The chunks of a tree that is one leaf of few entries, as that of a small dataset is, without NumPy.

    None where the node is another one, or anything in it is unusual: then the general reader says what.

    A second reader of the same structure: it makes the scan of files with many small datasets a fifth faster
    (``python -m tests.bench scan``, "300 datasets of two chunks").
    """
    count, letter = block[6], _ADDRESSES.get(form.offsets)
    if letter is None or block[:8] != b"TREE\x01\0" + bytes((count, 0)) or not 0 < count <= SMALL_NODE:
        return None
    rank, chunk, grid = len(space.shape), space.chunk, space.grid
    entry = f"II{rank + 1}Q"
    fields = struct.unpack_from(f"<{(entry + letter) * count}{entry}", block, 8 + 2 * form.offsets)
    step = rank + 4
    flat: list[int] = []
    for at in range(2, count * step, step):
        index = 0
        for n, c, g in zip(fields[at : at + rank], chunk, grid, strict=True):
            scaled, odd = divmod(n, c)
            if odd or scaled >= g:
                return None
            index = index * g + scaled
        flat.append(index)
    address, nbytes, last = fields[rank + 3 :: step], fields[: count * step : step], fields[count * step + 2 :]
    size = form.size
    if (
        any(fields[rank + 2 : count * step : step])  # the last field of a key, a byte in the element, is 0
        or any(fields[1 : count * step : step])
        or last <= fields[(count - 1) * step + 2 : count * step - 1]
        or any([n % c for n, c in zip(last, chunk, strict=False)])  # noqa: C419
        or any([a >= b for a, b in pairwise(flat)])  # noqa: C419
        or any([a >= size or n > size or a + n > size for a, n in zip(address, nbytes, strict=True)])  # noqa: C419
        or not (space.filters or all([n == space.nbytes for n in nbytes]))  # noqa: C419
    ):
        return None
    stored = np.array(nbytes, np.uint64) if space.filters else None
    mask = np.zeros(count, np.uint32)
    return Table(np.array(flat, np.int64), np.array(address, np.uint64), stored, mask, ordered=True, checked=True)


_ADDRESSES = {2: "H", 4: "I", 8: "Q"}


def _no_nodes(level: int, rank: int) -> _Nodes:
    """A root without entries: all chunks of the dataset have been removed."""
    none = np.zeros(0, np.int64)
    return _Nodes(0, none, none.astype(np.uint64), none, none, none.reshape(0, 1).repeat(rank + 1, 1), none, True)


def _all_less(left: NDArray[Any], right: NDArray[Any]) -> bool:
    """Whether each row comes before its counterpart in lexicographic order."""
    if len(left) <= 16:
        pairs = zip(left.tolist(), right.tolist(), strict=True)
        return all(a < b for a, b in pairs)
    less, equal = np.zeros(len(left), np.bool_), np.ones(len(left), np.bool_)
    for axis in range(left.shape[1]):
        less |= equal & (left[:, axis] < right[:, axis])
        equal &= left[:, axis] == right[:, axis]
    return bool(less.all())


def _linear(space: Space, scaled: NDArray[Any]) -> tuple[NDArray[np.int64], bool]:
    """Positions as numbers in C order of the grid; beyond the grid (a dataset that shrank) they are capped."""
    grid = space.grid
    inside = not (scaled >= np.array((*grid, 1), np.uint64)).any()
    limited, counts = scaled, grid
    if not inside:
        limited = np.minimum(scaled, np.array((*grid, 1), np.uint64))
        counts = tuple([n + 1 for n in grid])
    steps = [math.prod(counts[axis + 1 :]) for axis in range(len(grid))]
    return limited.view(np.int64) @ np.array((*steps, 0), np.int64), inside


def _check_order(form: Form, nodes: _Nodes, bounds: NDArray[Any]) -> None:
    """Keys grow through all nodes, and each node lies between its parent's keys."""
    linear, ends, inside = nodes.linear, nodes.ends, nodes.inside
    if inside:
        sound = np.count_nonzero(linear[1:] > linear[:-1]) == max(0, len(linear) - 1)
    else:
        sound = _all_less(nodes.scaled[:-1], nodes.scaled[1:])
    if sound and len(bounds) and len(linear):
        firsts = linear[np.concatenate([ends[:1] * 0, ends[:-1]])]
        lasts, following = linear[ends - 1], bounds[1 : len(ends) + 1]
        below = lasts[: len(following)] < following if inside else lasts[: len(following)] <= following
        sound = not np.count_nonzero(firsts < bounds[: len(ends)]) and bool(below.all())
    if not sound:
        raise CorruptFile(form.base, "the keys of a B-tree of chunks are out of order")


def _leaf_table(form: Form, space: Space, nodes: _Nodes) -> Table:
    nbytes = nodes.nbytes
    if not space.filters and len(nbytes) and not (nbytes == space.nbytes).all():
        raise CorruptFile(form.base, f"unfiltered chunks that have not {space.nbytes} bytes")
    stored = nbytes if space.filters else None
    if nodes.inside:
        where = nodes.child.astype(np.uint64)
        return Table(nodes.linear, where, None if stored is None else stored.astype(np.uint64), nodes.mask, True)
    columns = [nodes.scaled[:, axis] for axis in range(len(space.shape))]
    return from_scaled(space, columns, nodes.child, stored, nodes.mask)
