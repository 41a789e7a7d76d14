"""Messages and trees of names with one wrong field: the error, its place and its words."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.hdf5_parts import (
    BASE,
    FORM,
    NOWHERE,
    SIZE,
    direct_block,
    header1,
    heap_header,
    leaf2,
    message1,
    parsed,
    parsing,
    summed,
    tree2,
    u64,
)
from tests.scanning import refusals, refuses

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.values import replace
from byteatlas_scanners.hdf5.format import attributes, btree2, dataspace, datatype, layout, links
from byteatlas_scanners.hdf5.format.external_file_list import Slot, read_slots
from byteatlas_scanners.hdf5.format.header import Message, ObjectHeader
from byteatlas_scanners.hdf5.format.shared import Shared


def corrupt(address: int, why: str) -> CorruptFile:
    """The error at an address behind the user block."""
    return CorruptFile(BASE + address, why)


# --------------------------------------------------------------------------------------- extents and layouts


def space(body: bytes) -> Callable[[], object]:
    return lambda: dataspace.parse(FORM, body)


def place(body: bytes) -> Callable[[], layout.DataLayout]:
    return lambda: layout.parse(FORM, body)


def unsupported_layout(detail: str) -> Unsupported:
    return Unsupported("layout", detail)


@refusals(
    (space(b"\x03\x01\x00\x01" + bytes(8)), corrupt(0, "a dataspace of version 3")),
    (space(b"\x02\x01\x00\x00" + bytes(8)), corrupt(0, "a dataspace of type 0 and 1 dimensions")),
    (space(b"\x02\x00\x00\x03"), corrupt(0, "a dataspace of type 3 and 0 dimensions")),
    (space(b"\x02\x21\x00\x01" + bytes(264)), corrupt(0, "a dataspace of 33 dimensions")),
    (space(b"\x02\x02\x00\x01" + bytes(15)), corrupt(0, "a dataspace is cut off")),
    (space(b"\x02\x01\x01\x01" + bytes(15)), corrupt(0, "a dataspace is cut off")),
    (space(b"\x01\x01\x00" + bytes(12)), corrupt(0, "a dataspace is cut off")),
    (
        space(b"\x02\x02\x01\x01" + u64(9, 2, 8, 2)),
        corrupt(0, "a shape (9, 2) larger than its maximum (8, 2)"),
    ),
    (space(b"\x02\x01\x00\x01" + u64(NOWHERE)), corrupt(0, "a dataspace of unlimited size")),
    (place(b"\x06\x00"), unsupported_layout("data layout message of version 6")),
    (place(b"\x00\x00"), unsupported_layout("data layout message of version 0")),
    (place(b"\x03\x03" + bytes(12)), unsupported_layout("data layout class 3 in version 3")),
    (place(b"\x04\x04" + bytes(12)), unsupported_layout("data layout class 4 in version 4")),
    (place(b"\x01\x01\x03" + bytes(20)), unsupported_layout("data layout class 3")),
    (place(b"\x03\x00\x04\x00abc"), CorruptFile(4, "a structure is cut off")),
    (place(b"\x03\x01" + bytes(15)), CorruptFile(10, "a structure is cut off")),
    (place(b"\x04\x02\x04\x02\x01"), corrupt(0, "chunked layout with flags 0x4, 1-byte sizes")),
    (place(b"\x04\x02\x00\x02\x00"), corrupt(0, "chunked layout with flags 0x0, 0-byte sizes")),
    (place(b"\x04\x02\x00\x02\x09"), corrupt(0, "chunked layout with flags 0x0, 9-byte sizes")),
    (place(b"\x04\x02\x00\x02\x01\x05\x04\x00"), unsupported_layout("chunk index of type 0")),
    (place(b"\x04\x02\x00\x02\x01\x05\x04\x03\0"), corrupt(0, "a chunk index with a creation parameter of 0")),
    (
        place(b"\x04\x02\x00\x02\x01\x05\x04\x04" + b"\1\1\1\0\1"),
        corrupt(0, "a chunk index with a creation parameter of 0"),
    ),
    (place(b"\x04\x02\x00\x02\x01\x05\x04\x06"), unsupported_layout("chunk index of type 6")),
    (place(b"\x03\x02\x01" + u64(64) + b"\4\0\0\0"), corrupt(0, "chunks of shape (), 4 bytes per element")),
    (place(b"\x03\x02\x00" + u64(64)), corrupt(0, "chunks of shape (), 0 bytes per element")),
    (
        place(b"\x03\x02\x02" + u64(64) + struct.pack("<II", 0, 4)),
        corrupt(0, "chunks of shape (0,), 4 bytes per element"),
    ),
    (
        place(b"\x03\x02\x02" + u64(64) + struct.pack("<II", 3, 0)),
        corrupt(0, "chunks of shape (3,), 0 bytes per element"),
    ),
    (
        place(b"\x01\x02\x02" + bytes(5) + u64(64) + struct.pack("<II", 3, 0)),
        corrupt(0, "chunks of shape (3,), 0 bytes per element"),
    ),
    (
        place(b"\x04\x02\x00\x02\x01\x00\x04\x01" + u64(9)),
        corrupt(0, "chunks of shape (0,), 4 bytes per element"),
    ),
)
def test_extents_and_layouts(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"\x01\x01\x01" + bytes(5) + u64(64) + struct.pack("<I", 3), layout.Contiguous(64, None)),
        (b"\x02\x01\x00" + bytes(5) + struct.pack("<II", 3, 3) + b"abc", layout.Compact(b"abc")),
        (
            b"\x02\x02\x02" + bytes(5) + u64(64) + struct.pack("<II", 3, 4),
            layout.Chunked(64, (3,), 4, layout.Index.BTREE1),
        ),
        (b"\x04\x03" + u64(800) + b"\5\0\0\0", layout.Virtual(800, 5)),
        (b"\x05\x03" + u64(NOWHERE) + b"\0\0\0\0", layout.Virtual(None, 0)),
        (
            b"\x04\x02\x02\x02\x08" + u64(7, 4) + b"\x01" + u64(99) + b"\3\0\0\0" + u64(512),
            layout.Chunked(512, (7,), 4, layout.Index.SINGLE, single=(99, 3)),
        ),
        (
            b"\x04\x02\x00\x02\x01\x07\x04\x02" + u64(512),
            layout.Chunked(512, (7,), 4, layout.Index.IMPLICIT),
        ),
        (
            b"\x04\x02\x00\x02\x01\x07\x04\x03\x0a" + u64(512),
            layout.Chunked(512, (7,), 4, layout.Index.FIXED_ARRAY),
        ),
        (
            b"\x04\x02\x01\x02\x01\x07\x04\x04" + b"\1" * 5 + u64(512),
            layout.Chunked(512, (7,), 4, layout.Index.EXTENSIBLE_ARRAY, raw_edges=True),
        ),
        (
            b"\x04\x02\x00\x02\x01\x07\x04\x05" + bytes(6) + u64(512),
            layout.Chunked(512, (7,), 4, layout.Index.BTREE2),
        ),
    ],
)
def test_layouts_that_are_sound(body: bytes, expected: layout.DataLayout) -> None:
    assert place(body)() == expected


def test_extents_that_just_fit() -> None:
    most = NOWHERE - 1
    assert dataspace.parse(FORM, b"\x02\x20\x00\x01" + u64(*[1] * 32)).shape == (1,) * 32
    assert dataspace.parse(FORM, b"\x02\x01\x01\x01" + u64(8, 8)) == ((8,), (8,))
    assert dataspace.parse(FORM, b"\x02\x01\x00\x01" + u64(most)) == ((most,), (most,))
    assert dataspace.parse(FORM, b"\x01\x01\x01" + bytes(5) + u64(3, NOWHERE)) == ((3,), (None,))


# --------------------------------------------------------------------------------------- data types


def kind(number: int, size: int, body: bytes = b"", bits: int = 0, version: int = 1) -> bytes:
    return struct.pack("<BBHI", version << 4 | number, bits & 255, bits >> 8, size) + body


def typed(body: bytes) -> Callable[[], object]:
    return lambda: datatype.parse_at(body, 0)


INT = kind(0, 4, struct.pack("<HH", 0, 32), 8)


def real(*, offset: int = 0, precision: int = 32, sign: int = 31, exponent: tuple[int, int] = (23, 8),
         mantissa: tuple[int, int] = (0, 23), bits: int = 0x20) -> bytes:  # fmt: skip
    body = struct.pack("<HHBBBBI", offset, precision, *exponent, *mantissa, 127)
    return kind(1, 4, body, bits | sign << 8)


def member(name: bytes, offset: int, of: bytes = INT, dims: tuple[int, ...] = (), rank: int | None = None) -> bytes:
    """A member of a compound of version 1."""
    padded = name + bytes(8 - len(name) % 8)
    four = (*dims, 0, 0, 0, 0)[:4]
    return padded + struct.pack("<IB11x4I", offset, len(dims) if rank is None else rank, *four) + of


def member3(name: bytes, offset: int, of: bytes = INT) -> bytes:
    return name + b"\0" + bytes((offset,)) + of


ENUM = kind(8, 4, INT + b"a\0b\0" + struct.pack("<ii", -1, 2), 2, 3)
FIELD = "a floating-point field outside of its type"
ORDER = "a floating-point type of unknown normalisation or byte order"


@refusals(
    (typed(b"\x10\0\0"), CorruptFile(0, "a datatype message is cut off")),
    (typed(kind(0, 4, b"\0\0")), CorruptFile(0, "a datatype message is cut off")),
    (typed(kind(10, 4)), CorruptFile(0, "a datatype message is cut off")),
    (typed(kind(0, 4, bytes(4), version=0)), CorruptFile(0, "a datatype of version 0, nested 0 deep")),
    (typed(kind(0, 4, bytes(4), version=6)), CorruptFile(0, "a datatype of version 6, nested 0 deep")),
    (typed(kind(9, 16) * 33 + INT), CorruptFile(264, "a datatype of version 1, nested 33 deep")),
    (typed(kind(12, 4)), CorruptFile(0, "a datatype of class 12")),
    (typed(kind(0, 0, bytes(4))), CorruptFile(0, "a datatype of zero bytes")),
    (typed(kind(0, 4, struct.pack("<HH", 0, 0))), CorruptFile(8, "0 bits at bit 0 of 4 bytes")),
    (typed(kind(0, 4, struct.pack("<HH", 1, 32))), CorruptFile(8, "32 bits at bit 1 of 4 bytes")),
    (typed(kind(4, 2, struct.pack("<HH", 8, 9))), CorruptFile(8, "9 bits at bit 8 of 2 bytes")),
    (typed(real(precision=33)), CorruptFile(8, "33 bits at bit 0 of 4 bytes")),
    (typed(real(sign=32)), CorruptFile(8, FIELD)),
    (typed(real(exponent=(25, 8))), CorruptFile(8, FIELD)),
    (typed(real(exponent=(23, 0))), CorruptFile(8, FIELD)),
    (typed(real(mantissa=(10, 23))), CorruptFile(8, FIELD)),
    (typed(real(mantissa=(0, 0))), CorruptFile(8, FIELD)),
    (typed(real(bits=0x30)), CorruptFile(8, ORDER)),
    (typed(real(bits=0x60)), CorruptFile(8, ORDER)),
    (typed(kind(3, 4, bits=0x03)), CorruptFile(8, "a string of padding 3, character set 0")),
    (typed(kind(3, 4, bits=0x20)), CorruptFile(8, "a string of padding 0, character set 2")),
    (typed(kind(5, 4, b"1234567", bits=8)), CorruptFile(8, "an opaque type's tag is cut off")),
    (typed(kind(6, 4, member(b"a", 1), 1)), CorruptFile(60, "member 'a' sticks out of its compound")),
    (
        typed(kind(6, 40, member(b"a", 0, dims=(2, 3, 1, 1), rank=5), 1)),
        CorruptFile(48, "a compound member of 5 dimensions"),
    ),
    (
        typed(kind(6, 8, member3(b"a", 0) + member3(b"a", 4), 2, 3)),
        CorruptFile(38, "two members of a compound with one name, or one without"),
    ),
    (
        typed(kind(6, 8, member3(b"", 0), 1, 3)),
        CorruptFile(22, "two members of a compound with one name, or one without"),
    ),
    (typed(kind(6, 8, b"name", 1, 3)), CorruptFile(8, "a member's name without an end")),
    (typed(kind(8, 4, real(), 1, 3)), CorruptFile(28, "an enumeration that is not of integers")),
    (typed(kind(8, 2, INT, 1, 3)), CorruptFile(20, "an enumeration that is not of integers")),
    (typed(ENUM[:-1]), CorruptFile(24, "the values of an enumeration are cut off")),
    (typed(kind(9, 16, INT, 2)), CorruptFile(20, "a variable-length type of kind 2")),
    (typed(kind(10, 4, b"\0" + INT, version=3)), CorruptFile(9, "an array type of 0 dimensions")),
    (typed(kind(10, 4, b"\x21" + INT, version=3)), CorruptFile(9, "an array type of 33 dimensions")),
    (
        typed(kind(10, 7, b"\1\2\0\0\0" + INT, version=3)),
        CorruptFile(25, "an array type (2,) of 8 bytes where 7 are announced"),
    ),
    (
        typed(kind(10, 8, b"\1\0\0\0\0" + INT, version=3)),
        CorruptFile(25, "an array type (0,) of 0 bytes where 8 are announced"),
    ),
    (
        typed(kind(6, 8, member(b"a", 0, dims=(1 << 30,)), 1)),
        CorruptFile(60, "an array type (1073741824,) of 4294967296 bytes where None are announced"),
    ),
    (typed(kind(11, 8, INT, 1)), CorruptFile(20, "a complex type that is not two floats")),
    *((typed(kind(11, 8, real(), bits)), CorruptFile(8, f"a complex type with flags {bits:#x}")) for bits in (0, 3, 9)),
    (typed(kind(8, 4, INT + bytes(8) + b"\1\0\0\0", 1)), CorruptFile(28, "a value of an enumeration without a name")),
    *(
        (typed(real(**fields)), CorruptFile(8, "floating-point fields that overlap"))
        for fields in ({"sign": 30}, {"sign": 22}, {"exponent": (22, 8)}, {"mantissa": (0, 24)}, {"mantissa": (8, 16)})
    ),
    (typed(kind(11, 9, real(), 1)), CorruptFile(28, "a complex type that is not two floats")),
)
def test_data_types(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_data_types_that_just_fit() -> None:
    nested, end = datatype.parse_at(kind(9, 16) * 32 + INT, 0)
    assert end == 32 * 8 + 12
    assert nested.variable
    found = datatype.parse(kind(6, 28, member(b"a", 0, dims=(2, 3)) + member(b"b", 24), 2))
    assert [(m.name, m.offset, m.type.size, m.type.dims) for m in found.members] == [
        ("a", 0, 24, (2, 3)),
        ("b", 24, 4, ()),
    ]
    four = datatype.parse(kind(6, 24, member(b"a", 0, dims=(1, 2, 3, 1)), 1))
    assert four.members[0].type.dims == (1, 2, 3, 1)
    assert datatype.parse(ENUM).symbols == (("a", -1), ("b", 2))
    assert datatype.parse(kind(5, 4, b"12345\0xx", bits=8)).tag == "12345"
    vax = datatype.parse(real(bits=0x61)).number
    assert vax is not None
    assert vax.vax
    halves = datatype.parse(kind(0, 4, struct.pack("<HH", 16, 16)))
    assert halves.bits == (("<"), 16, 16, False)
    shifted = datatype.parse(b"abc" + INT, 3, {})
    assert shifted.plain == "<i4"


# --------------------------------------------------------------------------------------- links


def link(body: bytes) -> Callable[[], object]:
    return lambda: links.parse_link(FORM, body)


def group_node(*children: int, height: int = 0, used: int | None = None, last: int = 8) -> bytes:
    """A node of an old group's B-tree; its keys are the names at 0 and at ``last``."""
    head = b"TREE\0" + struct.pack("<BH", height, len(children) if used is None else used) + u64(NOWHERE, NOWHERE)
    return head + u64(0) + b"".join(u64(child, last) for child in children)


