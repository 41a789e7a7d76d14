"""netCDF-3 files written by netCDF4-python and by hand: our values and attributes are the ones that it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
from fixtures.netcdf3.make_netcdf3 import FILES
from tests.scanning import read_plain, scan_bytes

import byteatlas as ba
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.netcdf3 import SCANNER

FORMATS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]


def plain(value: Any) -> Any:
    """An attribute as JSON holds it."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def compare(file: Path) -> int:
    """Compare all variables and attributes; how many variables there are."""
    virtual = ba.scan(str(file), on_refusal="raise")
    root: Any = ba.open(virtual)
    with netCDF4.Dataset(file) as data:
        data.set_auto_maskandscale(False)
        data.set_auto_chartostring(False)
        assert {k: plain(data.getncattr(k)) for k in data.ncattrs()} == dict(virtual.attributes)
        for name, variable in data.variables.items():
            expected, got = np.asarray(variable[...]), np.asarray(root[name][...])
            assert got.dtype == expected.dtype.newbyteorder("=")
            np.testing.assert_array_equal(got, expected)
            assert tuple(root[name].dims) == variable.dimensions
            assert {k: plain(variable.getncattr(k)) for k in variable.ncattrs()} == dict(root[name].attrs)
        return len(data.variables)


@pytest.mark.parametrize("name", [n for n in FILES if n != "streaming.nc"])  # netCDF-C does not read STREAMING
def test_fixtures(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(FILES[name]())
    assert compare(file) >= 1


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("records", [0, 1, 5])
def test_files_of_netcdf4(format_: str, records: int, tmp_path: Path) -> None:
    file = tmp_path / "a.nc"
    rng = np.random.default_rng(0)
    with netCDF4.Dataset(file, "w", format=format_) as data:
        data.createDimension("t", None)
        data.createDimension("x", 5)
        data.createDimension("c", 3)
        for code in ["i1", "i2", "i4", "f4", "f8", *(["u1", "u2", "u4", "i8", "u8"] if "DATA" in format_ else [])]:
            fixed = data.createVariable(f"fixed_{code}", code, ("x",))
            fixed[:] = rng.integers(0, 100, 5)
            fixed.valid_range = np.array([0, 100], code)
            data.createVariable(f"record_{code}", code, ("t", "x"))[:] = rng.integers(0, 100, (records, 5))
        data.createVariable("never", "f4", ("t",))
        data.createVariable("scalar", "i4", ())[...] = 7
        data.createVariable("text", "S1", ("t", "c"))[:] = rng.integers(97, 122, (records, 3)).astype("u1").view("S1")
        data.title, data.numbers = "été", np.arange(3, dtype="f4")
    assert compare(file) >= 13


@pytest.mark.parametrize("target", [None, 64, 1000])
def test_chunks_do_not_change_values(target: int | None) -> None:
    for make in FILES.values():
        data = make()
        whole = scan_bytes(SCANNER, data, ScanOptions(target_chunk=None))
        cut = scan_bytes(SCANNER, data, ScanOptions(target_chunk=target))
        for name, array in cut.arrays.items():
            np.testing.assert_array_equal(read_plain(array, data), read_plain(whole.arrays[name], data))


def test_xarray_sees_the_same_as_with_netcdf4(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    zarr = pytest.importorskip("zarr")
    assert zarr
    file = tmp_path / "a.nc"
    file.write_bytes(FILES["cdf1.nc"]())
    ours = xarray.open_dataset(str(file), engine="byteatlas") if _has_engine(xarray) else None
    if ours is None:
        pytest.skip("the xarray engine is not installed")
    with xarray.open_dataset(file, engine="netcdf4") as theirs:
        xarray.testing.assert_equal(ours.load(), theirs.load())


def _has_engine(xarray: Any) -> bool:
    return "byteatlas" in xarray.backends.list_engines()
