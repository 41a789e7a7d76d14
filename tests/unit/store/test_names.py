"""Members with names that begin with ``__``, by every way that shows, copies or reads them; netCDF-4's hidden names."""

import json
from pathlib import Path
from typing import Any

import fsspec
import h5py
import netCDF4
import numpy as np
import pytest
import xarray

import byteatlas as ba
from byteatlas.meta import zom

NAME = "__xarray_dataarray_variable__"
WAYS = ("hdf5", "netcdf3", "v2", "v3", "v2 bare", "v3 bare", "zip", "json", "parquet", "memory", "mapping", "v1")


def made(way: str, folder: Path) -> Any:
    """Something that holds an array of this name, and a group of the same kind of name where there can be."""
    data = xarray.Dataset({NAME: ("x", np.arange(5.0))})
    archive, where = folder / "a.nc", folder / "out"
    data.to_netcdf(archive, engine="netcdf4")
    match way:
        case "hdf5":
            with h5py.File(archive, "a") as file:
                file["__group__/__inner__"] = np.arange(3)
            return archive
        case "netcdf3":
            data.to_netcdf(archive, format="NETCDF3_64BIT", engine="netcdf4")
            return archive
        case "v2 bare" | "v3 bare":
            number: Any = int(way[1])
            data.to_zarr(where, zarr_format=number, consolidated=False)
            return where
        case "v2" | "v3":
            ba.copy(archive, where, options=ba.CopyOptions(zarr_format=3 if way == "v3" else 2))
            return where
        case "zip":
            ba.copy(archive, folder / "z.zip")
            return folder / "z.zip"
        case "v1":
            (where / NAME).mkdir(parents=True)
            meta = {
                "zarr_format": 1, "shape": [5], "chunks": [5], "dtype": "<f8", "compression": None,
                "compression_opts": None, "fill_value": None, "order": "C",
            }  # fmt: skip
            (where / NAME / "meta").write_text(json.dumps(meta))
            (where / NAME / "0").write_bytes(np.arange(5.0).tobytes())
            return where
        case "mapping":
            target: dict[str, Any] = {}
            ba.copy(archive, target)
            return target
        case "memory":
            url = f"memory://{folder.name}/store"
            ba.copy(archive, url)
            return url
    ba.write(ba.scan(archive), folder / f"m.{way}")
    return folder / f"m.{way}"


@pytest.mark.parametrize("way", WAYS)
def test_names_that_begin_with_two_underscores(way: str, tmp_path: Path) -> None:
    source = made(way, tmp_path)
    root = ba.open(source)
    assert isinstance(root, ba.Group)
    assert NAME in list(root)
    assert NAME in root
    assert root.arrays()[NAME][...].tolist() == [0, 1, 2, 3, 4]
    if way == "hdf5":
        inner = root["__group__/__inner__"]
        assert isinstance(inner, ba.Array)
        assert inner[...].tolist() == [0, 1, 2]
    for number in (2, 3):
        target = tmp_path / f"copy{number}"
        ba.copy(root, target, options=ba.CopyOptions(zarr_format=3 if number == 3 else 2))
        again = ba.open(target)
        assert isinstance(again, ba.Group)
        assert {p for p, _ in again.walk()} == {p for p, _ in root.walk()}
        assert again.arrays()[NAME][...].tolist() == [0, 1, 2, 3, 4]
    model = ba.to_model(root)
    assert NAME in zom.to_json(model)["members"]
    if way != "mapping":
        shown = xarray.open_dataset(source, engine="byteatlas")
        assert shown[NAME].values.tolist() == [0, 1, 2, 3, 4]


def test_maps_have_no_nodes_of_other_names() -> None:
    array = json.dumps({"zarr_format": 2, "shape": [], "chunks": [], "dtype": "<i4", "fill_value": 1, "order": "C"})
    group = json.dumps({"zarr_format": 2})
    for name in ("...", ".", ".."):
        with pytest.raises(ba.InvalidMetadata, match="not a node path"):
            ba.load({"refs": {".zgroup": group, f"{name}/.zarray": array}, "version": 1})


def test_variables_that_netcdf_hides_behind_a_prefix_have_their_own_names(tmp_path: Path) -> None:
    where = tmp_path / "a.nc"
    with netCDF4.Dataset(where, "w") as file:
        file.createDimension("x", 3)
        file.createDimension("station", 2)
        file.createVariable("station", "i4", ("x", "station"))[:] = np.arange(6).reshape(3, 2)
        file.createVariable("v", "f4", ("station",)).coordinates = "station"
        inner = file.createGroup("g")
        inner.createDimension("y", 4)
        inner.createVariable("y", "f8", ("x", "y"))[:] = 1
    with h5py.File(where) as file:
        assert "_nc4_non_coord_station" in file
    tree = ba.scan(where)
    assert set(tree.arrays) == {"station", "v"}
    assert set(tree.groups["g"].arrays) == {"y"}
    assert tree.arrays["station"].meta.dimension_names == ("x", "station")
    assert {i.path for i in tree.report} == {"station", "v", "g/y"}
    report = ba.verify(where)
    assert report.ok, report
    peer = xarray.open_dataset(where, engine="netcdf4")
    assert xarray.open_dataset(where, engine="byteatlas").variables.keys() == peer.variables.keys()


def test_the_prefix_stays_where_another_dataset_has_the_name(tmp_path: Path) -> None:
    where = tmp_path / "a.h5"
    with h5py.File(where, "w") as file:
        file["x"] = np.arange(3)
        file["_nc4_non_coord_x"] = np.arange(4)
        file["_nc4_non_coord_"] = np.arange(5)
    assert {n: a.meta.shape for n, a in ba.scan(where).arrays.items()} == {
        "x": (3,), "_nc4_non_coord_x": (4,), "_nc4_non_coord_": (5,),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["plain", "folder/"])
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_maps_in_memory_need_no_suffix(tmp_path: Path, form: Any, name: str) -> None:
    archive = tmp_path / "a.nc"
    xarray.Dataset({"v": ("x", np.arange(5.0))}).to_netcdf(archive, engine="netcdf4")
    base = f"memory://{tmp_path.name}{form}"
    with fsspec.open(f"{base}/a.nc", "wb") as file:
        file.write(archive.read_bytes())
    ba.write(ba.scan(f"{base}/a.nc"), f"{base}/{name}", format=form)
    for url in (f"{base}/{name}", f"{base}/{name}".rstrip("/")):
        root = ba.open(url)
        assert isinstance(root, ba.Group)
        assert root.arrays()["v"][...].tolist() == [0, 1, 2, 3, 4]
        assert ba.combine([url, url], concat="x").arrays["v"].meta.shape == (10,)
