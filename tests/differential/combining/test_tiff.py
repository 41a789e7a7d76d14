"""Sets of TIFF files whose names say where they belong: stacks in time and band, mosaics of tiles."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.combining import FromName
from byteatlas.errors import Conflict

tifffile = pytest.importorskip("tifffile")
pytest.importorskip("byteatlas_scanners.tiff")

RNG = np.random.default_rng(7)
DAY = FromName(re.compile(r"_(\d{8})"), "%Y%m%d")
BAND = FromName(re.compile(r"_B(\d+)"))
ROW = FromName(re.compile(r"_r(\d+)"))
COLUMN = FromName(re.compile(r"_c(\d+)"))


def image(path: Path, shape: tuple[int, ...] = (64, 48), **how: Any) -> NDArray[np.uint16]:
    """A file of random values, read back by its own library."""
    how = {"tile": (16, 16), "compression": "zlib"} | how
    tifffile.imwrite(path, RNG.integers(0, 60_000, shape, dtype=np.uint16), **how)
    values: NDArray[np.uint16] = tifffile.imread(path)
    return values


def opened(group: Any, folder: Path) -> Any:
    """The combined map, written and opened again."""
    ba.write(group, folder / "all.json")
    return ba.open(folder / "all.json")


def test_time_stack_in_any_order(tmp_path: Path) -> None:
    days = ("20240105", "20240101", "20240103")
    images = {day: image(tmp_path / f"scene_{day}.tif") for day in days}
    group = opened(ba.combine(sorted(tmp_path.glob("*.tif")), concat="time", coords={"time": DAY}), tmp_path)
    assert group["data"].dims == ("time", "y", "x")
    np.testing.assert_array_equal(group["data"][...], np.stack([images[d] for d in sorted(days)]))
    times = np.datetime64("1970-01-01") + group["time"][...].astype("timedelta64[D]")
    assert [str(t).replace("-", "") for t in times] == sorted(days)
    assert group["time"].attrs["units"] == "days since 1970-01-01"


def test_time_and_band(tmp_path: Path) -> None:
    days, bands = ("20240101", "20240102"), (4, 2, 8)
    images = {(d, b): image(tmp_path / f"s_{d}_B{b:02}.tif") for d, b in product(days, bands)}
    files = sorted(tmp_path.glob("*.tif"), reverse=True)
    group = opened(ba.combine(files, concat=("time", "band"), coords={"time": DAY, "band": BAND}), tmp_path)
    assert group["data"].dims == ("time", "band", "y", "x")
    assert group["band"][...].tolist() == [2, 4, 8]
    want = np.stack([np.stack([images[d, b] for b in sorted(bands)]) for d in days])
    np.testing.assert_array_equal(group["data"][...], want)


@pytest.mark.parametrize("codec", ["zlib", None])
@pytest.mark.parametrize("size", [(32, 48), (40, 20)])
def test_mosaic_of_rows_and_columns(tmp_path: Path, codec: str | None, size: tuple[int, int]) -> None:
    """Also where the tiles of the files do not end at the files' ends."""
    images = {(r, c): image(tmp_path / f"t_r{r}_c{c}.tif", size, compression=codec) for r, c in product((0, 1), (0, 1))}
    files = sorted(tmp_path.glob("*.tif"), reverse=True)
    both = ba.combine(files, concat=("y", "x"), coords={"y": ROW, "x": COLUMN})
    assert list(both.arrays) == ["data"]
    plan = ba.plan_combine(files, concat=("y", "x"), coords={"y": ROW, "x": COLUMN})
    assert sum("no coordinate is made" in f.detail for f in plan.findings) == 2
    assert [d.length for d in plan.dimensions] == [2 * size[0], 2 * size[1]]
    want = np.block([[images[r, c] for c in (0, 1)] for r in (0, 1)])
    np.testing.assert_array_equal(opened(both, tmp_path)["data"][...], want)


def test_mosaic_with_a_missing_tile_and_last_ones_of_other_sizes(tmp_path: Path) -> None:
    sizes = {(0, 0): (32, 32), (0, 1): (32, 20), (1, 0): (10, 32)}
    images = {p: image(tmp_path / f"t_r{p[0]}_c{p[1]}.tif", s) for p, s in sizes.items()}
    both = ba.combine(sorted(tmp_path.glob("*.tif")), concat=("y", "x"), coords={"y": ROW, "x": COLUMN})
    values = opened(both, tmp_path)["data"][...]
    assert values.shape == (42, 52)
    for (r, c), want in images.items():
        part = values[32 * r : 32 * r + want.shape[0], 32 * c : 32 * c + want.shape[1]]
        np.testing.assert_array_equal(part, want)
    rest = values[32:, 32:]
    assert np.isnan(rest).all() if rest.dtype.kind == "f" else not rest.any()


def test_mosaic_in_time(tmp_path: Path) -> None:
    days = ("20240101", "20240102")
    places = list(product(days, (0, 1), (0, 1)))
    images = {p: image(tmp_path / f"t_{p[0]}_r{p[1]}_c{p[2]}.tif", (32, 32)) for p in places}
    coords = {"time": DAY, "y": ROW, "x": COLUMN}
    both = ba.combine(sorted(tmp_path.glob("*.tif")), concat=("time", "y", "x"), coords=coords)
    want = np.stack([np.block([[images[d, r, c] for c in (0, 1)] for r in (0, 1)]) for d in days])
    np.testing.assert_array_equal(opened(both, tmp_path)["data"][...], want)


def test_tiles_of_one_row_must_be_equally_high(tmp_path: Path) -> None:
    for (r, c), size in {(0, 0): (32, 32), (0, 1): (16, 32), (1, 0): (32, 32), (1, 1): (32, 32)}.items():
        image(tmp_path / f"t_r{r}_c{c}.tif", size)
    with pytest.raises(Conflict, match="length"):
        ba.combine(sorted(tmp_path.glob("*.tif")), concat=("y", "x"), coords={"y": ROW, "x": COLUMN})


def test_a_name_without_a_date_is_named(tmp_path: Path) -> None:
    image(tmp_path / "s_20240101.tif")
    image(tmp_path / "s_undated.tif")
    with pytest.raises(Conflict, match="undated"):
        ba.combine(sorted(tmp_path.glob("*.tif")), concat="time", coords={"time": DAY})