def symbols(*entries: tuple[int, int, int], count: int | None = None) -> bytes:
    """A symbol table node of (place of the name, address, kind)."""
    head = b"SNOD\1\0" + struct.pack("<H", len(entries) if count is None else count)
    return head + b"".join(struct.pack("<QQII16x", name, address, kind, 0) for name, address, kind in entries)


NAMES = b"\0\0\0\0\0\0\0\0a\0\0\0\0\0\0\0b\0\0\0\0\0\0\0" + u64(1, 8)
"""No name at 0, "a" at 8, "b" at 16, and a free block."""


def local_heap(segment: int = 3000, free: int = 24, size: int = 40) -> bytes:
    return b"HEAP\0\0\0\0" + u64(size, free, segment)


def members(pieces: dict[int, bytes], tree: int = 1024, heap: int = 2000) -> Callable[[], list[links.Link]]:
    """The links of an old group whose heap is sound."""
    header = ObjectHeader(96, 1, [Message(0x11, 0, u64(tree, heap))])
    return parsing(lambda: links.read_links(FORM, header), {2000: local_heap(), 3000: NAMES, **pieces})


SOUND = {1024: group_node(4096, last=16), 4096: symbols((8, 77, 0), (16, 88, 1))}
TALL = {20000 + 600 * i: group_node(20000 + 600 * (i + 1), height=40 - i, last=16) for i in range(40)}


