"""TIFF images that are what libtiff makes of them, against Pillow's libtiff and against what was put in."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import imagecodecs
import numpy as np
import pytest
import tifffile
from fixtures.tiff.make_tiff import ramp
from fixtures.tiff.raw_tiff import LONG, RATIONAL, SHORT, Raw, gray, write
from numpy.typing import NDArray
from PIL import Image

import byteatlas as ba
from byteatlas.errors import CorruptChunk, CorruptFile, Unsupported

HEIGHT, WIDTH = 37, 50


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def values(data: bytes) -> NDArray[Any]:
        file = tmp_path / "a.tif"
        file.write_bytes(data)
        root: Any = ba.open(ba.scan(str(file), on_refusal="raise"))
        return np.asarray(root["data"][...])

    return values


def pillow(data: bytes) -> NDArray[Any]:
    with Image.open(io.BytesIO(data)) as image:
        return np.asarray(image.convert("RGB"))


def units(height: int, width: int, across: int, down: int) -> bytes:
    """Subsampled YCbCr: units of ``across * down`` luminances and two colours."""
    rng = np.random.default_rng(5)
    return rng.integers(0, 256, -(-height // down) * -(-width // across) * (across * down + 2), np.uint8).tobytes()


PACK: dict[int, Callable[[bytes], bytes]] = {
    1: bytes, 5: imagecodecs.lzw_encode, 8: zlib.compress, 32773: imagecodecs.packbits_encode,
}  # fmt: skip


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize(("across", "down"), [(2, 2), (2, 1), (1, 2), (4, 4), (4, 2)])
@pytest.mark.parametrize("rows", [8, 37])
def test_subsampled_colours(compression: int, across: int, down: int, rows: int, load: Any) -> None:
    tags = gray(WIDTH, HEIGHT, compression=compression, photometric=6, samples=3, rows=rows)
    tags |= {258: (SHORT, [8, 8, 8]), 530: (SHORT, [across, down])}
    strips = [units(min(rows, HEIGHT - top), WIDTH, across, down) for top in range(0, HEIGHT, rows)]
    data = write([Raw(tags, [PACK[compression](s) for s in strips])])
    # Pillow leaves compressed ones only to libtiff.
    squeezed = write([Raw(tags | {259: (SHORT, [5])}, [imagecodecs.lzw_encode(s) for s in strips])])
    np.testing.assert_array_equal(load(data), pillow(squeezed))


@pytest.mark.parametrize("order", ["<", ">"])
def test_subsampled_colours_with_another_reference(order: str, load: Any) -> None:
    tags = gray(64, 32, compression=5, photometric=6, samples=3, tile_width=32, tile_length=16)
    tags |= {
        258: (SHORT, [8, 8, 8]), 530: (SHORT, [2, 2]), 529: (RATIONAL, [2125, 10000, 7154, 10000, 721, 10000]),
        532: (RATIONAL, [15, 1, 235, 1, 128, 1, 240, 1, 128, 1, 240, 1]),
    }  # fmt: skip
    data = write([Raw(tags, [imagecodecs.lzw_encode(units(16, 32, 2, 2))] * 4, tiled=True)], order=order)
    np.testing.assert_array_equal(load(data), pillow(data))


def test_short_units_are_an_error(load: Any) -> None:
    tags = gray(WIDTH, HEIGHT, compression=8, photometric=6, samples=3) | {258: (SHORT, [8, 8, 8])}
    whole = units(HEIGHT, WIDTH, 2, 2)
    with pytest.raises(CorruptChunk):
        load(write([Raw(tags, [zlib.compress(whole[: len(whole) // 2])])]))


def test_subsampled_planes_are_refused(load: Any) -> None:
    tags = gray(WIDTH, HEIGHT, photometric=6, samples=3, planar=2) | {258: (SHORT, [8, 8, 8])}
    with pytest.raises(Unsupported):
        load(write([Raw(tags, [bytes(WIDTH * HEIGHT)] * 3)]))


def test_verify_asks_libtiff(tmp_path: Path) -> None:
    tags = gray(WIDTH, HEIGHT, compression=8, photometric=6, samples=3) | {258: (SHORT, [8, 8, 8])}
    (tmp_path / "a.tif").write_bytes(write([Raw(tags, [zlib.compress(units(HEIGHT, WIDTH, 2, 2))])]))
    stream = jpeg()
    (tmp_path / "b.tif").write_bytes(write([Raw(old() | {513: (LONG, [8]), 514: (LONG, [len(stream)])}, [stream])]))
    for name in ("a.tif", "b.tif"):
        assert [i.status for i in ba.verify(str(tmp_path / name)).items] == ["equal"]


# Old-style JPEG -------------------------------------------------------------------------------------------------------


def jpeg(samples: int = 3, subsampling: str = "420", height: int = HEIGHT, width: int = WIDTH) -> bytes:
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([y * 6, x * 5, 255 - y * 3 - x * 2], -1).astype(np.uint8)
    options = {"subsampling": subsampling, "outcolorspace": "YCBCR"} if samples == 3 else {}
    return bytes(imagecodecs.jpeg8_encode(image if samples == 3 else image[..., 0].copy(), level=90, **options))


def segments(stream: bytes) -> tuple[dict[int, list[int]], int]:
    """Positions of a stream's segments (behind their lengths) by marker, and where its scan begins."""
    found: dict[int, list[int]] = {}
    at = 2
    while True:
        marker, length = stream[at + 1], struct.unpack_from(">H", stream, at + 2)[0]
        found.setdefault(marker, []).append(at + 4)
        at += 2 + length
        if marker == 0xDA:
            return found, at


