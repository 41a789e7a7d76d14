"""kerchunk's arguments mean the same; misspelt ones name the right one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.places import ROOT

import byteatlas as ba
from byteatlas.errors import BadRequest, Conflict, NotFound
from byteatlas.kerchunk.combine import MultiZarrToZarr, auto_dask, concatenate_arrays, drop, merge_vars
from byteatlas.kerchunk.df import refs_to_dataframe
from byteatlas.kerchunk.fits import process_file
from byteatlas.kerchunk.grib2 import scan_grib
from byteatlas.kerchunk.hdf import SingleHdf5ToZarr
from byteatlas.kerchunk.netCDF3 import NetCDF3ToZarr
from byteatlas.kerchunk.references import bytes_of, text_of
from byteatlas.kerchunk.tiff import tiff_to_zarr
from byteatlas.kerchunk.utils import consolidate, do_inline, subchunk, templateize

WRONG: dict[str, Any] = {"error": "rise"}


def values(refs: dict[str, Any], path: str) -> NDArray[Any]:
    array = ba.open(refs, path=path)
    assert isinstance(array, ba.Array)
    found: NDArray[Any] = array[...]
    return found


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as made:
        made["zeros"] = np.zeros(200, "i4")
        made["big"] = np.arange(1000.0).reshape(10, 100)
        made["g/inner"] = np.arange(5, dtype="i2")
    return str(path)


@pytest.mark.parametrize(
    ("call", "right"),
    [
        (lambda: SingleHdf5ToZarr("a.h5", inline_treshold=3), "inline_threshold"),
        (lambda: NetCDF3ToZarr("a.nc", storage_option={}), "storage_options"),
        (lambda: MultiZarrToZarr([], concat_dim="time", coo_map={"x": 1}), "concat_dims"),
        (lambda: tiff_to_zarr("a.tif", inline_thresold=3), "inline_threshold"),
        (lambda: process_file("a.fits", extensions=1), "extension"),
        (lambda: scan_grib("a.grib", filters={}), "filter"),
        (lambda: refs_to_dataframe({}, "x", recordsize=3), "record_size"),
        (lambda: SingleHdf5ToZarr("a.h5", vlen_encode="embedd"), "embed"),
        (lambda: SingleHdf5ToZarr("a.h5", **WRONG), "raise"),
    ],
)
def test_misspelt_arguments_name_the_right_one(call: Callable[[], Any], right: str) -> None:
    with pytest.raises(BadRequest, match=f"did you mean '{right}'"):
        call()


def test_urls_are_as_given(file: str) -> None:
    refs = SingleHdf5ToZarr(file, inline_threshold=0).translate()["refs"]
    assert refs["big/0.0"][0] == file
    assert refs[".zattrs"] == "{}"
    with Path(file).open("rb") as opened:
        none = SingleHdf5ToZarr(opened, None, inline_threshold=0).translate()["refs"]
        named = SingleHdf5ToZarr(opened, "s3://b/a.h5", inline_threshold=0, spec=0).translate()
    assert none["big/0.0"] == [None, *refs["big/0.0"][1:]]
    assert named["big/0.0"] == ["s3://b/a.h5", *refs["big/0.0"][1:]]


def test_h5py_groups(file: str) -> None:
    with h5py.File(file) as opened:
        refs = SingleHdf5ToZarr(opened["g"], file).translate()["refs"]
    assert [key for key in refs if key.endswith(".zarray")] in (["inner/.zarray"], ["g/inner/.zarray"])


def test_zeros_are_no_missing_values(file: str) -> None:
    refs = SingleHdf5ToZarr(file).translate()["refs"]
    assert '"fill_value":null' in refs["zeros/.zarray"]
    assert isinstance(refs["g/inner/0"], str)


def test_out_is_filled(file: str) -> None:
    class Out(dict[str, Any]):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    out = Out()
    assert SingleHdf5ToZarr(file, out=out).translate() is out
    assert (out.flushed, "big/.zarray" in out) == (1, True)


def test_subchunk_reads_the_same(file: str) -> None:
    refs = SingleHdf5ToZarr(file, inline_threshold=0).translate()
    for factor in (2, 5, 20):
        cut = subchunk(refs, "big", factor)
        assert len([k for k in cut if k.startswith("big/") and ".z" not in k]) == factor
        assert (values(cut, "big") == np.arange(1000.0).reshape(10, 100)).all()
    with pytest.raises(BadRequest, match="cannot be cut"):
        subchunk(refs, "big", 7)
    with pytest.raises(NotFound, match="did you mean 'big'"):
        subchunk(refs, "bigg", 2)


def test_inlining(file: str) -> None:
    refs = SingleHdf5ToZarr(file, inline_threshold=0).translate()
    out = do_inline(refs, 801)
    assert out["zeros/0"] == bytes(800)
    assert isinstance(out["big/0.0"], list)
    assert bytes_of(text_of(out["zeros/0"])) == bytes(800)


def test_bytes_that_look_like_base64() -> None:
    data = b"base64:no"
    assert bytes_of(text_of(data)) == data
    assert consolidate({"a": data})["refs"]["a"].startswith("base64:")


def test_arrays_one_after_the_other_are_compared(tmp_path: Path) -> None:
    sets = []
    for i, kind in enumerate(("i4", "i4", "f4")):
        with h5py.File(tmp_path / f"{i}.h5", "w") as made:
            made["x"] = np.arange(4, dtype=kind) + 10 * i
        sets.append(SingleHdf5ToZarr(str(tmp_path / f"{i}.h5")).translate())
    both = concatenate_arrays(sets[:2], path="x")
    assert values(both, "x").tolist() == [0, 1, 2, 3, 10, 11, 12, 13]
    with pytest.raises(BadRequest, match="dtype at index 2"):
        concatenate_arrays(sets, path="x")
    with pytest.raises(Conflict, match="differs"):
        merge_vars(sets[:2])


def test_combined_with_a_protocol_and_dropped_variables(tmp_path: Path) -> None:
    import fsspec

    memory = fsspec.filesystem("memory")
    sets = []
    for i in range(3):
        with h5py.File(tmp_path / f"{i}.h5", "w") as made:
            made["time"], made["v"], made["noise"] = np.array([i]), np.full((1, 4), float(i)), np.zeros((1, 2))
            made["time"].make_scale("time")
            made["v"].dims[0].attach_scale(made["time"])
        memory.pipe(f"/kd/{i}.h5", (tmp_path / f"{i}.h5").read_bytes())
        with memory.open(f"/kd/{i}.h5") as opened:
            sets.append(SingleHdf5ToZarr(opened, f"kd/{i}.h5", inline_threshold=0).translate())
    made = MultiZarrToZarr(sets[:2], concat_dims="time", remote_protocol="memory", preprocess=drop("noise"))
    both = made.translate(str(tmp_path / "both.json"))
    assert values(both, "v")[:, 0].tolist() == [0.0, 1.0]
    assert not any(key.startswith("noise") for key in both["refs"])
    more = MultiZarrToZarr.append(
        sets[2:], both, concat_dims="time", remote_protocol="memory", preprocess=drop("noise")
    ).translate()
    assert values(more, "time").tolist() == [0, 1, 2]
    with pytest.raises(BadRequest, match="identical_dims"):
        MultiZarrToZarr(sets, concat_dims="time", identical_dims=["time"])


def test_auto_dask(tmp_path: Path) -> None:
    pytest.importorskip("dask")
    urls = []
    for i in range(3):
        with h5py.File(tmp_path / f"{i}.h5", "w") as made:
            made["time"], made["v"] = np.array([i]), np.full((1, 4), float(i))
            made["time"].make_scale("time")
            made["v"].dims[0].attach_scale(made["time"])
        urls.append(str(tmp_path / f"{i}.h5"))
    found = auto_dask(urls, SingleHdf5ToZarr, {}, {"concat_dims": ["time"]}, n_batches=2)
    assert values(found, "v")[:, 1].tolist() == [0.0, 1.0, 2.0]


def test_grib_messages_and_filters() -> None:
    path = str(ROOT / "fixtures" / "grib" / "era.grib1")
    messages = scan_grib(path)
    assert messages
    assert all(m["version"] == 1 for m in messages)
    assert scan_grib(path, filter={"shortName": "no such"}) == []
    assert len(scan_grib(path, skip=1)) == 1


def test_templates() -> None:
    templates, strings = templateize(["s3://bucket/a.nc", "s3://bucket/b.nc"])
    assert templates == {"u": "s3://bucket/"}
    assert [s.format(**templates) for s in strings] == ["s3://bucket/a.nc", "s3://bucket/b.nc"]
    assert templateize(["a", "b"]) == ({}, ["a", "b"])


def test_names_that_scripts_use() -> None:
    import zarr.core.buffer.cpu

    from byteatlas.kerchunk import hdf, utils

    assert hdf.has_visititems_links() == hasattr(h5py.Group, "visititems_links")
    assert issubclass(hdf.Hdf5FeatureNotSupported, ba.Unsupported)
    refs: dict[str, Any] = {"/a": zarr.core.buffer.cpu.Buffer.from_bytes(b"1"), "b": b"2", "c": ["x", 0, 1]}
    assert utils.translate_refs_serializable(refs) is refs
    assert refs == {"a": b"1", "b": b"2", "c": ["x", 0, 1]}
    store: dict[str, Any] = {}
    zarr.create_group(utils.dict_to_store(store), zarr_format=2)
    assert ".zgroup" in store


@pytest.mark.parametrize("renames", [["a"], {"a": 1}, {1: "a"}, "ab", None])
def test_renames_are_a_dict_of_urls(renames: Any) -> None:
    from byteatlas.kerchunk.utils import rename_target

    assert rename_target({"k": ["a", 0, 1]}, {"a": "b"})["refs"] == {"k": ["b", 0, 1]}
    with pytest.raises(BadRequest, match="renames is a dict"):
        rename_target({"k": ["a", 0, 1]}, renames)
