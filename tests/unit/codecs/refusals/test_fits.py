"""Codecs of FITS: what configurations, rows, heaps and tiles may not say."""

from __future__ import annotations

import gzip
import struct
from typing import Any

import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import Configuration, chain, fault

from byteatlas.codecs import build_pipeline
from byteatlas.codecs.fits import heap as heaps
from byteatlas.codecs.fits.hcompress import decode_hcompress
from byteatlas.codecs.fits.plio import SHORT, decode_plio
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import OBJECT
from byteatlas.meta.model import CodecSpec, Encoding

COLUMN, TEXT, HEAP, TILE, UNSIGNED = (f"byteatlas.fits_{n}" for n in ("column", "ascii", "heap", "tile", "unsigned"))
FIELD: Configuration = {"stride": 4, "dtype": ">i2"}
LINE: Configuration = {"stride": 8, "width": 5}

SENSELESS: list[tuple[str, Configuration, str, tuple[int, ...], str]] = [
    (COLUMN, FIELD, "i2", (), "not for int16 of shape ()"),
    (COLUMN, FIELD, "string", (2,), "not for string of shape (2,)"),
    (COLUMN, {**FIELD, "offset": 3}, "i2", (2,), "a field of 2 bytes at 3 in records of 4"),
    (COLUMN, {**FIELD, "offset": 5}, "i2", (2,), "offset: 5 is not 0 to 4"),
    (COLUMN, FIELD, "i2", (2, 3), "a field of 6 bytes at 0 in records of 4"),
    (COLUMN, {**FIELD, "stride": (1 << 40) + 1}, "i2", (2,), "stride: 1099511627777 is not 1 to"),
    (COLUMN, FIELD, "f4", (2,), ">i2 as float32"),
    (COLUMN, FIELD, "u2", (2,), ">i2 as uint16"),
    (COLUMN, {**FIELD, "dtype": ">f4", "form": "unsigned"}, "f4", (2,), "an offset of half the range is for integers"),
    (COLUMN, {**FIELD, "dtype": "|u1", "form": "bits"}, "bool", (2,), "bits of shape ()"),
    (COLUMN, {**FIELD, "dtype": "|u1", "form": "bits"}, "u1", (2, 8), "bits of uint8 as uint8"),
    (COLUMN, {**FIELD, "form": "bits"}, "bool", (2, 8), "bits of >i2 as bool"),
    (COLUMN, {**FIELD, "form": "logical"}, "bool", (2,), "logical of >i2 as bool"),
    (COLUMN, {**FIELD, "form": "text"}, "i2", (2,), "form: 'text' is none of"),
    (COLUMN, {**FIELD, "dtype": "<M8[s]"}, "i2", (2,), "dtype: '<M8[s]' is not possible here"),
    (UNSIGNED, {}, "f4", (2,), "an offset of half the range is for integers, not for float32"),
    (TEXT, LINE, "u2", (2,), "not for uint16 of shape (2,)"),
    (TEXT, LINE, "f8", (2, 1), "not for float64 of shape (2, 1)"),
    (TEXT, {**LINE, "offset": 4}, "f8", (2,), "width: 5 is not 1 to 4"),
    (TEXT, {**LINE, "decimals": -1}, "f8", (2,), "decimals: -1 is not 0 to"),
    (TEXT, {**LINE, "null": 0}, "f8", (2,), "null: 0 is not a string"),
    (HEAP, {"stride": 8, "heap": 16}, "f8", (2,), "not for float64 of shape (2,)"),
    (HEAP, {"stride": 7, "heap": 16}, "string", (2,), "stride: 7 is not 8 to"),
    (HEAP, {"stride": 8, "heap": 16, "wide": True}, "string", (2,), "stride: 8 is not 16 to"),
    (HEAP, {"stride": 8, "heap": 16, "offset": 1}, "string", (2,), "offset: 1 is not 0 to 0"),
    (HEAP, {"stride": 8, "heap": -1}, "string", (2,), "heap: -1 is not 0 to"),
    (TILE, {"algorithm": "RICE_1"}, "S2", (2,), "not for null_terminated_bytes"),
    (TILE, {"algorithm": "RICE_1", "scale": 1}, "i4", (2,), "not for int32"),
    (TILE, {"algorithm": "RICE_1"}, "f4", (2,), "RICE_1 of floating-point numbers that are not quantised"),
    (TILE, {"algorithm": "GZIP_1", "unsigned": True}, "f4", (2,), "an offset of half the range is for integers"),
    (TILE, {"algorithm": "LZW"}, "i4", (2,), "algorithm: 'LZW' is none of"),
    (TILE, {"algorithm": "RICE_1", "bytepix": 3}, "i4", (2,), "bytepix: 3 is none of"),
    (TILE, {"algorithm": "RICE_1", "blocksize": 0}, "i4", (2,), "blocksize: 0 is not 1 to"),
    (TILE, {"algorithm": "RICE_1", "scale": 1, "start": 10_000}, "f4", (2,), "start: 10000 is not 0 to 9999"),
    (TILE, {"algorithm": "RICE_1", "scale": 1, "dither": 3}, "f4", (2,), "dither: 3 is none of"),
    (
        TILE,
        {"algorithm": "RICE_1", "scale": 1, "parts": [{"length": 1}] * 2, "axis": 0, "step": 1},
        "i4",
        (2,),
        "not for",
    ),
    (TILE, {"algorithm": "RICE_1", "parts": [], "axis": 0, "step": 1}, "i4", (2,), "parts: not a list of tiles"),
    (TILE, {"algorithm": "RICE_1", "parts": [1], "axis": 0, "step": 1}, "i4", (2,), "parts: not a list of tiles"),
    (TILE, {"algorithm": "RICE_1", "parts": [{"length": -1}], "axis": 0, "step": 1}, "i4", (2,), "length: -1 is not 0"),
    (TILE, {"algorithm": "RICE_1", "parts": [{"long": 1}], "axis": 0, "step": 1}, "i4", (2,), "unknown members"),
    (TILE, {"algorithm": "RICE_1", "parts": [{"length": 1}] * 3, "axis": 0, "step": 1}, "i4", (2,), "tiles"),
    (TILE, {"algorithm": "RICE_1", "parts": [{"length": 1}], "axis": 1, "step": 1}, "i4", (2,), "tiles"),
]


