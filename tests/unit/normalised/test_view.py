"""Any tree as plain, regular Zarr: equal values, standard documents, nothing that only we read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.normalised import NormalisedView, NormaliseOptions
from byteatlas.normalised.boxes import boxes
from byteatlas.types import Shape

FILES = [
    "netcdf3/cdf1.nc", "netcdf3/cdf5.nc", "netcdf3/narrow_record.nc", "hdf5/types.h5", "hdf5/shared_messages.h5",
    "tiff/partial_strips.tif", "tiff/packed12.tif", "tiff/pyramid_be.tif", "fits/images.fits", "fits/tables.fits",
    "fits/tiles.fits", "grib/gfs.grib2", "grib/era.grib1",
]  # fmt: skip
PLAIN = {"bytes", "zstd", "vlen-utf8", "vlen-bytes"}


def stored(view: NormalisedView) -> dict[str, bytes]:
    """All keys and values."""
    found = dict(view.documents())
    for path in view.arrays:
        for key in view.chunk_keys(path):
            data = view.chunk(key)
            assert data is not None
            found[key] = data
    return found


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore::byteatlas.RefusalWarning")
def test_values_are_those_of_the_source(name: str, zarr_format: Any) -> None:
    source: Any = ba.open(ba.scan(FIXTURES / name))
    view = NormalisedView(source, NormaliseOptions(zarr_format, "zstd"))
    copy: Any = ba.open(stored(pickle.loads(pickle.dumps(view))))
    compared = 0
    for path, array in source.walk():
        if isinstance(array, ba.Array) and path not in view.refused:
            want = np.asarray(array[...])
            found = np.asarray(copy[path][tuple(slice(0, n) for n in array.shape)])
            assert found.tolist() == want.tolist() if want.dtype.hasobject else found.tobytes() == want.tobytes()
            compared += 1
    assert compared > len(view.refused)


@pytest.mark.filterwarnings("ignore::byteatlas.RefusalWarning")
@pytest.mark.parametrize("name", FILES)
def test_documents_are_plain(name: str) -> None:
    view = NormalisedView(ba.open(ba.scan(FIXTURES / name)))
    documents = {key: json.loads(data) for key, data in view.documents().items()}
    root = documents["zarr.json"]
    for path, below in root["consolidated_metadata"]["metadata"].items():
        assert documents[f"{path}/zarr.json"] == below
    for document in documents.values():
        if document["node_type"] == "array":
            assert document["chunk_grid"]["name"] == "regular"
            assert {codec["name"] for codec in document["codecs"]} <= PLAIN
            assert len(document["dimension_names"]) == len(document["shape"])


def test_what_plain_zarr_cannot_say_is_refused() -> None:
    view = NormalisedView(ba.open(ba.scan(FIXTURES / "hdf5" / "types.h5")))
    assert {error.reason for error in view.refused.values() if isinstance(error, ba.Unsupported)} == {"datatype"}
    assert "vlen_floats" in view.refused
    assert not any(key.startswith("vlen_floats/") for key in view.every_key())


def test_unknown_keys() -> None:
    view = NormalisedView(ba.open(ba.scan(FIXTURES / "netcdf3" / "cdf1.nc")))
    path = next(iter(view.arrays))
    good = next(view.chunk_keys(path))
    assert view.has_chunk(good)
    for key in ("", "zarr.json", path, f"{path}/c", f"{path}/c/999/999", f"{path}/c/-1", f"{path}/c/00", "../x/c/0"):
        assert view.chunk(key) is None or key == good
        assert view.chunks([key, good])[1] == view.chunk(good)


def test_large_raw_chunks_are_cut(tmp_path: Path) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    values = np.arange(400 * 300, dtype="f8").reshape(400, 300)
    with netcdf4.Dataset(tmp_path / "a.nc", "w", format="NETCDF3_64BIT_OFFSET") as file:
        file.createDimension("y", 400)
        file.createDimension("x", 300)
        file.createVariable("v", "f8", ("y", "x"))[:] = values
    source: Any = ba.open(ba.scan(tmp_path / "a.nc"))
    whole = NormalisedView(source)
    assert whole.arrays["v"].counts == (1, 1)
    small = NormalisedView(source, NormaliseOptions(most_chunk=1000))
    copy: Any = ba.open(stored(small))
    np.testing.assert_array_equal(copy["v"][...], values)


@pytest.mark.parametrize(
    ("chunks", "most", "count"),
    [
        ([(i, j) for i in range(4) for j in range(5)], 100, 1),
        ([(i, j) for i in range(4) for j in range(5)], 7, 4),
        ([(0, 0), (1, 1), (2, 2)], 100, 3),
        ([(0, 0), (0, 3), (2, 0), (2, 3)], 100, 1),
        ([()], 1, 1),
        ([], 1, 0),
    ],
)
def test_boxes_hold_each_chunk_once(chunks: list[Shape], most: int, count: int) -> None:
    import itertools

    found = list(boxes([*chunks, *chunks], most))
    assert len(found) == count
    members = [position for box in found for position in itertools.product(*box.positions)]
    assert sorted(members) == sorted(chunks)
    assert all(box.size <= most for box in found)


@pytest.mark.parametrize("wrong", [{"zarr_format": 1}, {"compression": "lzma"}, {"level": 0}, {"most_chunk": 0}])
def test_options_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ba.BadRequest):
        NormaliseOptions(**wrong)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["<f4", "u1", ">i8", "S5", "M8[s]"])
def test_lz4_is_read_by_zarr_python(version: Any, dtype: str, tmp_path: Path) -> None:
    """Blosc's LZ4, which is what zarr-python reads from it."""
    zarr = pytest.importorskip("zarr")
    values = np.arange(60).reshape(6, 10).astype("i8").astype(dtype)
    zarr.save_array(tmp_path / "s.zarr", values, zarr_format=2)
    view = NormalisedView(ba.open(tmp_path / "s.zarr"), NormaliseOptions(zarr_format=version, compression="lz4"))
    for key, data in stored(view).items():
        path = tmp_path / "out.zarr" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert "lz4" in str(view.documents())
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "out.zarr", mode="r")[...], values)


def test_unknown_compression_is_refused() -> None:
    name: Any = "lzma"
    with pytest.raises(ba.BadRequest, match="known: zstd, lz4"):
        NormaliseOptions(compression=name)
