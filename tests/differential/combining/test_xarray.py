"""Combined files against xarray's own `open_mfdataset` on the originals."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.array import Array
from byteatlas.combining import ByOrder, CombineOptions, Compute, FromAttribute, FromName, FromVariable, Values
from byteatlas.combining.kerchunk import kerchunk_map
from byteatlas.errors import BadRequest, Conflict

nc = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")


def write(path: Path, times: Any, *, units: str = "days since 2001-01-01", **more: Any) -> str:
    """A netCDF-4 file with a packed and a plain variable over (time, y, x), bounds, a group and scalars."""
    y, x = more.get("y", np.arange(4.0)), more.get("x", np.arange(6.0))
    times = np.asarray(times, "f8")
    with nc.Dataset(path, "w") as f:
        f.title, f.history = "made for a test", f"made as {path.name}"
        f.createDimension("time", None)
        f.createDimension("y", len(y))
        f.createDimension("x", len(x))
        f.createDimension("nv", 2)
        t = f.createVariable("time", more.get("time_type", "f8"), ("time",))
        t.units, t.calendar, t.bounds = units, more.get("calendar", "standard"), "time_bnds"
        t[:] = times
        f.createVariable("time_bnds", "f8", ("time", "nv"))[:] = np.stack([times, times + 1], 1)
        f.createVariable("y", "f8", ("y",))[:] = y
        f.createVariable("x", "f8", ("x",))[:] = x
        crs = f.createVariable("crs", "i4", ())
        crs.grid_mapping_name = "latitude_longitude"
        base = times[:, None, None] * 10 + y[:, None] + x / 8
        packed = f.createVariable(
            "packed", "i2", ("time", "y", "x"), zlib=True, fill_value=-32767, chunksizes=(1, 2, 6)
        )
        packed.scale_factor, packed.add_offset = more.get("scale", 0.01), more.get("offset", 100.0)
        packed[:] = np.ma.masked_where(base % 7 == 0, base)
        plain = f.createVariable("plain", more.get("type", "f4"), ("time", "y", "x"), zlib=True, shuffle=True)
        plain.units, plain.grid_mapping = "K", "crs"
        plain[:] = base
        g = f.createGroup("deep")
        g.createVariable("count", "i4", ("time",), fill_value=-1)[:] = (times * 3).astype("i4")
    return str(path)


def same(paths: list[str], concat: Any = "time", rename: Any = None, **options: Any) -> Any:
    """Combine and compare with xarray; returns our dataset."""
    both = ba.combine(paths, concat=concat, **options)
    ours = xr.open_dataset(both, engine="byteatlas")
    theirs = xr.open_mfdataset(
        paths, combine="by_coords", data_vars="minimal", coords="minimal", compat="no_conflicts", join="outer",
        combine_attrs="drop_conflicts",
    )  # fmt: skip
    assert set(theirs.variables) == set(ours.variables)
    for name in theirs.variables:
        a, b = ours[name], theirs[name]
        assert a.dims == b.dims, name
        left, right = a.values, b.values
        if right.dtype.kind == "f" and left.dtype != right.dtype:
            right = right.astype(left.dtype)
        np.testing.assert_array_equal(left, right, err_msg=str(name))
    return ours


@pytest.mark.parametrize(
    "second",
    [
        {},
        {"units": "days since 2001-01-03"},
        {"units": "hours since 2001-01-01"},
        {"scale": 0.02, "offset": 50.0},
        {"type": "f8"},
        {"calendar": "proleptic_gregorian"},
        {"time_type": "i4"},
    ],
    ids=lambda s: "+".join(s) or "plain",
)
def test_along_time(tmp_path: Path, second: dict[str, Any]) -> None:
    units = second.get("units", "")
    times = {"days since 2001-01-03": [1, 2, 3, 4], "hours since 2001-01-01": [72, 96, 120]}.get(units, [3, 4, 5])
    same([write(tmp_path / "a.nc", [0, 1, 2]), write(tmp_path / "b.nc", times, **second)])


def test_three_files_in_any_order(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.nc", t) for n, t in (("c", [6, 7]), ("a", [0, 1, 2]), ("b", [3, 4, 5]))]
    same(paths)


def test_other_calendars(tmp_path: Path) -> None:
    a = write(tmp_path / "a.nc", [0, 1, 2], calendar="noleap", units="days since 2000-02-27")
    b = write(tmp_path / "b.nc", [0, 1], calendar="365_day", units="days since 2000-03-02")
    both = ba.combine([a, b], concat="time")
    ds = xr.open_dataset(both, engine="byteatlas", decode_times=False)
    assert ds.time.values.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(ds.time_bnds.values[:, 1], ds.time.values + 1)


def test_tiles(tmp_path: Path) -> None:
    paths = []
    for k, (t, y0, x0) in enumerate((t, y, x) for t in ([0, 1], [2, 3]) for y in (0, 4) for x in (0, 6)):
        paths.append(write(tmp_path / f"{k}.nc", t, y=np.arange(y0, y0 + 4.0), x=np.arange(x0, x0 + 6.0)))
    same(paths, concat=("time", "y", "x"))


def test_a_missing_tile_is_no_data(tmp_path: Path) -> None:
    paths = []
    for k, (t, x0) in enumerate((t, x) for t in ([0, 1], [2, 3]) for x in (0, 6)):
        paths.append(write(tmp_path / f"{k}.nc", t, x=np.arange(x0, x0 + 6.0)))
    ours = xr.open_dataset(ba.combine(paths[:3], concat=("time", "x")), engine="byteatlas")
    assert np.isnan(ours["plain"].values[2:, :, 6:]).all()
    assert np.isfinite(ours["plain"].values[:2]).all()
    assert np.isnan(ours["packed"].values[2:, :, 6:]).all()


def test_groups(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.nc", [0, 1, 2]), write(tmp_path / "b.nc", [3, 4])]
    root = ba.open(ba.combine(paths, concat="time"))
    count = root["deep/count"]
    assert isinstance(count, Array)
    assert count[...].tolist() == [0, 3, 6, 9, 12]


def scalars(folder: Path, count: int = 3) -> list[str]:
    """Files without a time dimension; the date is in the name, the hour in an attribute."""
    paths = []
    for k in range(count):
        path = folder / f"scene_2020010{k + 1}_v1.nc"
        with nc.Dataset(path, "w") as f:
            f.hour = 6 * k
            f.createDimension("x", 5)
            f.createVariable("x", "f8", ("x",))[:] = np.arange(5)
            v = f.createVariable("v", "f4", ("x",), zlib=True)
            v[:] = np.arange(5) + 100 * k
            v.offset = k
            f.createVariable("cloud", "f8", ())[...] = k / 4
        paths.append(str(path))
    return paths[::-1]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (FromName(re.compile(r"_(\d{8})_")), [20200101, 20200102, 20200103]),
        (FromName(re.compile(r"\d{8}"), "%Y%m%d"), [18262, 18263, 18264]),
        (FromAttribute("hour"), [0, 6, 12]),
        (FromAttribute("offset", "v"), [0, 1, 2]),
        (FromVariable("cloud"), [0.0, 0.25, 0.5]),
        (Values((30, 20, 10)), [10, 20, 30]),
        (Compute(lambda index, name, group: -index), [-2, -1, 0]),
    ],
    ids=["regex", "date", "attribute", "variable attribute", "variable", "values", "function"],
)
def test_new_dimension(tmp_path: Path, source: Any, expected: list[float]) -> None:
    both = ba.combine(scalars(tmp_path), concat="time", coords={"time": source})
    root: Any = ba.open(both)
    name = "cloud" if isinstance(source, FromVariable) else "time"
    assert root[name][...].tolist() == expected
    assert root["v"].dims == ("time", "x")
    assert root["v"][:, 0].tolist() == [0, 100, 200]
    assert root["x"].shape == (5,)
    ba.write(both, tmp_path / "map.json")
    again: Any = ba.open(str(tmp_path / "map.json"))
    np.testing.assert_array_equal(again["v"][...], root["v"][...])


def test_order_as_given(tmp_path: Path) -> None:
    root: Any = ba.open(ba.combine(scalars(tmp_path), concat="scene", coords={"scene": ByOrder()}))
    assert root["v"][:, 1].tolist() == [201, 101, 1]
    assert "scene" not in list(root.keys())


def test_kerchunk_spellings(tmp_path: Path) -> None:
    paths = scalars(tmp_path)
    for spelled, expected in (
        (re.compile(r"_(\d{8})_"), [20200101, 20200102, 20200103]),
        ("attr:hour", [0, 6, 12]),
        ("vattr:v:offset", [0, 1, 2]),
        ([7, 6, 5], [5, 6, 7]),
        (lambda index, fs, var, fn: index, [0, 1, 2]),
    ):
        both = ba.combine(paths, concat="time", coords=kerchunk_map({"time": spelled}))
        root: Any = ba.open(both)
        assert root["time"][...].tolist() == expected
    with pytest.raises(BadRequest, match="one data variable"):
        ba.combine(paths, concat="time", coords=kerchunk_map({"time": "VARNAME"}))


def test_different_variables_of_the_same_times(tmp_path: Path) -> None:
    paths = []
    for name in ("tas", "pr"):
        for k in range(2):
            path = tmp_path / f"{name}_{k}.nc"
            with nc.Dataset(path, "w") as f:
                f.createDimension("time", 2)
                t = f.createVariable("time", "i4", ("time",))
                t.units = "days since 2001-01-01"
                t[:] = [2 * k, 2 * k + 1]
                f.createVariable(name, "f4", ("time",), chunksizes=(1,))[:] = [k, k + 0.5]
            paths.append(str(path))
    root: Any = ba.open(ba.combine(paths, concat="time"))
    assert root["tas"][...].tolist() == root["pr"][...].tolist() == [0, 0.5, 1, 1.5]


def test_the_same_times_twice(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.nc", [0, 1]), write(tmp_path / "b.nc", [0, 1], scale=0.5, type="f8")]
    with pytest.raises(Conflict, match="duplicate"):
        ba.combine(paths, concat="time")
    root: Any = ba.open(ba.combine(paths, concat="time", duplicates="last"))
    assert root["packed"].attrs["scale_factor"] == 0.5


def test_dropping_what_does_not_fit(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{k}.nc", [k]) for k in range(4)]
    with nc.Dataset(paths[2], "a") as f:
        f["plain"].units = "degC"
    plan = ba.plan_combine(paths, concat="time")
    assert [(c.variable, c.code, c.files) for c in plan.conflicts] == [("plain", "units", (paths[2],))]
    kept: Any = ba.open(ba.combine(paths, concat="time", on_conflict="drop-variable"))
    assert "plain" not in list(kept.keys())
    assert kept["packed"].shape[0] == 4
    kept = ba.open(ba.combine(paths, concat="time", on_conflict="drop-file"))
    assert kept["plain"].shape[0] == kept["packed"].shape[0] == 3
    assert kept["time"][...].tolist() == [0, 1, 3]


def test_a_gap_is_noted(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{k}.nc", [k, k + 0.5]) for k in (0, 1, 2, 5)]
    plan = ba.plan_combine(paths, concat="time")
    assert plan.ok
    assert [f.code for f in plan.findings if f.code == "gap"] == ["gap"]
    assert plan.dimensions[0].blocks[3].first == 5.0


def test_coordinates_that_differ_are_refused(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.nc", [0]), write(tmp_path / "b.nc", [1], y=np.arange(4.0) + 0.001)]
    with pytest.raises(Conflict, match=r"variable 'y'.*b\.nc"):
        ba.combine(paths, concat="time")
    ba.combine(paths, concat="time", options=CombineOptions(trust=("y",)))


def test_one_plain_map_when_nothing_differs(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.nc", [0, 1]), write(tmp_path / "b.nc", [2, 3])]
    with nc.Dataset(tmp_path / "c.nc", "w"):
        pass
    plan = ba.plan_combine(paths, concat="time")
    assert {v.path: v.plain for v in plan.variables if v.path == "packed"} == {"packed": True}


def test_zero_is_a_time_for_other_readers_too(tmp_path: Path) -> None:
    """xarray takes the fill value of a Zarr v2 array for "no data": combined coordinates have none."""
    pytest.importorskip("kerchunk")
    paths = [write(tmp_path / "a.nc", [0, 1]), write(tmp_path / "b.nc", [2, 3])]
    ba.write(ba.combine(paths, concat="time"), tmp_path / "m.json")
    theirs = xr.open_dataset(str(tmp_path / "m.json"), engine="kerchunk")
    assert theirs["time"].values.astype("datetime64[D]").astype(str).tolist() == [f"2001-01-0{d}" for d in range(1, 5)]