@pytest.mark.parametrize(("name", "configuration", "dtype", "shape", "words"), SENSELESS)
def test_configurations_that_make_no_sense(
    name: str, configuration: Configuration, dtype: str, shape: tuple[int, ...], words: str
) -> None:
    with fault(InvalidMetadata, f"codec '{name}': ", words):
        chain((name, configuration), dtype=dtype, shape=shape)


def tile(algorithm: str, dtype: str = "i2", shape: tuple[int, ...] = (2, 2), **more: Any) -> Any:
    return chain((TILE, {"algorithm": algorithm, **more}), dtype=dtype, shape=shape)


@pytest.mark.parametrize(
    ("target", "data", "words"),
    [
        (tile("RICE_1"), b"", "rice: 0 bytes where at least 1 are needed"),
        (tile("RICE_1", bytepix=2), b"\0", "rice: "),
        (tile("HCOMPRESS_1", shape=(4,)), bytes(40), "hcompress: a tile of shape (4,) is no image"),
        (tile("HCOMPRESS_1", shape=(2, 2, 2)), bytes(40), "hcompress: a tile of shape (2, 2, 2) is no image"),
        (tile("HCOMPRESS_1"), bytes(10), "hcompress: 10 bytes are no stream"),
        (tile("HCOMPRESS_1"), bytes(40), "hcompress: an image of 0 by 0 in a tile of 2 by 2"),
        (tile("GZIP_1"), gzip.compress(bytes(7), mtime=0), "GZIP_1: 7 bytes for a tile of 4 pixels"),
        (tile("GZIP_1"), gzip.compress(bytes(12), mtime=0), "GZIP_1: 12 bytes for a tile of 4 pixels"),
        (tile("GZIP_1"), gzip.compress(b"", mtime=0), "GZIP_1: 0 bytes for a tile of 4 pixels"),
        (tile("GZIP_1"), gzip.compress(bytes(33), mtime=0), "deflate: 33 bytes where the chunk has at most 32"),
        (tile("GZIP_1", "f4"), gzip.compress(bytes(32), mtime=0), "GZIP_1: pixels of 8 bytes in an image of float32"),
        (tile("GZIP_2"), gzip.compress(bytes(7), mtime=0), "gzip: 7 bytes for a tile of 4 pixels"),
        (tile("NOCOMPRESS"), bytes(9), "NOCOMPRESS: 9 bytes for a tile of 4 pixels"),
        (tile("PLIO_1"), bytes(4), "plio: a list without a header"),
        (chain((COLUMN, FIELD), dtype="i2", shape=(2,)), bytes(7), f"{COLUMN}: 7 bytes where there should be 8"),
        (chain((TEXT, LINE), dtype="f8", shape=(1,)), bytes(7), f"{TEXT}: 7 bytes where there should be 8"),
        (chain((TEXT, LINE), dtype="i2", shape=(1,)), b"1.5     ", f"{TEXT}: '1.5  ' is not an integer"),
        (chain((TEXT, LINE), dtype="i1", shape=(1,)), b"  999   ", f"{TEXT}: "),
        (chain((TEXT, LINE), dtype="f8", shape=(1,)), b"1.5x    ", f"{TEXT}: '1.5X ' is not a number"),
        (chain((TEXT, LINE), dtype="f8", shape=(1,)), b" nan    ", f"{TEXT}: ' NAN ' is not a number"),
    ],
)
def test_chunks_that_are_damaged(target: Any, data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        target.decode(data)


def test_tiles_of_another_number_of_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("byteatlas.codecs.fits.tiles.decode_plio", lambda data, count: np.zeros(count - 1, np.int32))
    with fault(CorruptChunk, f"{TILE}: 3 pixels in a tile of 4"):
        tile("PLIO_1").decode(b"")


@pytest.mark.parametrize("name", [COLUMN, TEXT, TILE])
def test_they_decode_only(name: str) -> None:
    configuration = {COLUMN: FIELD, TEXT: LINE, TILE: {"algorithm": "RICE_1"}}[name]
    with fault(Unsupported, "only decodes", "[codec]"):
        chain((name, configuration), dtype="i2", shape=(2,)).encode(np.zeros(2, "i2"))


# ------------------------------------------------------------------------------------------------------ columns


def test_columns_of_all_forms() -> None:
    rows = b"\x80\1T\xa0" + b"\0\2F\xc0"
    bools = {"stride": 4, "offset": 2, "dtype": "|u1", "form": "logical"}
    assert chain((COLUMN, bools), dtype="bool", shape=(2,)).decode(rows).tolist() == [True, False]
    bits = {"stride": 4, "offset": 3, "dtype": "|u1", "form": "bits"}
    assert chain((COLUMN, bits), dtype="bool", shape=(2, 3)).decode(rows).tolist() == [[1, 0, 1], [1, 1, 0]]
    unsigned = chain((COLUMN, {**FIELD, "form": "unsigned"}), dtype="u2", shape=(2,))
    assert unsigned.decode(rows).tolist() == [1, 0x8002]
    pairs = chain((COLUMN, {"stride": 4, "dtype": "|u1"}), dtype="u1", shape=(2, 2, 2))
    assert pairs.decode(rows).tolist() == [[[128, 1], [84, 160]], [[0, 2], [70, 192]]]


def test_text_of_numbers() -> None:
    configuration = {"stride": 8, "offset": 1, "width": 6, "decimals": 2, "null": "-"}
    cells = [b"1234", b" 1.5", b"2E3", b"2D-1", b"-", b"", b"1+10", b"+.5e1", b"12 E1"]
    target = chain((TEXT, configuration), dtype="f8", shape=(8,))
    found = target.decode(b"".join(b"x" + c.ljust(6) + b"y" for c in cells[:8]))
    assert found.tolist()[:4] == [12.34, 1.5, 20.0, 0.002]
    assert np.isnan(found[4:6]).all()
    assert found.tolist()[6:] == [1e8, 5.0]
    with fault(CorruptChunk, "is not a number"):
        target.decode(b"".join(b"x" + c.ljust(6) + b"y" for c in cells[1:]))
    whole = chain((TEXT, {"stride": 4, "width": 4, "null": "no"}), dtype="i2", shape=(4,))
    assert whole.decode(b" -12  no    +7  ").tolist() == [-12, 0, 0, 7]


# ------------------------------------------------------------------------------------------------------ heaps


def heap(rows: int = 2, **more: Any) -> Any:
    configuration = {"stride": 8, "heap": 8 * rows, "dtype": ">i2", **more}
    return build_pipeline(Encoding((CodecSpec(HEAP, configuration),)), OBJECT, (rows,), None)


def test_elements_in_heaps() -> None:
    data = struct.pack(">4i", 2, 2, 1, 0) + struct.pack(">3h", 7, -8, 9)
    assert [v.tolist() for v in heap().decode(data)] == [[-8, 9], [7]]
    assert heap(dtype=None).decode(data).tolist() == [b"\xff\xf8", b"\0"]
    wide = struct.pack(">2q", 1, 4) + struct.pack(">3h", 7, -8, 9)
    assert [v.tolist() for v in heap(1, stride=16, heap=16, wide=True).decode(wide)] == [[9]]
    flags = struct.pack(">2i", 4, 0) + b"TF\1x"
    assert heap(1, dtype="|u1", form="logical").decode(flags)[0].tolist() == [True, False, True, False]
    bits = struct.pack(">2i", 9, 1) + b"abc"
    assert heap(1, dtype="|u1", form="bits").decode(bits)[0].tolist() == list(b"bc")
    nothing = struct.pack(">2i", 0, 1 << 30) + b""
    assert heap(1).decode(nothing)[0].tolist() == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bytes(15), "15 bytes where at least 16 are needed"),
        (struct.pack(">4i", 1, 0, -1, 0) + bytes(6), "row 1 has -1 elements at 0 of a heap of 6 bytes"),
        (struct.pack(">4i", 1, -2, 0, 0) + bytes(6), "row 0 has 1 elements at -2 of a heap of 6 bytes"),
        (struct.pack(">4i", 4, 0, 0, 0) + bytes(6), "row 0 has 4 elements at 0 of a heap of 6 bytes"),
        (struct.pack(">4i", 1, 5, 0, 0) + bytes(6), "row 0 has 1 elements at 5 of a heap of 6 bytes"),
        (struct.pack(">4i", 1, 7, 0, 0) + bytes(6), "row 0 has 1 elements at 7 of a heap of 6 bytes"),
    ],
)
def test_heaps_that_are_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, f"{HEAP}: ", words):
        heap().decode(data)