def table_positions(stream: bytes) -> tuple[list[int], list[int], list[int]]:
    """Where the quantisation tables, the DC and the AC tables are, one each for Y, Cb and Cr."""
    found, _ = segments(stream)
    quantisation: dict[int, int] = {}
    huffman: dict[int, int] = {}
    for at in found[0xDB]:
        end = at - 2 + struct.unpack_from(">H", stream, at - 2)[0]
        while at < end:
            quantisation[stream[at]] = at + 1
            at += 65
    for at in found[0xC4]:
        end = at - 2 + struct.unpack_from(">H", stream, at - 2)[0]
        while at < end:
            huffman[stream[at]] = at + 1
            at += 17 + sum(stream[at + 1 : at + 17])
    pick = [0, 1, 1]
    return [quantisation[i] for i in pick], [huffman[i] for i in pick], [huffman[16 + i] for i in pick]


def old(samples: int = 3, subsampling: tuple[int, int] = (2, 2)) -> dict[int, tuple[int, Any]]:
    tags = gray(WIDTH, HEIGHT, compression=6, photometric=6 if samples == 3 else 1, samples=samples, rows=HEIGHT)
    if samples == 3:
        tags |= {258: (SHORT, [8] * 3), 530: (SHORT, list(subsampling))}
    return tags


HEAD = 8
"""Where the first chunk lies in a file of `write`."""


@pytest.mark.parametrize(("name", "factors"), [("420", (2, 2)), ("422", (2, 1)), ("444", (1, 1))])
def test_old_jpeg_stream(name: str, factors: tuple[int, int], load: Any) -> None:
    stream = jpeg(3, name)
    tags = old(3, factors) | {513: (LONG, [HEAD]), 514: (LONG, [len(stream)])}
    data = write([Raw(tags, [stream])])
    np.testing.assert_array_equal(load(data), pillow(data))


def test_old_jpeg_of_tables(load: Any) -> None:
    stream = jpeg()
    q, dc, ac = table_positions(stream)
    _, scan = segments(stream)
    tags = old() | {512: (SHORT, [1])}
    tags |= {t: (LONG, [HEAD + p for p in where]) for t, where in ((519, q), (520, dc), (521, ac))}
    tags |= {273: (LONG, [HEAD + scan]), 279: (LONG, [len(stream) - scan])}
    data = write([Raw(tags, [stream])])
    expected = pillow(data)
    np.testing.assert_array_equal(load(data), expected)
    same = write([Raw(old() | {513: (LONG, [HEAD])}, [stream])])
    np.testing.assert_array_equal(load(same), expected)


