"""Heaps with one wrong field, and sound ones: the objects in them, or the error and its place."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.hdf5_parts import (
    BASE,
    FORM,
    NOWHERE,
    SIZE,
    direct_block,
    heap_header,
    indirect_block,
    leaf2,
    parsed,
    parsing,
    summed,
    tree2,
    u64,
)
from tests.scanning import refusals, refuses

from byteatlas.checksums import lookup3
from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.meta.names import text_of
from byteatlas_scanners.hdf5.heaps.dense import (
    ATTRIBUTE_NAMES,
    LINK_NAMES,
    check_name,
    dense_addresses,
    dense_objects,
)
from byteatlas_scanners.hdf5.heaps.fractal import fetch, small_objects
from byteatlas_scanners.hdf5.heaps.fractal_header import read_heap
from byteatlas_scanners.hdf5.heaps.global_heap import GlobalHeaps


def corrupt(address: int, why: str) -> CorruptFile:
    """The error at an address behind the user block."""
    return CorruptFile(BASE + address, why)


def at(offset: int, length: int) -> bytes:
    """The id of a managed object."""
    return b"\0" + offset.to_bytes(4, "little") + length.to_bytes(2, "little")


def objects(head: bytes, ids: list[bytes], pieces: dict[int, bytes]) -> Callable[[], list[bytes]]:
    """The objects with these ids, of a heap at 2048."""

    def act() -> list[bytes]:
        heap = parsed(read_heap(FORM, 2048), {2048: head})
        return parsed(fetch(FORM, heap, ids), pieces)

    return act


def small(ids: list[bytes], block: bytes, head: bytes) -> Callable[[], list[bytes] | None]:
    return lambda: small_objects(FORM, parsed(read_heap(FORM, 2048), {2048: head}), block, ids)


HEAD = 21
"""Where the objects of a checked block begin."""
PLAIN = heap_header()
ONE = {8192: direct_block(b"onesecond")}
SIZES = corrupt(2048, "a fractal heap with impossible sizes")
NO_BLOCK = corrupt(8192, "no direct block of this heap")
OUTSIDE = "a heap object outside of its block"


def rows(*places: int, row: int = 4) -> bytes:
    """The addresses in an indirect block."""
    return u64(*places, *[NOWHERE] * (-len(places) % row))


TALL = heap_header(rows=1, start=512, largest=512)
"""Its root is an indirect block of one row of four direct blocks."""
FOUR = indirect_block(rows(9000, 10000))
NEXT = direct_block(b"next", begin=512)
LOW = heap_header(rows=3, start=512, largest=512)
"""In the third row there are indirect blocks, of 1024 bytes: too small for a row of four blocks."""
PIPELINE = b"\2\1" + struct.pack("<HHHI", 1, 0, 1, 6)
MOST = 256 << 20
PACKED = zlib.compress(ONE[8192])


def packed(stored: bytes) -> tuple[bytes, dict[int, bytes]]:
    return heap_header(filtered=PIPELINE, stored=len(stored)), {8192: stored}


def sized(name: str, value: int) -> bytes:
    changed: Any = {name: value}
    return heap_header(**changed)


@refusals(
    (objects(heap_header(signature=b"FRHX\0"), [], {}), corrupt(2048, "no fractal heap, or one of an unknown version")),
    (objects(heap_header(signature=b"FRHP\1"), [], {}), corrupt(2048, "no fractal heap, or one of an unknown version")),
    (objects(PLAIN[:-1] + b"?", [], {}), corrupt(2048, "wrong checksum of a fractal heap")),
    *[
        (objects(sized(name, value), [], {}), SIZES)
        for name, value in [
            ("width", 0), ("width", 3), ("start", 0), ("start", 3), ("largest", 0), ("largest", 3), ("largest", 256),
            ("bits", 65), ("id_size", 1), ("rows", 65),
        ]
    ],
    (small([at(HEAD, 3)], ONE[8192], heap_header(managed=HEAD - 1)), corrupt(2048, OUTSIDE)),
    (small([at(HEAD, 3)], ONE[8192], heap_header(most=2)), corrupt(2048, OUTSIDE)),
    (objects(heap_header(managed=HEAD - 1), [at(HEAD, 3)], ONE), corrupt(8192, OUTSIDE)),
    (objects(heap_header(most=2), [at(HEAD, 3)], ONE), corrupt(8192, OUTSIDE)),
    (small([at(HEAD - 1, 3)], ONE[8192], PLAIN), corrupt(2048, OUTSIDE)),
    (small([at(HEAD, 0)], ONE[8192], PLAIN), corrupt(2048, OUTSIDE)),
    (small([at(510, 3)], ONE[8192], PLAIN), corrupt(2048, OUTSIDE)),
    (small([at(HEAD, 3)], direct_block(b"", owner=2047), PLAIN), NO_BLOCK),
    (objects(PLAIN, [b"\x30" + bytes(6)], ONE), corrupt(2048, "a heap id of unknown kind 0x30")),
    (objects(PLAIN, [b"\x26" + b"abcdef"], ONE), corrupt(2048, "a tiny heap object longer than its id")),
    (
        objects(heap_header(id_size=18), [b"\x20\x10" + bytes(16)], ONE),
        corrupt(2048, "a tiny heap object longer than its id"),
    ),
    (objects(heap_header(root=NOWHERE), [at(HEAD, 3)], ONE), corrupt(2048, "objects in an empty heap")),
    (
        objects(heap_header(start=1 << 29, largest=1 << 29), [at(HEAD, 3)], ONE),
        corrupt(2048, "a heap too large to read"),
    ),
    (objects(PLAIN, [at(HEAD - 1, 3)], ONE), corrupt(8192, OUTSIDE)),
    (objects(PLAIN, [at(HEAD, 0)], ONE), corrupt(8192, OUTSIDE)),
    (objects(PLAIN, [at(510, 3)], ONE), corrupt(8192, OUTSIDE)),
    (objects(PLAIN, [at(HEAD, 3)], {8192: b"FHDX" + ONE[8192][4:]}), NO_BLOCK),
    (objects(PLAIN, [at(HEAD, 3)], {8192: direct_block(b"one", begin=1)}), NO_BLOCK),
    (objects(PLAIN, [at(HEAD, 3)], {8192: direct_block(b"one", owner=1)}), NO_BLOCK),
    (
        objects(PLAIN, [at(HEAD, 3)], {8192: direct_block(b"one")[:-1] + b"?"}),
        corrupt(8192, "wrong checksum of a heap's direct block"),
    ),
    (
        objects(TALL, [at(4 * 512, 3)], {8192: FOUR}),
        corrupt(2048, "heap objects that are in none of the heap's blocks"),
    ),
    (
        objects(TALL, [at(1024 + HEAD, 3)], {8192: FOUR}),
        corrupt(8192, "heap objects in a block that does not exist"),
    ),
    (
        objects(TALL, [at(HEAD, 3)], {8192: indirect_block(rows(9000), owner=1)}),
        corrupt(8192, "no indirect block of this heap"),
    ),
    (
        objects(TALL, [at(HEAD, 3)], {8192: indirect_block(rows(9000), begin=1)}),
        corrupt(8192, "no indirect block of this heap"),
    ),
    (
        objects(TALL, [at(HEAD, 3)], {8192: FOUR[:-1] + b"?"}),
        corrupt(8192, "wrong checksum of a heap's indirect block"),
    ),
    (
        objects(TALL, [at(HEAD, 3)], {8192: summed(b"FHIX" + FOUR[4:-4])}),
        CorruptFile(0, "b'FHIX' where b'FHIB' should be"),
    ),
    (
        objects(LOW, [at(8 * 512, 3)], {8192: indirect_block(rows(*[9000] * 12))}),
        corrupt(8192, "an indirect block without rows"),
    ),
    (
        objects(heap_header(id_size=17), [b"\x10" + u64(NOWHERE, 8)], {}),
        corrupt(2048, "a huge heap object without a sound place"),
    ),
    (
        objects(heap_header(id_size=17), [b"\x10" + u64(8, MOST + 1)], {}),
        corrupt(2048, "a huge heap object without a sound place"),
    ),
    (
        objects(heap_header(id_size=29, filtered=PIPELINE), [b"\x10" + u64(8, 8, (MOST + 1) << 32, 0)], {}),
        corrupt(2048, "a huge heap object without a sound place"),
    ),
    (
        objects(heap_header(id_size=17), [b"\x10" + u64(SIZE - 7, 8)], {}),
        corrupt(SIZE - 7, "a structure of 8 bytes lies outside of the file"),
    ),
    (objects(PLAIN, [b"\x10" + bytes(6)], {}), corrupt(2048, "huge heap objects without an index")),
    (
        objects(
            heap_header(huge=3000), [b"\x10\7" + bytes(5)], {3000: tree2(1, 24, 1), 4096: leaf2(1, u64(5000, 4, 8))}
        ),
        corrupt(2048, "no huge heap object 7"),
    ),
    (
        objects(heap_header(huge=3000), [b"\x10\7" + bytes(5)], {3000: tree2(3, 24, 1)}),
        corrupt(3000, "a B-tree of type 3 where one of (1, 2) should be"),
    ),
    (
        objects(packed(PACKED)[0], [at(HEAD, 3)], {8192: b"?" + PACKED[1:]}),
        corrupt(8192, "a filtered block: deflate: Error -3 while decompressing data: incorrect header check"),
    ),
    (
        objects(heap_header(filtered=b"\2\1" + struct.pack("<HHH", 305, 0, 0)), [at(HEAD, 3)], ONE),
        CorruptFile(0, "a filter pipeline message is cut off"),
    ),
    (
        objects(heap_header(filtered=b"\2\1" + struct.pack("<HHHH", 305, 0, 0, 0), stored=9), [at(HEAD, 3)], ONE),
        Unsupported("filter", "filter 305 (LZO): PyTables' framing is not documented"),
    ),
)  # fmt: skip
def test_fractal_heaps(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_fractal_heaps_that_are_sound() -> None:
    both = [at(HEAD + 3, 6), at(HEAD, 3)]
    assert small(both, ONE[8192], PLAIN)() == [b"second", b"one"]
    assert small([at(HEAD, 3), b"\x20a"], ONE[8192], PLAIN)() is None
    assert objects(PLAIN, both, ONE)() == [b"second", b"one"]
    assert objects(PLAIN, [at(509, 3)], ONE)() == [b"\0\0\0"]
    assert objects(heap_header(flags=0), [at(HEAD - 4, 3)], {8192: direct_block(b"one", checked=False)})() == [b"one"]
    assert objects(PLAIN, [b"\x25abcdef"], {})() == [b"abcdef"]
    assert objects(heap_header(id_size=18), [b"\x20\x0f" + bytes(range(16))], {})() == [bytes(range(16))]
    assert objects(TALL, [at(512 + HEAD, 4), at(HEAD, 3)], {8192: FOUR, 9000: ONE[8192], 10000: NEXT})() == [
        b"next",
        b"one",
    ]
    assert objects(heap_header(id_size=17), [b"\x10" + u64(5000, 4)], {5000: b"huge"})() == [b"huge"]
    tree = {3000: tree2(1, 24, 1), 4096: leaf2(1, u64(5000, 4, 7)), 5000: b"huge"}
    assert objects(heap_header(huge=3000), [b"\x10\7" + bytes(5)], tree)() == [b"huge"]
    head, pieces = packed(PACKED)
    assert objects(head, both, pieces)() == [b"second", b"one"]
    filtered = heap_header(id_size=29, filtered=PIPELINE)
    stored = zlib.compress(b"huge" * 9)
    key = b"\x10" + u64(5000, len(stored)) + bytes(4) + u64(36)
    assert objects(filtered, [key], {5000: stored})() == [b"huge" * 9]


def test_a_heap_of_blocks_below_blocks() -> None:
    """Two rows of direct blocks, then indirect ones, which have one row of four blocks each."""
    head = heap_header(rows=4, start=512, largest=1024)
    root = indirect_block(rows(*[NOWHERE] * 12, 10000))
    begin = 4 * (512 + 512 + 1024)
    below = indirect_block(rows(NOWHERE, 11000), begin=begin)
    deep = direct_block(b"deep", begin=begin + 512)
    found = objects(head, [at(begin + 512 + HEAD, 4)], {8192: root, 10000: below, 11000: deep})
    assert found() == [b"deep"]


# --------------------------------------------------------------------------------------- names and their objects


def dense(kind: int, records: bytes, size: int, count: int) -> Callable[[], tuple[list[bytes], list[bytes]]]:
    pieces = {2048: PLAIN, 3000: tree2(kind, size, count), 4096: leaf2(kind, records), **ONE}
    return parsing(lambda: dense_objects(FORM, 2048, 3000, kind), pieces)


@refusals(
    (
        lambda: dense_addresses(FORM, b"\1\0" + bytes(16), 8),
        corrupt(0, "a link or attribute info message of version 1"),
    ),
    (lambda: dense_addresses(FORM, b"\0\0" + bytes(15), 8), CorruptFile(10, "a structure is cut off")),
    (
        lambda: dense_addresses(FORM, b"\0\0" + u64(7, NOWHERE), 8),
        corrupt(0, "links or attributes in a heap without an index of names"),
    ),
    (
        dense(LINK_NAMES, b"\2\0\0\0" + at(HEAD, 3) + b"\1\0\0\0" + at(HEAD + 3, 6), 11, 2),
        corrupt(3000, "names out of order: a search in the B-tree would miss some"),
    ),
    (
        lambda: check_name(FORM, LINK_NAMES, b"hash" + at(HEAD, 3), "one"),
        corrupt(0, "the name 'one' is not found by its own hash"),
    ),
    (
        lambda: check_name(FORM, ATTRIBUTE_NAMES, at(HEAD, 3) + bytes(5) + b"hash", "\u20ac"),
        corrupt(0, "the name '\u20ac' is not found by its own hash"),
    ),
    (
        parsing(lambda: dense_objects(FORM, 2048, 3000, LINK_NAMES), {2048: PLAIN, 3000: tree2(6, 11, 1)}),
        corrupt(3000, "a B-tree of type 6 where one of (5,) should be"),
    ),
    (dense(LINK_NAMES, b"hash" + at(HEAD, 0), 11, 1), corrupt(2048, OUTSIDE)),
)
def test_dense_objects(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_dense_objects_that_are_sound() -> None:
    assert dense_addresses(FORM, b"\0\1" + bytes(8) + u64(7, 9), 8) == (7, 9)
    assert dense_addresses(FORM, b"\0\1" + bytes(2) + u64(7, 9), 2) == (7, 9)
    assert dense_addresses(FORM, b"\0\0" + u64(NOWHERE, 9), 8) is None
    assert dense(LINK_NAMES, b"hash" + at(HEAD, 3), 11, 1)()[1] == [b"one"]
    for name in (b"one", "\u20ac".encode(), b"\xe9"):  # the last is no UTF-8
        check_name(FORM, LINK_NAMES, lookup3(name).to_bytes(4, "little"), text_of(name))
    shared = at(HEAD + 3, 6) + b"\2" + bytes(8)  # its object is in the heap of shared messages: the id stands for it
    own = at(HEAD, 3) + b"\0" + bytes(8)
    assert dense(ATTRIBUTE_NAMES, shared + own, 16, 2)()[1] == [at(HEAD + 3, 6), b"one"]


# --------------------------------------------------------------------------------------- global heaps


def collection(*found: tuple[int, bytes], size: int = 4096, sign: bytes = b"GCOL\1", claim: int | None = None) -> bytes:
    """Index 0 is free space, whose length counts its head."""
    body = b"".join(
        struct.pack("<HHIQ", index, 1, 0, len(data) + 16 * (not index) if claim is None else claim)
        + data.ljust(-(-len(data) // 8) * 8, b"\0")
        for index, data in found
    )
    rest = size - 16 - len(body)
    free = struct.pack("<HHIQ", 0, 0, 0, rest) if rest >= 16 and claim is None else b""
    return (sign + bytes(3) + u64(size) + body + free).ljust(size if size < SIZE else 64, b"\0")


def value(data: bytes, index: int = 1, address: int = 8192, held: int = 0) -> Callable[[], bytes]:
    def act() -> bytes:
        heaps = GlobalHeaps(FORM, held=held)
        parsed(heaps.load([address]), {8192: data})
        return heaps.get(address, index)

    return act


@refusals(
    (value(collection((1, b"a")), 2), corrupt(8192, "no object 2 in the global heap")),
    (lambda: GlobalHeaps(FORM).get(8192, 1), corrupt(8192, "no object 1 in the global heap")),
    (value(collection((1, b"a"), sign=b"GCOX\1")), corrupt(8192, "no global heap collection")),
    (value(collection((1, b"a"), sign=b"GCOL\2")), corrupt(8192, "no global heap collection")),
    (value(collection((1, b"a"), size=4095)), corrupt(8192, "a global heap collection of 4095 bytes")),
    (value(collection((1, b"a"), size=SIZE + 1)), corrupt(8192, f"global heap collections of {SIZE + 1} bytes")),
    (
        value(collection((1, b"a")), held=(1 << 30) - 4095),
        corrupt(8192, f"global heap collections of {(1 << 30) + 1} bytes"),
    ),
    (
        value(collection((1, b"a"), size=SIZE)),
        corrupt(8192, "a structure of 65536 bytes lies outside of the file"),
    ),
    (value(collection((1, b"a"), (1, b"b"))), corrupt(0, "a global heap object outside of its collection")),
    (value(collection((1, b"a"), claim=4096 - 31)), corrupt(0, "a global heap object outside of its collection")),
    (value(collection((1, b"a"), claim=2**64 - 1)), corrupt(0, "a global heap object outside of its collection")),
    (value(collection((0, b"a" * 4065), (2, b"b"))), corrupt(0, "a global heap object outside of its collection")),
    (value(b"GCOL\1\0\0\0" + u64(4096) + bytes(4080)), corrupt(0, "a global heap object outside of its collection")),
    (value(b"", address=SIZE), corrupt(SIZE, "an address outside of the file")),
)
def test_global_heaps(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_global_heaps_that_are_sound() -> None:
    assert value(collection((1, b"a"), (7, b"seven")), 7)() == b"seven"
    assert value(collection((0, b"freefree"), (2, b"b" * 16)), 2)() == b"b" * 16
    assert value(collection((1, b"a"), claim=4096 - 32))() == b"a".ljust(4064, b"\0")
    assert value(collection((1, b"a")), held=(1 << 30) - 4096)() == b"a"
    assert value(collection((1, b"a" * 5000), size=8192))() == b"a" * 5000
    heaps = GlobalHeaps(FORM)
    assert parsed(heaps.load([8192, 8192]), {8192: collection((1, b"a"))}) is None
    assert parsed(heaps.load([8192]), {}) is None  # at hand already
    assert (heaps.get(8192, 1), heaps.held) == (b"a", 4096)
