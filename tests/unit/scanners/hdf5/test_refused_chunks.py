"""Chunk indexes of all kinds with one wrong field, and sound ones: what they list, or the error and its place."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.hdf5_parts import BASE, FORM, NOWHERE, SIZE, leaf2, parsed, parsing, summed, tree2, u64
from tests.scanning import refusals, refuses

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.hdf5.chunks.index import read_chunks
from byteatlas_scanners.hdf5.chunks.table import Space, Table
from byteatlas_scanners.hdf5.dataset import Description
from byteatlas_scanners.hdf5.filters.message import Filter, FilterPipeline
from byteatlas_scanners.hdf5.format.dataspace import Dataspace
from byteatlas_scanners.hdf5.format.layout import Chunked, Compact, Contiguous, DataLayout, Index
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass
from byteatlas_scanners.hdf5.storage import Placement, _encodings, locate
from byteatlas_scanners.hdf5.values.fillvalue import Fill

FIXED = Space((10,), (10,), (2,), 8, 0)
GROWING = Space((10,), (None,), (2,), 8, 0)
FILTERED = Space((10,), (10,), (2,), 8, 1)


def corrupt(address: int, why: str) -> CorruptFile:
    """The error at an address behind the user block."""
    return CorruptFile(BASE + address, why)


def chunks(
    kind: Index, space: Space, pieces: dict[int, bytes], address: int | None = 1024, single: Any = None
) -> Callable[[], Table]:
    """The chunks of an index at 1024."""
    layout = Chunked(address, space.chunk, 4, kind, single=single)
    return parsing(lambda: read_chunks(FORM, layout, space), pieces)


def listed(act: Callable[[], Table]) -> dict[int, Any]:
    """Address, and where it is recorded size and mask, of each chunk."""
    table = act()
    columns = [c.tolist() for c in (table.address, table.nbytes, table.mask) if c is not None]
    rows = [row if len(row) > 1 else row[0] for row in zip(*columns, strict=True)]
    return dict(zip(table.flat.tolist(), rows, strict=True))


# --------------------------------------------------------------------------------------- fixed arrays


def fixed_head(*, client: int = 0, size: int = 8, bits: int = 10, count: int = 5, block: int = 2048) -> bytes:
    return summed(b"FAHD\0" + bytes((client, size, bits)) + u64(count, block))


def fixed_block(
    elements: bytes, *, client: int = 0, owner: int = 1024, bitmap: bytes = b"", sign: bytes = b"FADB\0"
) -> bytes:
    return summed(sign + bytes((client,)) + u64(owner) + bitmap + elements)


def fixed(head: bytes, block: bytes = b"", space: Space = FIXED, **more: bytes) -> Callable[[], Table]:
    return chunks(Index.FIXED_ARRAY, space, {1024: head, 2048: block} | {int(k[2:]): v for k, v in more.items()})


FIVE = u64(100, 200, NOWHERE, 400, SIZE - 8)
SIZED = b"".join(u64(100 * n) + struct.pack("<HI", 10 + n, n % 2) for n in range(1, 6))
PAGED = (
    fixed_head(bits=1),
    fixed_block(b"", bitmap=b"\xa0") + summed(u64(100, 200)) + bytes(20) + summed(u64(500)),
)
LARGE = Space((10,), (1 << 22,), (2,), 8, 0)


@refusals(
    (fixed(fixed_head(size=9)), corrupt(1024, "chunk index elements of 9 bytes")),
    (fixed(fixed_head(size=7)), corrupt(1024, "chunk index elements of 7 bytes")),
    (fixed(fixed_head(client=1)), corrupt(1024, "chunk index elements of 8 bytes")),
    (fixed(fixed_head(client=1, size=12), space=FILTERED), corrupt(1024, "chunk index elements of 12 bytes")),
    (fixed(fixed_head(client=1, size=21), space=FILTERED), corrupt(1024, "chunk index elements of 21 bytes")),
    (fixed(fixed_head(size=14), space=FILTERED), corrupt(1024, "chunk index elements of 14 bytes")),
    (fixed(fixed_head(count=4)), corrupt(1024, "a fixed array of 4 elements for a grid of (5,)")),
    (fixed(fixed_head(), space=GROWING), corrupt(1024, "a fixed array of 5 elements for a grid of (None,)")),
    (
        fixed(fixed_head(count=1 << 21), space=LARGE),
        Unsupported("too-large", "a chunk index of 2097152 elements"),
    ),
    (fixed(fixed_head()[:-1] + b"?"), corrupt(1024, "wrong checksum of a fixed array")),
    (fixed(b"EAHD" + fixed_head()[4:]), corrupt(1024, "wrong checksum of a fixed array")),
    (fixed(summed(b"FAHX" + fixed_head()[4:-4])), CorruptFile(0, "b'FAHX' where b'FAHD' should be")),
    (fixed(fixed_head(bits=32)), corrupt(2048, "pages of an impossible size")),
    (fixed(fixed_head(), fixed_block(FIVE, owner=1025)), corrupt(2048, "a data block of another fixed array")),
    (fixed(fixed_head(), fixed_block(FIVE, client=1)), corrupt(2048, "a data block of another fixed array")),
    (fixed(fixed_head(), fixed_block(FIVE, sign=b"FADX\0")), CorruptFile(0, "b'FADX' where b'FADB' should be")),
    (
        fixed(fixed_head(), fixed_block(FIVE)[:-1] + b"?"),
        corrupt(2048, "wrong checksum of a fixed array's data block"),
    ),
    (fixed(PAGED[0], PAGED[1][:-1] + b"?"), CorruptFile(0, "wrong checksum of a page of a chunk index")),
    (
        fixed(fixed_head(block=SIZE - 57), b""),
        corrupt(SIZE - 57, "a structure of 58 bytes lies outside of the file"),
    ),
    (
        fixed(fixed_head(), fixed_block(FIVE[:-8] + u64(SIZE - 7))),
        corrupt(SIZE - 7, "a chunk lies outside of the file"),
    ),
    (
        fixed(fixed_head(), fixed_block(FIVE[:-8] + u64(NOWHERE - 1))),
        corrupt(NOWHERE - 1, "a chunk lies outside of the file"),
    ),
    (
        fixed(
            fixed_head(client=1, size=14), fixed_block(SIZED[:-14] + u64(SIZE - 14) + SIZED[-6:], client=1), FILTERED
        ),
        corrupt(SIZE - 14, "a chunk lies outside of the file"),
    ),
    (
        fixed(
            fixed_head(client=1, size=20),
            fixed_block((u64(100, NOWHERE - 98) + bytes(4)) * 5, client=1),
            FILTERED,
        ),
        corrupt(100, "a chunk lies outside of the file"),
    ),
)
def test_fixed_arrays(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_fixed_arrays_that_are_sound() -> None:
    assert listed(fixed(fixed_head(), fixed_block(FIVE))) == {0: 100, 1: 200, 3: 400, 4: SIZE - 8}
    sized = {n - 1: (100 * n, 10 + n, n % 2) for n in range(1, 6)}
    assert listed(fixed(fixed_head(client=1, size=14), fixed_block(SIZED, client=1), FILTERED)) == sized
    assert listed(fixed(*PAGED)) == {0: 100, 1: 200, 4: 500}
    assert listed(fixed(fixed_head(bits=31), fixed_block(FIVE))) == {0: 100, 1: 200, 3: 400, 4: SIZE - 8}
    assert listed(fixed(fixed_head(block=NOWHERE))) == {}
    assert listed(chunks(Index.FIXED_ARRAY, FIXED, {}, None)) == {}
    shrunk = Space((3, 2), (3, 6), (1, 2), 8, 0)  # one column of chunks, where there may be three
    nine = fixed_block(u64(*range(100, 1000, 100)))
    assert listed(fixed(fixed_head(count=9), nine, shrunk)) == {0: 100, 1: 400, 2: 700}


# --------------------------------------------------------------------------------------- extensible arrays


def growing_head(
    *, client: int = 0, size: int = 8, bits: int = 32, in_index: int = 2, least: int = 2, pointers: int = 4,
    page_bits: int = 10, used: int = 5, block: int = 2048,
) -> bytes:  # fmt: skip
    fields = bytes((client, size, bits, in_index, least, pointers, page_bits))
    return summed(b"EAHD\0" + fields + u64(0, 0, 0, 0, used, used, block))


def index_block(elements: bytes, places: dict[int, int], *, client: int = 0, owner: int = 1024) -> bytes:
    """Its first elements, then 6 addresses of data blocks and 28 of super blocks."""
    addresses = u64(*[places.get(i, NOWHERE) for i in range(34)])
    return summed(b"EAIB\0" + bytes((client,)) + u64(owner) + elements + addresses)


def data_block(
    elements: bytes, *, client: int = 0, owner: int = 1024, sign: bytes = b"EADB\0", offset: int = 0
) -> bytes:
    return summed(sign + bytes((client,)) + u64(owner) + offset.to_bytes(4, "little") + elements)


def super_block(places: dict[int, int], blocks: int = 4, bitmap: bytes = b"", owner: int = 1024) -> bytes:
    addresses = u64(*[places.get(i, NOWHERE) for i in range(blocks)])
    return summed(b"EASB\0\0" + u64(owner) + bytes(4) + bitmap + addresses)


def growing(head: bytes, pieces: dict[int, bytes], space: Space = GROWING) -> Callable[[], Table]:
    return chunks(Index.EXTENSIBLE_ARRAY, space, {1024: head, **pieces})


FIRST = index_block(u64(10, 20), {0: 3000, 1: 3100})
GROWN = {2048: FIRST, 3000: data_block(u64(30, 40)), 3100: data_block(u64(50, 60, 70, 80))}
LONG = Space((200,), (None,), (2,), 8, 0)
"""100 chunks: 2 in the index block, 30 in its data blocks, then those of super blocks."""
IMPOSSIBLE = corrupt(1024, "an extensible array with impossible sizes")
FREE = "an extensible array of chunks without exactly one unlimited dimension"
HUGE = Space((2 << 20,), (None,), (2,), 8, 0)


@refusals(
    *[
        (growing(growing_head(**{name: value}), {}), IMPOSSIBLE)
        for name, value in [
            ("least", 3), ("least", 0), ("pointers", 3), ("pointers", 1), ("pointers", 0), ("bits", 65), ("bits", 0),
            ("page_bits", 32),
        ]
    ],
    (growing(growing_head(size=9), {}), corrupt(1024, "chunk index elements of 9 bytes")),
    (growing(growing_head(), {}, FIXED), corrupt(1024, FREE)),
    (growing(growing_head(), {}, Space((10, 4), (None, None), (2, 2), 8, 0)), corrupt(1024, FREE)),
    (growing(growing_head()[:-1] + b"?", {}), corrupt(1024, "wrong checksum of an extensible array")),
    (growing(summed(b"FAHD" + growing_head()[4:-4]), {}), CorruptFile(0, "b'FAHD' where b'EAHD' should be")),
    (
        growing(growing_head(page_bits=0), GROWN),
        Unsupported("layout", "an extensible array with pages in its first data blocks"),
    ),
    (
        growing(growing_head(), {**GROWN, 2048: index_block(u64(10, 20), {}, owner=1000)}),
        corrupt(2048, "a block of another extensible array"),
    ),
    (
        growing(growing_head(), {**GROWN, 2048: index_block(u64(10, 20), {}, client=1)}),
        corrupt(2048, "a block of another extensible array"),
    ),
    (
        growing(growing_head(), {**GROWN, 3100: data_block(u64(1, 2, 3, 4), owner=1)}),
        corrupt(3100, "a block of another extensible array"),
    ),
    (
        growing(growing_head(), {**GROWN, 3100: GROWN[3100][:-1] + b"?"}),
        corrupt(3100, "wrong checksum of a block of an extensible array"),
    ),
    (
        growing(growing_head(), {**GROWN, 3100: data_block(u64(1, 2, 3, 4), sign=b"EASB\0")}),
        CorruptFile(0, "b'EASB' where b'EADB' should be"),
    ),
    (
        growing(growing_head(), {**GROWN, 2048: index_block(u64(10, 20), {0: SIZE})}),
        corrupt(SIZE, "a structure of 38 bytes lies outside of the file"),
    ),
    (
        growing(
            growing_head(used=100), {2048: index_block(u64(10, 20), {6: 5000}), 5000: super_block({}, owner=7)}, LONG
        ),
        corrupt(5000, "a block of another extensible array"),
    ),
    (
        growing(growing_head(page_bits=0, used=1 << 20), {2048: index_block(u64(10, 20), {20: 5000})}, HUGE),
        corrupt(1024, "a super block larger than the file"),
    ),
    (
        growing(growing_head(used=1 << 21), {2048: FIRST}, Space((1 << 22,), (None,), (2,), 8, 0)),
        Unsupported("too-large", "a grid of 2097152 chunks"),
    ),
)  # fmt: skip
def test_extensible_arrays(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_extensible_arrays_that_are_sound() -> None:
    assert listed(growing(growing_head(), GROWN)) == {0: 10, 1: 20, 2: 30, 3: 40, 4: 50}
    assert listed(growing(growing_head(used=3), GROWN)) == {0: 10, 1: 20, 2: 30}
    assert listed(growing(growing_head(used=9), GROWN)) == {0: 10, 1: 20, 2: 30, 3: 40, 4: 50}  # the dataset shrank
    assert listed(growing(growing_head(used=0), {})) == {}
    assert listed(growing(growing_head(block=NOWHERE), {})) == {}
    assert listed(growing(growing_head(bits=64), {2048: index_block_wide(u64(10, 20))})) == {0: 10, 1: 20}


def index_block_wide(elements: bytes) -> bytes:
    """With room for the super blocks of all 2**64 elements."""
    return summed(b"EAIB\0\0" + u64(1024) + elements + u64(*[NOWHERE] * 66))


def test_super_blocks() -> None:
    """Of four data blocks with eight elements each: whole ones, and ones in pages of two."""
    tops = {2048: index_block(u64(10, 20), {4: 3000, 6: 5000}), 3000: data_block(u64(*range(31, 39)))}
    pieces = {**tops, 5000: super_block({1: 6000, 3: 6200}), 6000: data_block(u64(*range(61, 69)))}
    pieces[6200] = data_block(u64(*range(71, 79)))
    found = listed(growing(growing_head(used=100), pieces, LONG))
    first = 2 + 2 + 4 + 2 * 4  # elements before the data block of level 3
    expected = {0: 10, 1: 20} | {first + n: 31 + n for n in range(8)}
    level4 = first + 2 * 8
    expected |= {level4 + 8 + n: 61 + n for n in range(8)} | {level4 + 24 + n: 71 + n for n in range(8)}
    assert found == expected


def test_super_blocks_in_pages() -> None:
    # Four blocks of eight elements in pages of two: four bits for each block, first all bits, then all addresses.
    tops = {2048: index_block(u64(10, 20), {6: 5000})}
    empty = summed(b"EADB\0\0" + u64(1024) + bytes(4))
    page = [summed(u64(100 + n, 200 + n)) for n in range(4)]
    bitmap = bytes((0b00001011, 0, 0, 0))  # of the second block, pages 0, 2 and 3
    pieces = {**tops, 5000: super_block({1: 6000}, bitmap=bitmap), 6000: empty + b"".join(page)}
    found = listed(growing(growing_head(used=100, page_bits=1), pieces, LONG))
    at = 2 + 30 + 8
    assert found == {0: 10, 1: 20} | {
        at: 100, at + 1: 200, at + 4: 102, at + 5: 202, at + 6: 103, at + 7: 203,
    }  # fmt: skip
    broken = {**pieces, 6000: empty + b"".join(page)[:-1] + b"?"}
    refuses(
        CorruptFile(0, "wrong checksum of a page of a chunk index"),
        growing(growing_head(used=100, page_bits=1), broken, LONG),
    )


# --------------------------------------------------------------------------------------- trees


def node(
    *entries: tuple[int, ...], level: int = 0, last: int | tuple[int, int] = 100, used: int | None = None,
    sign: bytes = b"TREE\1",
) -> bytes:  # fmt: skip
    """A node of (position, child, bytes, mask, byte in the element)."""
    body = b""
    for entry in entries:
        position, child, nbytes, mask, odd = (*entry, *(0, 0, 8, 0, 0)[len(entry) :])
        body += struct.pack("<IIQQQ", nbytes, mask, position, odd, child)
    end = last if isinstance(last, tuple) else (last, 0)
    head = sign + struct.pack("<BH", level, len(entries) if used is None else used) + u64(NOWHERE, NOWHERE)
    return head + body + struct.pack("<IIQQ", 0, 0, *end)


def entries(*positions: int) -> list[tuple[int, ...]]:
    return [(n, 1000 + 10 * n, 8, 0, 0) for n in positions]


def old(root: bytes, space: Space = FIXED, more: dict[int, bytes] | None = None) -> Callable[[], Table]:
    return chunks(Index.BTREE1, space, {1024: root} | (more or {}))


FEW, MANY = entries(0, 4, 6), entries(0, 2, 4, 6, 8)
"""Few entries in one node are read in another way than many."""
LAST = "a B-tree node whose last key is not behind its entries"
OFF = "a chunk that is not on the grid"
ORDER = "the keys of a B-tree of chunks are out of order"
UPPER = node((0, 4000), (4, 8000), level=1)
CHAIN = {1024 + 600 * i: node((0, 1024 + 600 * (i + 1)), level=40 - i) for i in range(40)}


@refusals(
    (old(node(*FEW, sign=b"TREE\0")), corrupt(1024, "no B-tree nodes of raw data chunks, or of different levels")),
    (
        old(UPPER, more={4000: node(*entries(0, 2)), 8000: node(*entries(4), level=1)}),
        corrupt(4000, "no B-tree nodes of raw data chunks, or of different levels"),
    ),
    (
        old(UPPER, more={4000: node(*entries(0, 2), level=1), 8000: node(*entries(4), level=1)}),
        corrupt(4000, "B-tree nodes of another level than their place"),
    ),
    (old(node(used=65)), corrupt(1024, "B-tree nodes of 65 to 65 entries")),
    (
        old(UPPER, more={4000: node(*entries(0, 2)), 8000: node()}),
        corrupt(4000, "B-tree nodes of 0 to 2 entries"),
    ),
    (
        old(node(*[(2 * n, 4000) for n in range(5)], level=1, last=10), more={4000: b""}),
        corrupt(4000, "no B-tree nodes of raw data chunks, or of different levels"),
    ),
    (
        old(node(*[(n, 4000) for n in range(64)], level=1), Space((100,), (100,), (1,), 4, 0)),
        corrupt(1024, "more B-tree nodes than the file has room for"),
    ),
    (old(node(*FEW, last=6)), corrupt(1024, LAST)),
    (old(node(*FEW, last=4)), corrupt(1024, LAST)),
    (old(node(*FEW, last=9)), corrupt(1024, LAST)),
    (old(node(*MANY, last=8)), corrupt(1024, LAST)),
    (old(node(*MANY, last=6)), corrupt(1024, LAST)),
    (old(node(*MANY, last=11)), corrupt(1024, LAST)),
    (old(node(*entries(0, 3))), corrupt(1024, OFF)),
    (old(node(*entries(0, 2, 4, 5, 6))), corrupt(1024, OFF)),
    (old(node((0, 1000, 8, 0, 1))), corrupt(1024, OFF)),
    (old(node(*MANY[:4], (8, 1000, 8, 0, 1))), corrupt(1024, OFF)),
    (old(node(*entries(4, 0, 6))), corrupt(0, ORDER)),
    (old(node(*entries(0, 4, 4))), corrupt(0, ORDER)),
    (old(node(*entries(0, 4, 2, 6, 8))), corrupt(0, ORDER)),
    (old(node(*entries(0, 2, 4, 4, 8))), corrupt(0, ORDER)),
    (old(node(*entries(14, 12, 6), last=(100))), corrupt(0, ORDER)),
    (old(UPPER, more={4000: node(*entries(0, 4)), 8000: node(*entries(6))}), corrupt(0, ORDER)),
    (old(UPPER, more={4000: node(*entries(0, 2)), 8000: node(*entries(2, 6))}), corrupt(0, ORDER)),
    (
        old(node((2, 4000), (4, 8000), level=1), more={4000: node(*entries(0, 2)), 8000: node(*entries(4))}),
        corrupt(0, ORDER),
    ),
    (old(node((0, 1000, 9))), corrupt(0, "unfiltered chunks that have not 8 bytes")),
    (old(node(*MANY[:4], (8, 1000, 7, 0, 0))), corrupt(0, "unfiltered chunks that have not 8 bytes")),
    (old(node((0, SIZE - 7))), corrupt(SIZE - 7, "a chunk lies outside of the file")),
    (old(node((0, SIZE - 9, 10)), FILTERED), corrupt(SIZE - 9, "a chunk lies outside of the file")),
    (old(node((0, NOWHERE))), corrupt(NOWHERE, "a chunk lies outside of the file")),
)
def test_trees_of_version_1(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_trees_of_version_1_that_are_sound() -> None:
    assert listed(old(node(*FEW))) == {0: (1000, 0), 2: (1040, 0), 3: (1060, 0)}
    assert listed(old(node(*MANY, last=10))) == {n: (1000 + 20 * n, 0) for n in range(5)}
    assert listed(old(node(*entries(0, 2, 4, 6), last=8)))  # four are few
    assert listed(old(node())) == {}
    sized = node((0, 1000, 30, 1), (8, SIZE - 8, 8, 0))
    assert listed(old(sized, FILTERED)) == {0: (1000, 30, 1), 4: (SIZE - 8, 8, 0)}
    both = {4000: node(*entries(0, 2)), 8000: node(*entries(4, 8))}
    assert set(listed(old(UPPER, more=both))) == {0, 1, 2, 4}
    # A tree with two entries a node grows by one level for every chunk that is appended.
    assert listed(old(CHAIN[1024], more={**CHAIN, 1024 + 600 * 40: node((0, 1000))})) == {0: (1000, 0)}
    # A dataset that shrank: chunks behind its end are left out, in whatever way they are read.
    assert set(listed(old(node(*entries(0, 8, 12))))) == {0, 4}
    assert set(listed(old(node(*entries(0, 2, 8, 10, 12, 14))))) == {0, 1, 4}
    beyond = {4000: node(*entries(0, 8)), 8000: node(*entries(10, 12))}
    assert set(listed(old(node((0, 4000), (10, 8000), level=1), more=beyond))) == {0, 4}


def records10(*rows: tuple[int, int]) -> bytes:
    return b"".join(u64(address, position) for address, position in rows)


def new(head: bytes, leaf: bytes = b"", space: Space = GROWING, kind: int = 10) -> Callable[[], Table]:
    return chunks(Index.BTREE2, space, {1024: head, 4096: leaf2(kind, leaf)})


UNSORTED = "chunks out of order: a search in the B-tree would miss some"
RECORDS11 = b"".join(u64(address) + bytes((30,)) + struct.pack("<IQ", 1, n) for n, address in enumerate((500, 600)))


@refusals(
    (new(tree2(11, 16, 2)), corrupt(1024, "a B-tree of type 11 where one of (10,) should be")),
    (new(tree2(10, 16, 2), space=FILTERED), corrupt(1024, "a B-tree of type 10 where one of (11,) should be")),
    (new(tree2(10, 17, 2)), corrupt(1024, "chunk records of 17 bytes")),
    (new(tree2(10, 15, 2)), corrupt(1024, "chunk records of 15 bytes")),
    (new(tree2(11, 20, 2), space=FILTERED), corrupt(1024, "chunk records of 20 bytes")),
    (new(tree2(11, 29, 2), space=FILTERED), corrupt(1024, "chunk records of 29 bytes")),
    *[
        (new(tree2(10, 16, len(rows)), records10(*rows)), corrupt(1024, UNSORTED))
        for rows in [((500, 1), (600, 1)), ((500, 1), (600, 0)), ((500, 0), (600, 2), (700, 1), (800, 3))]
    ],
    (new(tree2(10, 16, 1), records10((SIZE, 1))), corrupt(SIZE, "a chunk lies outside of the file")),
    (new(tree2(10, 16, 1), records10((1 << 63, 1))), corrupt(1 << 63, "a chunk lies outside of the file")),
)
def test_trees_of_version_2(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_trees_of_version_2_that_are_sound() -> None:
    rows = records10((600, 0), (NOWHERE, 1), (500, 4), (700, 5), (800, 1 << 63))  # the last two are beyond the end
    assert listed(new(tree2(10, 16, 5), rows)) == {4: 500, 0: 600}
    assert listed(new(tree2(11, 21, 2), RECORDS11, FILTERED, 11)) == {0: (500, 30, 1), 1: (600, 30, 1)}


# --------------------------------------------------------------------------------------- the trivial kinds


ONE = Space((2,), (2,), (2,), 8, 0)


@refusals(
    (chunks(Index.SINGLE, FIXED, {}), CorruptFile(0, "a single chunk for a grid of (5,)")),
    (chunks(Index.SINGLE, ONE, {}, SIZE - 7), corrupt(SIZE - 7, "a chunk lies outside of the file")),
    (chunks(Index.SINGLE, ONE, {}, NOWHERE - 1), corrupt(NOWHERE - 1, "a chunk lies outside of the file")),
    (chunks(Index.SINGLE, ONE, {}, 8, (SIZE - 7, 0)), corrupt(8, "a chunk lies outside of the file")),
    (chunks(Index.SINGLE, ONE, {}, 8, (NOWHERE, 0)), corrupt(8, "a chunk lies outside of the file")),
    (
        chunks(Index.IMPLICIT, Space((4, 4), (4, 6), (2, 2), 8, 0), {}),
        Unsupported("layout", "an implicit chunk index of a dataset smaller than its largest shape"),
    ),
    (chunks(Index.IMPLICIT, FILTERED, {}), corrupt(1024, "an implicit chunk index of filtered chunks")),
    (chunks(Index.IMPLICIT, FIXED, {}, SIZE - 39), corrupt(SIZE - 39, "chunks lie outside of the file")),
    (
        chunks(Index.IMPLICIT, Space((1 << 22,), (1 << 22,), (2,), 8, 0), {}, None),
        Unsupported("too-large", "a grid of 2097152 chunks"),
    ),
)
def test_other_indexes(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_other_indexes_that_are_sound() -> None:
    assert listed(chunks(Index.SINGLE, ONE, {}, SIZE - 8)) == {0: (SIZE - 8, 8, 0)}
    assert listed(chunks(Index.SINGLE, ONE, {}, 8, (30, 1))) == {0: (8, 30, 1)}
    assert listed(chunks(Index.IMPLICIT, FIXED, {}, SIZE - 40)) == {n: SIZE - 40 + 8 * n for n in range(5)}
    taller = Space((4, 4), (8, 4), (2, 2), 8, 0)
    assert listed(chunks(Index.IMPLICIT, taller, {}, 64)) == {n: 64 + 8 * n for n in range(4)}
    assert listed(chunks(Index.IMPLICIT, Space((1 << 21,), (1 << 21,), (2,), 8, 0), {}, None)) == {}


# --------------------------------------------------------------------------------------- a dataset's bytes


INT = Datatype(DatatypeClass.INTEGER, 4)
NO_FILL = Fill(defined=False)


def placed(
    layout: DataLayout, shape: tuple[int, ...] = (10,), filters: int = 0, fill: Fill | None = None
) -> Callable[[], Placement]:
    pipeline = FilterPipeline(tuple([Filter(1, "", 0, ())] * filters))
    what = Description(Dataspace(shape, shape), INT, layout, pipeline, fill or Fill(), ())
    return lambda: parsed(locate(FORM, what, ScanOptions(), (FORM.source,)), {})


NEVER = "never written, and without a fill value: there is nothing to read"


@refusals(
    (placed(Contiguous(8, None), (1 << 60, 2)), corrupt(0, "a dataset of shape (1152921504606846976, 2)")),
    (placed(Compact(bytes(39))), corrupt(0, "39 bytes of compact data where 40 are needed")),
    (placed(Contiguous(SIZE - 39, 40)), corrupt(SIZE - 39, "40 bytes of data are not there")),
    (placed(Contiguous(SIZE - 39, None)), corrupt(SIZE - 39, "40 bytes of data are not there")),
    (placed(Contiguous(8, 39)), corrupt(8, "40 bytes of data are not there")),
    (placed(Contiguous(8, SIZE - 7)), corrupt(8, f"{SIZE - 7} bytes of data are not there")),
    (placed(Contiguous(8, 0), (0,)), corrupt(8, "0 bytes of data are not there")),
    (placed(Contiguous(None, 40), fill=NO_FILL), Unsupported("never-written", NEVER)),
    (placed(Chunked(None, (5,), 4, Index.BTREE1), fill=NO_FILL), Unsupported("never-written", NEVER)),
    (
        placed(Chunked(8, (5, 1), 4, Index.BTREE1)),
        corrupt(0, "chunks (5, 1) of 4-byte elements for (10,) of 4"),
    ),
    (placed(Chunked(8, (5,), 8, Index.BTREE1)), corrupt(0, "chunks (5,) of 8-byte elements for (10,) of 4")),
    (
        lambda: _encodings(Space((600,), (600,), (2,), 8, 9), masked(256), False),
        Unsupported("layout", "256 different filter masks"),
    ),
)
def test_places(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def masked(count: int) -> Table:
    return Table(np.arange(count), np.arange(count, dtype=np.uint64), None, np.arange(count, dtype=np.uint32))


def test_places_that_are_sound() -> None:
    assert placed(Compact(bytes(range(41))))().manifest.inlined == {0: bytes(range(40))}
    assert placed(Contiguous(SIZE - 40, None))().manifest.offset.tolist() == [BASE + SIZE - 40]
    assert placed(Contiguous(8, 48))().manifest.length.tolist() == [40]
    assert placed(Contiguous(None, None), fill=Fill(False, None, 1))().manifest.source.tolist() == [-1]
    assert placed(Contiguous(None, None), (0,), fill=NO_FILL)().manifest.grid_shape == (0,)
    assert placed(Chunked(1024, (10,), 4, Index.SINGLE))().manifest.offset.tolist() == [BASE + 1024]
    _, masks, column = _encodings(Space((600,), (600,), (2,), 8, 9), masked(255), False)
    assert (masks, None if column is None else column.tolist()) == (tuple(range(255)), list(range(255)))
    # Masks of filters that are not there say nothing; chunks at the edge may be stored without filters.
    assert _encodings(Space((600,), (600,), (2,), 8, 1), masked(4), False)[1] == (0, 1)
    edged = _encodings(Space((9,), (9,), (2,), 8, 1), Table(np.array([3, 4]), np.zeros(2, np.uint64), None, None), True)
    assert (edged[1], edged[2].tolist() if edged[2] is not None else None) == ((0, 1), [0, 1])
    assert _encodings(Space((10,), (10,), (2,), 8, 1), masked(1), True)[1:] == ((0,), None)
