"""The xarray engine against xarray's own engines on the same files."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.archives import small_archive

import byteatlas as ba
from byteatlas.manifest.model import VirtualGroup

xarray = pytest.importorskip("xarray")
netCDF4 = pytest.importorskip("netCDF4")  # noqa: N816

ByteatlasBackend = pytest.importorskip("byteatlas.xarray_backend").ByteatlasBackend


def equal(ours: Any, theirs: Any) -> None:
    """Same variables, dimensions, coordinates, decoded values, data types."""
    assert set(ours.variables) == set(theirs.variables)
    assert set(ours.coords) == set(theirs.coords)
    for name, wanted in theirs.variables.items():
        got = ours.variables[name]
        assert got.dims == wanted.dims, name
        if wanted.dtype.kind != "U":  # variable-length text stays objects here
            assert got.dtype == wanted.dtype, name
        np.testing.assert_array_equal(got.values, wanted.values, err_msg=str(name))


@pytest.fixture(scope="module")
def tricky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with everything that CF decoding has an opinion on."""
    path = tmp_path_factory.mktemp("xarray") / "tricky.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("x", 7)
        file.createDimension("letters", 4)
        file.createDimension("nv", 2)
        time = file.createVariable("time", "i4", ("time",))
        time.units, time.calendar, time.bounds = "hours since 2001-01-01", "noleap", "time_bnds"
        time[:] = np.arange(5) * 6
        bounds = file.createVariable("time_bnds", "f8", ("time", "nv"))
        bounds[:] = np.stack([np.arange(5) * 6, np.arange(5) * 6 + 6], 1)
        lat = file.createVariable("lat", "f4", ("x",))
        lat[:] = np.linspace(-3, 3, 7)
        zeros = file.createVariable("zeros", "i4", ("time", "x"), zlib=True)
        zeros[:] = 0
        zeros.coordinates = "lat"
        packed = file.createVariable("packed", "i2", ("time", "x"), fill_value=np.int16(-99), chunksizes=(2, 3))
        packed.scale_factor, packed.add_offset = np.float32(0.01), np.float32(15)
        packed.set_auto_maskandscale(False)
        packed[:] = np.arange(35).reshape(5, 7) - 10
        packed[3, 2] = -99
        double = file.createVariable("double", "i2", ("time", "x"))
        double.scale_factor = np.float64(0.01)
        double.missing_value = np.int16(3)
        double.set_auto_maskandscale(False)
        double[:] = np.arange(35).reshape(5, 7)
        unsigned = file.createVariable("unsigned", "i1", ("x",), fill_value=np.int8(-1))
        unsigned.setncattr("_Unsigned", "true")
        unsigned.set_auto_maskandscale(False)
        unsigned[:] = np.array([0, 1, 127, -128, -2, -1, 5], "i1")
        floats = file.createVariable("floats", "f4", ("x",), fill_value=np.float32(np.nan))
        floats[:] = [1, 2, np.nan, 4, 5, 6, 7]
        holes = file.createVariable("holes", "f8", ("time", "x"), chunksizes=(1, 7))
        holes[1] = 5
        word = file.createVariable("word", "S1", ("x", "letters"))
        word._Encoding = "ascii"
        word[:] = np.array(["ab", "cde", "f", "ghij", "", "k", "lm"], "S4")
        text = file.createVariable("text", str, ("x",))
        for i in range(7):
            text[i] = "wörd" * i
        flag = file.createVariable("flag", "u1", ("x",))
        flag.flag_values = np.array([0, 1], "u1")
        flag[:] = [0, 1, 1, 0, 1, 0, 1]
        file.createVariable("scalar", "f8", ())[...] = 2.5
    return path


