"""Version 1 B-trees of raw data chunks (format specification III.A.1, node type 1).

A tree is read breadth first; each level is one batch and is decoded with NumPy, all nodes at once.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from itertools import accumulate
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
MOST_LEVELS = 32
SMALL_NODE = 4
"""Entries up to which a single node is decoded without NumPy."""


def read_btree1(form: Form, address: int, space: Space) -> Parse[Table]:
    """A version 1 B-tree of raw data chunks.

    libhdf5 finds a chunk by searching the keys from the root down. Where keys are out of order a search would find
    other chunks than this walk does, so such a tree is refused: every node's entries must lie between the keys that its
    parent has for it, in increasing order, and before the node's own last key.
    """
    size = _node_size(form, space)
    places, bounds, height = [address], np.zeros(0, np.int64), -1
    tables: list[Table] = []
    for _ in range(MOST_LEVELS):
        children: list[NDArray[Any]] = []
        keys: list[NDArray[Any]] = []
        for at in range(0, len(places), NODES_AT_ONCE):
            part = places[at : at + NODES_AT_ONCE]
            blocks = buffers((yield [form.block(place, size) for place in part]))
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
    raise CorruptFile(form.base + address, "a B-tree that is too deep")


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
    if count == 1 and numbers[0] <= SMALL_NODE:
        return _small_node(form, space, bytes(blocks[0]), numbers[0], level, places[0])
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


def _small_node(form: Form, space: Space, data: bytes, count: int, level: int, place: int) -> _Nodes:
    """One node of few entries, as the root of a small dataset is, without NumPy.

    A second reader of the same structure: it makes the scan of files with many small datasets an eighth faster
    (``python -m tests.bench scan``, "300 datasets of two chunks").
    """
    rank = len(space.shape)
    key = struct.Struct(f"<II{rank + 1}Q").unpack_from
    at, step = 8 + 2 * form.offsets, 16 + 8 * rank + form.offsets
    keys = [key(data, at + i * step) for i in range(count + 1)]
    width, child_at = form.offsets, at + 16 + 8 * rank
    child = [int.from_bytes(data[i : i + width], "little") for i in range(child_at, child_at + count * step, step)]
    if keys[-1][2:] <= keys[-2][2:] or any([n % c for n, c in zip(keys[-1][2:], space.chunk, strict=False)]):  # noqa: C419
        raise CorruptFile(form.base + place, "a B-tree node whose last key is not behind its entries")
    chunk, grid = space.chunk, space.grid
    scaled: list[list[int]] = []
    for row in keys[:-1]:
        position = [n // c for n, c in zip(row[2:], chunk, strict=False)]
        if row[-1] or any([n % c for n, c in zip(row[2:], chunk, strict=False)]):  # noqa: C419
            raise CorruptFile(form.base + place, "a chunk that is not on the grid")
        scaled.append(position)
    inside = all([n < g for position in scaled for n, g in zip(position, grid, strict=True)])  # noqa: C419
    linear = []
    for position in scaled:
        total = 0
        for n, g in zip(position, grid, strict=True):
            total = total * g + n if inside else total * (g + 1) + min(n, g)
        linear.append(total)
    return _Nodes(
        level,
        np.array([count]),
        np.array(child, np.uint64),
        np.array([row[0] for row in keys[:-1]], np.uint32),
        np.array([row[1] for row in keys[:-1]], np.uint32),
        np.array(scaled, np.uint64),
        np.array(linear, np.int64),
        inside,
    )


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
