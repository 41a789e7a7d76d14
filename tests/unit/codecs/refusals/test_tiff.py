"""Codecs of TIFF: what their configurations and tiles may not say, and samples that NumPy has no types for."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import Configuration, fault, of_bytes

from byteatlas.codecs.tiff.fax_rows import decode_group_3, decode_group_4
from byteatlas.codecs.tiff.images import _jpeg2k_pixels, _webp_pixels
from byteatlas.codecs.tiff.jpeg_header import is_plain, jpeg_frame, jpeg_size
from byteatlas.codecs.tiff.libtiff import decode_rgba
from byteatlas.codecs.tiff.png_check import png_image, png_size
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported

LIBTIFF, LOGLUV = "byteatlas.tiff_libtiff", "byteatlas.tiff_logluv"
PLANES, COMPLEX = "byteatlas.tiff_float_planes", "byteatlas.tiff_complex_int"
WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES = 256, 257, 258, 259, 277
NEXT: list[Any] = [[WIDTH, 3, [4]], [HEIGHT, 3, [2]], [BITS, 3, [8]], [COMPRESSION, 3, [1]], [262, 3, [1]],
                   [SAMPLES, 3, [1]], [278, 3, [2]]]  # fmt: skip


def tags(*changes: list[Any], drop: int = 0) -> Configuration:
    changed = {row[0] for row in changes} | {drop}
    return {"tags": [row for row in NEXT if row[0] not in changed] + list(changes), "output": "samples"}


SENSELESS: list[tuple[str, Configuration, str]] = [
    (LIBTIFF, {}, "tags: None"),
    (LIBTIFF, {"tags": []}, "tags: []"),
    (LIBTIFF, {"tags": NEXT * 10}, "tags: [["),
    (LIBTIFF, {**tags(), "order": "="}, "order: '=' is none of"),
    (LIBTIFF, {**tags(), "output": "grey"}, "output: 'grey' is none of"),
    (LIBTIFF, {**tags(), "stream": -1}, "stream: -1 is not 0 to"),
    (LIBTIFF, tags([WIDTH, 3, [0]]), "tags: tag 256 is 0"),
    (LIBTIFF, tags([WIDTH, 4, [1 << 31]]), "tags: tag 256 is 2147483648"),
    (LIBTIFF, tags([0, 3, [1]]), "tags: [0, 3, [1]] is no tag"),
    (LIBTIFF, tags([65536, 3, [1]]), "is no tag"),
    (LIBTIFF, tags([700, 1, [1]]), "tags: [700, 1, [1]] is no tag"),
    (LIBTIFF, tags([700, 3, []]), "tags: [700, 3, []] is no tag"),
    (LIBTIFF, tags([700, 3, [65536]]), "is no tag"),
    (LIBTIFF, tags([700, 3, [-1]]), "is no tag"),
    (LIBTIFF, tags([700, 3, [True]]), "is no tag"),
    (LIBTIFF, tags([700, 5, [1]]), "is no tag"),
    (LIBTIFF, tags([513, 4, [(1 << 32) - 8]]), "is no tag"),
    (LIBTIFF, tags([700, 3]), "is no tag"),
    (LIBTIFF, {**tags([BITS, 3, [3]]), "output": "levels"}, "output: levels of 3 bits"),
    (LIBTIFF, tags([WIDTH, 3, [5]]), "2 x 5 pixels of 1 samples in a chunk of 8 bytes of uint8"),
    (LIBTIFF, tags([BITS, 3, [16]]), "2 x 4 pixels of 1 samples"),
    (LOGLUV, {"width": 3}, "8 bytes are no whole rows of 3 pixels"),
    (LOGLUV, {"width": 0}, "width: 0 is not 1 to"),
    (LOGLUV, {"width": 1, "bits": 16}, "bits: 16 is neither 24 nor 32"),
    (COMPLEX, {"dtype": "<i8"}, "dtype: int64 has more than 32 bits"),
    (COMPLEX, {"dtype": "<u2"}, "dtype: '<u2' is not possible here"),
    (COMPLEX, {"dtype": "<i4"}, "8 bytes are no whole elements of 16 bytes"),
    (PLANES, {"itemsize": 17, "row": 4, "stride": 1}, "rows of 4 floats of 17 bytes, stride 1"),
    (PLANES, {"itemsize": 0, "row": 4, "stride": 1}, "rows of 4 floats of 0 bytes"),
    (PLANES, {"itemsize": 2, "row": 0, "stride": 1}, "rows of 0 floats"),
    (PLANES, {"itemsize": 2, "row": 4, "stride": 3}, "stride 3"),
    (PLANES, {"itemsize": 2, "row": 4, "stride": 0}, "stride 0"),
    (PLANES, {"itemsize": 3, "row": 4, "stride": 1}, "8 bytes are no whole elements of 3 bytes"),
    ("numcodecs.imagecodecs_packints", {"dtype": "|u1", "bitspersample": 4, "bitorder": "<"}, "packints"),
    ("numcodecs.imagecodecs_packints", {"dtype": "|u1", "bitspersample": 9}, "9 bits as uint8, rows of 0"),
    ("numcodecs.imagecodecs_packints", {"dtype": "|u1", "bitspersample": 3, "runlen": 3}, "8 samples are no whole row"),
    ("numcodecs.imagecodecs_delta", {"dtype": "<u4", "shape": [3]}, "shape (3,) of uint32 along axis -1 does not fit"),
    ("numcodecs.imagecodecs_delta", {"dtype": "|S3"}, "dtype: '|S3' is not possible here"),
    ("numcodecs.imagecodecs_delta", {"dtype": "<c16"}, "dtype: '<c16' is not possible here"),
    ("numcodecs.imagecodecs_delta", {"dtype": "|u1", "shape": [8], "axis": 1}, "along axis 1 does not fit 8 bytes"),
    ("numcodecs.imagecodecs_delta", {"dtype": "|u1", "shape": []}, "shape: [] is no shape"),
    ("numcodecs.imagecodecs_delta", {"dtype": "|u1", "shape": [-8]}, "shape: [-8] is no shape"),
    ("numcodecs.imagecodecs_delta", {"dtype": "|u1", "dist": 3}, "distance 3 of a tile of shape None"),
    ("numcodecs.imagecodecs_jpeg", {"colorspace_data": True}, "colorspace_data: True is no colour space"),
    ("numcodecs.imagecodecs_jpeg", {"tables": 5}, "tables: not base64"),
    ("numcodecs.imagecodecs_float24", {"byteorder": "!"}, "byteorder: '!' is none of"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "configuration", "words"), SENSELESS)
def test_configurations_that_make_no_sense(name: str, configuration: Configuration, words: str) -> None:
    kind = Unsupported if configuration.get("bitorder") else InvalidMetadata
    with fault(kind, words, *(["[codec]"] if kind is Unsupported else [f"codec '{name}': "])):
        of_bytes((name, configuration))


@pytest.mark.parametrize(
    ("name", "configuration", "words"),
    [
        (LIBTIFF, tags(), "what it decodes to must be the chunk itself"),
        ("numcodecs.imagecodecs_png", {}, "what it decodes to must be the chunk itself, of two axes or more"),
        ("numcodecs.imagecodecs_delta", {"dtype": "|u1"}, "None bytes are no whole elements of uint8"),
        (LOGLUV, {"width": 1}, "None bytes are no whole rows of 1 pixels"),
        (PLANES, {"itemsize": 2, "row": 4, "stride": 1}, "None bytes are no whole elements of 2 bytes"),
    ],
)
def test_codecs_behind_others_that_hide_the_chunk(name: str, configuration: Configuration, words: str) -> None:
    with fault(InvalidMetadata, words):
        of_bytes(("gzip", {}), (name, configuration), shape=(2, 4))


# ------------------------------------------------------------------------------------------------------ samples


def test_packed_samples_begin_each_row_on_a_byte() -> None:
    target = of_bytes(("numcodecs.imagecodecs_packints", {"dtype": "|u1", "bitspersample": 3, "runlen": 4}))
    rows = int("001010011100" + "0000" + "111110101100" + "0000", 2).to_bytes(4, "big")
    assert target.decode(rows).tolist() == [1, 2, 3, 4, 7, 6, 5, 4]
    assert target.decode(rows + b"more").tolist() == [1, 2, 3, 4, 7, 6, 5, 4]
    with fault(CorruptChunk, "packints: 3 bytes where at least 4 are needed"):
        target.decode(rows[:3])
    with fault(Unsupported, "codec 'packints' only decodes", "[codec]"):
        target.encode(np.zeros(8, np.uint8))


def test_floats_of_24_bits() -> None:
    """TIFF Technical Note 3: a sign, 7 bits of exponent with a bias of 63, 16 bits of mantissa."""
    target = of_bytes(("numcodecs.imagecodecs_float24", {"byteorder": ">"}), dtype="f4", shape=(3,))
    assert target.decode(bytes.fromhex("3f0000 c08000 3e8000")).tolist() == [1.0, -3.0, 0.75]
    with fault(CorruptChunk, "float24: 8 bytes where at least 9 are needed"):
        target.decode(bytes(8))


def test_planes_of_floats() -> None:
    target = of_bytes((PLANES, {"itemsize": 2, "row": 4, "stride": 1}))
    stored = bytes([1, 1, 1, 1, 6, 10, 10, 10])  # differences of 1 2 3 4 10 20 30 40
    assert target.decode(stored).tolist() == [1, 10, 2, 20, 3, 30, 4, 40]
    with fault(CorruptChunk, "tiff_float_planes: 8 bytes are no whole rows of 10"):
        of_bytes((PLANES, {"itemsize": 2, "row": 5, "stride": 1})).decode(stored)


def test_complex_integers() -> None:
    target = of_bytes((COMPLEX, {"dtype": "<i2"}), dtype="c8", shape=(2,))
    assert target.decode(struct.pack("<4h", 1, -2, 32767, 0)).tolist() == [1 - 2j, 32767 + 0j]
    with fault(CorruptChunk, "tiff_complex_int: 7 bytes where at least 8 are needed"):
        target.decode(bytes(7))
    wide = of_bytes((COMPLEX, {"dtype": ">i4"}), dtype="c16", shape=(1,))
    assert wide.decode(struct.pack(">2i", 2**31 - 1, -(2**31))).tolist() == [2**31 - 1 - 2**31 * 1j]


def test_predictors_need_the_whole_tile() -> None:
    target = of_bytes(("numcodecs.imagecodecs_delta", {"dtype": "|u1"}))
    assert target.decode(bytes([1, 2, 3, 255, 0, 0, 0, 1])).tolist() == [1, 3, 6, 5, 5, 5, 5, 6]
    for out in (None, np.zeros(8, np.uint8)):
        with fault(CorruptChunk, "delta: 7 bytes where at least 8 are needed"):
            target.decode(bytes(7), out)


def test_bits_in_the_other_order() -> None:
    target = of_bytes(("numcodecs.imagecodecs_bitorder", {}))
    assert target.decode(bytes([1, 2, 128, 0xF0, 0, 255, 3, 5])).tolist() == [128, 64, 1, 0x0F, 0, 255, 0xC0, 0xA0]


# ------------------------------------------------------------------------------------------------------ LogLuv


def logluv(bits: int = 32, rows: int = 2) -> Any:
    return of_bytes((LOGLUV, {"width": 2, "bits": bits}), dtype="i2", shape=(rows, 2, 3))


def test_logluv_rows() -> None:
    row = bytes([2, 0x40, 0x41]) + bytes([128, 7]) + bytes([130 - 2, 100]) + bytes([2, 0, 255])
    found = logluv(rows=1).decode(row)
    assert found[..., 0].tolist() == [[0x4007, 0x4107]]
    assert found[..., 1].tolist() == [[int((100 + 0.5) / 410 * 32768)] * 2]
    assert found[..., 2].tolist() == [[int(0.5 / 410 * 32768), int(255.5 / 410 * 32768)]]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the data end in row 0 of 2"),
        (bytes([128, 7] * 4), "the data end in row 1 of 2"),
        (bytes([128, 7] * 7) + b"\x80", "the data end in row 1 of 2"),
        (bytes([129, 7] * 8), "a run goes beyond its row"),
        (bytes([3, 1, 2, 3] * 8), "a run goes beyond its row"),
    ],
)
def test_logluv_that_is_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, "tiff_logluv: ", words):
        logluv().decode(data)


def test_logluv_of_24_bits() -> None:
    with fault(CorruptChunk, "tiff_logluv: 11 bytes where at least 12 are needed"):
        logluv(24).decode(bytes(11))
    # As in libtiff a bit of the chroma's code gets into the luminance.
    found = logluv(24, 1).decode((1 << 14 | 16383).to_bytes(3, "big") + bytes(3))
    assert found[0, 0].tolist() == [13314 + 5, int(0.210526316 * 32768), int(0.473684211 * 32768)]


# ------------------------------------------------------------------------------------------------------ libtiff


def test_what_libtiff_gives_must_be_the_chunk() -> None:
    target = of_bytes((LIBTIFF, tags()), shape=(2, 4))
    assert target.decode(bytes(range(8))).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with fault(CorruptChunk, "tiff_libtiff: 0 bytes where at least 1 are needed"):
        target.decode(b"")
    with fault(CorruptChunk, "tiff_libtiff: "):
        of_bytes((LIBTIFF, tags([COMPRESSION, 3, [8]])), shape=(2, 4)).decode(bytes(range(8)))
    more = tags([324, 4, [0, 8]], [325, 4, [8, 8]], [322, 3, [16]], [323, 3, [16]])
    with fault(CorruptChunk, "tiff_libtiff: "):
        of_bytes((LIBTIFF, more), shape=(2, 4)).decode(bytes(range(8)))


def test_samples_of_another_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    target = of_bytes((LIBTIFF, tags()), shape=(2, 4))
    monkeypatch.setattr("byteatlas.codecs.tiff.libtiff._samples", lambda file: np.zeros((2, 3), np.uint8))
    with fault(CorruptChunk, "tiff_libtiff: (2, 3) samples of uint8 decoded, not 8 bytes"):
        target.decode(bytes(8))


def test_levels_of_grey() -> None:
    target = of_bytes((LIBTIFF, {**tags([BITS, 3, [4]]), "output": "levels"}), shape=(2, 4))
    assert target.decode(bytes([0x0F, 0x12, 0x34, 0x56])).tolist() == [[0, 15, 1, 2], [3, 4, 5, 6]]


def test_a_file_that_is_none() -> None:
    with fault(CorruptChunk, "tiff_libtiff: "):
        decode_rgba(b"II*\0", 2, 2)


def test_faults_other_than_libtiffs(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*args: Any, **options: Any) -> Any:
        raise ValueError("no such image")

    monkeypatch.setattr(imagecodecs, "tiff_decode", faulty)
    with fault(CorruptChunk, "tiff_libtiff: no such image"):
        decode_rgba(b"II*\0", 2, 2)


def test_streams_of_old_jpeg_that_libtiff_does_not_take() -> None:
    image = np.broadcast_to(np.array([90, 120, 150], np.uint8), (16, 16, 3)).copy()
    stream = imagecodecs.jpeg_encode(image, level=95, colorspace="RGB", outcolorspace="YCBCR")
    given = {"tags": [[WIDTH, 3, [16]], [HEIGHT, 3, [16]], [COMPRESSION, 3, [6]], [262, 3, [6]]], "stream": 3}
    found = of_bytes((LIBTIFF, given), shape=(16, 16, 3)).decode(b"xyz" + stream)
    assert np.abs(found.astype(int) - image).max() <= 3
    without = {k: v for k, v in given.items() if k != "stream"}
    with fault(CorruptChunk, "tiff_libtiff: "):
        of_bytes((LIBTIFF, without), shape=(16, 16, 3)).decode(b"xyz" + stream)
    other = {"tags": [[WIDTH, 3, [8]], [HEIGHT, 3, [32]], [COMPRESSION, 3, [6]], [262, 3, [6]]], "stream": 3}
    with fault(CorruptChunk, "tiff_libtiff: a JPEG stream of (16, 16, 3), not (32, 8, 3)"):
        of_bytes((LIBTIFF, other), shape=(32, 8, 3)).decode(b"xyz" + stream)


# ------------------------------------------------------------------------------------------------------ images


def test_lerc_needs_no_parameters() -> None:
    """An image of LERC says itself how it is stored: its configuration may be empty."""
    values = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
    target = of_bytes(("numcodecs.imagecodecs_lerc", {}), dtype="f4", shape=(3, 4))
    assert target.decode(imagecodecs.lerc_encode(values)).tobytes() == values.tobytes()
    assert target.decode(target.encode(values)).tobytes() == values.tobytes()
    with fault(CorruptChunk, "lerc: "):
        target.decode(imagecodecs.lerc_encode(values[:2]))
    with fault(CorruptChunk, "lerc: 0 bytes where at least 1 are needed"):
        target.decode(b"")


def png(width: int = 4, height: int = 2, bits: int = 8, colour: int = 0, interlaced: int = 0, **change: Any) -> bytes:
    rows = change.get("rows", (b"\0" + bytes(range(min(width, 4)))) * min(height, 2))
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    parts = [(b"IHDR", head), *change.get("more", []), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + body


def test_png_is_checked() -> None:
    assert png_size(png()) == (2, 4, 1)
    assert png_size(png(more=[(b"tEXt", b"a")])) == (2, 4, 1)
    assert png_image(png(), 10).raw == b"\0\0\1\2\3" * 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(30), "png: not a PNG stream"),
        (b"\x88" + png()[1:], "png: not a PNG stream"),
        (png()[:32], "png: not a PNG stream"),
        (png(colour=3), "png: colour type 3 of 8 bits"),
        (png(bits=4), "png: colour type 0 of 4 bits"),
        (png(interlaced=1), "interlaced 1"),
        (png(1 << 16, 1 << 16, rows=b""), "png: an image of 65536 x 65536 pixels"),
        (png(rows=bytes(9)), "png: 9 bytes of pixels where 10 are expected"),
        (png(rows=bytes(11)), "png: 11 bytes of pixels where 10 are expected"),
        (png(rows=b"\5" + bytes(9)), "png: 10 bytes of pixels where 10 are expected"),
        (png(more=[(b"PLTE", b"abc")]), "png: chunk b'PLTE'"),
        (png()[:-12], "png: the stream is cut off"),
        (png()[:-1] + b"x", "png: bad checksum"),
        (png()[:33] + b"\xff\xff\xff\xff" + png()[37:], "png: bad checksum"),
    ],
)
def test_png_that_is_damaged(data: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        png_size(data)


def test_png_rows_beyond_the_bound() -> None:
    with fault(CorruptChunk, "png: an image of 4 x 2 pixels"):
        png_image(png(), 9)


JPEG = imagecodecs.jpeg_encode(np.zeros((16, 8), np.uint8))


def test_frames_of_jpeg() -> None:
    assert jpeg_frame(JPEG) == (0xC0, 16, 8, 1)
    assert jpeg_size(b"\xff\xd8\xff\xff\xff\x01\x00" + JPEG[2:]) == (16, 8, 1)
    frame = JPEG.index(b"\xff\xc0")
    for marker, plain in ((0xC1, True), (0xC2, False), (0xC3, False), (0xC9, False)):
        changed = JPEG[: frame + 1] + bytes([marker]) + JPEG[frame + 2 :]
        assert jpeg_frame(changed)[0] == marker
        assert is_plain(changed) is plain
    assert is_plain(JPEG + b"\xff\xda" * 15)
    assert not is_plain(JPEG + b"\xff\xda" * 16)
    for data in (b"", b"\xff\xd8", JPEG[: frame + 9], b"\xff\xd8\xff\xda" + JPEG, b"\xff\xd8\xff\xd9" + JPEG):
        with fault(CorruptChunk, "jpeg: no frame header"):
            jpeg_frame(data)


@pytest.mark.parametrize("shape", [(16, 7), (15, 7), (17, 8), (8, 16)])
def test_images_of_another_size(shape: tuple[int, int]) -> None:
    with fault(CorruptChunk, "jpeg: the image has another size than its tile"):
        of_bytes(("numcodecs.imagecodecs_jpeg", {}), shape=shape).decode(JPEG)


def test_surplus_rows_are_left_out() -> None:
    values = np.add.outer(np.arange(16), np.arange(8)).astype(np.uint8)
    found = of_bytes(("numcodecs.imagecodecs_png", {}), shape=(5, 8)).decode(imagecodecs.png_encode(values))
    assert found.tolist() == values[:5].tolist()


def test_pixels_are_counted_before_decoding() -> None:
    image = np.zeros((9, 8, 3), np.uint8)
    for name, encoded, count in (
        ("jpeg2k", imagecodecs.jpeg2k_encode(image), _jpeg2k_pixels),
        ("webp", imagecodecs.webp_encode(image, lossless=True), _webp_pixels),
        ("webp", imagecodecs.webp_encode(image, level=50, lossless=False), _webp_pixels),
    ):
        assert count(encoded) == 72
        with fault(CorruptChunk, f"{name}: 72 bytes where the chunk has at most 24"):
            of_bytes((f"numcodecs.imagecodecs_{name}", {}), shape=(8, 3)).decode(encoded)
    wide = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (99).to_bytes(3, "little") + (9).to_bytes(3, "little") + bytes(20)
    assert _webp_pixels(wide) == 1000
    assert _webp_pixels(b"RIFF") == _jpeg2k_pixels(b"\xff\x4f\xff\x51") == 0


# ------------------------------------------------------------------------------------------------------ fax


def test_fax_rows_that_are_damaged() -> None:
    with fault(CorruptChunk, "ccitt: bit 0 of 16: no end of a line"):
        decode_group_3(b"\x80\0", 1, 8, True)
    with fault(CorruptChunk, "ccitt: the data end before the last row"):
        decode_group_4(b"", 1, 8)
    with fault(CorruptChunk, "ccitt: bit 0 of 16: no code word of a row of 8 pixels"):
        decode_group_4(b"\0\0", 1, 8)
    with fault(CorruptChunk, "ccitt: the data end before the last row"):
        decode_group_4(b"\xff", 9, 8)
    assert decode_group_4(b"\xff", 8, 8).tolist() == [[0] * 8] * 8