@pytest.fixture(scope="module")
def tricky_map(tricky: Path) -> Path:
    target = tricky.with_suffix(".json")
    ba.write(ba.scan(tricky), target)
    return target


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
@pytest.mark.parametrize("decoding", [{}, {"decode_cf": False}, {"mask_and_scale": False}, {"decode_times": False}])
def test_equal_to_the_netcdf_engines(tricky: Path, tricky_map: Path, engine: str, decoding: dict[str, Any]) -> None:
    pytest.importorskip(engine if engine == "h5netcdf" else "netCDF4")
    options = decoding or {"decode_times": xarray.coders.CFDatetimeCoder(use_cftime=True)}
    with xarray.open_dataset(tricky, engine=engine, **options) as theirs:
        for target in (tricky, tricky_map):
            with xarray.open_dataset(target, engine="byteatlas", **options) as ours:
                equal(ours, theirs)


def test_the_engine_is_found_by_name(tricky_map: Path, tmp_path: Path) -> None:
    with xarray.open_dataset(tricky_map) as found:
        assert found.sizes == {"time": 5, "x": 7, "nv": 2}
    guess = ByteatlasBackend().guess_can_open
    other = tmp_path / "settings.json"
    other.write_text('{"colour": "blue"}')
    assert guess(tricky_map)
    assert guess("s3://bucket/a.parquet")
    assert not guess(other)
    assert not guess(tmp_path / "a.nc")


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_combined_archive(tmp_path: Path, suffix: str) -> None:
    files = small_archive()
    target = tmp_path / f"all.{suffix}"
    ba.write(ba.combine(files, concat="time"), target)
    with (
        xarray.set_options(use_new_combine_kwarg_defaults=True),
        xarray.open_dataset(target, engine="byteatlas") as ours,
        xarray.open_mfdataset(
            files, engine="netcdf4", combine="nested", concat_dim="time", data_vars="minimal"
        ) as theirs,
    ):
        equal(ours, theirs)
        assert ours.attrs["title"] == theirs.attrs["title"]
    with xarray.open_datatree(target, engine="byteatlas") as tree, netCDF4.Dataset(files[1]) as native:
        assert set(tree.children) == {"atmosphere", "quality"}
        np.testing.assert_array_equal(tree["atmosphere/t2m"].values[6:12], native["atmosphere/t2m"][:])
        assert tree["atmosphere"].attrs["level"] == "surface"
        assert "time" in tree["atmosphere"].coords  # inherited
    with xarray.open_dataset(target, engine="byteatlas", group="quality") as quality:
        assert list(quality.data_vars) == ["level"]


def test_open_mfdataset(tmp_path: Path) -> None:
    maps = []
    for file in small_archive():
        maps.append(tmp_path / f"{file.stem}.json")
        ba.write(ba.scan(file), maps[-1])
    with (
        xarray.set_options(use_new_combine_kwarg_defaults=True),
        xarray.open_mfdataset(maps, engine="byteatlas", data_vars="minimal") as ours,
        xarray.open_mfdataset(list(small_archive()), engine="netcdf4", data_vars="minimal") as theirs,
    ):
        equal(ours, theirs)


INDEXERS: tuple[dict[str, Any], ...] = (
    {"time": 2, "lat": slice(3, 20, 4)},
    {"time": [5, 0, 0], "lat": slice(None, None, -3), "lon": [1]},
    {"lat": xarray.DataArray([3, 1, 30], dims="points"), "lon": xarray.DataArray([70, 2, 2], dims="points")},
    {
        "time": xarray.DataArray([[0, 4], [5, 1]], dims=("a", "b")),
        "lon": xarray.DataArray([[1, 2], [0, 9]], dims=("a", "b")),
    },
    {"time": slice(0, 0)},
    {"lon": np.array([], int)},
    {"time": -1, "lat": -1, "lon": -1},
)


@pytest.mark.parametrize("indexer", INDEXERS, ids=str)
def test_lazy_indexing(indexer: dict[str, Any]) -> None:
    file = small_archive()[0]
    with xarray.open_dataset(file, engine="byteatlas") as ours, xarray.open_dataset(file, engine="netcdf4") as theirs:
        got, wanted = ours.sst.isel(indexer), theirs.sst.isel(indexer)
        assert not ours.sst._in_memory
        xarray.testing.assert_equal(got, wanted)
        twice = {"lat": slice(1, 3)} if "lat" in got.dims else {}
        xarray.testing.assert_equal(ours.sst.isel(indexer).isel(twice), theirs.sst.isel(indexer).isel(twice))


