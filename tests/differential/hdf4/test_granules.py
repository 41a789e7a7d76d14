"""A series of granules like those of MODIS: combined, opened by xarray, placed on the ground."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from fixtures.hdf4.make_hdf4 import granule

import byteatlas as ba
from byteatlas.combining import FromName

pytest.importorskip("pyhdf")
pyproj = pytest.importorskip("pyproj")
xarray = pytest.importorskip("xarray")


def test_a_series_opens_in_xarray_with_a_crs(tmp_path: Path) -> None:
    files = [granule(tmp_path, day) for day in (1, 2, 3)]
    series = ba.combine(files, concat="time", coords={"time": FromName(re.compile(r"A(\d{7})"), "%Y%j")})
    ba.write(series, tmp_path / "series.json")
    with xarray.open_datatree(tmp_path / "series.json", engine="byteatlas", mask_and_scale=False) as tree:
        data = tree["MOD_Grid"].to_dataset()
        assert data["LST"].dims == ("time", "y", "x")
        expected = np.stack([np.arange(48).reshape(6, 8) + 100 * day for day in (1, 2, 3)])
        np.testing.assert_array_equal(data["LST"].values, expected)
        days = data["time"].values.astype("datetime64[D]").astype(str).tolist()
        assert days == ["2024-01-01", "2024-01-02", "2024-01-03"]
        crs = pyproj.CRS.from_wkt(data["spatial_ref"].attrs["crs_wkt"])
        assert data["LST"].encoding.get("grid_mapping", data["LST"].attrs.get("grid_mapping")) == "spatial_ref"
        assert crs == pyproj.CRS.from_cf(data["spatial_ref"].attrs)
        place = pyproj.Transformer.from_crs("+proj=sinu +R=6371007.181", "+proj=longlat +R=6371007.181", always_xy=True)
        west, north = place.transform(float(data["x"][0]), float(data["y"][0]))
    assert west == pytest.approx(0.96, abs=0.05)
    assert north == pytest.approx(49.17, abs=0.01)


def test_the_group_by_itself_has_the_new_coordinate(tmp_path: Path) -> None:
    day = FromName(re.compile(r"A(\d{7})"), "%Y%j")
    series = ba.combine([granule(tmp_path, n) for n in (1, 2)], concat="time", coords={"time": day})
    ba.write(series, tmp_path / "s.json")
    third = ba.combine([granule(tmp_path, 3)], concat="time", coords={"time": day})
    ba.append(tmp_path / "s.json", [third], concat="time")
    with xarray.open_dataset(tmp_path / "s.json", engine="byteatlas", group="MOD_Grid", mask_and_scale=False) as data:
        assert data["LST"].sel(time="2024-01-03").isel(y=0, x=0).item() == 300
        assert data.sizes["time"] == 3
