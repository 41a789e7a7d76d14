"""Files and variables that are combined less often: netCDF-3, text, structures, scalars, trees, packed bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.combining import FromVariable
from byteatlas.errors import Conflict

h5py = pytest.importorskip("h5py")
nc = pytest.importorskip("netCDF4")


def combined(paths: list[str], tmp_path: Path, concat: Any = "time", **options: Any) -> Any:
    """Combined, written as JSON and opened again; in memory it must read the same."""
    both = ba.combine(paths, concat=concat, **options)
    direct: Any = ba.open(both)
    ba.write(both, tmp_path / "map.json")
    again: Any = ba.open(str(tmp_path / "map.json"))
    for path, node in direct.walk():
        if hasattr(node, "shape"):
            np.testing.assert_array_equal(again[path][...], node[...], err_msg=path)
    return again


@pytest.mark.parametrize("form", ["NETCDF3_CLASSIC", "NETCDF3_64BIT_DATA", "NETCDF4_CLASSIC"])
def test_netcdf3(tmp_path: Path, form: str) -> None:
    paths = []
    for k in range(3):
        with nc.Dataset(tmp_path / f"{k}.nc", "w", format=form) as f:
            f.createDimension("time", None)
            f.createDimension("x", 3)
            f.createVariable("time", "i4", ("time",))[:] = [2 * k, 2 * k + 1]
            f.createVariable("x", "f4", ("x",))[:] = [0, 1, 2]
            f.createVariable("v", "f4", ("time", "x"))[:] = np.arange(6).reshape(2, 3) + 10 * k
            f.createVariable("fixed", "f8", ("x",))[:] = [7, 8, 9]
        paths.append(str(tmp_path / f"{k}.nc"))
    root = combined(paths[::-1], tmp_path)
    assert root["time"][...].tolist() == list(range(6))
    np.testing.assert_array_equal(
        root["v"][...], np.concatenate([np.arange(6).reshape(2, 3) + 10 * k for k in range(3)])
    )
    assert root["fixed"][...].tolist() == [7, 8, 9]


def test_netcdf3_beside_netcdf4(tmp_path: Path) -> None:
    paths = []
    for k, form in enumerate(["NETCDF3_CLASSIC", "NETCDF4"]):
        with nc.Dataset(tmp_path / f"{k}.nc", "w", format=form) as f:
            f.createDimension("time", None)
            f.createVariable("time", "i4", ("time",))[:] = [2 * k, 2 * k + 1]
            f.createVariable("v", "f4", ("time",))[:] = [k, k + 0.5]
        paths.append(str(tmp_path / f"{k}.nc"))
    assert combined(paths, tmp_path)["v"][...].tolist() == [0, 0.5, 1, 1.5]


def scale(f: Any, start: int, count: int = 2) -> None:
    f["time"] = np.arange(start, start + count)
    f["time"].make_scale("time")


def attach(d: Any, f: Any) -> None:
    d.dims[0].attach_scale(f["time"])


def test_text_and_structures(tmp_path: Path) -> None:
    pair = np.dtype([("a", "<i4"), ("b", "<f8")])
    paths = []
    for k, width in enumerate((3, 5)):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            scale(f, 2 * k)
            attach(f.create_dataset("fixed", data=np.array([b"ab", b"cde"], f"S{width}")), f)
            attach(f.create_dataset("vlen", data=["x" * (k + 1), "é"], dtype=h5py.string_dtype()), f)
            attach(f.create_dataset("pair", data=np.array([(k, 0.5), (k + 1, 1.5)], pair), chunks=(1,)), f)
            attach(f.create_dataset("flag", data=np.array([True, False])), f)
            attach(f.create_dataset("complex", data=np.array([1j, k], "c8"), chunks=(1,), compression="gzip"), f)
        paths.append(str(tmp_path / f"{k}.h5"))
    root = combined(paths, tmp_path)
    assert root["fixed"][...].tolist() == [b"ab", b"cde", b"ab", b"cde"]
    assert root["vlen"][...].tolist() == ["x", "é", "xx", "é"]
    assert root["pair"][...].tolist() == [(0, 0.5), (1, 1.5), (1, 0.5), (2, 1.5)]
    assert root["flag"][...].tolist() == [True, False, True, False]
    assert root["complex"][...].tolist() == [1j, 0, 1j, 1]


def test_structures_that_differ_are_refused(tmp_path: Path) -> None:
    paths = []
    for k, kind in enumerate([[("a", "<i4")], [("a", "<i8")]]):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            scale(f, 2 * k)
            attach(f.create_dataset("v", data=np.zeros(2, np.dtype(kind))), f)
        paths.append(str(tmp_path / f"{k}.h5"))
    with pytest.raises(Conflict, match="dtype"):
        ba.combine(paths, concat="time")


def test_large_integers_are_not_rounded(tmp_path: Path) -> None:
    big = 2**60 + 1
    paths = []
    for k, kind in enumerate(["<i8", ">i8"]):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            scale(f, 2 * k)
            attach(f.create_dataset("v", data=np.array([big, -big], kind)), f)
        paths.append(str(tmp_path / f"{k}.h5"))
    assert combined(paths, tmp_path)["v"][...].tolist() == [big, -big] * 2
    with h5py.File(paths[1], "a") as f:
        del f["v"]
        attach(f.create_dataset("v", data=np.array([1.0, 2.0])), f)
    with pytest.raises(Conflict, match="dtype"):
        ba.combine(paths, concat="time")


def test_scalar_times_become_a_dimension(tmp_path: Path) -> None:
    paths = []
    for k in range(3):
        with nc.Dataset(tmp_path / f"{k}.nc", "w") as f:
            f.createDimension("y", 2)
            f.createDimension("x", 2)
            t = f.createVariable("time", "f8", ())
            t.units = f"hours since 2000-01-0{k + 1}"
            t[...] = 6.0
            f.createVariable("x", "f8", ("x",))[:] = [0, 1]
            f.createVariable("lat", "f4", ("y", "x"))[:] = 1
            v = f.createVariable("v", "i2", ("y", "x"), zlib=True, fill_value=-1)
            v.coordinates = "time lat"
            v.scale_factor = 0.5 if k else 0.25
            v[:] = [[k, k + 1], [k + 2, k + 3]]
        paths.append(str(tmp_path / f"{k}.nc"))
    root = combined(paths, tmp_path)
    assert root["time"].attrs["units"] == "hours since 2000-01-01"
    assert root["time"][...].tolist() == [6, 30, 54]
    assert root["v"].dims == ("time", "y", "x")
    assert root["lat"].dims == ("y", "x")
    assert root["v"][:, 0, 1].tolist() == [1, 2, 3]


def test_unsigned_bytes(tmp_path: Path) -> None:
    paths = []
    for k in range(2):
        with nc.Dataset(tmp_path / f"{k}.nc", "w") as f:
            f.createDimension("time", 3)
            f.createVariable("time", "i4", ("time",))[:] = np.arange(3) + 3 * k
            v = f.createVariable("v", "i1", ("time",), fill_value=-1)
            v.setncattr("_Unsigned", "true")
            v.setncatts({"scale_factor": 0.5 + k, "add_offset": 1.0})
            v.set_auto_maskandscale(False)
            v[:] = np.array([0, -2, -1], "i1")
        paths.append(str(tmp_path / f"{k}.nc"))
    got = combined(paths, tmp_path)["v"][...]
    np.testing.assert_array_equal(got, [1, 254 * 0.5 + 1, np.nan, 1, 254 * 1.5 + 1, np.nan])


def test_a_group_with_times_of_its_own(tmp_path: Path) -> None:
    paths = []
    for k in range(2):
        with nc.Dataset(tmp_path / f"{k}.nc", "w") as f:
            f.createDimension("time", 2)
            f.createVariable("time", "i4", ("time",))[:] = [2 * k, 2 * k + 1]
            g = f.createGroup("fast")
            g.createDimension("time", 5)
            g.createVariable("time", "f8", ("time",))[:] = 2 * k + np.arange(5) / 5
            g.createVariable("v", "f4", ("time",))[:] = np.arange(5) + 10 * k
        paths.append(str(tmp_path / f"{k}.nc"))
    root = combined(paths, tmp_path)
    assert root["time"].shape == (4,)
    assert root["fast/v"][...].tolist() == [*range(5), *range(10, 15)]
    assert root["fast/time"].shape == (10,)


def test_ensembles(tmp_path: Path) -> None:
    """A member number in a variable and times in each file: two dimensions, one of them new."""
    paths = []
    for member in (2, 1):
        for k in range(2):
            with nc.Dataset(tmp_path / f"{member}_{k}.nc", "w") as f:
                f.createDimension("time", 2)
                f.createVariable("time", "i4", ("time",))[:] = [2 * k, 2 * k + 1]
                f.createVariable("realization", "i4", ())[...] = member
                f.createVariable("v", "f4", ("time",), chunksizes=(1,))[:] = np.array([0, 1]) + 2 * k + 100 * member
            paths.append(str(tmp_path / f"{member}_{k}.nc"))
    coords = {"member": FromVariable("realization")}
    root = combined(paths, tmp_path, concat=("member", "time"), coords=coords)
    assert root["v"].dims == ("member", "time")
    assert root["v"][...].tolist() == [[100, 101, 102, 103], [200, 201, 202, 203]]
    assert root["realization"][...].tolist() == [1, 2]


def test_empty_files_count_for_nothing(tmp_path: Path) -> None:
    paths = []
    for k, n in enumerate((2, 0, 3)):
        with nc.Dataset(tmp_path / f"{k}.nc", "w") as f:
            f.createDimension("time", None)
            f.createVariable("time", "i4", ("time",))[:] = np.arange(n) + 10 * k
            f.createVariable("v", "f4", ("time",), chunksizes=(2,))[:] = np.arange(n) + 10.0 * k
        paths.append(str(tmp_path / f"{k}.nc"))
    assert combined(paths, tmp_path)["v"][...].tolist() == [0, 1, 20, 21, 22]


def test_maps_of_widened_types_are_unpacked_in_two_steps(tmp_path: Path) -> None:
    """Two files whose types differ make a map; a third one that is packed differently comes to it."""
    paths = []
    for k, (kind, scale) in enumerate((("u1", 0.5), ("i4", 0.5), ("i2", 0.25))):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f["time"] = np.array([k])
            f["time"].make_scale("time")
            v = f.create_dataset("v", data=np.array([k + 10], kind), chunks=(1,), compression="gzip")
            v.attrs.update({"scale_factor": scale, "add_offset": 1.0})
            attach(v, f)
        paths.append(str(tmp_path / f"{k}.h5"))
    ba.write(ba.combine(paths[:2], concat="time"), tmp_path / "two.parquet")
    root = combined([str(tmp_path / "two.parquet"), paths[2]], tmp_path)
    assert root["v"][...].tolist() == [6.0, 6.5, 4.0]


@pytest.mark.parametrize("lacking", [False, True])
def test_codecs_that_decode_chunks_of_one_size(tmp_path: Path, lacking: bool) -> None:
    """Scale-offset knows the number of elements of a chunk; the grid's chunks have other lengths."""
    paths = []
    for k, (start, count) in enumerate(((0, 1), (1, 3), (4, 2))):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            scale(f, start, count)
            if k or not lacking:
                data = np.arange(start, start + count, dtype="u2")
                attach(f.create_dataset("v", data=data, chunks=(count,), scaleoffset=0), f)
        paths.append(str(tmp_path / f"{k}.h5"))
    got = combined(paths, tmp_path)["v"][...]
    np.testing.assert_array_equal(got[lacking:], np.arange(lacking, 6))
    assert not lacking or np.isnan(got[0])


def test_every_file_packed_by_itself(tmp_path: Path) -> None:
    """As ERA5 does it; there are more ways of packing than a byte can number."""
    paths, expected = [], []
    for k in range(300):
        paths.append(str(tmp_path / f"{k:03d}.nc"))
        with nc.Dataset(paths[-1], "w") as f:
            f.createDimension("time", 2)
            f.createVariable("time", "i4", ("time",))[:] = [2 * k, 2 * k + 1]
            v = f.createVariable("v", "i2", ("time",), fill_value=-32767)
            v.scale_factor, v.add_offset = 0.001 * (k + 1), float(k)
            v.set_auto_maskandscale(False)
            v[:] = [k, -32767]
            v.set_auto_maskandscale(True)
            expected.append(v[:].filled(np.nan))
    combined = ba.combine(paths, concat="time")
    ba.write(combined, str(tmp_path / "all.parquet"))
    ba.write(combined, str(tmp_path / "all.json"))
    for target in (combined, str(tmp_path / "all.parquet"), str(tmp_path / "all.json")):
        array: Any = ba.open(target)["v"]
        np.testing.assert_array_equal(array[...], np.concatenate(expected))
        np.testing.assert_array_equal(array[511:514], np.concatenate(expected)[511:514])
