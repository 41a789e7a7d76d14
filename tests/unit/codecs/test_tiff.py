"""TIFF codecs by themselves: round trips, sizes, configurations that make no sense, streams that are damaged."""

from __future__ import annotations

import base64
from typing import Any

import imagecodecs
import numpy as np
import pytest
from fixtures.tiff.make_tiff import ramp

from byteatlas.codecs.core.pipeline import Pipeline, build_pipeline
from byteatlas.codecs.tiff.images import image_shapes, jpeg_size, png_size
from byteatlas.errors import ByteatlasError, CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding


def pipeline(
    shape: tuple[int, ...], dtype: str, *codecs: tuple[str, dict[str, Any]], endian: str = "little"
) -> Pipeline:
    chain = [CodecSpec("bytes", {"endian": endian} if np.dtype(dtype).itemsize > 1 else {})]
    chain += [CodecSpec(f"numcodecs.imagecodecs_{name}", conf) for name, conf in codecs]
    return build_pipeline(Encoding(tuple(chain)), from_numpy(np.dtype(dtype)), shape, None)


@pytest.mark.parametrize("name", ["lzw", "packbits", "lzma", "zstd", "zlib", "deflate", "bitorder"])
def test_bytes_round_trip(name: str) -> None:
    values = ramp((16, 20))
    pipe = pipeline((16, 20), "u2", (name, {}))
    data = pipe.encode(values)
    np.testing.assert_array_equal(pipe.decode(data), values)
    out = np.zeros_like(values)
    np.testing.assert_array_equal(pipe.decode(data, out), values)
    np.testing.assert_array_equal(out, values)


@pytest.mark.parametrize("name", ["lzw", "packbits", "lzma"])
def test_surplus_bytes_are_left_and_missing_ones_an_error(name: str) -> None:
    whole = pipeline((16, 20), "u1", (name, {})).encode(ramp((16, 20), "u1"))
    np.testing.assert_array_equal(pipeline((9, 20), "u1", (name, {})).decode(whole), ramp((16, 20), "u1")[:9])
    with pytest.raises(CorruptChunk):
        pipeline((17, 20), "u1", (name, {})).decode(whole)


BYTES = ["lzw", "packbits", "lzma", "zstd", "zlib", "deflate"]
IMAGES = ["jpeg", "jpeg2k", "jpegxl", "jpegxr", "png", "webp", "lerc"]


@pytest.mark.parametrize("name", BYTES + IMAGES)
@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xd8\xff", bytes(range(256)), b"\x89PNG\r\n\x1a\n" + bytes(40)])
def test_damaged_streams(name: str, data: bytes) -> None:
    with pytest.raises(CorruptChunk):
        pipeline((64, 64), "u1", (name, {})).decode(data)


