"""Pieces of the HDF5 scanner by themselves: bytes in, values or a `CorruptFile` out."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, TypeVar

import imagecodecs
import numpy as np
import pytest

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Answer, Ask, Elsewhere, Fault, FirstBytes, Parse
from byteatlas.scanning.parsers import Pool, buffers, elsewhere, one
from byteatlas.types import ByteRange
from byteatlas_scanners.hdf5 import SCANNER
from byteatlas_scanners.hdf5.chunks.table import Space, from_linear
from byteatlas_scanners.hdf5.format import dataspace, layout
from byteatlas_scanners.hdf5.format.btree2 import little
from byteatlas_scanners.hdf5.format.header import read_header
from byteatlas_scanners.hdf5.format.links import External, Hard, Soft, UserDefined, parse_link
from byteatlas_scanners.hdf5.format.superblock import SIGNATURE, read_start
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, width_of
from byteatlas_scanners.hdf5.storage import split
from byteatlas_scanners.hdf5.virtual.mappings import numbered
from byteatlas_scanners.hdf5.virtual.selection import Slab, Stretches, read_selection

T = TypeVar("T")

FORM = Form(SourceInfo("memory://x", 1 << 20), 0, 1 << 20, 8, 8, 2**64 - 1)


def feed(parser: Parse[T], data: bytes) -> T:
    """Run a parser on bytes."""
    try:
        asks: Sequence[Ask] = next(parser)
        while True:
            asks = parser.send([data[a.offset : a.end] for a in asks if isinstance(a, ByteRange)])
    except StopIteration as stop:
        value: T = stop.value
        return value


def summed(data: bytes) -> bytes:
    return data + int(imagecodecs.h5checksum_metadata(data)).to_bytes(4, "little")


@pytest.mark.parametrize("at", [0, 512, 1024, 2048])
def test_sniff_finds_a_superblock_behind_a_user_block(at: int) -> None:
    assert SCANNER.sniff(FirstBytes(bytes(at) + SIGNATURE + bytes(100)))
    assert not SCANNER.sniff(FirstBytes(bytes(at + 1) + SIGNATURE + bytes(100)))


def _superblock(version: int, flags: int = 0, end: int = 4096) -> bytes:
    body = SIGNATURE + bytes((version, 8, 8, flags)) + struct.pack("<QQQQ", 0, 2**64 - 1, end, 96)
    return summed(body)


def test_superblock_of_version_2() -> None:
    start = feed(read_start(SourceInfo("x", 4096)), _superblock(2).ljust(4096, b"\0"))
    assert (start.root, start.form.size, start.form.offsets) == (96, 4096, 8)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (_superblock(3, flags=1), "open for writing"),
        (_superblock(3, flags=4), "open for writing"),
        (_superblock(2, end=9999), "truncated"),
        (_superblock(2)[:-1] + b"?", "checksum"),
        (SIGNATURE + b"\x02\x03\x08" + bytes(60), "addresses of 3"),
        (b"nothing at all" * 10, "no HDF5 signature"),
    ],
)
def test_superblocks_that_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        feed(read_start(SourceInfo("x", 4096)), data.ljust(4096, b"\0"))


def _header1(*messages: tuple[int, int, bytes], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<HHB3x", kind, len(data), flags) + data for kind, flags, data in messages)
    return struct.pack("<BxHII4x", 1, len(messages) if count is None else count, 1, len(body)) + body


def test_header_with_a_continuation() -> None:
    more = struct.pack("<HHB3x", 3, 8, 0) + b"datatype"
    data = _header1((1, 0, b"12345678"), (0x10, 0, struct.pack("<QQ", 200, len(more))), (0, 0, bytes(8)), count=4)
    header = feed(read_header(FORM, 0), data.ljust(200, b"\0") + more)
    assert [(m.type, m.body) for m in header.messages] == [(1, b"12345678"), (3, b"datatype")]


def test_continuations_in_a_circle_end() -> None:
    data = _header1((0x10, 0, struct.pack("<QQ", 16, 24)))
    with pytest.raises(CorruptFile, match="circle"):
        feed(read_header(FORM, 0), data.ljust(100, b"\0"))


@pytest.mark.parametrize("flags", [0x06, 0x28, 0x20])
def test_message_flags_that_contradict_each_other(flags: int) -> None:
    with pytest.raises(CorruptFile, match="flags"):
        feed(read_header(FORM, 0), _header1((3, flags, bytes(8))))


def test_unknown_messages_are_skipped_unless_they_must_be_understood() -> None:
    assert feed(read_header(FORM, 0), _header1((0x40, 0, bytes(8)))).messages
    with pytest.raises(CorruptFile, match="must be understood"):
        feed(read_header(FORM, 0), _header1((0x40, 0x80, bytes(8))))


def test_header_of_version_2_is_checked() -> None:
    body = b"OHDR" + bytes((2, 0, 12)) + struct.pack("<BHB", 1, 8, 0) + b"12345678"
    good = summed(body)
    assert feed(read_header(FORM, 0), good).messages[0].body == b"12345678"
    for at in range(7, len(good)):
        with pytest.raises(CorruptFile):
            feed(read_header(FORM, 0), good[:at] + bytes((good[at] ^ 1,)) + good[at + 1 :])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"\x02\x00\x00\x00", dataspace.SCALAR),
        (b"\x02\x00\x00\x02", dataspace.NULL),
        (b"\x02\x01\x00\x01" + struct.pack("<Q", 5), ((5,), (5,))),
        (b"\x01\x02\x01" + bytes(5) + struct.pack("<QQQQ", 5, 6, 2**64 - 1, 8), ((5, 6), (None, 8))),
    ],
)
def test_dataspaces(body: bytes, expected: Any) -> None:
    assert dataspace.parse(FORM, body) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"\x03\x01\x00\x01" + bytes(8),
        b"\x02\x21\x00\x01" + bytes(264),
        b"\x02\x02\x00\x01" + bytes(8),
        b"\x02\x01\x01\x01" + struct.pack("<QQ", 9, 8),
    ],
)
def test_damaged_dataspaces(body: bytes) -> None:
    with pytest.raises(CorruptFile):
        dataspace.parse(FORM, body)


def test_layouts_of_all_classes() -> None:
    chunked = b"\x03\x02\x03" + struct.pack("<QIII", 64, 4, 5, 8)
    assert layout.parse(FORM, chunked) == layout.Chunked(64, (4, 5), 8, layout.Index.BTREE1)
    assert layout.parse(FORM, b"\x03\x00\x03\x00abc") == layout.Compact(b"abc")
    assert layout.parse(FORM, b"\x03\x01" + struct.pack("<QQ", 2**64 - 1, 80)) == layout.Contiguous(None, 80)
    single = b"\x04\x02\x03\x02\x01\x07\x04\x01" + struct.pack("<QIQ", 99, 2, 512)
    expected = layout.Chunked(512, (7,), 4, layout.Index.SINGLE, raw_edges=True, single=(99, 2))
    assert layout.parse(FORM, single) == expected
    for body in (b"\x03\x02\x01" + struct.pack("<QI", 64, 4), b"\x03\x02\x02" + struct.pack("<QII", 64, 0, 4)):
        with pytest.raises(CorruptFile):
            layout.parse(FORM, body)
    with pytest.raises(Unsupported):
        layout.parse(FORM, b"\x09\x00")


def test_links_of_all_classes() -> None:
    assert parse_link(FORM, b"\x01\x00\x01a" + struct.pack("<Q", 77)).target == Hard(77)
    assert parse_link(FORM, b"\x01\x08\x01\x01s\x02\x00/x").target == Soft("/x")
    assert parse_link(FORM, b"\x01\x08\x40\x01e\x06\x00\x00f.h\x00p"[:-1] + b"\x00").target == External("f.h", "")
    assert parse_link(FORM, b"\x01\x08\xbb\x01u\x00\x00").target == UserDefined(0xBB)
    with pytest.raises(CorruptFile):
        parse_link(FORM, b"\x01\x00\x09a")


def test_regular_and_irregular_selections() -> None:
    regular = struct.pack("<IIBBI", 2, 3, 1, 2, 1) + struct.pack("<HHHH", 3, 10, 0xFFFF, 2)
    assert read_selection(Cursor(FORM, regular)) == ((Slab(3, 10, None, 2),),)
    blocks = struct.pack("<IIIIII", 2, 1, 0, 0, 1, 2) + struct.pack("<IIII", 1, 2, 5, 5)
    assert read_selection(Cursor(FORM, blocks)) == ((Stretches(((1, 2), (5, 1))),),)
    assert read_selection(Cursor(FORM, struct.pack("<IIII", 3, 1, 0, 0))) is None


def test_unlimited_selections_reach_as_far_as_the_data() -> None:
    slab = Slab(1, 4, None, 2)
    assert slab.within(10).tolist() == [1, 2, 5, 6, 9]
    assert slab.first(5).tolist() == [1, 2, 5, 6, 9]
    assert Slab(2, 1, 1, None).within(5).tolist() == [2, 3, 4]


def test_numbered_names() -> None:
    assert numbered("a%b_%%b.h5", 12) == "a12_%b.h5"


@pytest.mark.parametrize("shape", [(1000, 10, 10), (7, 1000, 1000), (3, 5, 7919), (1 << 20,)])
@pytest.mark.parametrize("target", [1000, 80_000])
def test_contiguous_data_split_evenly(shape: tuple[int, ...], target: int) -> None:
    chunk = split(shape, 8, target)
    assert all(n % c == 0 for n, c in zip(shape, chunk, strict=True))
    first = next((axis for axis, c in enumerate(chunk) if c != 1), 0)
    assert chunk[first + 1 :] == shape[first + 1 :]


def test_array_index_with_the_unlimited_axis_last() -> None:
    space = Space((4, 3), (5, None), (1, 1), 8, 0)
    address = np.arange(15, dtype=np.uint64)
    table = from_linear(space, (1, 0), 0, address, None, None)
    expected = {(row, column): column * 5 + row for row in range(4) for column in range(3)}
    assert dict(zip(table.flat.tolist(), table.address.tolist(), strict=True)) == {
        row * 3 + column: n for (row, column), n in expected.items()
    }


def test_little_reads_any_width() -> None:
    rows = np.arange(24, dtype=np.uint8).reshape(2, 12)
    for width in range(1, 9):
        expected = [int.from_bytes(row[1 : 1 + width].tobytes(), "little") for row in rows]
        assert little(rows, 1, width).tolist() == expected
    assert [width_of(n) for n in (0, 255, 256, 65535, 65536)] == [1, 1, 2, 2, 3]


def test_pool_runs_what_is_added_while_it_runs_and_contains_failures() -> None:
    """Each ask fails by itself: those that asked beside it go on, and nobody asks again."""
    pool, seen = Pool(), []

    def task(depth: int) -> Parse[int]:
        try:
            buffers((yield (ByteRange(depth, 1),)))
        except FileFault:
            seen.append(-depth)
            return -depth
        seen.append(depth)
        if depth < 3:
            pool.add(task(depth + 1))
            pool.add(task(depth + 1))
        return depth

    pool.add(task(1))
    running = pool.run()
    asks = next(running)
    batches = [len(asks)]
    try:
        while True:
            answers: list[Answer] = [b"x"] * len(asks)
            if asks[0] == ByteRange(3, 1):
                answers[0] = Fault(CorruptFile(0, "only the first"))
            asks = running.send(answers)
            batches.append(len(asks))
    except StopIteration as stop:
        results = stop.value
    assert batches == [1, 2, 4]
    assert sorted(seen) == [-3, 1, 2, 2, 3, 3, 3]
    assert sorted(results) == sorted(seen)


def test_asks_of_another_file() -> None:
    def parser() -> Parse[bytes]:
        return bytes((yield from one(ByteRange(4, 2))))

    running = elsewhere("other.h5", parser())
    assert next(running) == [Elsewhere("other.h5", ByteRange(4, 2))]
    with pytest.raises(StopIteration) as stop:
        running.send([b"ab"])
    assert stop.value.value == b"ab"