def test_old_jpeg_in_a_tile(load: Any) -> None:
    stream = jpeg(height=48, width=64)
    q, dc, ac = table_positions(stream)
    _, scan = segments(stream)
    tags = {k: v for k, v in old().items() if k != 278} | {512: (SHORT, [1]), 322: (SHORT, [64]), 323: (SHORT, [48])}
    tags |= {t: (LONG, [HEAD + p for p in where]) for t, where in ((519, q), (520, dc), (521, ac))}
    tags |= {324: (LONG, [HEAD + scan]), 325: (LONG, [len(stream) - scan])}
    data = write([Raw(tags, [stream], tiled=True)])
    np.testing.assert_array_equal(load(data), pillow(data))


def test_old_jpeg_without_strips_or_samples(load: Any) -> None:
    stream = jpeg()
    tags = old() | {513: (LONG, [26]), 514: (LONG, [len(stream)])}
    del tags[277], tags[278]
    whole = bytearray(write([Raw(tags)]))
    at = len(whole) + len(whole) % 2
    place = whole.index(struct.pack("<HHII", 513, 4, 1, 26)) + 8
    struct.pack_into("<I", whole, place, at)
    data = bytes(whole.ljust(at, b"\0")) + stream
    np.testing.assert_array_equal(load(data), load(write([Raw(old() | {513: (LONG, [HEAD])}, [stream])])))


@pytest.mark.parametrize("samples", [1, 3])
def test_old_jpeg_of_a_stream_in_each_strip(samples: int, load: Any) -> None:
    rows = 16
    image = imagecodecs.jpeg8_decode(jpeg(samples))
    options = {"subsampling": "420", "outcolorspace": "YCBCR"} if samples == 3 else {}
    strips = [bytes(imagecodecs.jpeg8_encode(image[i : i + rows].copy(), **options)) for i in range(0, HEIGHT, rows)]
    data = write([Raw(old(samples) | {278: (LONG, [rows])}, strips)])
    np.testing.assert_array_equal(load(data), tifffile.imread(io.BytesIO(data)))


def test_old_jpeg_in_gray(load: Any) -> None:
    stream = jpeg(1)
    found, scan = segments(stream)
    tags = old(1) | {512: (SHORT, [1])}
    for tag, at in ((519, found[0xDB][0]), (520, found[0xC4][0]), (521, found[0xC4][1])):
        tags[tag] = (LONG, [HEAD + at + 1])
    tags |= {273: (LONG, [HEAD + scan]), 279: (LONG, [len(stream) - scan])}
    np.testing.assert_array_equal(load(write([Raw(tags, [stream])])), imagecodecs.jpeg8_decode(stream))


def test_old_jpeg_that_is_damaged(load: Any) -> None:
    stream = jpeg()
    _, scan = segments(stream)
    tags = old() | {512: (SHORT, [1]), 273: (LONG, [HEAD + scan]), 279: (LONG, [len(stream) - scan])}
    with pytest.raises((CorruptChunk, CorruptFile)):
        load(write([Raw(tags, [stream])]))  # no tables


# Rare compressions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [10, 12, 14])
def test_lossless_jpeg_of_more_bits(bits: int, load: Any) -> None:
    values = ramp((HEIGHT, WIDTH), "u2") % (1 << bits)
    data = write(
        [Raw(gray(WIDTH, HEIGHT, bits, compression=7), [imagecodecs.ljpeg_encode(values, bitspersample=bits)])]
    )
    np.testing.assert_array_equal(load(data), values)


@pytest.mark.parametrize("photometric", [1, 32803, 34892])
@pytest.mark.parametrize("shape", [(36, 50), (36, 25, 2), (18, 50, 2)])
def test_lossless_jpeg_of_raw_photographs(photometric: int, shape: tuple[int, ...], load: Any) -> None:
    values = ramp((36, 50), "u2")
    stream = imagecodecs.jpeg8_encode(
        values.reshape(shape), lossless=True, bitspersample=16, colorspace=0, outcolorspace=0
    )
    data = write([Raw(gray(50, 36, 16, compression=7, photometric=photometric), [bytes(stream)])])
    np.testing.assert_array_equal(load(data), values)
    assert load(data).tobytes() == tifffile.imread(io.BytesIO(data)).tobytes()


def test_jpeg_of_linear_raw_samples(load: Any) -> None:
    y, x = np.mgrid[0:32, 0:48]
    image = np.stack([y * 6, x * 5, 255 - y * 3 - x * 2], -1).astype(np.uint8)
    stream = bytes(imagecodecs.jpeg8_encode(image, outcolorspace="YCBCR"))
    tags = gray(48, 32, compression=34892, photometric=34892, samples=3) | {258: (SHORT, [8] * 3)}
    data = write([Raw(tags, [stream])])
    np.testing.assert_array_equal(load(data), tifffile.imread(io.BytesIO(data)))


