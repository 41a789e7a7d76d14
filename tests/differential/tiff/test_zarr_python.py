"""References to TIFF files read by zarr-python through fsspec, with imagecodecs' codecs registered in numcodecs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from fixtures.tiff.make_tiff import FILES, pyramid, ramp, sub_ifds, tifffile_bytes

import byteatlas as ba

zarr = pytest.importorskip("zarr")
fsspec = pytest.importorskip("fsspec")

TILED: dict[str, Any] = {"tile": (16, 32), "metadata": None}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "deflate": {"compression": "zlib"},
    "deflate, predictor 2": {"compression": "zlib", "predictor": 2},
    "lzw, predictor 2": {"compression": "lzw", "predictor": 2},
    "big-endian lzw, predictor 2": {"compression": "lzw", "predictor": 2, "byteorder": ">"},
    "zstd": {"compression": "zstd"},
    "packbits": {"compression": "packbits", "tile": None, "rowsperstrip": 8},
    "lzma": {"compression": "lzma"},
    "jpeg2000": {"compression": "jpeg2000"},
    "jpegxl": {"compression": "jpegxl"},
    "png": {"compression": "png"},
    "lerc": {"compression": "lerc"},
}


def by_zarr_python(data: bytes, tmp_path: Path) -> Any:
    """The references' root group as zarr-python opens it."""
    import imagecodecs.numcodecs

    imagecodecs.numcodecs.register_codecs(verbose=False)
    file, refs = tmp_path / "a.tif", tmp_path / "refs.json"
    file.write_bytes(data)
    ba.write(ba.scan(str(file), on_refusal="raise"), str(refs))
    mapper = fsspec.filesystem(
        "reference", fo=json.loads(refs.read_text()), remote_protocol="file", asynchronous=True,
        remote_options={"asynchronous": True},
    )  # fmt: skip
    store = zarr.storage.FsspecStore(mapper, read_only=True, path="")
    return zarr.open_group(store, mode="r", zarr_format=2, use_consolidated=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["u1", "u2"])
def test_tiles(case: str, dtype: str, tmp_path: Path) -> None:
    values = ramp((40, 64), dtype)
    data = tifffile_bytes(values, **{**TILED, **CASES[case]})
    np.testing.assert_array_equal(by_zarr_python(data, tmp_path)["data"][...], values)


@pytest.mark.filterwarnings("ignore")
def test_floating_point_predictor(tmp_path: Path) -> None:
    values = ramp((40, 64), "f4")
    data = tifffile_bytes(values, compression="zlib", predictor=3, **TILED)
    np.testing.assert_array_equal(by_zarr_python(data, tmp_path)["data"][...], values)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("compression", ["jpeg", "webp", "zlib"])
def test_colour_images(compression: str, tmp_path: Path) -> None:
    data = tifffile_bytes(ramp((40, 64, 3), "u1"), photometric="rgb", compression=compression, **TILED)
    expected = tifffile.imread(io.BytesIO(data))
    np.testing.assert_array_equal(by_zarr_python(data, tmp_path)["data"][...], expected)


@pytest.mark.filterwarnings("ignore")
def test_cog_with_levels_mask_and_coordinates(tmp_path: Path) -> None:
    root = by_zarr_python(pyramid(), tmp_path)
    np.testing.assert_array_equal(root["data"][...], ramp((64, 96)))
    np.testing.assert_array_equal(root["overview_2/data"][...], ramp((16, 24)))
    np.testing.assert_array_equal(root["mask"][...], ramp((64, 96), "u1") > 100)
    assert root["x"][0] == 500015.0
    assert dict(root["spatial_ref"].attrs)["proj:code"] == "EPSG:32633"


@pytest.mark.filterwarnings("ignore")
def test_packed_bits_stacks_and_sparse_tiles(tmp_path: Path) -> None:
    for name, make in (("packed12.tif", FILES["packed12.tif"]), ("geotiff.tif", FILES["geotiff.tif"]), ("s", sub_ifds)):
        data = make()
        folder = tmp_path / name
        folder.mkdir()
        expected = tifffile.imread(io.BytesIO(data))
        np.testing.assert_array_equal(by_zarr_python(data, folder)["data"][...], expected)


@pytest.mark.filterwarnings("ignore")
def test_what_zarr_cannot_say_is_an_error_and_not_wrong_values(tmp_path: Path) -> None:
    """A compressed last strip is short: only we know how, others must refuse."""
    data = FILES["partial_strips.tif"]()
    with pytest.raises((ValueError, KeyError, TypeError, zarr.errors.BaseZarrError)):
        by_zarr_python(data, tmp_path)["data"][...]