@refusals(
    (link(b"\2\0\1a" + u64(77)), corrupt(0, "a link message of version 2")),
    (link(b"\1\0\1a" + u64(NOWHERE)), corrupt(0, "link 'a' has no address")),
    (link(b"\1\0\x09a"), CorruptFile(3, "a structure is cut off")),
    (link(b"\1\x08\x40\1e\2\0\0f"), corrupt(0, "external link 'e' is damaged")),
    (link(b"\1\x08\x40\1e\5\0\1f\0p\0"), corrupt(0, "external link 'e' is damaged")),
    (members(SOUND, tree=NOWHERE), corrupt(0, "an old-style group without a B-tree or heap")),
    (members(SOUND, heap=NOWHERE), corrupt(0, "an old-style group without a B-tree or heap")),
    (members({1024: b"TREE\1" + bytes(100)}), corrupt(1024, "no B-tree node of a group")),
    (members({1024: group_node(used=33)}), corrupt(1024, "a B-tree node of a group with impossible fields")),
    (
        members({1024: group_node(4096, height=1), 4096: group_node(height=1)}),
        corrupt(4096, "a B-tree node of a group with impossible fields"),
    ),
    (members({1024: group_node(1024, height=1)}), corrupt(1024, "a group's B-tree runs in a circle")),
    (members({1024: group_node(4096, 4096)}), corrupt(1024, "a group's B-tree runs in a circle")),
    (members({1024: group_node(NOWHERE)}), corrupt(1024, "a group's B-tree runs in a circle")),
    (members({**SOUND, 4096: b"SNOX\1"}), corrupt(4096, "no symbol table node")),
    (members({**SOUND, 4096: b"SNOD\2"}), corrupt(4096, "no symbol table node")),
    (members({**SOUND, 4096: symbols(count=9)}), corrupt(4096, "a symbol table node with too many entries")),
    (
        members({**SOUND, 4096: symbols((8, 77, 3))}),
        corrupt(4096, "link 'a' has no address, or is of unknown kind 3"),
    ),
    (
        members({**SOUND, 4096: symbols((8, NOWHERE, 0))}),
        corrupt(4096, "link 'a' has no address, or is of unknown kind 0"),
    ),
    (members({**SOUND, 4096: symbols((40, 77, 0))}), CorruptFile(40, "a name outside of its local heap")),
    (
        members({**SOUND, 4096: symbols((16, 88, 0), (8, 77, 0))}),
        corrupt(4096, "the names of a group are out of order"),
    ),
    (
        members({**SOUND, 4096: symbols((8, 88, 0), (8, 77, 0))}),
        corrupt(4096, "the names of a group are out of order"),
    ),
    (
        members({**SOUND, 1024: group_node(4096, last=8)}),
        corrupt(4096, "the names of a group are out of order"),
    ),
    (members({**SOUND, 2000: b"HEAP\1"}), CorruptFile(4, "b'HEAP' of unknown version 1")),
    (members({**SOUND, 2000: local_heap(NOWHERE)}), corrupt(2000, "a local heap without data")),
    (
        members({**SOUND, 2000: local_heap(size=SIZE)}),
        corrupt(3000, "a structure of 65536 bytes lies outside of the file"),
    ),
    (
        members({**SOUND, 2000: local_heap(free=25)}),
        corrupt(0, "a local heap whose list of free blocks is damaged"),
    ),
    (
        members({**SOUND, 3000: NAMES[:-8] + u64(17)}),
        corrupt(0, "a local heap whose list of free blocks is damaged"),
    ),
    (
        members({**SOUND, 3000: NAMES[:24] + u64(24, 8)}),
        corrupt(0, "a local heap whose list of free blocks is damaged"),
    ),
)
def test_links(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_links_that_are_sound() -> None:
    assert members(SOUND)() == [links.Link("a", links.Hard(77)), links.Link("b", links.Hard(88))]
    soft = {**SOUND, 4096: symbols((8, NOWHERE, 2))}
    assert members(soft)() == [links.Link("a", links.Soft(""))]
    assert members({1024: group_node()})() == []
    assert members({**SOUND, 3000: NAMES[:-8] + u64(16)})()  # the free block ends with the heap
    upper = {**SOUND, 1024: group_node(5000, height=1, last=16), 5000: group_node(4096, last=16)}
    assert [found.name for found in members(upper)()] == ["a", "b"]
    tall = {**SOUND, **TALL, 20000 + 600 * 40: group_node(4096, last=16)}  # two entries a node: a level for each leaf
    assert [found.name for found in members(tall, tree=20000)()] == ["a", "b"]
    assert links.parse_link(FORM, b"\1\x1c\1" + u64(7) + b"\1\1a\2\0/x") == links.Link("a", links.Soft("/x"), 7)
    assert links.parse_link(FORM, b"\1\1\1\0a" + u64(5)) == links.Link("a", links.Hard(5))


# --------------------------------------------------------------------------------------- shared messages


TABLED = replace(FORM, shared_table=3000, shared_indexes=1)


def table(types: int = 1 << 3, heap: int = 2048, signature: bytes = b"SMTB", version: int = 0, kind: int = 0) -> bytes:
    return summed(signature + struct.pack("<BBHIHHHQQ", version, kind, types, 0, 0, 0, 0, 0, heap))


HEAP = {2048: heap_header(id_size=8), 8192: direct_block(b"the message")}
IN_HEAP = b"\3\1" + b"\0" + (21).to_bytes(4, "little") + (11).to_bytes(2, "little") + b"\0"


def resolve(reference: bytes, pieces: dict[int, bytes], kind: int = 3, form: Any = TABLED) -> Callable[[], bytes]:
    return parsing(lambda: Shared(form).resolve(kind, reference), pieces)


COMMITTED = b"\2\2" + u64(1024)


@refusals(
    (
        resolve(COMMITTED, {1024: header1(message1(5, bytes(8)))}),
        corrupt(1024, "no message of type 0x3 where a shared one should be"),
    ),
    (
        resolve(COMMITTED, {1024: header1(message1(3, COMMITTED.ljust(16, b"\0"), 2))}),
        corrupt(1024, "no message of type 0x3 where a shared one should be"),
    ),
    (resolve(b"\4\2" + u64(1024), {}), corrupt(0, "a shared message of version 4, kind 2")),
    (resolve(b"\0\0" + u64(1024), {}), corrupt(0, "a shared message of version 0, kind 0")),
    (resolve(b"\3\3" + u64(1024), {}), corrupt(0, "a shared message of version 3, kind 3")),
    (resolve(b"\2\0" + u64(NOWHERE), {}), corrupt(0, "a shared message without an address")),
    (
        resolve(IN_HEAP, {}, form=FORM),
        corrupt(0, "a shared message in a file without a table of them"),
    ),
    (resolve(IN_HEAP, {3000: table(), **HEAP}, kind=1), corrupt(0, "no index of shared messages of type 0x1")),
    (
        resolve(IN_HEAP, {3000: table(heap=NOWHERE), **HEAP}),
        corrupt(0, "no index of shared messages of type 0x3"),
    ),
    (resolve(IN_HEAP, {3000: table(version=1)}), corrupt(3000, "an index of shared messages of unknown kind")),
    (resolve(IN_HEAP, {3000: table(kind=2)}), corrupt(3000, "an index of shared messages of unknown kind")),
    (resolve(IN_HEAP, {3000: table(signature=b"SMTX")}), corrupt(3000, "no table of shared messages")),
    (resolve(IN_HEAP, {3000: table()[:-1] + b"?"}), corrupt(3000, "wrong checksum of the table of shared messages")),
    (
        parsing(lambda: Shared(TABLED).load_table(), {3000: table()[:-1] + b"?"}),
        corrupt(3000, "wrong checksum of the table of shared messages"),
    ),
)
def test_shared_messages(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_shared_messages_that_are_there() -> None:
    assert resolve(IN_HEAP, {3000: table(), **HEAP})() == b"the message"
    assert resolve(IN_HEAP, {3000: table(1 << 5), **HEAP}, kind=4)() == b"the message"  # both kinds of fill values
    assert resolve(COMMITTED, {1024: header1(message1(3, b"datatype"))})() == b"datatype"
    assert resolve(b"\3\2" + u64(1024), {1024: header1(message1(3, b"datatype"))})() == b"datatype"
    oldest = b"\1\0" + bytes(6 + 8) + u64(1024)
    assert resolve(oldest, {1024: header1(message1(3, b"datatype"))})() == b"datatype"
    through = {
        1024 + 100 * i: header1(message1(3, (b"\2\2" + u64(1124 + 100 * i)).ljust(16, b"\0"), 2)) for i in range(4)
    }
    assert resolve(COMMITTED, {**through, 1424: header1(message1(3, b"datatype"))})() == b"datatype"


# --------------------------------------------------------------------------------------- attributes, external files


SPACE = b"\2\1\0\1" + u64(2)


def attribute(
    name: bytes = b"one\0",
    *,
    version: int = 3,
    flags: int = 0,
    of: bytes = INT,
    space: bytes = SPACE,
    data: bytes = bytes(8),
) -> bytes:
    head = struct.pack("<BBHHH", version, flags, len(name), len(of), len(space)) + (b"\0" if version == 3 else b"")
    step = 8 if version == 1 else 1
    return head + b"".join(part + bytes(-len(part) % step) for part in (name, of, space)) + data


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        (attribute(version=4), "one without a readable name (byte 512: an attribute message of version 4)"),
        (attribute(version=0), "one without a readable name (byte 512: an attribute message of version 0)"),
        (attribute(data=bytes(7)), "one (byte 512: an attribute's value is cut off)"),
        (attribute(version=1, data=bytes(7)), "one (byte 512: an attribute's value is cut off)"),
        (attribute(version=2, data=bytes(7)), "one (byte 512: an attribute's value is cut off)"),
        (attribute(flags=1, of=COMMITTED, data=bytes(7)), "one (byte 512: an attribute's value is cut off)"),
        (attribute(flags=1, of=b"\2\2" + u64(NOWHERE)), "one (byte 512: a shared message without an address)"),
        (attribute(space=b"\3\1\0\1" + u64(2)), "one (byte 512: a dataspace of version 3)"),
        (attribute(of=kind(12, 4)), "one (byte 0: a datatype of class 12)"),
        (b"\3\0\0", "one without a readable name (damaged: "),
    ],
)
def test_attributes_that_are_lost(body: bytes, lost: str) -> None:
    header = ObjectHeader(96, 2, [Message(12, 0, attribute(b"sound\0")), Message(12, 0, body)])
    pieces = {1024: header1(message1(3, INT + bytes(4)))}
    found, gone = parsed(attributes.read_attributes(Shared(FORM), {}, header), pieces)
    assert [a.name for a in found] == ["sound"]
    assert [text[: len(lost)] for text in gone] == [lost]
    if not lost.endswith(" "):
        assert gone == [lost]


