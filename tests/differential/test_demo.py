"""The demonstration runs, checks itself, and draws something."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from byteatlas.cli.app import run
from byteatlas.demo.layout import runs
from byteatlas.demo.scene import ArrayBytes, FileMap, Piece, array_table, grouped, zonal_means
from byteatlas.demo.style import PALETTE

pytest.importorskip("netCDF4")
colors = pytest.importorskip("matplotlib.colors")
image = pytest.importorskip("matplotlib.image")


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(tmp_path / "d"), "--months", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["chunks"]) == (2, 104)
    assert found["values"] == 2 * 6 * 144 * 288 * 5 + 12 + 144 + 288 + 1
    picture = np.round(image.imread(found["picture"])[..., :3] * 255)
    assert picture.shape == (1000, 1600, 3)
    colours = set(map(tuple, np.unique(picture.reshape(-1, 3), axis=0).tolist()))
    wanted = {tuple(np.round(np.array(colors.to_rgb(name)) * 255).tolist()) for name in PALETTE[:5]}
    assert wanted <= colours  # a colour for each array in the byte map
    assert run(["verify", found["references"]]) == 0


def test_demo_says_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(tmp_path), "--months", "1"]) == 0
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["made", "scanned", "combined", "checked", "drew"]
    assert said.err == ""  # no progress bars where there is no terminal


def test_small_arrays_share_a_colour() -> None:
    file = FileMap("f", 10_000, (Piece("a", 0, 9000), Piece("b", 9000, 10), Piece("c", 9010, 10)))
    assert {p.array for p in grouped([file])[0].pieces} == {"a", "b, c"}


def test_table_of_arrays() -> None:
    files = grouped([FileMap("f", 10_000, (Piece("b", 0, 10), Piece("c", 10, 10), Piece("a", 20, 9000)))] * 2)
    assert array_table(files, {"a": 5, "b": 6, "c": 7}) == [
        ArrayBytes("a", 2, 18_000, 5),
        ArrayBytes("b, c", 4, 40, 13),
    ]


def test_means_of_latitudes() -> None:
    cube = np.array([[[1.0, np.nan], [np.nan, np.nan]], [[3.0, 5.0], [np.nan, 7.0]]])
    np.testing.assert_array_equal(zonal_means(cube), [[1.0, 4.0], [np.nan, 7.0]])


def test_runs() -> None:
    assert runs([(10, 20), (0, 10), (40, 41)]) == [(0, 20), (40, 41)]
