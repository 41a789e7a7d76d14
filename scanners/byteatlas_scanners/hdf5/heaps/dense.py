"""What groups and objects keep in a fractal heap with a B-tree of names: many links, many attributes.

Format specification IV.A.2.c and IV.A.2.v (the messages that say where), III.A.2 (records of types 5 and 8), III.G.
"""

from __future__ import annotations

from byteatlas.checksums import lookup3
from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas_scanners.hdf5.format.btree2 import leaf_records, leaf_size, parse_tree, read_records, tree_size
from byteatlas_scanners.hdf5.format.header import SHARED
from byteatlas_scanners.hdf5.format.wire import Cursor, Form
from byteatlas_scanners.hdf5.heaps.fractal import fetch, root_size, small_objects
from byteatlas_scanners.hdf5.heaps.fractal_header import heap_size, parse_heap

LINK_NAMES, ATTRIBUTE_NAMES = 5, 8
"""Types of B-trees."""
ID_OF = {LINK_NAMES: slice(4, None), ATTRIBUTE_NAMES: slice(0, -9)}
"""Where the heap id is in a record: link names have a hash before it, attribute names flags and more behind."""
FLAGS_AT = -9
"""Where an attribute's message flags are in its record."""
HASH_OF = {LINK_NAMES: slice(0, 4), ATTRIBUTE_NAMES: slice(-4, None)}
"""Where a record has the hash of the name, by which the tree is sorted."""


def dense_addresses(form: Form, info: bytes, order_size: int) -> tuple[int, int] | None:
    """Where a link or attribute info message has its heap and its index of names; None: nothing is dense.

    ``order_size``: bytes of the highest creation order, where there is one. Raises `CorruptFile`.
    """
    cursor = Cursor(form, info)
    version, flags = cursor.u8(), cursor.u8()
    if version:
        raise CorruptFile(form.base, f"a link or attribute info message of version {version}")
    if flags & 1:
        cursor.skip(order_size)
    heap_at, names_at = cursor.address(), cursor.address()
    if heap_at is None:
        return None
    if names_at is None:
        raise CorruptFile(form.base, "links or attributes in a heap without an index of names")
    return heap_at, names_at


def dense_objects(form: Form, heap_at: int, tree_at: int, kind: int) -> Parse[tuple[list[bytes], list[bytes]]]:
    """The records of a name index, and the objects of the heap that they stand for, read side by side.

    Of attributes that are shared the object is their id in the heap of shared messages.
    """
    asks = (form.block(tree_at, tree_size(form)), form.block(heap_at, heap_size(form)))
    head, start = buffers((yield asks))
    tree = parse_tree(form, tree_at, head, kind)
    heap = yield from parse_heap(form, heap_at, start)
    if tree.root is None or not tree.total:
        return [], []
    if tree.depth or heap.root is None or heap.rows or heap.pipeline is not None:
        if heap.root is not None and heap.rows:  # asked for again below; here both of them cost one round trip
            yield form.some(tree.root, tree.node_size), form.some(heap.root, root_size(form, heap))
        rows = yield from read_records(form, tree)
        records = _cut(rows.tobytes(), tree.record_size)
        block = None
    else:  # one leaf and one block, as nearly always: both at once
        leaf, block = buffers((yield (form.block(tree.root, leaf_size(form, tree)), form.block(heap.root, heap.start))))
        records = _cut(leaf_records(form, tree, leaf), tree.record_size)
    hashes = [int.from_bytes(record[HASH_OF[kind]], "little") for record in records]
    if hashes != sorted(hashes):
        raise CorruptFile(form.base + tree_at, "names out of order: a search in the B-tree would miss some")
    ids = [record[ID_OF[kind]] for record in records]
    own = [i for i, record in enumerate(records) if kind == LINK_NAMES or not record[FLAGS_AT] & SHARED]
    wanted = ids if len(own) == len(ids) else [ids[i] for i in own]
    found = None if block is None else small_objects(form, heap, block, wanted)
    if found is None:
        found = yield from fetch(form, heap, wanted)
    if wanted is ids:
        return records, found
    bodies = ids
    for i, body in zip(own, found, strict=True):
        bodies[i] = body
    return records, bodies


def check_name(form: Form, kind: int, record: bytes, name: str) -> None:
    """Raise `CorruptFile` unless a name is the one that its record is found by."""
    wanted = record[HASH_OF[kind]]
    if lookup3(name.encode()).to_bytes(4, "little") != wanted and not _is_latin(name, wanted):
        raise CorruptFile(form.base, f"the name {name!r} is not found by its own hash")


def _is_latin(name: str, wanted: bytes) -> bool:
    """Whether this is the hash of a name that is not UTF-8 (`byteatlas.meta.names.text_of`)."""
    try:
        return lookup3(name.encode("latin-1")).to_bytes(4, "little") == wanted
    except UnicodeEncodeError:
        return False


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
