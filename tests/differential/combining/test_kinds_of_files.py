"""Sets of files that are met in archives: each reads as xarray reads it, or is refused with the odd file's name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.combining import ByOrder
from byteatlas.errors import BadRequest, Conflict
from byteatlas.executors import combining

nc = pytest.importorskip("netCDF4")
h5py = pytest.importorskip("h5py")

Fill = Callable[[Any], None]


def make(path: Path, times: Sequence[float], fill: Fill | None = None, units: str = "hours since 2000-01-01") -> str:
    """A netCDF-4 file with a time, three numbers for each, and what ``fill`` adds."""
    with nc.Dataset(path, "w") as f:
        f.createDimension("time", None)
        f.createDimension("x", 3)
        time = f.createVariable("time", "f8", ("time",))
        time.units = units
        time[:] = times
        f.createVariable("v", "f4", ("time", "x"), chunksizes=(1, 3))[:] = np.add.outer(np.asarray(times), np.arange(3))
        if fill is not None:
            fill(f)
    return str(path)


def variable(name: str, kind: Any, dims: tuple[str, ...], value: Any, **attributes: Any) -> Fill:
    def add(f: Any) -> None:
        made = f.createVariable(name, kind, dims, fill_value=attributes.pop("_FillValue", None))
        made.set_auto_maskandscale(False)
        made.setncatts(attributes)
        made[...] = value

    return add


def crs(code: int, **more: Any) -> Fill:
    wkt = f'PROJCRS["WGS 84 / UTM zone {code % 100}N"]'
    return variable("crs", "i4", (), 0, grid_mapping_name="transverse_mercator", crs_wkt=wkt, **more)


def test_two_utm_zones_are_a_conflict(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{k}.nc", [k], crs(32633 if k == 1 else 32632)) for k in range(3)]
    (found,) = ba.plan_combine(paths, "time").conflicts
    assert (found.code, found.variable, found.files) == ("crs", "crs", (paths[1],))
    assert "2 files" in found.detail


def test_a_grid_mapping_that_says_less_is_none(tmp_path: Path) -> None:
    less = variable("crs", "i4", (), 0, grid_mapping_name="transverse_mercator", GeoTransform="0 1 0 0 0 1")
    paths = [make(tmp_path / "a.nc", [0], crs(32632, GeoTransform="5 1 0 5 0 1")), make(tmp_path / "b.nc", [1], less)]
    assert ba.plan_combine(paths, "time").ok


@pytest.mark.parametrize(
    ("second", "code"),
    [("time: maximum", "attributes"), ("time: mean  (interval: 1 hour)", None), (None, None)],
)
def test_cell_methods(tmp_path: Path, second: str | None, code: str | None) -> None:
    methods = ["time: mean", second]
    paths = [
        make(tmp_path / f"{k}.nc", [k], variable("m", "f4", ("time",), k, **({"cell_methods": m} if m else {})))
        for k, m in enumerate(methods)
    ]
    assert [f.code for f in ba.plan_combine(paths, "time").conflicts] == ([code] if code else [])


@pytest.mark.parametrize("written", [0, 2])
@pytest.mark.parametrize("chunk", [1, 4])
@pytest.mark.parametrize("inline", [0, 1 << 16])
def test_records_that_were_not_written(tmp_path: Path, written: int, chunk: int, inline: int) -> None:
    def short(f: Any) -> None:
        w = f.createVariable("w", "i2", ("time",), chunksizes=(chunk,), fill_value=-5, zlib=True)
        w[:written] = np.arange(written)

    def whole(f: Any) -> None:
        f.createVariable("w", "i2", ("time",), chunksizes=(chunk,), fill_value=-5)[:] = [7, 8]

    paths = [make(tmp_path / "a.nc", [0, 1, 2, 3, 4], short), make(tmp_path / "b.nc", [5, 6], whole)]
    root: Any = ba.open(ba.combine(paths, "time", inline_uneven=inline))
    assert root["w"][...].tolist() == [*range(written), *[-5] * (5 - written), 7, 8]


@pytest.mark.parametrize("kind", ["S1", str])
def test_absent_text_is_empty(tmp_path: Path, kind: Any) -> None:
    def text(f: Any) -> None:
        label = f.createVariable("label", kind, ("time",))
        label[0] = "a"

    paths = [make(tmp_path / "a.nc", [0], text), make(tmp_path / "b.nc", [1])]
    for target in ("", "m.json", "m.parquet"):
        both = ba.combine(paths, "time", inline_uneven=0)
        if target:
            ba.write(both, tmp_path / target)
        root: Any = ba.open(str(tmp_path / target) if target else both)
        assert [v.decode() if isinstance(v, bytes) else v for v in root["label"][...].tolist()] == ["a", ""]


@pytest.mark.parametrize("inline", [0, 1 << 16])
def test_truth_values_beside_numbers(tmp_path: Path, inline: int) -> None:
    paths = [make(tmp_path / f"{k}.nc", [k]) for k in range(3)]
    with h5py.File(paths[0], "a") as f:
        f["ok"] = np.array([True])
        f["ok"].dims[0].attach_scale(f["time"])
    with h5py.File(paths[1], "a") as f:
        f["ok"] = np.array([0], "i1")
        f["ok"].dims[0].attach_scale(f["time"])
    root: Any = ba.open(ba.combine(paths[:2], "time", inline_uneven=inline))
    assert (root["ok"].dtype, root["ok"][...].tolist()) == (np.dtype("i1"), [1, 0])
    absent: Any = ba.open(ba.combine([paths[0], paths[2]], "time", inline_uneven=inline))
    np.testing.assert_array_equal(absent["ok"][...], [1, np.nan])


def test_a_new_dimension_where_times_are_equal_once_decoded(tmp_path: Path) -> None:
    a = make(tmp_path / "a.nc", [0, 24])
    b = make(tmp_path / "b.nc", [-1, 0], units="days since 2000-01-02")
    root: Any = ba.open(ba.combine([a, b], "member", coords={"member": ByOrder()}))
    assert (root["time"].shape, root["v"].shape) == ((2,), (2, 2, 3))
    c = make(tmp_path / "c.nc", [0, 1], units="days since 2000-01-02")
    (found,) = ba.plan_combine([a, c], "member", coords={"member": ByOrder()}).conflicts
    assert (found.code, found.variable) == ("values", "time")


@pytest.mark.parametrize("kind", ["i4", "f8"])
def test_an_auxiliary_time_with_absent_values_in_other_units(tmp_path: Path, kind: str) -> None:
    paths = []
    for k, (units, line) in enumerate((("hours since 2000-01-01", [6, -99]), ("days since 2000-01-01", [-99, 2]))):
        made = variable("valid", kind, ("time",), line, units=units, _FillValue=-99)
        paths.append(make(tmp_path / f"{k}.nc", [2 * k, 2 * k + 1], made))
    valid: Any = ba.open(ba.combine(paths, "time"))["valid"]
    assert valid.attrs["units"] == "hours since 2000-01-01"
    nothing = valid.attrs.get("_FillValue", float("nan"))
    found = [None if v in (nothing,) or v != v else v for v in valid[...].tolist()]
    assert found == [6, None, None, 48]


def test_small_uneven_arrays_keep_the_map_plain(tmp_path: Path) -> None:
    def bounds(f: Any) -> None:
        f.createVariable("b", "f8", ("time", "x"), chunksizes=(512, 3))[:] = 1.5

    paths = [make(tmp_path / f"{k}.nc", [3 * k, 3 * k + 1, 3 * k + 2], bounds) for k in range(3)]
    plan = ba.plan_combine(paths, "time")
    assert all(v.plain for v in plan.variables)
    assert {v.path: v.action for v in plan.variables}["b"] == "inlined"
    assert not all(v.plain for v in ba.plan_combine(paths, "time", inline_uneven=0).variables)


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
def test_one_array_of_ours_leaves_the_others_to_all(tmp_path: Path, name: str) -> None:
    zarr, fsspec = pytest.importorskip("zarr"), pytest.importorskip("fsspec")

    def bounds(f: Any) -> None:
        f.createVariable("b", "f8", ("time", "x"), chunksizes=(2, 3))[:] = 1.5

    paths = [make(tmp_path / f"{k}.nc", [3 * k, 3 * k + 1, 3 * k + 2], bounds) for k in range(2)]
    ba.write(ba.combine(paths, "time", inline_uneven=0), tmp_path / name)
    ours: Any = ba.open(str(tmp_path / name))
    assert ours["b"][...].tolist() == [[1.5] * 3] * 6
    fs = fsspec.filesystem("reference", fo=str(tmp_path / name), remote_protocol="file", asynchronous=False)
    with warnings.catch_warnings():  # of the libraries below fsspec
        warnings.simplefilter("ignore")
        theirs = zarr.open_array(fs.get_mapper("v"), mode="r", zarr_format=2)[...]
    np.testing.assert_array_equal(theirs, ours["v"][...])


def test_the_odd_file_is_named(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{k}.nc", [k], None, f"hours since 200{k}-01-01") for k in range(4)]
    with nc.Dataset(paths[2], "a") as f:
        f["time"].calendar = "noleap"
    (found,) = ba.plan_combine(paths, "time").conflicts
    assert found.files == (paths[2],)
    assert found.detail == f"calendars differ: standard (3 files) / noleap ({paths[2]})"


def test_sentences_have_no_reprs(tmp_path: Path) -> None:
    plans = []
    for k, (kind, dims, value) in enumerate((("f4", ("time", "x"), 1), ("f4", ("x", "time"), 1), ("S1", ("x",), b"a"))):
        other = make(tmp_path / f"b{k}.nc", [1], variable("w", kind, dims, value))
        plans.append(ba.plan_combine([make(tmp_path / "a.nc", [0], variable("w", "f4", ("time",), 1)), other], "time"))
    wide = make(
        tmp_path / "wide.nc", [1, 2, 3], lambda f: f.createVariable("u", "f4", ("time", "x"), chunksizes=(2, 1))
    )
    tall = make(tmp_path / "tall.nc", [4, 5], lambda f: f.createVariable("u", "f8", ("time", "x"), chunksizes=(1, 3)))
    plans.append(ba.plan_combine([wide, tall], "time"))
    for finding in (f for p in plans for f in p.findings):
        assert not any(mark in finding.detail for mark in ("('", "(chunk", "Grid", "[]", "{", "dtype(")), finding


def test_a_dimension_that_was_misspelt(tmp_path: Path) -> None:
    path = make(tmp_path / "a.nc", [0])
    with pytest.raises(Conflict, match="no file has a dimension 'tme'; did you mean 'time'\\? known: time, x"):
        ba.combine([path, path], "tme")


def test_one_note_for_many_files(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{k}.nc", [k // 2]) for k in range(6)]
    notes = [f for f in ba.plan_combine(paths, "time", duplicates="first").findings if f.code == "duplicate"]
    assert [(f.variable, len(f.files)) for f in notes] == [("v", 6)]


def test_combining_in_parts_keeps_every_finding(tmp_path: Path) -> None:
    paths = [make(tmp_path / f"{k}.nc", [k]) for k in range(4)]
    for k, path in enumerate(paths):
        with nc.Dataset(path, "a") as f:
            f.history, f["v"].comment = f"made {k}", f"number {k // 2}"
            f["v"].source = "one" if k < 3 else "two"
    at_once = ba.plan_combine(paths, "time")
    prepared = combining.prepare_many(paths, ba.CombineOptions(concat=("time",)), "serial", width=2).prepared
    assert prepared is not None
    assert {(f.level, f.code, f.variable, frozenset(f.items)) for f in prepared.findings} == {
        (f.level, f.code, f.variable, frozenset(f.items)) for f in at_once.findings
    }


def test_appending_data_that_the_map_has(tmp_path: Path) -> None:
    ba.write(ba.combine([make(tmp_path / "a.nc", [0, 1, 2])], "time"), tmp_path / "m.json")
    again = make(tmp_path / "again.nc", [1, 2])
    assert ba.append(tmp_path / "m.json", [again], "time").skipped == (again,)
    done = ba.append(tmp_path / "m.json", [make(tmp_path / "b.nc", [2, 3])], "time")
    assert len(done.added) == 1
    root: Any = ba.open(str(tmp_path / "m.json"))
    assert root["time"][...].tolist() == [0, 1, 2, 3]
    with nc.Dataset(again, "a") as f:
        f["v"][0, 0] = 99
    with pytest.raises(Conflict, match="other data"):
        ba.append(tmp_path / "m.json", [again], "time")


def test_appending_without_a_coordinate(tmp_path: Path) -> None:
    paths = []
    for k in range(3):
        with nc.Dataset(tmp_path / f"{k}.nc", "w") as f:
            f.createDimension("row", None)
            f.createVariable("v", "f4", ("row",), chunksizes=(2,))[:] = [k, k + 0.5]
        paths.append(str(tmp_path / f"{k}.nc"))
    target = tmp_path / "m.json"
    ba.write(ba.combine(paths[:2], "row"), target)
    done = ba.append(target, paths[1:], "row")
    assert (done.skipped, done.added) == ((paths[1],), (paths[2],))
    root: Any = ba.open(str(target))
    assert root["v"][...].tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    with pytest.raises(BadRequest, match="does not have a dimension 'rwo'; did you mean 'row'\\? known: row"):
        ba.append(target, paths, "rwo")
