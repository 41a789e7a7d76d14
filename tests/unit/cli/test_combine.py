"""``byteatlas combine``: the plan, exit statuses, JSON, appending."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli import map_io
from byteatlas.cli.app import run
from byteatlas.cli.combine import date_pattern, source_of
from byteatlas.combining import ByOrder, FromAttribute, FromName, FromVariable, Values
from byteatlas.errors import BadRequest

h5py = pytest.importorskip("h5py")


def make(path: Path, start: int, units: str = "K", chunk: int = 2) -> str:
    with h5py.File(path, "w") as f:
        f["time"] = np.arange(start, start + 3)
        f["time"].make_scale("time")
        v = f.create_dataset("v", data=np.arange(start, start + 3, dtype="f4"), chunks=(chunk,), compression="gzip")
        v.attrs["units"] = units
        v.dims[0].attach_scale(f["time"])
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    return [make(tmp_path / f"f_{2000 + k}.h5", 3 * k) for k in range(3)]


def test_combine_and_append(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "all.parquet"
    assert run(["combine", *files[:2], "-o", str(target), "--concat", "time"]) == 0
    assert "2 inputs" in capsys.readouterr().out
    assert run(["combine", *files, "-o", str(target), "--concat", "time", "--append"]) == 0
    assert "1 file added, 2 were there already" in capsys.readouterr().out
    root: Any = ba.open(str(target))
    assert root["v"][...].tolist() == list(range(9))


@pytest.mark.parametrize("command", ["append", "combine"])
@pytest.mark.parametrize("name", ["all.json", "all.parquet"])
def test_append_to_a_large_text_says_what_would_be_faster(
    tmp_path: Path,
    files: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
) -> None:
    target = str(tmp_path / name)
    more = ["append", target, files[2]] if command == "append" else ["combine", files[2], "-o", target, "--append"]
    assert run(["combine", *files[:2], "-o", target, "--concat", "time"]) == 0
    assert run([*more, "--concat", "time"]) == 0
    assert "convert" not in capsys.readouterr().err
    monkeypatch.setattr(map_io, "LARGE_TEXT", 100)
    assert run([*more, "--concat", "time"]) == 0
    told = capsys.readouterr().err
    hint = f"byteatlas convert {target} {tmp_path / 'all.parquet'}"
    assert (hint in told) == (name == "all.json")


def test_dry_run(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(tmp_path.iterdir())
    assert run(["combine", *files, "--concat", "time", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "time: 9 from variable time, ascending" in out
    assert "can be combined" in out
    assert "chunks of different extent" in out
    assert sorted(tmp_path.iterdir()) == before


def test_conflicts(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    odd = make(tmp_path / "odd.h5", 9, units="degC")
    command = ["combine", *files, odd, "--concat", "time", "-o", str(tmp_path / "all.json")]
    assert run(command) == 5
    err = capsys.readouterr().err
    assert "units" in err
    assert "odd.h5" in err
    assert not (tmp_path / "all.json").exists()
    assert run([*command, "--dry-run"]) == 5
    assert "1 conflict" in capsys.readouterr().out
    assert run([*command, "--on-conflict", "drop-file"]) == 0
    assert "file left out" in capsys.readouterr().out


def test_json(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["combine", *files, "--concat", "time", "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["ok"] is True
    assert [b["first"] for b in plan["dimensions"][0]["blocks"]] == [0, 3, 6]
    assert {v["path"]: v["shape"] for v in plan["variables"]} == {"time": [9], "v": [9]}
    target = tmp_path / "all.json"
    assert run(["combine", *files, "--concat", "time", "-o", str(target), "--json", "--append"]) == 4
    assert run(["combine", *files[1:], "--concat", "time", "-o", str(target), "--json"]) == 0
    capsys.readouterr()
    assert run(["combine", *files, "--concat", "time", "-o", str(target), "--json", "--append"]) == 0
    assert [len(v) for v in json.loads(capsys.readouterr().out).values()] == [1, 2, 0]


def test_names_as_coordinates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k in range(2):
        with h5py.File(tmp_path / f"img_2021-0{k + 1}.h5", "w") as f:
            f["image"] = np.full((2, 2), k)
    inputs = [str(p) for p in sorted(tmp_path.glob("*.h5"))]
    target = tmp_path / "stack.json"
    assert run(["combine", *inputs, "-o", str(target), "-c", "time", "--coord", "time=date:%Y-%m"]) == 0
    root: Any = ba.open(str(target))
    assert root["time"].attrs["units"] == "days since 1970-01-01"
    assert root["time"][...].tolist() == [18628, 18659]
    assert root["image"][:, 0, 0].tolist() == [0, 1]


@pytest.mark.parametrize(
    "wrong", [["--replace"], [], ["--coord", "time=magic:x"], ["--coord", "x"], ["-c", "t", "-c", "t"]]
)
def test_usage(files: list[str], tmp_path: Path, wrong: list[str]) -> None:
    output = [] if wrong == [] else ["-o", str(tmp_path / "x.json")]
    assert run(["combine", *files, *output, *wrong]) == 2


def test_coordinate_sources() -> None:
    assert source_of("t=var:a/b") == ("t", FromVariable("a/b"))
    assert source_of("t=raw:") == ("t", FromVariable(None, decode=False))
    assert source_of("t=attr:v:when") == ("t", FromAttribute("when", "v"))
    assert source_of("t=attr:when") == ("t", FromAttribute("when"))
    assert source_of("t=order") == ("t", ByOrder())
    assert source_of("t=values:1,2.5,c") == ("t", Values((1, 2.5, "c")))
    _, found = source_of(r"t=name:_(\d+)\.")
    assert isinstance(found, FromName)
    assert found.pattern.pattern == r"_(\d+)\."
    with pytest.raises(BadRequest):
        source_of("t=name:(")
    with pytest.raises(BadRequest):
        date_pattern("%Q")


def test_select(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = make(tmp_path / "a.h5", 3)
    with h5py.File(source, "a") as f:
        f["time"].attrs["units"] = "days since 2000-12-28"
    out = str(tmp_path / "b.json")
    assert run(["select", source, out, "time=2001"]) == 0
    root: Any = ba.open(out)
    assert (root["time"][...].tolist(), root["v"][...].tolist()) == ([4, 5], [4, 5])
    capsys.readouterr()
    assert run(["select", source, out, "time=..2000-12-31T12:00", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"written": out}
    root = ba.open(out)
    assert root["time"].shape == (1,)
    assert run(["select", source, out, "time=2001-01-01..2001-01-02", "--mask", "--keep-cut", "--fill", "-1"]) == 0
    root = ba.open(out)
    assert root["v"][...].tolist() == [3, 4, 5]  # the first chunk has two days
    assert run(["select", source, out, "time=2001-01-02", "--mask"]) == 0
    root = ba.open(out)
    assert root["v"][...].tolist() == [0, 0, 5]
    assert run(["select", source, out, "time=2005"]) != 0
    assert "its values go from" in capsys.readouterr().err
    for wrong in (["time"], ["=3..4"], ["x=3"], ["time=2001", "--cut", "--mask"], ["time=2001", "--keep-cut"]):
        assert run(["select", source, out, *wrong]) == 2


@pytest.mark.parametrize("text", ["lat=-2.5..4", "lat=-2.5 .. 4", "lat=-25e-1..4."])
def test_numbers_in_regions(tmp_path: Path, text: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["lat"] = np.arange(-5, 6) / 2.0
        f["lat"].make_scale("lat")
    assert run(["select", str(tmp_path / "a.h5"), str(tmp_path / "b.json"), text]) == 0
    root: Any = ba.open(str(tmp_path / "b.json"))
    assert root["lat"][...].tolist() == [-2.5, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5]