def test_places_in_wide_heaps_do_not_wrap() -> None:
    wide = heap(1, stride=16, heap=16, wide=True)
    for count, place in ((1 << 62, 0), (1, (1 << 63) - 1), ((1 << 63) - 1, (1 << 63) - 1)):
        with fault(CorruptChunk, f"row 0 has {count} elements at {place}"):
            wide.decode(struct.pack(">2q", count, place) + bytes(8))


def test_rows_that_share_their_elements_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = struct.pack(">4i", 3, 0, 3, 0) + bytes(6)
    monkeypatch.setattr(heaps, "MOST_UNKNOWN", 12)
    assert len(heap().decode(data)) == 2
    monkeypatch.setattr(heaps, "MOST_UNKNOWN", 11)
    with fault(CorruptChunk, "6 elements in all"):
        heap().decode(data)


# ------------------------------------------------------------------------------------------------------ streams


def line_list(*words: int) -> bytes:
    return np.array([0, 7, -100, len(words) + 7, 0, 0, 0, *words], ">i4").astype(">i2").tobytes()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0" * 4, "a list without a header"),
        (b"\0" * 8, "a list without a header"),
        (line_list(0x4001)[:-2], "a list of 8 words, of which there are 7"),
        (np.array([0, 9, 0, 8, 0, 0, 0, 0], ">i2").tobytes(), "a list of 8 words, of which there are 8"),
        (line_list(0x1001), "the list ends within an instruction"),
        (line_list(0x9001), "an instruction that does not exist"),
        (line_list(*[0x9001] * (SHORT + 1)), "an instruction that does not exist"),
        (line_list(0x400A), "10 pixels in a tile of 9"),
        (line_list(*[0x4001] * (SHORT + 1)), "25 pixels in a tile of 9"),
    ],
)
def test_lists_of_pixels_that_are_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, f"plio: {words}"):
        decode_plio(data, 9)


