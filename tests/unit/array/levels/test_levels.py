"""Overviews equal what NumPy and xarray make of the same blocks."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.array.levels.coarse import Coarse, coarse_attributes, coarse_coordinate
from byteatlas.array.levels.options import LevelOptions, Resampling
from byteatlas.array.levels.reduce import reduced
from byteatlas.errors import BadRequest, NotFound

NONE: NDArray[Any] = np.array([])


def blocks(values: NDArray[Any], factor: int) -> list[list[NDArray[Any]]]:
    """Blocks of a plane one by one."""
    height, width = values.shape
    return [
        [values[i : i + factor, j : j + factor] for j in range(0, width, factor)] for i in range(0, height, factor)
    ]  # fmt: skip


@pytest.mark.parametrize("factor", [2, 3, 5, 40])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "f4", "f8", "i8", "u8"])
def test_means_and_modes(factor: int, dtype: str) -> None:
    values = np.random.default_rng(3).integers(0, 7, (17, 22)).astype(dtype)
    if dtype in ("i8", "u8"):
        values = values + np.array(2**62, dtype)
    fill = values[0, 0]
    missing = np.array([fill])

    def valid(block: NDArray[Any]) -> list[int]:
        return [int(v) for v in block.ravel() if v != fill]

    def mean(block: NDArray[Any]) -> float | int:
        found = valid(block)
        if not found:
            return int(fill)
        if dtype[0] == "f":
            return float(np.array(sum(found) / len(found)).astype(dtype))
        whole, rest = divmod(sum(found), len(found))
        return whole + (2 * rest > len(found) or (2 * rest == len(found) and whole % 2 == 1))

    def mode(block: NDArray[Any]) -> int:
        found = Counter(valid(block))
        return min(found, key=lambda v: (-found[v], v)) if found else int(fill)

    cut = blocks(values, factor)
    assert reduced(values, factor, "mean", missing).tolist() == [[mean(b) for b in row] for row in cut]
    assert reduced(values, factor, "mode", missing).tolist() == [[mode(b) for b in row] for row in cut]


def test_nearest_is_the_middle() -> None:
    values = np.arange(35).reshape(5, 7)
    assert reduced(values, 3, "nearest", NONE).tolist() == [[8, 11, 13], [29, 32, 34]]


def test_missing_values() -> None:
    values = np.array([[np.nan, np.nan, 1, np.nan], [np.nan, np.nan, 3, np.nan]], "f4")
    assert np.isnan(reduced(values, 2, "mean", NONE)[0, 0])
    assert reduced(values, 2, "mean", NONE)[0, 1] == 2
    assert np.isnan(reduced(values, 2, "mode", NONE)[0, 0])
    assert reduced(values, 2, "mode", NONE)[0, 1] == 1


def test_bytes_that_are_meant_without_a_sign(tmp_path: Path) -> None:
    """127 and 128 lie beside each other; as signed numbers they would have the mean 0."""
    import zarr

    stored = zarr.create_array(
        tmp_path / "a.zarr", shape=(2, 4), dtype="i1", attributes={"_Unsigned": "true", "_FillValue": -1}
    )
    stored[:] = np.array([[127, 128, 200, 255]] * 2, "u1").view("i1")
    array = ba.open(tmp_path / "a.zarr")
    assert isinstance(array, ba.Array)
    found = Coarse(array, 2, "mean", 1 << 20).read((slice(0, 1), slice(0, 2)))
    assert found.dtype == np.int8
    assert found.view("u1").tolist() == [[128, 200]]


def test_coordinates_and_transforms() -> None:
    assert coarse_coordinate(np.array([0, 1, 2, 4, 8]), 2).tolist() == [0.5, 3.0, 8.0]
    assert coarse_coordinate(np.array([10.0, 8.0, 6.0]), 2).tolist() == [9.0, 5.0]
    found = coarse_attributes(
        {"spatial:transform": [30, 0, 5, 0, -30, 7], "GeoTransform": "5 30 0 7 0 -30", "spatial:bbox": [0, 0, 1, 1]},
        2,
        (4, 5),
    )
    assert found == {
        "spatial:transform": [60.0, 0.0, 5.0, 0.0, -60.0, 7.0],
        "GeoTransform": "5.0 60.0 0.0 7.0 0.0 -60.0",
    }
    node = coarse_attributes({"spatial:transform": [2, 0, 1, 0, -2, 9], "spatial:registration": "node"}, 2, (4, 5))
    assert node["spatial:transform"] == [4.0, 0.0, 2.0, 0.0, -4.0, 8.0]


@pytest.fixture
def grid(tmp_path: Path) -> tuple[str, Any]:
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(0).normal(size=(2, 60, 81)).astype("f4")
    values[:, :10, :12] = np.nan
    dataset = xarray.Dataset(
        {"t": (("time", "lat", "lon"), values)},
        coords={"time": np.arange(2), "lat": 40 - 0.1 * np.arange(60), "lon": 0.1 * np.arange(81)},
    )
    dataset["t"].attrs["grid_mapping"] = "crs"
    dataset["crs"] = ((), 0, {"epsg_code": "EPSG:4326", "GeoTransform": "-0.05 0.1 0 40.05 0 -0.1"})
    dataset.to_netcdf(tmp_path / "grid.nc")
    return str(tmp_path / "grid.nc"), dataset


def copied(source: str, target: Path, zarr_format: Any = 3, resampling: Resampling = "mean") -> ba.CopyReport:
    levels = LevelOptions(until=32, resampling=resampling)
    options = ba.CopyOptions(
        zarr_format=zarr_format, chunks={"t": (1, 16, 16)}, memory=20_000, levels=levels, geozarr=True
    )
    return ba.copy(source, str(target), options=options)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_levels_of_a_grid(grid: tuple[str, Any], tmp_path: Path, zarr_format: Any) -> None:
    xarray = pytest.importorskip("xarray")
    zarr = pytest.importorskip("zarr")
    source, dataset = grid
    assert copied(source, tmp_path / "g.zarr", zarr_format).arrays == 5 + 2
    for number, factor in ((1, 2), (2, 4)):
        expected = dataset.coarsen(lat=factor, lon=factor, boundary="pad").mean()
        found = xarray.open_zarr(tmp_path / "g.zarr", group=f"overview_{number}")
        np.testing.assert_allclose(found["t"].values, expected["t"].values, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["lat"].values, expected["lat"].values)
        np.testing.assert_allclose(found["lon"].values[:-1], expected["lon"].values[:-1])
        plain = zarr.open_group(tmp_path / "g.zarr", mode="r")[f"overview_{number}/t"][...]
        assert np.array_equal(plain, found["t"].values, equal_nan=True)
        place = ba.georeference(str(tmp_path / "g.zarr"), f"overview_{number}/t")
        assert place.transform is not None
        assert place.transform.a == pytest.approx(0.1 * factor)
        assert place.transform.of(0, 0) == pytest.approx((-0.05, 40.05))
    root = ba.open(str(tmp_path / "g.zarr"))
    assert isinstance(root, ba.Group)
    assert [level.path for level, _ in ba.levels_of(root)] == ["t", "overview_1/t", "overview_2/t"]
    attributes = root["t"].attrs
    assert attributes["proj:code"] == "EPSG:4326"
    assert attributes["spatial:transform"] == pytest.approx([0.1, 0, -0.05, 0, -0.1, 40.05])
    images = root.attrs["multiscales"] if zarr_format == 2 else root.attrs["ome"]["multiscales"]  # OME's two versions
    assert images[0]["datasets"][1]["coordinateTransformations"][0] == {"type": "scale", "scale": [1.0, 2.0, 2.0]}


def test_a_stopped_copy_goes_on(grid: tuple[str, Any], tmp_path: Path) -> None:
    from byteatlas.progress import Progress

    class Stop(Exception):
        pass

    def stop(progress: Progress) -> None:
        if progress.name == "overview_1/t" and progress.done > 5000:
            raise Stop

    levels = LevelOptions(until=32)
    options = ba.CopyOptions(chunks={"t": (1, 16, 16)}, memory=4_000, levels=levels)
    with pytest.raises(Stop):
        ba.copy(grid[0], str(tmp_path / "a.zarr"), options=options, progress=stop)
    ba.copy(grid[0], str(tmp_path / "a.zarr"), options=options)
    ba.copy(grid[0], str(tmp_path / "b.zarr"), options=options)
    names = sorted(p.relative_to(tmp_path / "b.zarr") for p in (tmp_path / "b.zarr").rglob("*") if p.is_file())
    assert names == sorted(p.relative_to(tmp_path / "a.zarr") for p in (tmp_path / "a.zarr").rglob("*") if p.is_file())
    assert all((tmp_path / "a.zarr" / n).read_bytes() == (tmp_path / "b.zarr" / n).read_bytes() for n in names)


def test_gdal_reads_the_levels(grid: tuple[str, Any], tmp_path: Path) -> None:
    if shutil.which("gdalinfo") is None:
        pytest.skip("needs gdalinfo")
    copied(grid[0], tmp_path / "g.zarr", 2)
    command = ["gdalmdiminfo", "-array", "/overview_1/t", str(tmp_path / "g.zarr")]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert found["dimension_size"] == [2, 30, 41]


def test_rasters_of_a_file_keep_their_transform(tmp_path: Path) -> None:
    from tests.places import ROOT

    path = next(p for p in sorted((ROOT / "fixtures" / "tiff").rglob("*.tif")) if _placed(p))
    ba.copy(
        str(path), str(tmp_path / "r.zarr"), options=ba.CopyOptions(levels=LevelOptions((2,), resampling="nearest"))
    )
    full = ba.georeference(str(tmp_path / "r.zarr"), "data").transform
    half = ba.georeference(str(tmp_path / "r.zarr"), "overview_1/data").transform
    assert full is not None
    assert half is not None
    assert (half.a, half.e) == pytest.approx((2 * full.a, 2 * full.e))
    assert half.of(0, 0) == pytest.approx(full.of(0, 0))


def _placed(path: Path) -> bool:
    found = ba.scan(path, on_refusal="ignore")
    return list(found.groups) == [] and "data" in found.arrays and ba.georeference(found, "data").transform is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factors": (4, 2)}, "rising"),
        ({"factors": (1,)}, "rising"),
        ({"factors": -1}, "rising"),
        ({"factors": (2.5,)}, "rising"),
        ({"factors": {"a": 1}}, "rising"),
        ({"until": "x"}, "until"),
        ({"until": 0}, "until"),
        ({"resampling": "men"}, "mean"),
    ],
)
def test_options_that_make_no_sense(options: Any, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        LevelOptions(**options)


def test_arrays_by_name(grid: tuple[str, Any], tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="did you mean 't'"):
        ba.copy(
            grid[0], str(tmp_path / "x.zarr"), options=ba.CopyOptions(levels=LevelOptions(arrays=frozenset(["tt"])))
        )
    assert not (tmp_path / "x.zarr").exists()
    with pytest.raises(BadRequest, match="two"):
        ba.copy(
            grid[0], str(tmp_path / "x.zarr"), options=ba.CopyOptions(levels=LevelOptions(arrays=frozenset(["lat"])))
        )
