"""TIFF files with one wrong tag: what is refused and why, which tags may hold anything, and what samples become."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np
import pytest
from fixtures.tiff.raw_tiff import ASCII, DOUBLE, FLOAT, LONG, LONG8, RATIONAL, SHORT, UNDEFINED, Raw, gray, write
from tests.scanning import refusals, refuses, scan_bytes

import byteatlas as ba
from byteatlas.errors import ByteatlasError, CorruptFile
from byteatlas_scanners.tiff import SCANNER, layout
from byteatlas_scanners.tiff.ifd import parse_header

Tags = dict[int, tuple[int, Any]]


def image(width: int = 8, height: int = 4, bits: int = 8, more: Tags | None = None, **named: Any) -> bytes:
    """One image of one strip or tile with enough bytes; ``more``: tags as they are, without those that are None."""
    tags = {**gray(width, height, bits, **named), **(more or {})}
    whole: Tags = {tag: value for tag, value in tags.items() if value is not None}
    return write([Raw(whole, [bytes(4096)], tiled=322 in whole)])


def said(data: bytes) -> list[tuple[str | None, str]]:
    """Reason and detail of what is refused; the place is left out, which each file has its own of."""
    items = [item for item in scan_bytes(SCANNER, data).report if item.status == "refused"]
    return [
        (item.reason, item.detail.partition(": ")[2] if item.reason == "corrupt" else item.detail) for item in items
    ]


@refusals(
    (lambda: parse_header(b"IX*\0" + bytes(4)), CorruptFile(0, "not a TIFF file (neither II nor MM)")),
    (lambda: parse_header(b"II*\0" + bytes(3)), CorruptFile(0, "not a TIFF file (neither II nor MM)")),
    (lambda: parse_header(b"II,\0" + bytes(12)), CorruptFile(2, "not a TIFF file (version 44)")),
    (lambda: parse_header(b"II+\0" + bytes(11)), CorruptFile(2, "not a TIFF file (version 43)")),
    (lambda: parse_header(b"II+\0\4\0" + bytes(10)), CorruptFile(4, "BigTIFF with offsets of 4 bytes")),
    (lambda: parse_header(b"II+\0\x08\0\1\0" + bytes(8)), CorruptFile(4, "BigTIFF with offsets of 8 bytes")),
    (lambda: scan_bytes(SCANNER, b"II*\0" + bytes(8)), CorruptFile(4, "no image file directory")),
    (
        lambda: scan_bytes(SCANNER, b"II*\0\x0c\0\0\0" + bytes(4)),
        CorruptFile(12, "a directory lies outside of the file (12 bytes)"),
    ),
    (
        lambda: scan_bytes(SCANNER, b"II*\0\x08\0\0\0" + bytes(4)),
        CorruptFile(8, "a directory of 0 entries does not fit into the file"),
    ),
    (
        lambda: scan_bytes(SCANNER, b"II*\0\x08\0\0\0" + b"\2\0" + bytes(23)),
        CorruptFile(8, "a directory of 2 entries does not fit into the file"),
    ),
)
def test_headers(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


COLOUR: dict[str, Any] = {"photometric": 6, "samples": 3}
THREE: Tags = {258: (SHORT, [8, 8, 8])}
JPEG6: dict[str, Any] = {"compression": 6}


@pytest.mark.parametrize(
    ("data", "reason", "detail"),
    [
        (image(0), "corrupt", "an image of 0 x 4 pixels"),
        (image(8, 0), "corrupt", "an image of 8 x 0 pixels"),
        (image(more={32997: (LONG, [2])}), "layout", "volumes (ImageDepth, TileDepth) are not supported"),
        (image(more={32998: (LONG, [2])}), "layout", "volumes (ImageDepth, TileDepth) are not supported"),
        (image(more={277: (LONG, [65536])}), "corrupt", "65536 samples per pixel"),
        (image(more={277: (SHORT, [0])}), "corrupt", "0 samples per pixel"),
        (image(more={258: (ASCII, b"8\0")}), "corrupt", "tag BITS_PER_SAMPLE holds no numbers"),
        (image(more={258: (RATIONAL, [8, 1])}), "corrupt", "tag BITS_PER_SAMPLE holds no numbers"),
        (image(more={258: (FLOAT, [float("nan")])}), "corrupt", "tag BITS_PER_SAMPLE holds no numbers"),
        (image(more={339: (DOUBLE, [float("inf")])}), "corrupt", "tag SAMPLE_FORMAT holds no numbers"),
        (image(more={258: (SHORT, [8, 16]), 277: (SHORT, [2])}), "samples",
         "samples differ in BITS_PER_SAMPLE: [8, 16]"),
        (image(tile_width=16, tile_length=0), "corrupt", "tiles of 16 x 0 pixels"),
        (image(tile_width=0, tile_length=16), "corrupt", "tiles of 0 x 16 pixels"),
        (image(more={259: (FLOAT, [float("nan")])}), "corrupt", "tag 259 holds no number"),
        (image(more={256: (DOUBLE, [float("inf")])}), "corrupt", "tag 256 holds no number"),
        (image(more={256: (LONG8, [2**64 - 1])}), "corrupt", f"tiles or strips of {4 * (2**64 - 1)} bytes"),
        (image(rows=2), "corrupt", "1 tiles or strips are listed, the image has 2"),
        (image(tile_width=32768, tile_length=8192), "too-large", "tiles of 32768 x 8192 pixels in an image of 8 x 4"),
        (image(bits=12, predictor=2, compression=5), "samples", "predictor 2 with 12-bit samples in format 1"),
        (image(predictor=4, compression=5), "samples", "predictor 4 is not known"),
        (image(predictor=3, compression=5), "samples", "the floating-point predictor with other samples"),
        (image(bits=64, format=6, predictor=2, compression=5), "samples", "predictor 2 with complex samples"),
        (image(bits=24, format=3, predictor=2, compression=5), "samples",
         "predictor 2 with 24-bit samples in format 3"),
        (image(bits=33), "samples", "samples of 33 bits in format 1"),
        (image(bits=24, format=2), "samples", "samples of 24 bits in format 2"),
        (image(bits=8, format=5), "samples", "samples of 8 bits in format 5"),
        (image(compression=4), "samples", "CCITT with 1 samples of 8 bits"),
        (image(bits=17, compression=7), "samples", "JPEG with 17-bit samples"),
        (image(bits=8, format=2, compression=7), "samples", "JPEG with 8-bit samples"),
        (image(compression=7, photometric=11), "compression", "JPEG with photometric 11"),
        (image(compression=34887, predictor=2), "samples", "LERC with a predictor"),
        (image(compression=34887, more={50674: (LONG, [4, 3])}), "corrupt", "LERC with unknown further compression 3"),
        (image(compression=34887, more={50674: (RATIONAL, [4, 1, 0, 1])}), "corrupt",
         "LERC with parameters that are no numbers"),
        (image(compression=34887, more={50674: (UNDEFINED, b"ab")}), "corrupt",
         "LERC with parameters that are no numbers"),
        (image(compression=32809), "samples", "1 samples of 8 bits"),
        (image(bits=4, compression=32766), "samples", "1 samples of 4 bits"),
        (image(bits=64, compression=32909), "samples", "compression 32909 with 64-bit samples in format 1"),
        (image(bits=8, compression=34676, photometric=32844), "samples",
         "compression 34676 with 8-bit samples in format 1"),
        (image(bits=32, format=3, compression=34677, photometric=32844), "samples",
         "LogLuv with photometric 32844, 1 samples of 32 bits"),
        (image(bits=32, format=3, compression=34676, photometric=1), "samples",
         "LogLuv with photometric 1, 1 samples of 32 bits"),
        (image(bits=16, compression=34676, photometric=32845), "samples", "LogLuv of 1 samples"),
        (image(compression=34661), "compression", "compression 34661 (JBIG) is not supported"),
        (image(compression=77), "compression", "compression 77 (unknown) is not supported"),
        (image(**COLOUR, planar=2, more=THREE | {273: (LONG, [8, 8, 8]), 279: (LONG, [32] * 3)}), "samples",
         "subsampled YCbCr in separate planes"),
        (image(**COLOUR, compression=50013, more=THREE), "samples", "subsampled YCbCr in separate planes"),
        (image(bits=16, **COLOUR, more={258: (SHORT, [16] * 3)}), "samples", "subsampled YCbCr of 3 samples"),
        (image(**COLOUR, more=THREE | {529: (LONG, [2**31, 1, 1, 1, 1, 1])}), "corrupt",
         f"tag YCBCR_COEFFICIENTS of [{2**31}, 1, 1]"),
        (image(**JPEG6, bits=16), "compression", "old-style JPEG of 1 samples of 16 bits"),
        (image(**JPEG6, more={277: (SHORT, [2]), 258: (SHORT, [8, 8])}), "compression",
         "old-style JPEG of 2 samples of 8 bits"),
    ],
)  # fmt: skip
def test_images(data: bytes, reason: str, detail: str) -> None:
    assert said(data) == [(reason, detail)]


@pytest.mark.parametrize(
    "data",
    [
        image(bits=31), image(bits=24, format=3), image(bits=24, format=3, predictor=3, compression=5),
        image(bits=32, format=3, predictor=3, compression=5), image(bits=16, format=5), image(bits=64, format=5),
        image(bits=1, compression=4), image(bits=16, compression=7), image(compression=7, photometric=8),
        image(compression=34887, more={50674: (LONG, [4, 2])}), image(compression=34887, more={50674: (LONG, [4])}),
        image(bits=4, compression=32809), image(bits=2, compression=32766), image(bits=16, compression=32909),
        image(bits=32, format=3, compression=34676, photometric=32844),
        image(bits=16, format=2, compression=34676, photometric=32844),
        image(tile_width=8192, tile_length=8192, compression=5),
        image(**COLOUR, more=THREE), image(more={277: (SHORT, [2]), 258: (SHORT, [8, 8])}),
    ],
)  # fmt: skip
def test_images_that_are_sound(data: bytes) -> None:
    assert said(data) == []


def test_offsets_that_are_not_believed() -> None:
    most = int(layout.FARTHEST)
    group = scan_bytes(SCANNER, big(packed_tags(most)))
    assert [item.reason for item in group.report] == [None]
    assert said(big(packed_tags(most + 1))) == [("corrupt", f"a tile or strip lies at byte {most + 1}")]
    assert said(big(packed_tags(2**64 - 1))) == [("corrupt", f"a tile or strip lies at byte {2**64 - 1}")]


def packed_tags(offset: int) -> Tags:
    return {**gray(8, 4, compression=5), 273: (LONG8, [offset]), 279: (LONG, [9])}


def big(tags: Tags) -> bytes:
    return write([Raw(tags)], big=True)


def test_positions_that_are_no_positions() -> None:
    for kind, values, name in ((RATIONAL, [8, 1], "STRIP_OFFSETS"), (DOUBLE, [8.0], "STRIP_OFFSETS")):
        assert said(big({**gray(8, 4), 273: (kind, values), 279: (LONG, [9])})) == [
            ("corrupt", f"tag {name} holds no positions")
        ]
    assert said(big({**gray(8, 4), 273: (LONG, [8]), 279: (ASCII, b"9\0")})) == [
        ("corrupt", "tag STRIP_BYTE_COUNTS holds no positions")
    ]
    assert said(big(gray(8, 4))) == [("corrupt", "no image data: neither strip nor tile offsets")]
    short = {**gray(8, 4), 273: (LONG, [8]), 279: (LONG, [31])}
    assert said(big(short)) == [("corrupt", "1 uncompressed tiles or strips are shorter than their samples")]


def test_old_jpeg_without_data() -> None:
    nothing = {**gray(8, 4, **JPEG6), 513: (LONG, [0])}
    assert said(big(nothing)) == [("compression", "old-style JPEG without data")]
    apart = bytearray(write([Raw({**gray(8, 4, rows=2, **JPEG6), 273: (LONG, [100, 17 << 20]), 279: (LONG, [9, 9])})]))
    assert said(bytes(apart.ljust(18 << 20, b"\0"))) == [("compression", "old-style JPEG whose parts lie far apart")]
    parts = {**gray(1 << 20, 2, tile_width=1, tile_length=1, **JPEG6), 513: (LONG, [8])}
    assert said(big(parts)) == [("corrupt", f"none of {2 << 20} tiles or strips is listed")]


WEIRD: tuple[tuple[int, Any], ...] = (
    (FLOAT, [float("nan")]), (FLOAT, [float("inf")]), (DOUBLE, [float("nan"), 1.0]), (RATIONAL, [1, 0]),
    (RATIONAL, [1, 2, 3, 4]), (ASCII, b"a\0"), (UNDEFINED, b"\0\1\2\3"), (SHORT, [0]), (LONG, [2**32 - 1]),
    (LONG8, [2**64 - 1]), (SHORT, [65535] * 3),
)  # fmt: skip
TAGS = (
    254, 255, 256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 284, 292, 293, 317, 322, 323, 330, 338, 339, 347, 513,
    514, 519, 529, 530, 532, 32997, 33550, 33922, 34264, 34735, 34736, 34737, 42112, 42113, 50674,
)  # fmt: skip


@pytest.mark.parametrize("named", [{}, {"compression": 7}, JPEG6, {"compression": 34887}, COLOUR], ids=str)
def test_tags_of_any_type(named: dict[str, int]) -> None:
    """Each is presented, or refused for a reason that says what is wrong; the report has the image in any case."""
    for tag, value in itertools.product(TAGS, WEIRD):
        group = scan_bytes(SCANNER, image(more={tag: value}, **named))
        assert group.report, (tag, value)
        for item in group.report:
            assert (item.reason is None) == (item.status != "refused"), (tag, value)
            assert item.reason is None or item.detail, (tag, value)


# --------------------------------------------------------------------------------------- values of uncommon samples


def values(data: bytes, tmp_path: Any) -> np.ndarray[Any, Any]:
    path = tmp_path / "a.tif"
    path.write_bytes(data)
    root: Any = ba.open(ba.scan(path))
    return np.asarray(root["data"][...])


@pytest.mark.parametrize("order", ["<", ">"])
def test_floats_of_24_bits(order: str, tmp_path: Any) -> None:
    numbers = np.array([[1.5, -2.0, 0.0, 1e-3], [3.25, 1e10, -0.5, 65536.0]], np.float32)
    stored = imagecodecs.float24_encode(numbers, byteorder=order)
    data = write([Raw(gray(4, 2, 24, format=3), [bytes(stored)])], order=order)
    expected = imagecodecs.float24_decode(bytes(stored), byteorder=order).reshape(2, 4)
    np.testing.assert_array_equal(values(data, tmp_path), expected)
    np.testing.assert_allclose(values(data, tmp_path), numbers, rtol=1e-4)


@pytest.mark.parametrize(
    ("bits", "kind"), [(1, "u1"), (4, "u1"), (7, "u1"), (9, "u2"), (12, "u2"), (17, "u4"), (24, "u4"), (31, "u4")]
)
def test_integers_of_any_number_of_bits(bits: int, kind: str, tmp_path: Any) -> None:
    """Packed from the highest bit down, rows end on a byte; what the bits say, and nothing of NumPy's."""
    numbers = [[(row * 977 + column * 131) % (1 << bits) for column in range(5)] for row in range(3)]
    rows = []
    for row in numbers:
        text = "".join(f"{n:0{bits}b}" for n in row)
        text += "0" * (-len(text) % 8)
        rows.append(int(text, 2).to_bytes(len(text) // 8, "big"))
    found = values(write([Raw(gray(5, 3, bits), [b"".join(rows)])]), tmp_path)
    assert found.dtype == np.dtype(kind)
    assert found.tolist() == numbers


def test_complex_integers(tmp_path: Any) -> None:
    parts = [[(1, -2), (3, 4)], [(-32768, 32767), (0, 5)]]
    raw = b"".join(struct.pack("<hh", *pair) for row in parts for pair in row)
    found = values(write([Raw(gray(2, 2, 32, format=5), [raw])]), tmp_path)
    assert found.dtype == np.complex64
    assert found.tolist() == [[complex(*pair) for pair in row] for row in parts]