def test_only_what_is_indexed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.array import Array

    sizes: list[int] = []
    read = Array.read

    def counted(self: Array, selection: Any = ..., out: Any = None) -> Any:
        found = read(self, selection, out)
        sizes.append(found.size)
        return found

    with xarray.open_dataset(small_archive()[0], engine="byteatlas", decode_times=False) as ours:
        monkeypatch.setattr(Array, "read", counted)
        sizes.clear()
        ours.sst.isel(time=3, lat=slice(4, 8)).load()
    assert sizes == [4 * 72]


def test_dask(tricky_map: Path) -> None:
    pytest.importorskip("dask.array")
    file = small_archive()[0]
    with (
        xarray.open_dataset(file, engine="byteatlas", chunks={}) as ours,
        xarray.open_dataset(file, engine="netcdf4") as theirs,
    ):
        assert ours.sst.chunks == ((1,) * 6, (18, 18), (36, 36))  # the stored chunks
        xarray.testing.assert_equal(ours.sst.max("time").compute(), theirs.sst.max("time"))
        again = pickle.loads(pickle.dumps(ours))
        xarray.testing.assert_equal(again.sst.isel(time=1).compute(), theirs.sst.isel(time=1))


def test_pickle_opens_again(tricky_map: Path) -> None:
    with xarray.open_dataset(tricky_map, engine="byteatlas") as ours:
        state = pickle.dumps(ours)
        again = pickle.loads(state)
        assert len(state) < 50_000  # a recipe, not the data
        xarray.testing.assert_identical(again, ours)


def test_drop_variables_and_objects(tricky: Path) -> None:
    group = ba.scan(tricky)
    assert isinstance(group, VirtualGroup)
    with xarray.open_dataset(group, engine="byteatlas", drop_variables=["packed", "text"]) as ours:
        assert "packed" not in ours
        assert "zeros" in ours
    with xarray.open_dataset(ba.open(group), engine="byteatlas") as opened:
        assert opened.packed.shape == (5, 7)


def test_fill_value_as_mask(tricky_map: Path) -> None:
    with xarray.open_dataset(tricky_map, engine="byteatlas") as plain:
        assert plain.zeros.dtype == np.int32
    with xarray.open_dataset(tricky_map, engine="byteatlas", use_zarr_fill_value_as_mask=True) as masked:
        assert masked.holes.isnull().sum() == 4 * 7


def test_native_zarr_stores(tmp_path: Path) -> None:
    """As xarray's own zarr engine reads them, version 2 fill values as masks included."""
    pytest.importorskip("zarr")
    data = xarray.Dataset(
        {"a": (("t", "x"), np.array([[1.0, np.nan], [3, 4]])), "b": ("x", np.array([1, 2], "i2"))},
        {"t": np.array(["2001-01-01", "2001-01-02"], "M8[ns]")},
    )
    data.b.encoding["_FillValue"] = np.int16(2)
    for version in (2, 3):
        store = tmp_path / f"v{version}.zarr"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data.to_zarr(store, zarr_format=version, consolidated=False)
        with (
            xarray.open_dataset(store, engine="byteatlas") as ours,
            xarray.open_zarr(store, consolidated=False, chunks=None) as theirs,
        ):
            equal(ours, theirs)


def test_axes_without_names(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "plain.h5"
    with h5py.File(path, "w") as file:
        file["a"] = np.zeros((3, 4, 3))
        file["b"] = np.ones((4,))
    with xarray.open_dataset(path, engine="byteatlas") as ours:
        assert ours.a.dims == ("phony_dim_0", "phony_dim_1", "phony_dim_2")
        assert ours.b.dims == ("phony_dim_1",)
