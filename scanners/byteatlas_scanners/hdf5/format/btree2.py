"""Version 2 B-trees (format specification III.A.2): all records of a tree, as rows of bytes.

Nodes are read level by level, one batch each. Records come in the order of the tree, in which libhdf5 searches it.
Whoever takes all of them checks that they are sorted: a search would find others, or none, in a tree that is not.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.types import Buffer
from byteatlas_scanners.hdf5.format.wire import Form, verify, verify_all, width_of

HEADER_FIXED = 22  # everything but the root's address and the number of records
NODE_OVERHEAD = 10  # signature, version, type; checksum
MOST_DEPTH = 32
_HEAD = struct.Struct("<5sBIHH").unpack_from
NODES_AT_ONCE = 8192


class Tree(NamedTuple):
    """A tree's header.

    Attributes:
        type: what the records are (5 link names, 8 attribute names, 10 and 11 chunks, ...).
        total: records in the whole tree.
    """

    type: int
    node_size: int
    record_size: int
    depth: int
    root: int | None
    root_records: int
    total: int


class _Level(NamedTuple):
    """Widths of the child pointers at one level (0 = leaves)."""

    most: int  # records in a node
    count_width: int
    total_width: int  # 0 where the children are leaves


def read_tree(form: Form, address: int, *types: int) -> Parse[Tree]:
    """A tree's header. Raises `CorruptFile`, also when it is not of one of these types."""
    (data,) = buffers((yield (form.block(address, tree_size(form)),)))
    return parse_tree(form, address, data, *types)


def tree_size(form: Form) -> int:
    """Bytes of a tree's header."""
    return HEADER_FIXED + form.offsets + form.lengths


def parse_tree(form: Form, address: int, data: Buffer, *types: int) -> Tree:
    """A tree's header from its bytes. Raises `CorruptFile`."""
    sign, kind, node, record, depth = _HEAD(data, 0)
    if sign != b"BTHD\0":
        raise CorruptFile(form.base + address, "no version 2 B-tree")
    at = 16 + form.offsets
    root: int | None = int.from_bytes(data[16:at], "little")
    root = None if root == form.undefined else root
    root_records = data[at] | data[at + 1] << 8
    total = int.from_bytes(data[at + 2 : at + 2 + form.lengths], "little")
    verify(data, form.base + address, "a B-tree")
    if kind not in types:
        raise CorruptFile(form.base + address, f"a B-tree of type {kind} where one of {types} should be")
    if not record or node < NODE_OVERHEAD + record or depth > MOST_DEPTH or node > form.size:
        raise CorruptFile(form.base + address, "a B-tree with impossible sizes")
    if total * record > form.size:
        raise CorruptFile(form.base + address, f"a B-tree of {total} records in a file of {form.size} bytes")
    return Tree(kind, node, record, depth, root, root_records, total)


def read_records(form: Form, tree: Tree) -> Parse[NDArray[np.uint8]]:
    """All records in the tree's order, (n, record size). Raises `CorruptFile`."""
    if tree.root is None or not tree.total:
        return np.zeros((0, tree.record_size), np.uint8)
    if not tree.depth:
        return (yield from _one_leaf(form, tree, tree.root))
    levels = _levels(form, tree)
    found = np.zeros((0, tree.record_size), np.uint8)
    nodes = np.array([[tree.root, tree.root_records]], np.uint64)
    seen = tree.root_records
    for level in range(tree.depth, -1, -1):
        children: list[NDArray[np.uint64]] = []
        records: list[bytes] = []
        for at in range(0, len(nodes), NODES_AT_ONCE):
            part = nodes[at : at + NODES_AT_ONCE]
            found_here, below = yield from _nodes(form, tree, levels, level, part)
            records.append(found_here)
            if below is not None:
                children.append(below)
        here = np.frombuffer(b"".join(records), np.uint8).reshape(-1, tree.record_size)
        found = _between(found, here, nodes[:, 1].astype(np.int64))
        if level:
            nodes = np.concatenate(children)
            seen += int(nodes[:, 1].sum())
            if seen > tree.total:
                raise CorruptFile(form.base, "a B-tree holds more records than it announces")
    if len(found) != tree.total:
        raise CorruptFile(form.base, f"a B-tree holds {len(found)} records where {tree.total} are announced")
    return found


