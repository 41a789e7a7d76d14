"""HDF4 elements and files with one wrong number: what is refused, why, and what just passes."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.hdf4.raw_hdf4 import (
    CHUNK_TAG,
    COMPRESSED_TAG,
    DEFLATE,
    LINKED_TAG,
    NT,
    SD,
    SPECIAL,
    VH,
    VS,
    Storage,
    Writer,
)
from tests.scanning import refusals, refuses, run, scan_bytes

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import ScanOptions
from byteatlas.values import replace
from byteatlas_scanners.hdf4 import SCANNER, chunks
from byteatlas_scanners.hdf4.chunks import place_chunks
from byteatlas_scanners.hdf4.file import Hdf4File, open_file
from byteatlas_scanners.hdf4.format import elements
from byteatlas_scanners.hdf4.format.directory import TagRef, read_directory
from byteatlas_scanners.hdf4.format.elements import ChunkedElement, ElementCompression, PlainElement, find_element, load
from byteatlas_scanners.hdf4.format.records import RecordCursor
from byteatlas_scanners.hdf4.format.vdata import Vdata, VdataField, parse_vdata
from byteatlas_scanners.hdf4.images import RasterImage, image_arrays
from byteatlas_scanners.hdf4.sds_groups import _calibration, _range
from byteatlas_scanners.hdf4.storage import Wanted, compression_codec, place_element
from byteatlas_scanners.hdf4.tables import table_arrays
from byteatlas_scanners.hdf4.values.attributes import attribute_value, value_of
from byteatlas_scanners.hdf4.values.number_types import default_fill, number_type, type_of_record

MAGIC = b"\x0e\x03\x13\x01"
PLAIN = CodecSpec("bytes")


def made(*parts: tuple[int, int, bytes | None]) -> bytes:
    """A file of these elements: tag, reference number, bytes."""
    writer = Writer()
    for tag, ref, data in parts:
        writer.add(tag, data, ref)
    return writer.finish(datasets=False)


def opened(data: bytes) -> Hdf4File:
    return run(open_file(SourceInfo("memory://file", len(data)), ScanOptions()), data)


def element(*parts: tuple[int, int, bytes | None], tag: int = SD, ref: int = 1) -> Callable[[], object]:
    """The element of data in a file of these."""

    def act() -> object:
        data = made(*parts)
        return run(find_element(run(read_directory(len(data)), data), tag, ref), data)

    return act


def place_of(data: bytes, raw: bytes) -> int:
    return data.index(raw)


# --------------------------------------------------------------------------------------- directories


def directory(data: bytes) -> Callable[[], object]:
    return lambda: run(read_directory(len(data)), data)


@refusals(
    (directory(b"\x0e\x03\x13\x02" + bytes(20)), CorruptFile(0, "not an HDF4 file")),
    (directory(MAGIC + bytes(5)), CorruptFile(4, "a block of descriptors lies outside of the file (9 bytes)")),
    (
        directory(MAGIC + struct.pack(">HI", 1, 0)),
        CorruptFile(4, "a block of 1 descriptors does not fit into the file"),
    ),
    (
        directory(MAGIC + struct.pack(">HI", 0, 4)),
        CorruptFile(4, "the chain of descriptor blocks is a circle or has no end"),
    ),
    (
        directory(MAGIC + struct.pack(">HI", 0, 5)),
        CorruptFile(5, "a block of descriptors lies outside of the file (10 bytes)"),
    ),
    (lambda: RecordCursor(b"abc", 100).take(4), CorruptFile(100, "a record ends before 4 bytes are read")),
    (lambda: RecordCursor(b"abc", 100).take(-1), CorruptFile(100, "a record ends before -1 bytes are read")),
)
def test_directories(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


# --------------------------------------------------------------------------------------- special elements


SPECIAL_DATA = SD | SPECIAL


def special(raw: bytes, *others: tuple[int, int, bytes | None]) -> Callable[[], object]:
    return element((SPECIAL_DATA, 1, raw), *others)


def linked(length: int = 8, block: int = 4, per_table: int = 2, ref: int = 5) -> bytes:
    return struct.pack(">HIIIH", 1, length, block, per_table, ref)


def table(following: int, *refs: int) -> bytes:
    return struct.pack(f">H{len(refs)}H", following, *refs)


TWO = ((LINKED_TAG, 5, table(0, 6, 7)), (LINKED_TAG, 6, b"abcd"), (LINKED_TAG, 7, b"efgh"))
AT = len(MAGIC) + 6 + 12
"""Where the bytes of the first element of a file of one are."""


def at(count: int) -> int:
    """Where the bytes of the first of so many elements are."""
    return len(MAGIC) + 6 + 12 * count


def compressed(coder: int = 4, length: int = 8, ref: int = 5) -> bytes:
    return struct.pack(">HHIHHH", 3, 0, length, ref, 0, coder)


def chunked(
    *, version: int = 0, flag: int = 0, length: int = 4, itemsize: int = 4, rank: int = 1,
    axes: tuple[tuple[int, int, int], ...] = ((1, 4, 2),), fill: bytes = bytes(4), more: bytes = b"", table: int = 9,
) -> bytes:  # fmt: skip
    head = struct.pack(">BIIIIHHI", version, flag, length, 2, itemsize, VH, table, 0) + struct.pack(">I", rank)
    head += b"".join(struct.pack(">III", *axis) for axis in axes) + struct.pack(">I", len(fill)) + fill + more
    return struct.pack(">HI", 5, len(head)) + head


@refusals(
    (special(struct.pack(">H", 4)), Unsupported("layout", "a special element of kind 4")),
    (special(b"\0"), CorruptFile(at(1), "a record ends before 2 bytes are read")),
    (special(linked(per_table=0), *TWO), CorruptFile(at(4), "linked blocks of 4 bytes, 0 to a table")),
    (
        special(linked(per_table=(1 << 20) + 1), *TWO),
        CorruptFile(at(4), "linked blocks of 4 bytes, 1048577 to a table"),
    ),
    (special(linked(block=0), *TWO), CorruptFile(at(4), "linked blocks of 0 bytes, 2 to a table")),
    (special(linked(ref=8), *TWO), CorruptFile(at(4), "table 8 of linked blocks is not there, or leads in a circle")),
    (
        special(linked(), (LINKED_TAG, 5, table(5, 6, 7)), *TWO[1:]),
        CorruptFile(at(4), "table 5 of linked blocks is not there, or leads in a circle"),
    ),
    (special(linked(length=9), *TWO), CorruptFile(at(4), "linked blocks end before their element")),
    (special(linked(), *TWO[:2]), CorruptFile(at(3), "linked block 7 is not there")),
    (
        special(linked(), *TWO[:2], (LINKED_TAG, 7, b"efg")),
        CorruptFile(at(4) + 16 + 6 + 4, "a linked block of 4 bytes is not wholly there"),
    ),
    (
        special(compressed(), (COMPRESSED_TAG | SPECIAL, 5, compressed(ref=6)), (COMPRESSED_TAG, 6, b"abc")),
        Unsupported("layout", "a compressed element inside of another"),
    ),
    (special(chunked(version=1)), Unsupported("layout", "a chunked element of version 1")),
    (special(chunked(rank=0, axes=())), CorruptFile(at(1), "a chunked element of 0 dimensions")),
    (special(chunked(rank=33)), CorruptFile(at(1), "a chunked element of 33 dimensions")),
    (special(chunked(axes=((1, 4, 0),))), CorruptFile(at(1), "chunks of [0] elements of 4 bytes")),
    (special(chunked(axes=((1, 4, 1 << 31),))), CorruptFile(at(1), f"chunks of [{1 << 31}] elements of 4 bytes")),
    (special(chunked(axes=((1, 1 << 31, 2),))), CorruptFile(at(1), "chunks of [2] elements of 4 bytes")),
    (special(chunked(itemsize=0)), CorruptFile(at(1), "chunks of [2] elements of 0 bytes")),
    (special(chunked(itemsize=1 << 16)), CorruptFile(at(1), "chunks of [2] elements of 65536 bytes")),
    (
        special(chunked(flag=3, more=struct.pack(">HI", 4, 0))),
        CorruptFile(at(1), "a chunked element without the compression that it names"),
    ),
    (special(chunked(flag=3)), CorruptFile(at(1) + len(chunked()), "a record ends before 2 bytes are read")),
)  # fmt: skip
def test_special_elements(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_special_elements_that_are_sound() -> None:
    found: Any = special(linked(), *TWO)()
    assert (found.length, found.lengths.tolist()) == (8, [4, 4])
    one = ((LINKED_TAG, 5, table(8, 6)), (LINKED_TAG, 8, table(0, 7)), *TWO[1:])
    found = special(linked(per_table=1), *one)()
    assert found.lengths.tolist() == [4, 4]
    found = special(linked(length=7), *TWO)()
    assert found.lengths.tolist() == [4, 3]
    found = special(linked(), (LINKED_TAG, 5, table(0, 6, 0)), TWO[1])()
    assert found.offsets.tolist()[1] == elements.ZEROS
    found = special(chunked(rank=32, axes=((1, 1, 1),) * 32))()
    assert len(found.shape) == 32
    found = special(chunked(axes=((0x101, 4, 2),), flag=3, more=struct.pack(">HIHH", 3, 4, 0, 4)))()
    assert (found.unlimited, found.compression) == ((True,), ElementCompression(4))
    assert element((SD, 1, None))() is None
    assert element()() is None


def loaded(what: Any, most: int = 8) -> Callable[[], bytes]:
    data = made((SD, 1, b"abcdefgh"))
    return lambda: run(load(run(read_directory(len(data)), data), what, most), data)


@refusals(
    (loaded(PlainElement(at(1), 9)), Unsupported("too-large", "9 bytes of metadata in one element")),
    (
        loaded(ChunkedElement(8, 4, (2,), (2,), (False,), 9, b"", None)),
        Unsupported("layout", "metadata that are compressed, chunked or in another file"),
    ),
    (
        lambda: cut_element(),
        CorruptFile(at(1), "an element of 100 bytes lies outside of the file (37 bytes)"),
    ),
)
def test_metadata(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def cut_element() -> object:
    data = bytearray(made((SD, 1, bytes(15))))
    struct.pack_into(">I", data, at(1) - 4, 100)
    return run(find_element(run(read_directory(len(data)), bytes(data)), SD, 1), bytes(data))


def test_metadata_that_are_sound() -> None:
    assert loaded(PlainElement(at(1), 8))() == b"abcdefgh"
    assert loaded(None)() == b""


# --------------------------------------------------------------------------------------- compression and placing


def codec(coder: int, *numbers: int, itemsize: int = 4) -> Callable[[], object]:
    return lambda: compression_codec(ElementCompression(coder, numbers), itemsize)


def placed(what: Any, shape: tuple[int, ...] = (2,), skip: int = 0) -> Callable[[], object]:
    source = SourceInfo("memory://file", 1000)
    return lambda: run(place_element(what, Wanted(shape, PLAIN, 4, skip), source, ScanOptions()), b"")


@refusals(
    (codec(7), Unsupported("compression", "compression 7 is not supported")),
    (codec(3, 0), Unsupported("compression", "compression 3 is not supported")),
    (codec(3, (1 << 16) + 1), Unsupported("compression", "compression 3 is not supported")),
    (codec(2, 0, 0, 0, 31, 0), CorruptFile(0, "0 bits from bit 31 down, of 32")),
    (codec(2, 0, 0, 0, 31, 33), CorruptFile(0, "33 bits from bit 31 down, of 32")),
    (codec(2, 0, 0, 0, 32, 1), CorruptFile(0, "1 bits from bit 32 down, of 32")),
    (codec(2, 0, 0, 0, 7, 1, itemsize=9), CorruptFile(0, "1 bits from bit 7 down, of 72")),
    (codec(5, 0, 64, 0, 8, 1), CorruptFile(0, "szip with blocks of 1, 8 bits, lines of 64")),
    (codec(5, 0, 64, 0, 8, 33), CorruptFile(0, "szip with blocks of 33, 8 bits, lines of 64")),
    (codec(5, 0, 64, 0, 0, 8), CorruptFile(0, "szip with blocks of 8, 0 bits, lines of 64")),
    (codec(5, 0, 64, 0, 65, 8), CorruptFile(0, "szip with blocks of 8, 65 bits, lines of 64")),
    (codec(5, 0, 0, 0, 8, 8), CorruptFile(0, "szip with blocks of 8, 8 bits, lines of 0")),
    (codec(5, 0, 4097, 0, 8, 8), CorruptFile(0, "szip with blocks of 8, 8 bits, lines of 4097")),
    (placed(None, (1 << 45,)), CorruptFile(0, f"a dataset of shape ({1 << 45},)")),
    (placed(None, (1,) * 65), CorruptFile(0, f"a dataset of shape {(1,) * 65}")),
    (placed(PlainElement(0, 7)), CorruptFile(0, "7 bytes of data where 8 are needed")),
    (placed(PlainElement(0, 8), skip=1), CorruptFile(0, "8 bytes of data where 9 are needed")),
    (
        placed(elements.CompressedElement(9, ElementCompression(4), PlainElement(0, 8))),
        Unsupported("layout", "9 compressed bytes for an array of 8"),
    ),
    (
        placed(elements.CompressedElement(9, ElementCompression(4), PlainElement(0, 8)), skip=1),
        Unsupported("layout", "9 compressed bytes for an array of 8"),
    ),
    (
        placed(ChunkedElement(8, 4, (2,), (2,), (False,), 9, b"", None)),
        Unsupported("layout", "a chunked element where none is expected"),
    ),
)
def test_storage(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_storage_that_is_sound() -> None:
    found: Any = codec(2, 0, 1, 0, 31, 32)()
    assert dict(found.configuration) == {"itemsize": 4, "start": 31, "length": 32, "sign": True, "ones": False}
    found = codec(5, 0, 4096, 0x10001, 64, 32)()
    assert dict(found.configuration) == {
        "options_mask": 1, "pixels_per_block": 32, "bits_per_pixel": 64, "pixels_per_scanline": 4096, "preamble": True,
    }  # fmt: skip
    assert codec(5, 0, 1, 0, 1, 2)()
    assert codec(3, 1 << 16)()
    assert codec(0)() is None
    found = placed(PlainElement(10, 12), skip=4)()
    assert found.manifest.load().offset.tolist() == [14]
    found = placed(None, (1 << 44,))()
    assert found.manifest.load().source.tolist() == [-1]


# --------------------------------------------------------------------------------------- chunks


FIELDS = [("origin", 24, 1), ("chk_tag", 23, 1), ("chk_ref", 23, 1)]


def chunk_file(
    *rows: tuple[int, int, int], parts: tuple[tuple[int, int, bytes | None], ...] = (), fields: Any = None,
    kind: str = "_HDF_CHK_TBL_0", count: int | None = None,
) -> tuple[bytes, int]:  # fmt: skip
    """A file with a table of chunks (origin, tag, reference number); and the table's number."""
    writer = Writer(refs=100)
    for tag, ref, data in parts:
        writer.add(tag, data, ref)
    raw = b"".join(struct.pack(">iHH", *row) for row in rows)
    ref = writer.vdata("_HDF_CHK_TBL_", kind, fields or FIELDS, raw, len(rows) if count is None else count)
    return writer.finish(datasets=False), ref