def test_thunderscan(load: Any) -> None:
    levels = ramp((9, 12), "u1") % 16
    raw = [bytes((0xC0 | row).tolist()) for row in levels]
    tags = gray(12, 9, 4, compression=32809, rows=4)
    got = load(write([Raw(tags, [b"".join(raw[i : i + 4]) for i in (0, 4, 8)])]))
    np.testing.assert_array_equal(got, levels)


def test_next(load: Any) -> None:
    levels = ramp((6, 8), "u1") % 4
    packed = [bytes(imagecodecs.packints_encode(row, 2)) for row in levels]
    data = b"".join(b"\0" + row for row in packed)
    np.testing.assert_array_equal(load(write([Raw(gray(8, 6, 2, compression=32766), [data])])), levels)


@pytest.mark.parametrize("order", ["<", ">"])
def test_log_luminance(order: str, load: Any) -> None:
    values = ramp((5, 7), "i2")
    data = b"".join(b"\x07" + plane.tobytes() for row in values for plane in (row.view("u2") >> 8, row.view("u2") & 255)
                    for plane in (plane.astype("u1"),))  # fmt: skip
    tags = gray(7, 5, 16, compression=34676, photometric=32844, format=2)
    np.testing.assert_array_equal(load(write([Raw(tags, [data])], order=order)), values)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_pixarlog(dtype: str, order: str, load: Any) -> None:
    values = np.abs(ramp((6, 9), dtype)) if dtype != "f4" else np.linspace(0.01, 2, 54, dtype="f4").reshape(6, 9)
    # Tables of 11 bits: the codes are differences of 16-bit numbers, deflated (libtiff's tif_pixarlog.c).
    codes = np.arange(54, dtype=f"{order}u2").reshape(6, 9) * 37
    deltas = np.diff(codes, axis=1, prepend=np.zeros((6, 1), codes.dtype)).astype(codes.dtype) & 0x7FF
    bits = 8 * values.itemsize
    tags = gray(9, 6, bits, compression=32909, format=3 if dtype == "f4" else 1)
    got = load(write([Raw(tags, [zlib.compress(deltas.astype(f"{order}u2").tobytes())])], order=order))
    assert got.dtype == dtype
    # Linear, then logarithmic: ever larger values from 0 on.
    assert (np.diff(got.ravel().astype(float)) >= 0).all()
    assert got[0, 0] == 0


def luv(words: NDArray[np.uint32]) -> bytes:
    """Rows of LogLuv words, runs as runs."""
    out = bytearray()
    for row in words:
        for shift in (24, 16, 8, 0):
            plane = (row >> shift & 255).astype(np.uint8)
            edges = [0, *(np.flatnonzero(np.diff(plane)) + 1).tolist(), len(plane)]
            for a, b in pairwise(edges):
                out += bytes([b - a + 126, plane[a]]) if b - a > 1 else bytes([1, plane[a]])
    return bytes(out)


def test_log_luv(load: Any) -> None:
    rng = np.random.default_rng(2)
    words = (rng.integers(0x20000000, 0x50000000, (6, 11)) & 0xFFFF7F7F | 0x3030).astype(np.uint32)
    words[2:4] = words[2, 0]
    tags = gray(11, 6, 16, compression=34676, photometric=32845, samples=3, format=2) | {258: (SHORT, [16] * 3)}
    got = load(write([Raw(tags, [luv(words)])]))
    assert got.dtype == np.int16
    np.testing.assert_array_equal(got[..., 0], (words >> 16).astype(np.int16))
    # The same words as XYZ by libtiff: u' and v' of both agree.
    xyz = load(write([Raw(tags | {258: (SHORT, [32] * 3), 339: (SHORT, [3])}, [luv(words)])])).astype(float)
    under = xyz[..., 0] + 15 * xyz[..., 1] + 3 * xyz[..., 2]
    np.testing.assert_allclose(got[..., 1] / 32768, 4 * xyz[..., 0] / under, atol=4e-5)
    np.testing.assert_allclose(got[..., 2] / 32768, 9 * xyz[..., 1] / under, atol=4e-5)


