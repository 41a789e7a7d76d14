"""TIFF files of many layouts, written by tifffile and Pillow: our values are the ones that they read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from fixtures.tiff.make_tiff import ramp, tifffile_bytes
from PIL import Image

import byteatlas as ba

LAYOUTS: dict[str, dict[str, Any]] = {
    "strips": {"rowsperstrip": 7},
    "even strips": {"rowsperstrip": 8},
    "one strip": {"rowsperstrip": 1000},
    "tiles": {"tile": (16, 32)},
}
TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8", "u8", "i8", "c8", "c16"]
COMPRESSIONS = ["zlib", "lzw", "packbits", "zstd", "lzma"]


def check(data: bytes, tmp_path: Path, expected: np.ndarray | None = None, *, tolerance: int = 0) -> None:
    file = tmp_path / "a.tif"
    file.write_bytes(data)
    expected = tifffile.imread(io.BytesIO(data)) if expected is None else expected
    virtual = ba.scan(str(file), on_refusal="raise")
    root: Any = ba.open(virtual)
    got = np.asarray(root["data"][...])
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype or (got.dtype == np.uint8 and expected.dtype == bool)
    if tolerance:
        assert np.abs(got.astype(int) - expected.astype(int)).max() <= tolerance
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("byteorder", ["<", ">"])
def test_types(layout: str, dtype: str, byteorder: str, tmp_path: Path) -> None:
    values = ramp((40, 50), dtype)
    compression = "zlib" if dtype in ("u2", "f4") else None
    check(
        tifffile_bytes(values, byteorder=byteorder, compression=compression, metadata=None, **LAYOUTS[layout]), tmp_path
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("samples", [1, 3])
def test_compressions(layout: str, compression: str, samples: int, tmp_path: Path) -> None:
    shape = (40, 50) if samples == 1 else (40, 50, samples)
    photometric = "minisblack" if samples == 1 else "rgb"
    options = {"compression": compression, "photometric": photometric, "metadata": None, **LAYOUTS[layout]}
    check(tifffile_bytes(ramp(shape, "u1"), **options), tmp_path)


@pytest.mark.parametrize("layout", ["strips", "tiles"])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize(
    ("dtype", "predictor"), [(d, 2) for d in ("u1", "i2", "u4", "u8")] + [(d, 3) for d in ("f2", "f4", "f8")]
)
@pytest.mark.parametrize("samples", [1, 3])
def test_predictors(layout: str, byteorder: str, dtype: str, predictor: int, samples: int, tmp_path: Path) -> None:
    shape = (40, 50) if samples == 1 else (40, 50, samples)
    photometric = "minisblack" if samples == 1 else "rgb"
    data = tifffile_bytes(
        ramp(shape, dtype), byteorder=byteorder, compression="lzw", predictor=predictor, photometric=photometric,
        metadata=None, **LAYOUTS[layout],
    )  # fmt: skip
    check(data, tmp_path)


@pytest.mark.parametrize("layout", ["strips", "tiles"])
@pytest.mark.parametrize("predictor", [None, 2])
def test_separate_planes(layout: str, predictor: int | None, tmp_path: Path) -> None:
    data = tifffile_bytes(
        ramp((3, 40, 50)), photometric="rgb", planarconfig="separate", compression="zlib", predictor=predictor,
        metadata=None, **LAYOUTS[layout],
    )  # fmt: skip
    check(data, tmp_path)


@pytest.mark.parametrize("compression", ["jpeg", "jpeg2000", "jpegxl", "jpegxr", "png", "webp", "lerc"])
@pytest.mark.parametrize("samples", [1, 3, 4])
@pytest.mark.parametrize("layout", ["strips", "tiles"])
def test_image_compressions(compression: str, samples: int, layout: str, tmp_path: Path) -> None:
    if (compression, samples) in {("webp", 1), ("jpeg", 4)} or (compression == "jpeg" and layout == "strips"):
        pytest.skip("tifffile does not write this")
    shape = (40, 64) if samples == 1 else (40, 64, samples)
    values = ramp(shape, "u1")
    if samples == 4:
        values[..., 3] = 255
    options = {"photometric": "minisblack" if samples == 1 else "rgb", "metadata": None, **LAYOUTS[layout]}
    if layout == "strips":
        options["rowsperstrip"] = 8
    if samples == 4:
        options["extrasamples"] = ["unassalpha"]
    check(tifffile_bytes(values, compression=compression, **options), tmp_path)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
@pytest.mark.parametrize("inner", ["zstd", "deflate"])
def test_lerc_with_a_compression_after_it(dtype: str, inner: str, tmp_path: Path) -> None:
    arguments = {"compression": inner}
    data = tifffile_bytes(
        ramp((40, 64), dtype), compression="lerc", compressionargs=arguments, tile=(16, 16), metadata=None
    )
    check(data, tmp_path)


@pytest.mark.parametrize("photometric", ["rgb", "ycbcr"])
@pytest.mark.parametrize("subsampling", [(1, 1), (2, 2)])
def test_jpeg_colours(photometric: str, subsampling: tuple[int, int], tmp_path: Path) -> None:
    smooth = np.stack(np.broadcast_arrays(*np.ogrid[0:64, 0:96], np.int64(90)), -1).astype("u1")
    options = {"subsampling": subsampling} if photometric == "ycbcr" else {}
    data = tifffile_bytes(smooth, photometric=photometric, tile=(32, 32), metadata=None, compression="jpeg", **options)
    check(data, tmp_path)


@pytest.mark.parametrize(
    "name", ["group3", "group4", "tiff_ccitt", "packbits", "tiff_lzw", "tiff_adobe_deflate", "raw"]
)
def test_bilevel_by_libtiff(name: str, tmp_path: Path) -> None:
    bits = ramp((50, 37), "u1") > 100
    out = io.BytesIO()
    Image.fromarray(bits).save(out, "TIFF", compression=None if name == "raw" else name)
    # Pillow writes MinIsBlack: what it calls white is 1.
    check(out.getvalue(), tmp_path)


def test_jpeg_tables_by_libtiff(tmp_path: Path) -> None:
    smooth = np.stack(np.broadcast_arrays(*np.ogrid[0:64, 0:96], np.int64(90)), -1).astype("u1")
    out = io.BytesIO()
    Image.fromarray(smooth).save(out, "TIFF", compression="jpeg", quality=90, tiffinfo={278: 16})
    with tifffile.TiffFile(io.BytesIO(out.getvalue())) as tif:
        assert 347 in tif.pages.first.tags
    check(out.getvalue(), tmp_path)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6, 7, 9, 10, 12, 14, 15, 20, 24])
@pytest.mark.parametrize("samples", [1, 3])
def test_packed_integers(bits: int, samples: int, tmp_path: Path) -> None:
    from fixtures.tiff.raw_tiff import SHORT, Raw, gray, write

    values = ramp((9, 13, samples), "u4") % (1 << bits)
    unpacked = ((values[..., None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).reshape(9, -1)
    tags = gray(13, 9, bits, samples=samples, rows=4) | {258: (SHORT, [bits] * samples)}
    rows = np.packbits(unpacked, axis=1)
    data = write([Raw(tags, [rows[i : i + 4].tobytes() for i in range(0, 9, 4)])])
    expected = values.squeeze(-1) if samples == 1 else values
    check(data, tmp_path, expected.astype("u1" if bits <= 8 else "u2" if bits <= 16 else "u4"))


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4"])
@pytest.mark.parametrize("rows", [4, 9])
def test_a_predictor_without_a_compression_is_none(dtype: str, rows: int, tmp_path: Path) -> None:
    from fixtures.tiff.raw_tiff import Raw, gray, write

    values = ramp((9, 13), dtype)
    bits, kind = 8 * values.itemsize, 3 if dtype == "f4" else 1
    tags = gray(13, 9, bits, rows=rows, format=kind, predictor=2)
    check(write([Raw(tags, [values[i : i + rows].tobytes() for i in range(0, 9, rows)])]), tmp_path, values)


@pytest.mark.parametrize("sample_format", [0, 9])
def test_unknown_sample_formats_are_unsigned(sample_format: int, tmp_path: Path) -> None:
    from fixtures.tiff.raw_tiff import Raw, gray, write

    values = ramp((9, 13), "u1")
    check(write([Raw(gray(13, 9, format=sample_format), [values.tobytes()])]), tmp_path, values)


def test_multi_page_and_big(tmp_path: Path) -> None:
    values = ramp((5, 30, 40), "f4")
    for bigtiff in (False, True):
        check(tifffile_bytes(values, bigtiff=bigtiff, photometric="minisblack", compression="zlib"), tmp_path)
        check(tifffile_bytes(values, bigtiff=bigtiff, photometric="minisblack"), tmp_path)