def hcompressed(rows: int = 4, columns: int = 4, planes: bytes = b"\0\0\0", body: bytes = b"\0" * 9) -> bytes:
    head = b"\xdd\x99" + struct.pack(">iii", rows, columns, 1) + (77).to_bytes(8, "big")
    return head + planes + body


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (hcompressed()[:24], "24 bytes are no stream"),
        (b"\xdd\x98" + hcompressed()[2:], "an image of 4 by 4 in a tile of 4 by 4"),
        (hcompressed(5), "an image of 5 by 4 in a tile of 4 by 4"),
        (hcompressed(planes=b"\x3f\0\0"), "an image of 4 by 4 in a tile"),
        (hcompressed(planes=b"\1\0\0", body=b"\x10"), "a bit plane of coding 1"),
        (hcompressed(body=b"\xf0"), "no end after the bit planes"),
        (hcompressed(body=b""), "the stream ends too early"),
        (hcompressed(planes=b"\1\0\0", body=b"\0"), "the stream ends too early"),
        (hcompressed(planes=b"\1\0\0", body=b"\xf0"), "the stream ends too early"),
        (hcompressed(planes=b"\1\0\0", body=b"\x0f\0"), "the stream ends too early"),
    ],
)
def test_images_of_hcompress_that_are_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, f"hcompress: {words}"):
        decode_hcompress(data, 4, 4, False)


def test_images_of_one_row_are_none_of_hcompress() -> None:
    with fault(CorruptChunk, "hcompress: an image of 1 by 4 in a tile of 1 by 4"):
        decode_hcompress(hcompressed(1), 1, 4, False)


def test_an_image_of_one_value() -> None:
    found = decode_hcompress(hcompressed(), 4, 4, False)
    assert len(set(found.reshape(-1).tolist())) == 1
