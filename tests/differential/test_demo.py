"""The demonstration runs, checks itself, and draws something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteatlas.cli.app import run
from byteatlas.demo.canvas import Box
from byteatlas.demo.picture import PALETTE, FileMap, Piece, _grouped, _runs

pytest.importorskip("netCDF4")
image = pytest.importorskip("PIL.Image")


def test_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(tmp_path / "d"), "--months", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["files"], found["chunks"]) == (2, 104)
    assert found["values"] == 2 * 6 * 144 * 288 * 5 + 12 + 144 + 288 + 1
    with image.open(found["picture"]) as picture:
        assert picture.size == (1800, 1080)
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert set(PALETTE[:5]) <= colours  # a colour for each array in the byte map
    assert run(["verify", found["references"]]) == 0


def test_demo_says_what_it_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", str(tmp_path), "--months", "1"]) == 0
    said = capsys.readouterr()
    assert [line.split()[0] for line in said.out.splitlines()] == ["made", "scanned", "combined", "checked", "drew"]
    assert said.err == ""  # no progress bars where there is no terminal


def test_small_arrays_share_a_colour() -> None:
    file = FileMap("f", 10_000, (Piece("a", 0, 9000), Piece("b", 9000, 10), Piece("c", 9010, 10)))
    assert {p.array for p in _grouped([file])[0].pieces} == {"a", "b, c"}


def test_runs() -> None:
    assert _runs([Box(10, 0, 20, 5), Box(0, 0, 9, 5), Box(40, 0, 41, 5)]) == [(0, 20), (40, 41)]