TWO_CHUNKS = ((0, CHUNK_TAG, 5), (1, CHUNK_TAG, 6))
PARTS = ((CHUNK_TAG, 5, b"abcdefgh"), (CHUNK_TAG, 6, b"ijklmnop"))
ELEMENT = ChunkedElement(16, 4, (4,), (2,), (False,), 0, b"", None)
PACKED = replace(ELEMENT, compression=ElementCompression(DEFLATE))


def chunky(
    *rows: tuple[int, int, int], what: ChunkedElement = ELEMENT, shape: tuple[int, ...] = (4,), **fields: Any
) -> Callable[[], Any]:
    def act() -> Any:
        data, ref = chunk_file(*rows, **{"parts": PARTS, **fields})
        return run(place_chunks(opened(data), replace(what, table=what.table or ref), shape, PLAIN), data)

    return act


def description(ref: int, *, length: int = 8, coder: int = DEFLATE, kind: int = 3) -> bytes:
    return struct.pack(">HHIHHH", kind, 0, length, ref, 0, coder)


def packed_parts(*heads: bytes, data: tuple[int, ...] = (7, 8)) -> tuple[tuple[int, int, bytes | None], ...]:
    described = [(CHUNK_TAG | SPECIAL, 5 + n, head) for n, head in enumerate(heads)]
    return (*described, *[(COMPRESSED_TAG, ref, b"packed") for ref in data])


