"""Fields as cubes: names, dimensions, coordinates, conflicts; collections of runs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.grib import make_forecasts as make
from tests.places import FIXTURES
from tests.scanning import scan_bytes

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.grib import SCANNER
from byteatlas_scanners.grib.products.edition1 import times_of
from byteatlas_scanners.grib.products.times import SECONDS, later, moment

FOLDER = FIXTURES / "grib"
EPOCH = datetime.datetime(1970, 1, 1)


def array(group: VirtualGroup, path: str) -> VirtualArray:
    node = group[path]
    assert isinstance(node, VirtualArray)
    return node


def opened(target: Any) -> Any:
    """Arrays by path, of any kind."""
    return ba.open(target)


def dims(group: VirtualGroup, path: str) -> tuple[str | None, ...] | None:
    return array(group, path).meta.dimension_names


def scan(name: str, **own: str) -> VirtualGroup:
    return scan_bytes(SCANNER, (FOLDER / name).read_bytes(), ScanOptions(extra={"grib": {**own}}))


def test_levels_and_steps_are_dimensions() -> None:
    group = ba.scan(FOLDER / "gfs.grib2")
    assert dims(group, "isobaricInhPa/u") == ("time", "step", "isobaricInhPa", "latitude", "longitude")
    root = opened(group)
    assert root["isobaricInhPa/isobaricInhPa"][...].tolist() == [500.0, 850.0, 1000.0]
    assert root["isobaricInhPa/step"][...].tolist() == [6, 12]
    assert root["isobaricInhPa/latitude"][...].tolist() == list(range(40, 22, -2))
    assert root["isobaricInhPa/longitude"][...].tolist() == list(range(-10, 26, 2))
    got = root["isobaricInhPa/v"][0, 1, 2]  # the second field of its message
    np.testing.assert_allclose(got.ravel(), make.field(12 + 1000 + 2, mean=1), atol=0.01)
    np.testing.assert_array_equal(np.isnan(root["surface/t"][0, 0].ravel()), np.arange(make.NI * make.NJ) % 5 == 0)


def test_sums_over_several_lengths_are_several_variables() -> None:
    root = opened(ba.scan(FOLDER / "gfs.grib2"))
    assert root["surface/tp"].shape[1] == 2
    assert root["surface/tp_6h"].shape[1] == 1
    assert (root["surface/tp_step_bounds"][0] // 3600).tolist() == [[0, 6], [0, 12]]
    assert (root["surface/tp_6h_step_bounds"][0] // 3600).tolist() == [[6, 12]]


def test_members_and_points() -> None:
    group = scan("ifs.grib2")
    assert dims(group, "heightAboveGround/2t") == ("time", "step", "number", "values")
    (item,) = [item for item in group.report if item.path.endswith("2t")]
    assert len(item.locators) == 6


def test_presets() -> None:
    cfgrib = scan("gfs.grib2", preset="cfgrib")
    assert dims(cfgrib, "t2m") == ("step", "latitude", "longitude")
    kerchunk = scan("gfs.grib2", preset="kerchunk")
    assert dims(kerchunk, "t2m/instant/heightAboveGround/t2m") == ("step", "latitude", "longitude")
    assert dims(scan("hrrr.grib2", dims="number"), "heightAboveGround/2t") == ("y", "x")
    with pytest.raises(BadRequest, match="known: byteatlas, cfgrib, kerchunk"):
        scan("gfs.grib2", preset="other")


def test_single_precision() -> None:
    group = ba.scan(FOLDER / "hrrr.grib2", options=ScanOptions(extra={"grib": {"dtype": "float32"}}))
    single, double = opened(group), opened(ba.scan(FOLDER / "hrrr.grib2"))
    got, wanted = single["heightAboveGround/2t"][...], double["heightAboveGround/2t"][...]
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, wanted.astype("f4"))


def test_no_field_is_dropped() -> None:
    """Twice the same file: every place is taken twice."""
    data = (FOLDER / "era.grib1").read_bytes()
    group = scan_bytes(SCANNER, data * 2)
    places = sorted(int(place[4:]) for item in group.report for place in item.locators)
    assert len(places) == len(set(places)) == 10
    twins = [item for item in group.report if "another field" in item.detail]
    assert [item.path for item in twins] == ["isobaricInhPa/z_2", "isobaricInhPa/t_2", "surface/sst_2"]


def test_missing_combinations_are_in_the_report() -> None:
    data = make.gfs(steps=(6, 12))
    first = data.find(b"GRIB", 4)
    group = scan_bytes(SCANNER, data[first:])
    item = next(item for item in group.report if item.path == "isobaricInhPa/t")
    assert item.detail.startswith("1 of 6 combinations")
    assert sorted(item.locators)[0] == ""


def test_few_of_many_combinations_stand_in_a_row() -> None:
    messages = [
        make.message(
            make.GRIB2, make.field(k), {**make.LATLON, **make.product(0, 0, (100, 100 * (k + 1))), "forecastTime": k}
        )
        for k in range(30)
    ]
    group = scan_bytes(SCANNER, b"".join(messages))
    assert dims(group, "isobaricInhPa/t") == ("field", "latitude", "longitude")
    assert dims(group, "isobaricInhPa/step") == ("field",)


def test_projected_grids_have_planes() -> None:
    pyproj = pytest.importorskip("pyproj")
    root = opened(ba.scan(FOLDER / "hrrr.grib2"))["heightAboveGround"]
    crs = pyproj.CRS.from_cf(dict(root["crs"].attrs))
    there = pyproj.Transformer.from_crs(crs.geodetic_crs, crs, always_xy=True)
    x, y = there.transform(237.280472 - 360, 21.138123)
    np.testing.assert_allclose((root["x"][0], root["y"][0]), (x, y), atol=1e-3)
    assert np.diff(root["x"][...]).tolist() == pytest.approx([300_000.0] * 20)
    longitude, latitude = there.transform(*np.meshgrid(root["x"][...], root["y"][...]), direction="INVERSE")
    np.testing.assert_allclose(root["latitude"][...], latitude, atol=1e-6)
    np.testing.assert_allclose(root["longitude"][...] % 360, longitude % 360, atol=1e-6)


def test_months_follow_the_calendar() -> None:
    begin = moment((2024, 1, 31, 0, 0, 0))
    assert begin == (datetime.datetime(2024, 1, 31) - EPOCH).total_seconds()
    assert later(begin, 1, 3, SECONDS) == 29 * 86400
    assert later(begin, 1, 4, SECONDS) == 366 * 86400
    assert moment((2023, 2, 29, 0, 0, 0)) is None


# --------------------------------------------------------------------------------------- collections


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    paths = []
    for hour in (0, 6):
        path = tmp_path / f"gfs_{hour:02}.grib2"
        path.write_bytes(make.gfs(20240101, hour))
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_runs_are_combined(runs: list[str], tmp_path: Path, form: str) -> None:
    both = ba.combine(runs, concat="time")
    ba.write(both, tmp_path / f"both.{form}")
    root = opened(tmp_path / f"both.{form}")
    assert root["isobaricInhPa/t"].shape == (2, 2, 3, make.NJ, make.NI)
    hours = root["isobaricInhPa/valid_time"][...] // 3600
    assert (hours - hours[0, 0]).tolist() == [[0, 6], [6, 12]]
    alone = opened(ba.scan(runs[1]))["isobaricInhPa/t"][0]
    np.testing.assert_array_equal(root["isobaricInhPa/t"][1], alone)


def test_the_newest_run_is_appended(runs: list[str], tmp_path: Path) -> None:
    target = tmp_path / "all.parquet"
    ba.write(ba.combine(runs[:1], concat="time"), target)
    ba.append(target, runs[1:], concat="time")
    assert opened(target)["surface/tp"].shape[0] == 2


def test_by_valid_time(runs: list[str]) -> None:
    both = ba.combine(runs, concat="time")
    best = opened(ba.by_valid_time(both))
    all_runs = opened(both)["isobaricInhPa/t"]
    assert best["isobaricInhPa/t"].shape == (3, 3, make.NJ, make.NI)
    np.testing.assert_array_equal(best["isobaricInhPa/t"][0], all_runs[0, 0])
    np.testing.assert_array_equal(best["isobaricInhPa/t"][1], all_runs[1, 0])  # the newer run, not step 12 of the older
    np.testing.assert_array_equal(best["isobaricInhPa/t"][2], all_runs[1, 1])
    early = opened(ba.by_valid_time(both, at_least=12))
    np.testing.assert_array_equal(early["isobaricInhPa/t"][0], all_runs[0, 1])
    with pytest.raises(BadRequest):
        ba.by_valid_time(ba.scan(FIXTURES / "netcdf3" / "cdf1.nc"))


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_by_valid_time_of_a_map(runs: list[str], tmp_path: Path, form: str) -> None:
    both = ba.combine(runs, concat="time")
    target = tmp_path / f"runs.{form}"
    ba.write(both, target)
    loaded = ba.load(target)
    assert isinstance(loaded, VirtualGroup)
    best, wanted = opened(ba.by_valid_time(loaded)), opened(ba.by_valid_time(both))
    np.testing.assert_array_equal(best["isobaricInhPa/t"][...], wanted["isobaricInhPa/t"][...])
    np.testing.assert_array_equal(best["isobaricInhPa/valid_time"][...], wanted["isobaricInhPa/valid_time"][...])


def test_views_in_the_shell(runs: list[str], tmp_path: Path) -> None:
    ba.write(ba.combine(runs, concat="time"), tmp_path / "runs.json")
    both = ba.load(tmp_path / "runs.json")
    assert isinstance(both, VirtualGroup)
    names = [str(tmp_path / name) for name in ("runs.json", "best.json", "late.json")]
    assert run(["select", names[0], names[1], "--best"]) == 0
    assert run(["select", names[0], names[2], "--horizon", "12"]) == 0
    for name, hours in ((names[1], 0.0), (names[2], 12.0)):
        wanted = opened(ba.by_valid_time(both, at_least=hours))["isobaricInhPa/t"]
        np.testing.assert_array_equal(opened(name)["isobaricInhPa/t"][...], wanted[...])
    assert run(["select", names[0], str(tmp_path / "none.json")]) == 2
    assert run(["select", names[0], str(tmp_path / "none.json"), "--best", "--horizon", "6"]) == 2


def test_info_is_a_table_of_messages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", str(FIXTURES / "grib" / "gfs.grib2")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["variable", "levels", "runs", "steps", "grid", "packing", "fields"]
    assert lines[2] == "isobaricInhPa:"
    assert " ".join(lines[3].split()) == "t 500..1000 (3) 2024-01-01 00 6, 12 h regular_ll 9x18 simple 6"
    assert max(map(len, lines)) <= 100
    assert sum(int(line.split()[-1]) for line in lines[2:-1] if line.startswith("  ")) == 25


def test_the_centre_has_a_name() -> None:
    found = scan("gfs.grib2").meta.attributes
    assert (found["GRIB_centre"], found["GRIB_centreDescription"]) == (7, "US National Weather Service - NCEP")


@pytest.mark.parametrize(
    ("indicator", "centre", "wanted"),
    [(0, 7, ("instant", 2, 2)), (1, 7, ("instant", 2, 2)), (4, 7, ("accum", 2, 5)), (128, 7, ("avgas", 2, 5)),
     (130, 34, ("avgad", 2, 5)), (131, 7, ("131", 2, 5)), (137, 7, ("137", 2, 5)), (137, 98, ("137", 2, 2)),
     (10, 7, ("instant", 517, 517))],
)  # fmt: skip
def test_time_ranges_of_edition_1(indicator: int, centre: int, wanted: tuple[str, int, int]) -> None:
    """Code table 5; 128 to 140 are means of accumulations and means between P1 and P2 at NCEP."""
    data = bytearray(40)
    data[4], data[12:17], data[17:21], data[24] = centre, bytes((7, 3, 23, 12, 0)), bytes((1, 2, 5, indicator)), 21
    times = times_of(bytes(data))
    assert (times.process, times.begin // 3600, times.end // 3600) == wanted