@pytest.mark.parametrize(
    "body",
    [
        attribute(data=bytes(range(8))), attribute(version=1, data=bytes(range(8))),
        attribute(version=2, data=bytes(range(8)) + b"more"), attribute(flags=1, of=COMMITTED, data=bytes(range(8))),
        attribute(version=2, flags=1, of=COMMITTED, data=bytes(range(8))),
        attribute(flags=2, space=COMMITTED, data=bytes(range(8))),
    ],
)  # fmt: skip
def test_attributes_of_all_versions(body: bytes) -> None:
    header = ObjectHeader(96, 2, [Message(12, 0, body)])
    pieces = {1024: header1(message1(3, INT + bytes(4)), message1(1, SPACE + bytes(4)))}
    (found,), gone = parsed(attributes.read_attributes(Shared(FORM), {}, header), pieces)
    assert not gone
    assert (found.name, found.type.plain, found.space.shape, found.data) == ("one", "<i4", (2,), bytes(range(8)))


def slots(body: bytes, used: int = 1) -> Callable[[], tuple[Slot, ...]]:
    return parsing(lambda: read_slots(FORM, body), {2000: local_heap(), 3000: NAMES})


FILE_LIST = b"\1\0\0\0" + struct.pack("<HH", 2, 2) + u64(2000) + u64(8, 64, 100) + u64(16, 0, NOWHERE)