@pytest.mark.parametrize("endian", ["little", "big"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8"])
@pytest.mark.parametrize("samples", [1, 3])
def test_predictor_two(endian: str, dtype: str, samples: int) -> None:
    shape = (8, 10) if samples == 1 else (8, 10, 3)
    stored = np.dtype(dtype).newbyteorder("big" if endian == "big" else "little").str.replace("i", "u")
    conf = {"shape": list(shape), "dtype": stored, "axis": -1 if samples == 1 else -2, "dist": 1}
    pipe = pipeline(shape, dtype, ("delta", conf), ("lzw", {}), endian=endian)
    values = ramp(shape, dtype)
    data = pipe.encode(values)
    np.testing.assert_array_equal(pipe.decode(data), values)
    np.testing.assert_array_equal(pipe.decode(data, np.zeros(shape, dtype)), values)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_predictor_three(dtype: str) -> None:
    conf = {"shape": [8, 10], "dtype": f"<{dtype}", "axis": -1, "dist": 1}
    pipe = pipeline((8, 10), dtype, ("floatpred", conf), ("zstd", {}))
    values = np.random.default_rng(0).normal(size=(8, 10)).astype(dtype)
    np.testing.assert_array_equal(pipe.decode(pipe.encode(values)), values)


SENSELESS: list[tuple[str, dict[str, Any]]] = [
    ("delta", {"shape": [8, 9], "dtype": "<u2"}), ("delta", {"shape": [8, 10], "dtype": "O"}),
    ("delta", {"shape": [8, 10], "dtype": "<u2", "axis": 5}), ("delta", {"shape": "x", "dtype": "<u2"}),
    ("delta", {"dist": 3}), ("floatpred", {"dtype": "<f2"}), ("floatpred", {"shape": [8, 10], "dtype": "<u2"}),
    ("packints", {"dtype": "<u2", "bitspersample": 17}), ("packints", {"dtype": "<f2", "bitspersample": 4}),
    ("packints", {"dtype": "<u2", "bitspersample": 12, "runlen": 7}),
    ("packints", {"dtype": "<u2", "bitspersample": 0}),
    ("float24", {"byteorder": "x"}), ("ccittfax4", {"height": 8, "width": 10}), ("ccittfax4", {}),
    ("ccittfax3", {"height": 8, "width": 20, "t4options": -1}), ("jpeg", {"tables": "?"}),
    ("jpeg", {"bitspersample": 99}),
    ("jpeg", {"colorspace_jpeg": []}), ("webp", {"hasalpha": "yes"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "conf"), SENSELESS)
def test_configurations_that_make_no_sense(name: str, conf: dict[str, Any]) -> None:
    with pytest.raises((InvalidMetadata, Unsupported)):
        pipeline((8, 10), "u2", (name, conf))


def test_images_need_the_chunk_itself_before_them() -> None:
    with pytest.raises(InvalidMetadata):
        pipeline((8, 10), "u1", ("lzw", {}), ("png", {}))
    with pytest.raises(InvalidMetadata):
        pipeline((80,), "u1", ("png", {}))


def test_image_shapes() -> None:
    assert image_shapes((8, 9)) == [(8, 9)]
    assert image_shapes((8, 9, 3)) == [(8, 9, 3)]
    assert image_shapes((1, 1, 8, 9)) == [(8, 9), (1, 8, 9)]
    assert image_shapes((1, 9, 3)) == [(9, 3), (1, 9, 3)]


def test_jpeg_with_tables_apart() -> None:
    smooth = np.broadcast_to(np.arange(0, 128, 2, dtype="u1"), (64, 64)).copy()
    whole = imagecodecs.jpeg_encode(smooth, level=95)
    assert jpeg_size(whole) == (64, 64, 1)
    start = whole.index(b"\xff\xdb")
    frame = whole.index(b"\xff\xc0")
    tables, rest = b"\xff\xd8" + whole[start:frame] + b"\xff\xd9", b"\xff\xd8" + whole[frame:]
    pipe = pipeline((64, 64), "u1", ("jpeg", {"tables": base64.b64encode(tables).decode()}))
    np.testing.assert_array_equal(pipe.decode(rest), imagecodecs.jpeg_decode(whole))
    with pytest.raises(CorruptChunk):
        pipeline((64, 63), "u1", ("jpeg", {})).decode(whole)


def test_png_streams_are_checked_before_they_are_decoded() -> None:
    good = imagecodecs.png_encode(ramp((12, 9, 3), "u1"))
    assert png_size(good) == (12, 9, 3)
    for at in range(8, len(good) - 1, 7):
        bad = bytearray(good)
        bad[at] ^= 0x55
        with pytest.raises(CorruptChunk):
            png_size(bytes(bad))
    for cut in (7, 20, 50, len(good) - 3):
        with pytest.raises(CorruptChunk):
            png_size(good[:cut])


def test_webp_alpha_and_wrong_sizes() -> None:
    opaque = imagecodecs.webp_encode(ramp((16, 16, 3), "u1"), lossless=True)
    got = pipeline((16, 16, 4), "u1", ("webp", {"hasalpha": True})).decode(opaque)
    assert (got[..., 3] == 255).all()
    np.testing.assert_array_equal(got[..., :3], ramp((16, 16, 3), "u1"))
    with pytest.raises(CorruptChunk):
        pipeline((16, 17, 3), "u1", ("webp", {})).decode(opaque)


def test_images_do_not_encode() -> None:
    with pytest.raises(ByteatlasError, match="only decodes"):
        pipeline((8, 10), "u1", ("jpeg", {})).encode(np.zeros((8, 10), "u1"))
