"""Selecting and masking by coordinate values, against xarray's ``sel`` and ``where`` on the same file."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, opener, virtual

import byteatlas as ba
from byteatlas.api.reading import reader
from byteatlas.array import open_node
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.coordinates.times import parse_units
from byteatlas.combining.select import region as regions
from byteatlas.combining.select.labels import axis_of, period_of, span_of
from byteatlas.errors import BadRequest, BadSelection, Conflict
from byteatlas.io.access import Access
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.model import Encoding, RegularGrid

nc = pytest.importorskip("netCDF4")
xr = pytest.importorskip("xarray")
cftime = pytest.importorskip("cftime")


def year(path: Path, calendar: str = "standard", units: str = "days since 2000-12-01", **more: Any) -> str:
    """A year of days over latitudes from north to south, with a group and text along the time."""
    lat = np.arange(80, -81, -10.0)
    days = more.get("days", np.arange(31, 396))
    with nc.Dataset(path, "w") as f:
        f.createDimension("time", len(days))
        f.createDimension("lat", len(lat))
        t = f.createVariable("time", more.get("type", "f8"), ("time",))
        t.units, t.calendar = units, calendar
        t[:] = days
        f.createVariable("lat", "f4", ("lat",))[:] = lat
        v = f.createVariable("v", "f4", ("time", "lat"), zlib=True, chunksizes=(1, 4), fill_value=-1.0)
        v[:] = np.add.outer(np.arange(len(days)), lat / 100)
        g = f.createGroup("deep")
        g.createVariable("w", "i4", ("time",), chunksizes=(2,), zlib=True, fill_value=-1)[:] = np.arange(len(days))
    return str(path)


REGIONS: list[dict[str, Any]] = [
    {"time": slice("2001-01", "2001-03")},
    {"time": slice("2001-02-10", "2001-02-20")},
    {"time": slice(None, "2001-01-05")},
    {"time": slice("2001-12", None), "lat": slice(60, 30)},
    {"time": slice("2001-03-05T12", "2001-03-08T00:00:00"), "lat": slice(80, 80)},
    {"time": "2001-07"},
    {"lat": slice(80, 55.5)},
    {"time": slice(dt.datetime(2001, 5, 1), dt.datetime(2001, 5, 3))},
    {"time": slice(np.datetime64("2001-05-01"), np.datetime64("2001-05-03T12:30:00.5"))},
]


@pytest.fixture
def most_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regions, "SMALL", 100)


@pytest.mark.parametrize("region", REGIONS, ids=str)
@pytest.mark.parametrize("cut", [True, False], ids=["cut", "small"])
def test_as_xarray(tmp_path: Path, region: dict[str, Any], cut: bool, request: pytest.FixtureRequest) -> None:
    if cut:
        request.getfixturevalue("most_is_large")
    path = year(tmp_path / "a.nc")
    part = ba.scan(path).select(region, cut=cut)
    ours = xr.open_dataset(part, engine="byteatlas")
    for name in ("time", "lat", "v"):
        np.testing.assert_array_equal(ours[name].values, xr.open_dataset(path).sel(region)[name].values)
    ba.write(part, tmp_path / "m.json")
    again: Any = ba.open(str(tmp_path / "m.json"))
    np.testing.assert_array_equal(again["v"][...], ours["v"].values)
    if "time" in region:
        days = again["deep/w"][...]
        assert len(days) == again["time"].shape[0]
        np.testing.assert_array_equal(days + 31, again["time"][...])


@pytest.mark.parametrize("calendar", ["standard", "proleptic_gregorian", "noleap", "360_day", "julian", "all_leap"])
@pytest.mark.parametrize("period", ["2000-02", "2001", "2001-01-30", "1999-12-31T06", "2000-12-31T23:59", "1582-10"])
def test_periods_by_calendar(calendar: str, period: str) -> None:
    try:
        begin, end = period_of(period, calendar) or (0, 0)
    except BadSelection:
        assert calendar == "360_day"
        assert "-31" in period
        return
    text = "minutes since 1500-01-01"
    units = parse_units(text, calendar)
    assert units is not None
    around = [edge + k * 60_000_000_000 for edge in (begin, end) for k in range(-2, 3)]
    dates = cftime.num2date([(ns - units.reference) // units.unit for ns in around], text, calendar)
    assert [begin <= ns < end for ns in around] == [d.isoformat().startswith(period) for d in dates]


@pytest.mark.usefixtures("most_is_large")
def test_borders_are_named(tmp_path: Path) -> None:
    vg = ba.scan(year(tmp_path / "a.nc"))
    with pytest.raises(BadSelection, match=r"'lat' 60.0 \(position 2\).*of v; chunks begin at 80.0.*0\) and 40.0.*4\)"):
        vg.select(lat=slice(60, 30))
    part: Any = ba.open(vg.select(lat=slice(40, -30)))
    assert part["lat"][...].tolist() == [40, 30, 20, 10, 0, -10, -20, -30]


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ({"time": slice("2002", "2003")}, "its values go from 31.0 days since"),
        ({"time": slice("2001-02-30", None)}, "has no 2001-02-30"),
        ({"time": "yesterday"}, "no date such as"),
        ({"time": slice("2001-01", "2001-02", 2)}, "no step"),
        ({"lat": slice("a", "b")}, "numbers are needed"),
        ({"lat": 33}, "no 'lat' is 33"),
        ({"lat": float("nan")}, "numbers are needed"),
    ],
)
def test_what_is_not_there(tmp_path: Path, region: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSelection, match=message):
        ba.scan(year(tmp_path / "a.nc")).select(region)


def test_dimensions_without_a_coordinate(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="no coordinate variable 'x'"):
        ba.scan(year(tmp_path / "a.nc")).select(x=slice(0, 1))


@pytest.mark.parametrize(("low", "high"), [(-5, 5), (0, 3), (2.5, 2.5), (None, 0), (1, None)])
@pytest.mark.parametrize("down", [False, True])
def test_numbers(low: Any, high: Any, down: bool) -> None:
    values = np.array([-6, -2.5, 0, 1, 2.5, 3, 9.0])
    values = values[::-1] if down else values
    axis = axis_of("x", inline_array(values, ("x",), {}), reader(Access()))
    start, stop = span_of(axis, slice(low, high))
    inside = [v for v in values if (low is None or v >= low) and (high is None or v <= high)]
    assert values[start:stop].tolist() == inside


def test_packed_coordinates_text_and_disorder() -> None:
    packed = inline_array(np.array([0, 1, 2], "i2"), ("x",), {"scale_factor": 0.5, "add_offset": 10.0})
    assert span_of(axis_of("x", packed, reader(Access())), slice(10.5, 11)) == (1, 3)
    text = axis_of("x", inline_array(np.array(["a", "b", "d"]), ("x",), {}), reader(Access()))
    assert span_of(text, slice("b", "c")) == (1, 2)
    assert span_of(text, "d") == (2, 3)
    with pytest.raises(BadSelection, match="text values"):
        span_of(text, 3)
    mixed = axis_of("x", inline_array(np.array([0, 5, 1]), ("x",), {}), reader(Access()))
    with pytest.raises(BadSelection, match="next to each other"):
        span_of(mixed, slice(0, 2))
    with pytest.raises(BadSelection, match="nothing is from 4 to 1"):
        span_of(axis_of("x", inline_array(np.arange(6), ("x",), {}), reader(Access())), slice(4, 1))
    with pytest.raises(BadRequest, match="2 dimensions"):
        axis_of("x", inline_array(np.zeros((2, 2)), ("y", "x"), {}), reader(Access()))


def test_mask_by_values(tmp_path: Path) -> None:
    path = year(tmp_path / "a.nc")
    inside = {"time": slice("2001-03", "2001-05"), "lat": slice(80, 50)}
    ours = xr.open_dataset(ba.scan(path).mask(inside), engine="byteatlas")
    theirs = xr.open_dataset(path)
    kept = theirs["v"].where(theirs.time.isin(theirs.sel(inside).time) & theirs.lat.isin(theirs.sel(inside).lat))
    np.testing.assert_array_equal(ours["v"].values, kept.values)
    with pytest.raises(BadSelection, match="cuts the chunk"):
        ba.scan(path).mask(lat=slice(80, 60))
    cut = xr.open_dataset(ba.scan(path).mask(lat=slice(80, 60), keep_cut=True), engine="byteatlas")
    np.testing.assert_array_equal(cut["v"].values[:, :4], theirs["v"].values[:, :4])
    assert np.isnan(cut["v"].values[:, 4:]).all()


def test_concat_as_a_method() -> None:
    values = np.arange(12, dtype="f4").reshape(6, 2)
    files: dict[str, Any] = {}
    groups = []
    for k in range(3):
        array, data, _ = virtual(values + 100 * k, RegularGrid((2, 2)), [Encoding(RAW)], missing=0, url=f"memory:{k}")
        meta = replace(array.meta, dimension_names=("t", "x"))
        groups.append(ba.VirtualTree(arrays={"v": VirtualArray(meta, array.manifest)}))
        files[f"memory:{k}"] = opener(data)(f"memory:{k}")
    whole: Any = open_node(groups[0].concat(groups[1:], "t"), files.__getitem__)
    np.testing.assert_array_equal(whole["v"][...], np.concatenate([values, values + 100, values + 200]))
    two: Any = open_node(groups[2].concat(groups[0], "t"), files.__getitem__)
    np.testing.assert_array_equal(two["v"][...], np.concatenate([values + 200, values]))
    stacked: Any = open_node(groups[0].concat(groups[1], "run"), files.__getitem__)
    assert stacked["v"].dims == ("run", "t", "x")


def test_concat_compares_what_has_no_dimension(tmp_path: Path) -> None:
    a, b = (ba.scan(year(tmp_path / f"{n}.nc", days=d)) for n, d in (("a", [1, 2, 3]), ("b", [4, 5])))
    whole: Any = ba.open(a.concat([b], "time"))
    assert whole["time"][...].tolist() == [1, 2, 3, 4, 5]
    with nc.Dataset(tmp_path / "b.nc", "a") as f:
        f["lat"][:] = f["lat"][:] + 1
    with pytest.raises(Conflict, match="variable 'lat'"):
        a.concat(ba.scan(str(tmp_path / "b.nc")), "time")
    a.concat(ba.scan(str(tmp_path / "b.nc")), "time", trust=("lat",))