@refusals(
    (slots(b"\2" + FILE_LIST[1:]), corrupt(0, "an external file list that is damaged")),
    (slots(FILE_LIST[:8] + u64(NOWHERE)), corrupt(0, "an external file list that is damaged")),
    (slots(FILE_LIST[:-1]), CorruptFile(56, "a structure is cut off")),
    (slots(FILE_LIST[:16] + u64(40, 0, 1, 8, 0, 1)), CorruptFile(40, "a name outside of its local heap")),
)
def test_external_files(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_external_files_that_are_sound() -> None:
    assert slots(FILE_LIST)() == (Slot("a", 64, 100), Slot("b", 0, None))


# --------------------------------------------------------------------------------------- B-trees of version 2


def tree(data: bytes, *kinds: int) -> Callable[[], btree2.Tree]:
    return parsing(lambda: btree2.read_tree(FORM, 2048, *kinds), {2048: data})


def records(data: bytes, pieces: dict[int, bytes]) -> Callable[[], Any]:
    def act() -> Any:
        return parsed(btree2.read_records(FORM, tree(data, 5)()), pieces).tobytes()

    return act


def inner(kind: int, records: bytes, *children: tuple[int, int], signature: bytes = b"BTIN\0") -> bytes:
    """A node above leaves: (address, records) of each child."""
    return summed(signature + bytes((kind,)) + records + b"".join(u64(a) + bytes((n,)) for a, n in children))


TWO = b"abcdefghijklmnop"
LEAVES = {5000: leaf2(5, TWO), 6000: leaf2(5, TWO)}
DEEP = tree2(5, 8, 5, depth=1, in_root=1)
ROOT = inner(5, b"ABCDEFGH", (5000, 2), (6000, 2))


@refusals(
    (tree(b"BTHX" + tree2(5, 8, 1)[4:], 5), corrupt(2048, "no version 2 B-tree")),
    (tree(tree2(5, 8, 1)[:-1] + b"?", 5), corrupt(2048, "wrong checksum of a B-tree")),
    (tree(tree2(5, 8, 1), 6, 7), corrupt(2048, "a B-tree of type 5 where one of (6, 7) should be")),
    (tree(tree2(5, 0, 1), 5), corrupt(2048, "a B-tree with impossible sizes")),
    (tree(tree2(5, 8, 1, node=17), 5), corrupt(2048, "a B-tree with impossible sizes")),
    (tree(tree2(5, 8, 1, node=SIZE + 1), 5), corrupt(2048, "a B-tree with impossible sizes")),
    (tree(tree2(5, 8, 1, depth=33), 5), corrupt(2048, "a B-tree with impossible sizes")),
    (
        tree(tree2(5, 8, SIZE // 8 + 1, in_root=1), 5),
        corrupt(2048, "a B-tree of 8193 records in a file of 65536 bytes"),
    ),
    (records(tree2(5, 8, 2, in_root=1), LEAVES), corrupt(0, "a B-tree holds 1 records where 2 are announced")),
    (
        records(tree2(5, 8, 63, root=5000), LEAVES),
        corrupt(0, "a B-tree holds 63 records where 63 are announced"),
    ),
    (
        records(tree2(5, 8, 2, root=5000), {5000: leaf2(6, TWO)}),
        corrupt(5000, "no B-tree node of the expected kind"),
    ),
    (
        records(tree2(5, 8, 2, root=5000), {5000: leaf2(5, TWO, b"BTLX\0")}),
        corrupt(5000, "no B-tree node of the expected kind"),
    ),
    (
        records(tree2(5, 8, 2, root=5000), {5000: leaf2(5, TWO)[:-1] + b"?"}),
        corrupt(5000, "wrong checksum of a B-tree node"),
    ),
    (
        records(tree2(5, 8, 5, depth=1, in_root=1, node=20), {**LEAVES, 4096: ROOT}),
        corrupt(0, "a B-tree whose nodes hold no record"),
    ),
    (
        records(DEEP, {**LEAVES, 4096: inner(5, b"ABCDEFGH", (5000, 2), (6000, 3))}),
        corrupt(0, "a B-tree holds more records than it announces"),
    ),
    (
        records(DEEP, {4096: inner(5, b"ABCDEFGH", (5000, 2), (6000, 1)), 5000: LEAVES[5000], 6000: leaf2(5, TWO[:8])}),
        corrupt(0, "a B-tree holds 4 records where 5 are announced"),
    ),
    (
        records(tree2(5, 8, 90, depth=1, in_root=1), {**LEAVES, 4096: inner(5, b"ABCDEFGH", (5000, 2), (6000, 63))}),
        corrupt(6000, "a B-tree node with more records than it can hold"),
    ),
    (
        records(tree2(5, 8, 90, depth=1, in_root=30), {4096: ROOT}),
        corrupt(4096, "a B-tree node with more records than it can hold"),
    ),
    (
        records(DEEP, {**LEAVES, 4096: inner(5, b"ABCDEFGH", (5000, 2), (6000, 2), signature=b"BTLF\0")}),
        corrupt(4096, "no B-tree node of the expected kind"),
    ),
    (
        records(DEEP, {4096: ROOT, 5000: leaf2(5, TWO), 6000: leaf2(6, TWO)}),
        corrupt(6000, "no B-tree node of the expected kind"),
    ),
    (records(DEEP, {4096: ROOT, 5000: leaf2(5, TWO)}), CorruptFile(0, "wrong checksum of a B-tree node")),
    (
        records(tree2(5, 8, 2, root=SIZE - 100), {SIZE - 100: leaf2(5, TWO)}),
        corrupt(SIZE - 100, "a structure of 512 bytes lies outside of the file"),
    ),
    (
        records(DEEP, {**LEAVES, 4096: inner(5, b"ABCDEFGH", (5000, 2), (SIZE - 100, 2))}),
        corrupt(SIZE - 100, "a structure of 512 bytes lies outside of the file"),
    ),
    (
        records(DEEP, {**LEAVES, 4096: inner(5, b"ABCDEFGH", (5000, 2), (1 << 40, 2))}),
        corrupt(1 << 40, "a structure of 26 bytes lies outside of the file"),
    ),
)
def test_trees(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_trees_that_are_sound() -> None:
    assert records(DEEP, {**LEAVES, 4096: ROOT})() == TWO + b"ABCDEFGH" + TWO
    assert records(tree2(5, 8, 2, root=5000), LEAVES)() == TWO
    assert records(tree2(5, 8, 2, root=5000, node=26), LEAVES)() == TWO  # a full node
    assert records(tree2(5, 8, 0, root=NOWHERE), {})() == b""
    assert records(tree2(5, 8, 2, root=NOWHERE), {})() == b""
    assert tree(tree2(5, 8, 1, depth=32, node=18), 4, 5)().depth == 32
    assert tree(tree2(5, 8, SIZE // 8, in_root=1, node=SIZE), 5)().total == SIZE // 8
    full = bytes(np.arange(62 * 8, dtype=np.uint8))
    assert records(tree2(5, 8, 62, root=5000), {5000: leaf2(5, full)})() == full


def test_a_tree_of_three_levels() -> None:
    """Above the lowest inner level a pointer has the number of all records below, too."""

    def top(*children: tuple[int, int, int]) -> bytes:
        pointers = b"".join(u64(a) + bytes((n,)) + total.to_bytes(2, "little") for a, n, total in children)
        return summed(b"BTIN\0\5" + b"tttttttt" + pointers)

    pieces = {4096: top((5000, 1, 5), (6000, 1, 5)), 5000: inner(5, b"ABCDEFGH", (7000, 2), (7100, 2)),
              6000: inner(5, b"12345678", (7000, 2), (7100, 2)), 7000: leaf2(5, TWO), 7100: leaf2(5, TWO)}  # fmt: skip
    found = records(tree2(5, 8, 11, depth=2, in_root=1), pieces)()
    assert found == TWO + b"ABCDEFGH" + TWO + b"tttttttt" + TWO + b"12345678" + TWO
