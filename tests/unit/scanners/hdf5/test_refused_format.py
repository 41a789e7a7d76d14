"""Superblocks, headers, messages and B-trees with one wrong field: the error, its place and its words."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from tests.hdf5_parts import (
    BASE,
    FORM,
    NOWHERE,
    SIZE,
    header1,
    header2,
    message1,
    message2,
    parsing,
    summed,
    u64,
)
from tests.scanning import refusals, refuses, run

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.types import ByteRange
from byteatlas.values import replace
from byteatlas_scanners.hdf5.format.header import Message, ObjectHeader, check_dates, read_header
from byteatlas_scanners.hdf5.format.superblock import SIGNATURE, Start, read_start
from byteatlas_scanners.hdf5.format.wire import Cursor, verify, verify_all


def corrupt(address: int, why: str) -> CorruptFile:
    """The error at an address behind the user block."""
    return CorruptFile(BASE + address, why)


def cursor(data: bytes, at: int = 0) -> Cursor:
    return Cursor(FORM, data, at)


# --------------------------------------------------------------------------------------- fields


@refusals(
    (lambda: FORM.block(SIZE - 8, 9), corrupt(SIZE - 8, "a structure of 9 bytes lies outside of the file")),
    (lambda: FORM.block(2**64, 0), corrupt(2**64, "a structure of 0 bytes lies outside of the file")),
    (lambda: FORM.block(-1, 8), corrupt(-1, "a structure of 8 bytes lies outside of the file")),
    (lambda: FORM.block(8, -1), corrupt(8, "a structure of -1 bytes lies outside of the file")),
    (lambda: FORM.some(SIZE, 8), corrupt(SIZE, "an address outside of the file")),
    (lambda: FORM.some(-1, 8), corrupt(-1, "an address outside of the file")),
    (lambda: cursor(b"abcd", 1).u32(), CorruptFile(1, "a structure is cut off")),
    (lambda: cursor(b"abcd", 1).take(4), CorruptFile(1, "a structure is cut off")),
    (lambda: cursor(b"abcd", 1).take(-1), CorruptFile(1, "a structure is cut off")),
    (lambda: cursor(b"\0bcd", 1).text(), CorruptFile(1, "a name without an end")),
    (lambda: cursor(b"xABCD\0", 1).expect(b"ABCE", 0), CorruptFile(1, "b'ABCD' where b'ABCE' should be")),
    (lambda: cursor(b"xABCD\2", 1).expect(b"ABCD", 0, 1), CorruptFile(5, "b'ABCD' of unknown version 2")),
    (lambda: verify(b"abc", 7, "it"), CorruptFile(7, "wrong checksum of it")),
    (lambda: verify(b"abcdefgh", 7, "it"), CorruptFile(7, "wrong checksum of it")),
    (lambda: verify_all([summed(b"ab"), b"abcdefgh"], "one"), CorruptFile(0, "wrong checksum of one")),
)
def test_fields(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_fields_that_just_fit() -> None:
    assert FORM.block(SIZE - 8, 8) == ByteRange(BASE + SIZE - 8, 8)
    assert FORM.block(0, 0) == ByteRange(BASE, 0)
    assert FORM.some(SIZE - 1, 8) == ByteRange(BASE + SIZE - 1, 1)
    assert FORM.some(0, 8) == ByteRange(BASE, 8)
    fields = cursor(b"\1\2\0ab\0")
    assert (fields.u8(), fields.u16(), fields.text(), fields.at) == (1, 2, b"ab", 6)
    assert cursor(b"abcd").u32() == 0x64636261
    assert cursor(u64(NOWHERE, 5)).address() is None
    assert cursor(u64(NOWHERE, 5), 8).address() == 5
    verify(summed(b""), 0, "nothing")
    verify_all([summed(b"ab"), summed(b"c")], "two")


# --------------------------------------------------------------------------------------- superblocks


def old_superblock(
    version: int = 0, *, leaf: int = 4, group: int = 16, chunk: int = 32, flags: int = 0, end: int = 4096,
    space: int = NOWHERE, driver: int = NOWHERE, root: int = 96, cache: int = 0, widths: bytes = b"\0\x08\x08\0",
    odd: bytes = b"\0\0\0",
) -> bytes:  # fmt: skip
    head = SIGNATURE + bytes((version,)) + odd[:2] + b"\0" + odd[2:] + widths[1:3] + b"\0"
    head += struct.pack("<HHI", leaf, group, flags) + (struct.pack("<HH", chunk, 0) if version else b"")
    return head + u64(0, space, end, driver) + struct.pack("<QQIIQQ", 0, root, cache, 0, 1, 2)


def new_superblock(
    version: int = 2, *, flags: int = 0, end: int = 4096, root: int = 96, extension: int = NOWHERE, base: int = 0
) -> bytes:
    return summed(SIGNATURE + bytes((version, 8, 8, flags)) + u64(base, extension, end, root))


def start(data: bytes, at: int = BASE, **pieces: bytes) -> Start:
    """Read a file of 4096 bytes behind a user block; pieces are named ``at`` and their address."""
    whole = bytearray(at + 4096)
    whole[at : at + len(data)] = data
    for name, piece in pieces.items():
        place = at + int(name.removeprefix("at"))
        whole[place : place + len(piece)] = piece
    return run(read_start(SourceInfo("memory://file", len(whole))), bytes(whole))


def extended(kind: int, body: bytes) -> Start:
    return start(new_superblock(extension=1000), at1000=header2(message2(kind, body)))


DRIVER = b"\0" + bytes(7) + b"NCSAfami" + bytes(8)
SPACE_INFO_1 = b"\1\1\1" + bytes(2 * 8 + 2 + 8 + 12 * 8)


@refusals(
    (lambda: start(old_superblock(flags=8)), corrupt(0, "a superblock with unknown flags")),
    (lambda: start(old_superblock(leaf=0)), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(group=0)), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(1, chunk=0)), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(odd=b"\1\0\0")), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(odd=b"\0\1\0")), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(odd=b"\0\0\1")), corrupt(9, "a superblock with impossible fields")),
    (lambda: start(old_superblock(widths=b"\0\3\x08\0")), corrupt(9, "addresses of 3 and lengths of 8 bytes")),
    (lambda: start(old_superblock(widths=b"\0\x08\x10\0")), corrupt(9, "addresses of 8 and lengths of 16 bytes")),
    (
        lambda: start(old_superblock(space=64)),
        corrupt(0, "a superblock with a field that these versions do not have"),
    ),
    (lambda: start(old_superblock(cache=2)), corrupt(0, "a root group of unknown kind")),
    (lambda: start(old_superblock(root=NOWHERE)), corrupt(0, "no root group")),
    (lambda: start(old_superblock(end=4097)), corrupt(0, "truncated: 4608 bytes of 4097")),
    (lambda: start(old_superblock(end=0)), corrupt(0, "truncated: 4608 bytes of 0")),
    (lambda: start(old_superblock(end=NOWHERE)), corrupt(0, "truncated: 4608 bytes of None")),
    (
        lambda: start(old_superblock(driver=2000), at2000=DRIVER),
        Unsupported("driver", "the file is one part of several (driver 'NCSAfami')"),
    ),
    (
        lambda: start(old_superblock(driver=4090)),
        corrupt(4090, "a structure of 16 bytes lies outside of the file"),
    ),
    (lambda: start(new_superblock(flags=8)), corrupt(11, "a superblock with unknown flags")),
    (
        lambda: start(new_superblock(3, flags=4)),
        corrupt(11, "the file is marked as open for writing (h5clear removes the mark)"),
    ),
    (lambda: start(new_superblock(root=NOWHERE)), corrupt(0, "no root group")),
    (lambda: start(new_superblock(end=5000, base=903)), corrupt(0, "truncated: 4608 bytes of 5000")),
    (lambda: start(new_superblock()[:-1] + b"?"), corrupt(0, "wrong checksum of the superblock")),
    (lambda: start(new_superblock(4)), Unsupported("superblock", "superblock version 4 is not known")),
    (lambda: extended(0x13, b"\0" + struct.pack("<HHH", 0, 16, 4)), corrupt(1000, "B-trees of rank 0")),
    (
        lambda: extended(0x14, b"\0NCSAmult" + bytes(20)),
        Unsupported("driver", "the file is one part of several (driver 'NCSAmult')"),
    ),
    (
        lambda: extended(0x18, b"\0" + u64(512, 64)),
        Unsupported("cache-image", "the file's metadata are in a cache image (h5repack removes it)"),
    ),
    (lambda: extended(0x17, SPACE_INFO_1[:-1]), CorruptFile(3, "a structure is cut off")),
    (lambda: extended(0x17, b"\0\1" + bytes(8 + 6 * 8 - 1)), CorruptFile(2, "a structure is cut off")),
    (
        lambda: start(new_superblock(extension=4092), at4092=b"OHDR"),
        corrupt(4092, "an object header is cut off"),
    ),
    (
        lambda: start(new_superblock(extension=4092), at4092=b"\1\0\1\0"),
        corrupt(4092, "an object header is cut off"),
    ),
    (
        lambda: run(read_start(SourceInfo("memory://file", BASE + 15)), bytes(BASE) + SIGNATURE + bytes(7)),
        corrupt(0, "the superblock is cut off"),
    ),
    (
        lambda: run(read_start(SourceInfo("memory://file", BASE + 40)), bytes(BASE) + new_superblock()[:40]),
        CorruptFile(36, "a structure is cut off"),
    ),
    (lambda: start(b"nothing at all"), CorruptFile(0, "no HDF5 signature")),
)
def test_superblocks(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_superblocks_that_are_sound() -> None:
    assert start(old_superblock(leaf=5, group=7)).form == replace(
        FORM, source=SourceInfo("memory://file", 4608), size=4096, leaf_k=5, group_k=7
    )
    assert start(old_superblock(1, chunk=9)).form.chunk_k == 9
    assert start(old_superblock(cache=1, flags=7, end=4000)).form.size == 4000
    assert start(new_superblock(2, flags=5)).root == 96  # marks of writers lock nothing before version 3
    assert start(new_superblock(3, flags=2, end=4608, base=512)).form.size == 4096
    found = extended(0x13, b"\0" + struct.pack("<HHH", 3, 5, 7)).form
    assert (found.chunk_k, found.group_k, found.leaf_k) == (3, 5, 7)
    found = extended(0x0F, b"\0" + u64(700) + b"\2").form
    assert (found.shared_table, found.shared_indexes) == (700, 2)
    assert extended(0x18, b"\0" + u64(NOWHERE, 0)).root == 96
    assert extended(0x17, SPACE_INFO_1).root == 96
    assert extended(0x17, b"\1\1\0" + bytes(2 * 8 + 2 + 8)).root == 96
    assert extended(0x17, b"\0\1" + bytes(8 + 6 * 8)).root == 96
    assert extended(0x17, b"\0\2" + bytes(8)).root == 96
    for at in (0, 1024, 4096):
        assert start(new_superblock(), at).form.base == at


# --------------------------------------------------------------------------------------- object headers


def continued(block: bytes, at: int = 4096, length: int | None = None) -> bytes:
    """A header of version 2 that goes on elsewhere."""
    return header2(message2(0x10, u64(at, len(block) if length is None else length)))


def read(data: bytes, more: bytes = b"") -> Callable[[], ObjectHeader]:
    return parsing(lambda: read_header(FORM, 1024), {1024: data, 4096: more})


OCHK = summed(b"OCHK" + message2(3, b"datatype"))


@refusals(
    (read(b"OHDX"), corrupt(1024, "no object header")),
    (read(header1(message1(3, bytes(8)), size=(16 << 20) + 8)), corrupt(1024, "an object header of 16777224 bytes")),
    (
        read(header1(message1(3, bytes(8)), size=SIZE)),
        corrupt(1024, "a structure of 65552 bytes lies outside of the file"),
    ),
    (read(header1(message1(3, bytes(8)), count=2)), corrupt(1024, "1 header messages where 2 are announced")),
    (
        read(header1(message1(3, bytes(8)), size=12)),
        corrupt(0, "a header message that sticks out of its block, or is not aligned"),
    ),
    (
        read(header1(message1(3, bytes(4)), bytes(4))),
        corrupt(0, "a header message that sticks out of its block, or is not aligned"),
    ),
    (read(header1(message1(3, bytes(8)), bytes(4))), corrupt(0, "a gap at the end of an object header of version 1")),
    (read(header1(message1(3, bytes(8), 0x06))), corrupt(0, "a header message with flags 0x6")),
    (read(header1(message1(8, bytes(8), 0x02))), corrupt(0, "a header message with flags 0x2")),
    (read(header1(message1(8, bytes(8), 0x40))), corrupt(0, "a header message with flags 0x40")),
    (read(header1(message1(0x10, u64(NOWHERE, 8)))), corrupt(0, "a continuation without an address")),
    (read(header1(message1(0x10, u64(4096, 0)))), corrupt(0, "a continuation of zero bytes")),
    (read(header1(message1(0x16, bytes(8)))), corrupt(0, "a count of references in an object header of version 1")),
    (read(header1(message1(0x10, u64(2, 8)[:8]))), CorruptFile(8, "a structure is cut off")),
    (
        read(header1(message1(0x19, bytes(8), 0x80))),
        corrupt(0, "a header message of unknown type 0x19 that must be understood"),
    ),
    (
        read(header2(message2(9, bytes(8), 0x80))),
        corrupt(0, "a header message of unknown type 0x9 that must be understood"),
    ),
    (read(header2(version=3)), corrupt(1024, "an object header of version 3, flags 0x2")),
    (read(header2(flags=0x42)), corrupt(1024, "an object header of version 2, flags 0x42")),
    (read(header2(flags=0x82)), corrupt(1024, "an object header of version 2, flags 0x82")),
    (read(header2(size=(16 << 20) + 1)), corrupt(1024, "an object header of 16777217 bytes")),
    (read(header2(size=SIZE)), corrupt(1024, "a structure of 65550 bytes lies outside of the file")),
    (read(header2(message2(3, b"x"))[:-1] + b"?"), corrupt(1024, "wrong checksum of an object header")),
    (
        read(header2(struct.pack("<BHB", 3, 5, 0) + b"1234")),
        corrupt(0, "a header message sticks out of its block"),
    ),
    (read(header2(message2(3, b"x", 0x28))), corrupt(0, "a header message with flags 0x28")),
    (read(header2(message2(0x11, bytes(16), 0x02))), corrupt(0, "a header message with flags 0x2")),
    (read(continued(OCHK), b"OCHX" + OCHK[4:]), corrupt(4096, "no continuation of an object header")),
    (
        read(continued(OCHK), OCHK[:-1] + b"?"),
        corrupt(4096, "wrong checksum of an object header's continuation"),
    ),
    (read(continued(OCHK, 1024 * 1024)), corrupt(1 << 20, "a structure of 20 bytes lies outside of the file")),
    (read(continued(b"", length=(16 << 20) + 1)), corrupt(4096, "object header continuations run in a circle")),
    (
        parsing(lambda: read_header(FORM, 1024), {1024: header1(message1(0x10, u64(1040, 24)))}),
        corrupt(1040, "object header continuations run in a circle"),
    ),
    (
        parsing(lambda: read_header(FORM, SIZE - 4), {SIZE - 4: b"OHDR"}),
        corrupt(SIZE - 4, "an object header is cut off"),
    ),
    (parsing(lambda: read_header(FORM, SIZE), {}), corrupt(SIZE, "an address outside of the file")),
)
def test_object_headers(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_object_headers_that_are_sound() -> None:
    assert read(continued(OCHK), OCHK)().messages == [Message(3, 0, b"datatype")]
    gap = header2(message2(3, b"datatype"), b"\0\0\0")
    assert read(gap)().messages == [Message(3, 0, b"datatype")]
    tracked = summed(b"OHDR" + struct.pack("<BBI", 2, 6, 10) + struct.pack("<BHBH", 3, 4, 0, 258) + b"abcd")
    assert read(tracked)().messages == [Message(3, 0, b"abcd", 258)]
    dated = summed(b"OHDR" + struct.pack("<BB", 2, 0x30) + bytes(20) + b"\x05" + message2(3, b"a"))
    assert read(dated)().messages == [Message(3, 0, b"a")]
    long = header2(*[message2(3, bytes(200)) for _ in range(9)])  # longer than the first look
    assert len(read(long)().messages) == 9
    unknown = header1(message1(0x19, bytes(8)), message1(0, bytes(8)))
    assert [m.type for m in read(unknown)().messages] == [0x19]


@pytest.mark.parametrize(
    ("kind", "body", "sound"),
    [
        (0x12, b"\1\0\0\0\0\0\0\0", True), (0x12, b"\2\0\0\0\0\0\0\0", False), (0x12, b"", False),
        (0x0E, b"20240229123456\0\0", True), (0x0E, b"2024022912345x\0\0", False), (0x0E, b"", False),
        (0x03, b"", True),
    ],
)  # fmt: skip
def test_modification_times(kind: int, body: bytes, sound: bool) -> None:
    header = ObjectHeader(1024, 2, [Message(3, 0, b""), Message(kind, 0, body)])
    if sound:
        check_dates(FORM, header)
    else:
        refuses(corrupt(1024, "a damaged modification time"), lambda: check_dates(FORM, header))