def test_log_luv_of_24_bits(load: Any) -> None:
    words = np.random.default_rng(3).integers(1 << 14, 1 << 24, (64, 50))
    words[0, :3] = [4 << 14, 4 << 14 | 3, 4 << 14 | 16383]
    packed = words.astype(">u4").view(np.uint8).reshape(64, 50, 4)[..., 1:].tobytes()
    tags = gray(50, 64, 16, compression=34677, photometric=32845, samples=3, format=2) | {258: (SHORT, [16] * 3)}
    got = load(write([Raw(tags, [packed])]))
    # The first cells of the grid begin at u' = 0.247663, v' = 0.01694, and are 0.0035 wide; the last codes are white.
    assert got[0, :3, 1].tolist() == [int((0.247663 + n * 0.0035) * 32768) for n in (0.5, 3.5)] + [6898]
    assert got[0, :3, 2].tolist() == [int((0.01694 + 0.5 * 0.0035) * 32768)] * 2 + [15521]
    np.testing.assert_array_equal(got[..., 0], (words >> 12 & 0xFFD) + 13314)
    xyz = load(write([Raw(tags | {258: (SHORT, [32] * 3), 339: (SHORT, [3])}, [packed])])).astype(float)
    under = xyz[..., 0] + 15 * xyz[..., 1] + 3 * xyz[..., 2]
    np.testing.assert_allclose(got[..., 1] / 32768, 4 * xyz[..., 0] / under, atol=4e-5)
    np.testing.assert_allclose(got[..., 2] / 32768, 9 * xyz[..., 1] / under, atol=4e-5)
    with pytest.raises(CorruptChunk):
        load(write([Raw(tags, [packed[:-1]])]))


@pytest.mark.parametrize("damage", [slice(0, 20), slice(0, -1)])
def test_log_luv_cut_off(damage: slice, load: Any) -> None:
    words = np.arange(66, dtype=np.uint32).reshape(6, 11)
    tags = gray(11, 6, 16, compression=34676, photometric=32845, samples=3, format=2) | {258: (SHORT, [16] * 3)}
    with pytest.raises(CorruptChunk):
        load(write([Raw(tags, [luv(words)[damage]])]))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("samples", [1, 3])
def test_predictor_three_of_24_bits(order: str, samples: int, load: Any) -> None:
    values = (ramp((5, 9, samples), "f4").view("u4") & 0xFFFF0000).view("f4")  # 15 bits of fraction at most
    floats = imagecodecs.float24_encode(values, byteorder=">")
    rows = np.frombuffer(floats, np.uint8).reshape(5, 9 * samples, 3).swapaxes(1, 2).reshape(5, -1)
    deltas = rows.copy()
    deltas[:, samples:] -= rows[:, :-samples]
    tags = gray(9, 5, 24, compression=8, samples=samples, format=3, predictor=3) | {258: (SHORT, [24] * samples)}
    got = load(write([Raw(tags, [zlib.compress(deltas.tobytes())])], order=order))
    np.testing.assert_array_equal(got, values.squeeze(-1) if samples == 1 else values)


@pytest.mark.parametrize("compression", [8, 50000, 50013, 34926])
@pytest.mark.parametrize("bits", [8, 12, 16])
def test_last_strips_written_in_full(compression: int, bits: int, load: Any) -> None:
    pack = zlib.compress if compression in (8, 50013) else imagecodecs.zstd_encode
    rows = np.frombuffer(np.random.default_rng(1).bytes(24 * 20 * bits // 8), np.uint8).reshape(24, -1)
    tags = gray(20, 18, bits, compression=compression, rows=8)
    full = load(write([Raw(tags, [pack(rows[i : i + 8].tobytes()) for i in (0, 8, 16)])]))
    exact = load(write([Raw(tags, [pack(rows[i : min(18, i + 8)].tobytes()) for i in (0, 8, 16)])]))
    np.testing.assert_array_equal(full, exact)


def test_lerc_with_a_predictor_is_refused(load: Any) -> None:
    tags = gray(16, 16, compression=34887, predictor=2) | {50674: (LONG, [4, 0])}
    with pytest.raises(Unsupported):
        load(write([Raw(tags, [imagecodecs.lerc_encode(ramp((16, 16), "u1"))])]))