def _between(above: NDArray[np.uint8], here: NDArray[np.uint8], counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The records of one level put between those of the levels above: there are as many gaps as nodes.

    >>> _between(np.array([[3]], np.uint8), np.array([[1], [2], [4]], np.uint8), np.array([2, 1])).ravel().tolist()
    [1, 2, 3, 4]
    """
    if not len(above):
        return here
    out = np.empty((len(above) + len(here), here.shape[1]), np.uint8)
    own = np.ones(len(out), np.bool_)
    own[np.cumsum(counts)[:-1] + np.arange(len(above))] = False
    out[own], out[~own] = here, above
    return out


def _one_leaf(form: Form, tree: Tree, address: int) -> Parse[NDArray[np.uint8]]:
    """All records of a tree that is one leaf, as most indexes of names are."""
    (data,) = buffers((yield (form.block(address, leaf_size(form, tree)),)))
    return np.frombuffer(leaf_records(form, tree, data), np.uint8).reshape(-1, tree.record_size)


def leaf_size(form: Form, tree: Tree) -> int:
    """Bytes of a root that is a leaf. Raises `CorruptFile`."""
    count, size = tree.root_records, tree.root_records * tree.record_size
    if count != tree.total or size + NODE_OVERHEAD > tree.node_size:
        raise CorruptFile(form.base, f"a B-tree holds {count} records where {tree.total} are announced")
    form.block(tree.root or 0, tree.node_size)  # the library reads whole nodes
    return NODE_OVERHEAD + size


def leaf_records(form: Form, tree: Tree, data: Buffer) -> bytes:
    """The records of a root that is a leaf. Raises `CorruptFile`."""
    verify(data, form.base + (tree.root or 0), "a B-tree node")
    if data[:6] != b"BTLF\0" + bytes((tree.type,)):
        raise CorruptFile(form.base + (tree.root or 0), "no B-tree node of the expected kind")
    return bytes(data[6 : len(data) - 4])


def _levels(form: Form, tree: Tree) -> list[_Level]:
    """Layout of the nodes of each level (H5B2__hdr_init): capacities grow from the leaves up."""
    most = (tree.node_size - NODE_OVERHEAD) // tree.record_size
    count_width = width_of(most)
    levels = [_Level(most, count_width, 0)]
    held, held_width = most, 0
    for _ in range(tree.depth):
        pointer = form.offsets + count_width + held_width
        most = (tree.node_size - NODE_OVERHEAD - pointer) // (tree.record_size + pointer)
        if most < 1:
            raise CorruptFile(form.base, "a B-tree whose nodes hold no record")
        levels.append(_Level(most, count_width, held_width))
        held = (most + 1) * held + most
        held_width = width_of(held)
    return levels


def _nodes(
    form: Form, tree: Tree, levels: list[_Level], level: int, nodes: NDArray[np.uint64]
) -> Parse[tuple[bytes, NDArray[np.uint64] | None]]:
    """Read nodes of one level: their records, one after the other, and their children (address, records)."""
    layout, record = levels[level], tree.record_size
    pairs: list[list[int]] = nodes.tolist()
    pointer = form.offsets + layout.count_width + layout.total_width if level else 0
    asks = []
    for address, count in pairs:
        if count > layout.most:
            raise CorruptFile(form.base + address, "a B-tree node with more records than it can hold")
        asks.append(form.block(address, NODE_OVERHEAD + count * record + (count + 1) * pointer))
        form.block(address, tree.node_size)  # the library reads whole nodes
    blocks = buffers((yield asks))
    verify_all(blocks, "a B-tree node")
    signature = (b"BTIN" if level else b"BTLF") + bytes((0, tree.type))
    records: list[Buffer] = []
    pointers: list[Buffer] = []
    for (address, count), block in zip(pairs, blocks, strict=True):
        if block[:6] != signature:
            raise CorruptFile(form.base + address, "no B-tree node of the expected kind")
        end = 6 + count * record
        records.append(block[6:end])
        if level:
            pointers.append(block[end : end + (count + 1) * pointer])
    joined = b"".join(records)
    if not level:
        return joined, None
    raw = np.frombuffer(b"".join(pointers), np.uint8).reshape(-1, pointer)
    children = np.empty((len(raw), 2), np.uint64)
    children[:, 0] = little(raw, 0, form.offsets)
    children[:, 1] = little(raw, form.offsets, layout.count_width)
    return joined, children


def little(rows: NDArray[np.uint8], at: int, width: int) -> NDArray[np.uint64]:
    """A column of little-endian unsigned integers of 1-8 bytes, from rows of bytes.

    >>> little(np.array([[9, 1, 2], [9, 3, 0]], np.uint8), 1, 2).tolist()
    [513, 3]
    """
    if width == 8:
        return np.ascontiguousarray(rows[:, at : at + 8]).view("<u8").reshape(-1)
    wide = np.zeros((len(rows), 8), np.uint8)
    wide[:, :width] = rows[:, at : at + width]
    return wide.view("<u8").reshape(-1)