WAYS = Unsupported("layout", "chunks that are compressed in several ways")


@refusals(
    (
        chunky(*TWO_CHUNKS, shape=(4, 1)),
        CorruptFile(0, "chunks of an array of shape (4,) for one of shape (4, 1)"),
    ),
    (chunky(*TWO_CHUNKS, shape=(5,)), CorruptFile(0, "chunks of an array of shape (4,) for one of shape (5,)")),
    (
        chunky(*TWO_CHUNKS, what=replace(ELEMENT, length=15)),
        CorruptFile(0, "15 bytes of an array of shape (4,)"),
    ),
    (
        chunky(*TWO_CHUNKS, what=replace(ELEMENT, table=999)),
        CorruptFile(0, "the table of chunks (Vdata 999) is not there"),
    ),
    (chunky(*TWO_CHUNKS, kind="other"), CorruptFile(0, "the table of chunks (Vdata 101) is not there")),
    (chunky(*TWO_CHUNKS, count=3), CorruptFile(0, "16 bytes of a table of 3 chunks")),
    (chunky((0, VH, 5)), Unsupported("layout", "chunks that are tables of chunks")),
    (
        chunky(*TWO_CHUNKS, fields=[("place", 24, 1), *FIELDS[1:]]),
        CorruptFile(0, "a table of chunks without the field 'origin'"),
    ),
    (
        chunky((0, CHUNK_TAG, 5), fields=[("origin", 23, 2), *FIELDS[1:]]),
        CorruptFile(0, "a table of chunks in 2 dimensions, not 1"),
    ),
    (chunky(*TWO_CHUNKS, parts=PARTS[:1]), CorruptFile(0, "chunk 6 is not in the file's directory")),
    (
        chunky(*TWO_CHUNKS, parts=(PARTS[0], (CHUNK_TAG, 6, b"ijklmno"))),
        CorruptFile(at(4) + 8, "a chunk of less than 8 bytes"),
    ),
    (
        chunky(*TWO_CHUNKS, what=PACKED, parts=(*packed_parts(description(7)), PARTS[1])),
        Unsupported("layout", "chunks of which only some are compressed"),
    ),
    (
        chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8)[:13])),
        CorruptFile(0, "the description of a chunk lies outside of the file, or is cut off"),
    ),
    (chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8) + b"x")), WAYS),
    (chunky((0, CHUNK_TAG, 5), what=PACKED, parts=packed_parts(description(7) + bytes(51))), WAYS),
    (chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8, coder=1))), WAYS),
    (
        chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8, length=9))),
        CorruptFile(0, "a chunk that does not decode to 8 bytes"),
    ),
    (
        chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8, kind=1))),
        CorruptFile(0, "a chunk that does not decode to 8 bytes"),
    ),
    (
        chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(9))),
        CorruptFile(0, "the compressed data of a chunk are not in the file's directory"),
    ),
    (
        chunky(
            (0, CHUNK_TAG, 5),
            parts=((CHUNK_TAG | SPECIAL, 5, linked(length=7, ref=15)), (LINKED_TAG, 15, table(0, 16, 17)),
                   (LINKED_TAG, 16, b"abcd"), (LINKED_TAG, 17, b"efgh")),
        ),
        CorruptFile(0, "a chunk of less than 8 bytes"),
    ),
)  # fmt: skip
def test_chunks(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_chunks_that_are_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    both = chunky(*TWO_CHUNKS)().manifest.load()
    assert (both.source.tolist(), both.length.tolist()) == ([0, 0], [8, 8])
    # Of two at one place the first counts; those outside of the array are left out; a tag of 1 is none.
    odd = chunky(
        (0, CHUNK_TAG, 5), (0, CHUNK_TAG, 6), (2, CHUNK_TAG, 6), (-1, CHUNK_TAG, 6), (1, 1, 6)
    )().manifest.load()
    assert odd.source.tolist() == [0, -1]
    assert odd.length.tolist() == [8, 0]
    assert chunky()().manifest.load().source.tolist() == [-1, -1]
    packed = chunky(*TWO_CHUNKS, what=PACKED, parts=packed_parts(description(7), description(8)))()
    assert packed.manifest.load().length.tolist() == [6, 6]
    grown = replace(ELEMENT, unlimited=(True,), length=8)
    assert chunky(*TWO_CHUNKS, what=grown, shape=(3,))().manifest.load().grid_shape == (2,)
    monkeypatch.setattr(chunks, "MOST_CHUNKS", 2)
    assert chunky(*TWO_CHUNKS)()
    monkeypatch.setattr(chunks, "MOST_CHUNKS", 1)
    refuses(Unsupported("too-large", "2 chunks"), chunky(*TWO_CHUNKS))


# --------------------------------------------------------------------------------------- tables, types, images


def vdata(*fields: VdataField, record: int = 4, count: int = 2, interlace: int = 0) -> Vdata:
    return Vdata(5, "t", "", count, interlace, record, fields)


def arrays(what: Vdata) -> Callable[[], Any]:
    data = made((VS, 5, bytes(64)))
    return lambda: run(table_arrays(opened(data), what), data)


A, B = VdataField("a", 24, 1, 0, 4), VdataField("b", 24, 1, 4, 4)


def stored(**fields: Any) -> Callable[[], Any]:
    """An image whose pixels are the element 302/5."""
    data = made((302, 5, bytes(64)))
    image = RasterImage(0, "i", (), TagRef(302, 5), (4, 4, 1), np.dtype("u1"))
    return lambda: run(image_arrays(opened(data), replace(image, **fields)), data)


@refusals(
    (arrays(vdata()), Unsupported("dataspace", "a Vdata without fields: there is nothing to read")),
    (arrays(vdata(replace(A, order=0))), CorruptFile(0, "field 'a': 4 bytes for 0 of 4")),
    (arrays(vdata(replace(A, size=5))), CorruptFile(0, "field 'a': 5 bytes for 1 of 4")),
    (arrays(vdata(A, record=5)), CorruptFile(0, "records of 5 bytes with one field of 4")),
    (arrays(vdata(A, B, record=7)), CorruptFile(0, "records of 7 bytes with the fields a, b")),
    (arrays(vdata(A, replace(B, name="a"), record=8)), CorruptFile(0, "records of 8 bytes with the fields a, a")),
    (arrays(vdata(A, replace(B, name=""), record=8)), CorruptFile(0, "records of 8 bytes with the fields a, ")),
    (arrays(vdata(replace(A, type=99))), Unsupported("datatype", "number type 99")),
    (lambda: attribute_value(vdata(A, B), b""), CorruptFile(0, "an attribute of 2 fields")),
    (lambda: attribute_value(vdata(), b""), CorruptFile(0, "an attribute of 0 fields")),
    (lambda: value_of(bytes(7), 24, 2), CorruptFile(0, "7 bytes of an attribute of 2 values")),
    (lambda: type_of_record(bytes(3), 9), CorruptFile(9, "no record of the number type")),
    (lambda: type_of_record(bytes([2, 24, 32, 1]), 9), Unsupported("datatype", "number type 24 of class 1, version 2")),
    (lambda: type_of_record(bytes([1, 24, 32, 2]), 9), Unsupported("datatype", "number type 24 of class 2, version 1")),
    (lambda: number_type(7), Unsupported("datatype", "number type 7")),
    (lambda: _calibration(bytes(17)), CorruptFile(0, "17 bytes of calibration")),
    (lambda: _range(bytes(7), np.dtype(">f4")), CorruptFile(0, "7 bytes of two values")),
    (lambda: _range(bytes(8), np.dtype("S1")), CorruptFile(0, "8 bytes of two values")),
    (
        lambda: parse_vdata(5, vdata_header(count=1 << 31), 9),
        CorruptFile(9, f"a Vdata of {1 << 31} records of 0 fields"),
    ),
    (
        lambda: parse_vdata(5, vdata_header(fields=1 << 15), 9),
        CorruptFile(9, "a Vdata of 1 records of 32768 fields"),
    ),
    (stored(size=(0, 4, 1)), CorruptFile(0, "an image of 4 x 0 pixels")),
    (stored(size=(4, 1 << 31, 1)), CorruptFile(0, f"an image of {1 << 31} x 4 pixels")),
    (stored(data=TagRef(302, 6)), Unsupported("never-written", "an image without pixels")),
    (stored(compression=12), Unsupported("compression", "an image of compression 12")),
    (stored(compression=11, dtype=np.dtype(">u2")), Unsupported("compression", "an image of compression 11")),
    (stored(size=(5, 13, 1)), CorruptFile(0, "64 bytes of data where 65 are needed")),
)  # fmt: skip
def test_tables_types_and_images(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def vdata_header(count: int = 1, fields: int = 0) -> bytes:
    return struct.pack(">HIHH", 0, count, 4, fields) + bytes(8) + struct.pack(">HHx", 3, 0)


def test_tables_types_and_images_that_are_sound() -> None:
    assert arrays(vdata(A))()[""].meta.shape == (2,)
    assert arrays(vdata(A, B, record=8))()[""].meta.data_type.numpy.names == ("a", "b")
    assert type_of_record(bytes([1, 24, 32, 4]), 0) == np.dtype("<i4")
    assert type_of_record(bytes([1, 24, 32, 0]), 0) == np.dtype(">i4")
    assert (number_type(24 | 0x4000), number_type(24 | 0x1000)) == (np.dtype("<i4"), np.dtype("<i4"))
    assert _calibration(struct.pack(">4fh", 1, 2, 3, 4, 5))["calibrated_nt"] == 5
    assert _calibration(struct.pack(">4di", 1, 2, 3, 4, 5))["add_offset"] == 3
    assert _range(struct.pack(">2f", 9, 1), np.dtype(">f4")) == {"valid_max": 9, "valid_min": 1}
    assert stored(size=(8, 8, 1))().pixels.meta.shape == (8, 8)
    assert stored(compression=11)().pixels.meta.codecs[-1].name == "byteatlas.hdf4-rle"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("S1", b"\0"), ("i1", -127), ("u1", 129), (">i2", -32767), (">u2", 32769), (">i4", -2147483647),
        (">u4", 2147483649), (">f4", np.float32(9.9692099683868690e36)), (">f8", 9.9692099683868690e36), (">i8", None),
    ],
)  # fmt: skip
def test_what_was_never_written_reads_as(kind: str, value: object) -> None:
    """The library's own defaults (mfhdf.h: FILL_BYTE and its like)."""
    assert default_fill(np.dtype(kind)) == value


