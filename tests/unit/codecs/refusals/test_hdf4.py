"""Compressions of HDF4: configurations, damage, and values worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import Configuration, fault, of_bytes

from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported

RLE, NBIT, HUFFMAN, SZIP = (f"byteatlas.hdf4-{name}" for name in ("rle", "nbit", "skphuff", "szip"))
FIELD: Configuration = {"itemsize": 2, "start": 9, "length": 4}
SIZES: Configuration = {"options_mask": 128 + 4 + 8, "pixels_per_block": 8, "bits_per_pixel": 8,
                        "pixels_per_scanline": 8}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "configuration", "words"),
    [
        (RLE, {"form": "image"}, "form: 'image' is none of 'data', 'raster'"),
        (RLE, {"from": "data"}, "unknown members ['from']"),
        (NBIT, {**FIELD, "itemsize": 9}, "itemsize: 9 is not 1 to 8"),
        (NBIT, {**FIELD, "start": 16}, "start: 16 is not 0 to 15"),
        (NBIT, {**FIELD, "length": 0}, "length: 0 is not 1 to 16"),
        (NBIT, {**FIELD, "length": 11}, "length: 11 bits from bit 9 down"),
        (NBIT, {**FIELD, "sign": 2}, "sign: 2 is not true or false"),
        (HUFFMAN, {"skip": 0}, "skip: 0 is not 1 to 65536"),
        (HUFFMAN, {}, "skip: None is not an integer"),
        (SZIP, {**SIZES, "pixels_per_block": 1}, "pixels_per_block: 1 is not 2 to 32"),
        (SZIP, {**SIZES, "header": True}, "unknown members ['header']"),
    ],
)
def test_configurations_that_make_no_sense(name: str, configuration: Configuration, words: str) -> None:
    with fault(InvalidMetadata, f"codec '{name}': ", words):
        of_bytes((name, configuration))


@pytest.mark.parametrize(
    ("name", "configuration", "data", "words"),
    [
        (RLE, {}, b"", "hdf4-rle: 0 bytes decoded where there should be 8"),
        (RLE, {}, b"\x81\5\3", "hdf4-rle: 4 bytes decoded where there should be 8"),
        (RLE, {}, b"\7abcdefg", "hdf4-rle: the data end inside of a run"),
        (NBIT, {**FIELD, "itemsize": 3}, bytes(9), "hdf4-nbit: 8 bytes are no elements of 3"),
        (NBIT, FIELD, b"a", "hdf4-nbit: 1 bytes where at least 2 are needed"),
        (HUFFMAN, {"skip": 1}, b"", "hdf4-skphuff: 0 bytes cannot decode to 8"),
        (HUFFMAN, {"skip": 1}, b"\0", "hdf4-skphuff: the data end before 8 bytes are decoded"),
        (SZIP, SIZES, bytes(4), "hdf4-szip: 4 bytes where at least 5 are needed"),
        (SZIP, SIZES, b"\1\0\0\0\x09" + bytes(8), "hdf4-szip: 8 bytes where at least 9 are needed"),
        (SZIP, SIZES, b"\1\0\0\0\7" + bytes(8), "hdf4-szip: 7 bytes where there should be 8"),
        (SZIP, SIZES, b"\0\0\0\0\1\xff", "hdf4-szip: "),
    ],
)
def test_chunks_that_are_damaged(name: str, configuration: Configuration, data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        of_bytes((name, configuration)).decode(data)


@pytest.mark.parametrize("codec", [(RLE, {}), (NBIT, FIELD), (HUFFMAN, {"skip": 1}), (SZIP, SIZES)])
def test_they_decode_only(codec: tuple[str, Any]) -> None:
    with fault(Unsupported, "only decodes", "[codec]"):
        of_bytes(codec).encode(np.zeros(8, np.uint8))


def test_runs() -> None:
    assert of_bytes((RLE, {})).decode(b"\x81\5\3abcd").tolist() == [5] * 4 + list(b"abcd")
    assert of_bytes((RLE, {})).decode(b"\x87\5").tolist() == [5] * 8  # two more than the chunk has
    assert of_bytes((RLE, {"form": "raster"})).decode(b"\x84\5\4abcd").tolist() == [5] * 4 + list(b"abcd")


def test_fields_of_bits() -> None:
    data = bytes([0b1001_0110, 0b1111_0000])
    fields = [9, 6, 15, 0]
    for sign in (False, True):
        for ones in (False, True):
            found = of_bytes((NBIT, {**FIELD, "sign": sign, "ones": ones})).decode(data).view(">u2").tolist()
            wanted = []
            for field in fields:
                above = 0xFC00 if (field & 8 if sign else ones) else 0
                wanted.append(above | field << 6 | (0x3F if ones else 0))
            assert found == wanted


def test_stored_szip_and_streams_without_preamble() -> None:
    import imagecodecs

    values = np.arange(8, dtype=np.uint8)
    assert of_bytes((SZIP, SIZES)).decode(b"\1\0\0\0\x08" + values.tobytes()).tolist() == values.tolist()
    packed = bytes(imagecodecs.szip_encode(values.tobytes(), 140, 8, 8, 8, header=False))
    framed = b"\0" + len(packed).to_bytes(4, "big") + packed
    assert of_bytes((SZIP, SIZES)).decode(framed).tolist() == values.tolist()
    assert of_bytes((SZIP, {**SIZES, "preamble": False})).decode(packed).tolist() == values.tolist()