def test_chunked_images_of_several_components() -> None:
    writer = Writer()
    values = np.zeros((4, 4), "u2")
    ref = writer._chunked(302, values, Storage(chunk=(2, 2)))
    data = writer.finish(datasets=False)
    image = RasterImage(0, "i", (), TagRef(302, ref), (4, 4, 2), np.dtype("u1"))
    refuses(
        Unsupported("layout", "chunks of an image of several components"),
        lambda: run(image_arrays(opened(data), image), data),
    )
    other = replace(image, size=(4, 4, 1))
    refuses(CorruptFile(0, "chunks of elements of 2 bytes for 1"), lambda: run(image_arrays(opened(data), other), data))


# --------------------------------------------------------------------------------------- datasets


def dataset_file(change: Callable[[Writer], None], *names: str) -> dict[str, tuple[str | None, str]]:
    """What is refused of a file of datasets, changed before it is written."""
    writer = Writer()
    for name in names or ("d",):
        writer.sds(name, np.arange(6, dtype="i2").reshape(2, 3), ["y", "x"])
    change(writer)
    group = scan_bytes(SCANNER, writer.finish())
    return {item.path: (item.reason, item.detail) for item in group.report if item.status == "refused"}


def changing(tag: int, edit: Callable[[bytes], bytes | None], *, which: int = 0) -> Callable[[Writer], None]:
    """Other bytes for one element of a tag."""

    def change(writer: Writer) -> None:
        rows = [i for i, (kind, _, _) in enumerate(writer.elements) if kind == tag]
        kind, ref, data = writer.elements[rows[which]]
        assert data is not None
        writer.elements[rows[which]] = (kind, ref, edit(data))

    return change


def nothing(writer: Writer) -> None:
    """As it is."""


@pytest.mark.parametrize(
    ("change", "reason", "detail"),
    [
        (changing(NT, lambda raw: raw[:3]), "corrupt", "byte 0: no record of the number type"),
        (changing(NT, lambda raw: bytes([1, 99, 16, 1])), "datatype", "number type 99"),
        (changing(VS, lambda raw: b"", which=0), "corrupt",
         "byte 0: the length of a dimension (Vdata 1) is not there"),
        (changing(VS, lambda raw: raw[:3], which=0), "corrupt",
         "byte 0: the length of a dimension (Vdata 1) is no number"),
        (changing(VS, lambda raw: struct.pack(">i", -1), which=0), "corrupt", "byte 0: dimension 'y' has -1 steps"),
        (changing(SD, lambda raw: raw[:11]), "corrupt", "byte 0: 11 bytes of data where 12 are needed"),
    ],
)  # fmt: skip
def test_datasets(change: Callable[[Writer], None], reason: str, detail: str) -> None:
    assert dataset_file(nothing) == {}
    assert dataset_file(change) == {"d": (reason, detail)}
