"""Names that nothing has, and names that are not text: a line that says what is known, or no trouble at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run


def archive(path: Path) -> None:
    with h5py.File(path, "w") as f:
        f["time"] = np.arange(6)
        f["time"].make_scale()
        f.create_dataset("air", data=np.arange(60.0).reshape(6, 10), chunks=(2, 10))
        f["air"].dims[0].attach_scale(f["time"])
        f["g/x"] = [1.0]
        f["g.x"] = [2.0]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    archive(tmp_path / "a.nc")
    ba.write(ba.scan("a.nc"), "a.json")
    return tmp_path


UNKNOWN = {
    "inline a.json b.json --array aire": (4, "no array 'aire'; did you mean 'air'?"),
    "rename a.json b.json --prefix s3://=/": (4, "no source begins with s3://; known: "),
    "rename a.json b.json --regex gs: s3:": (4, "no source fits"),
    "stats a.json --array aire": (4, "did you mean 'air'?"),
    "stats a.json --array air --slice 0:7": (2, "7 is outside of axis 0"),
    "stats a.json --array air --slice 6,0": (2, "7 is outside of axis 0"),
    "stats a.json --array air --slice=-9:": (2, "-9 is outside of axis 0"),
    "split a.json s --along tme --every 2": (4, "no dimension 'tme'; did you mean 'time'?"),
    "scan a.nc -o m --executor processes:0": (2, "workers is 1 to"),
    "scan a.nc -o m --executor proceses": (2, "known: serial, threads, processes, dask"),
    "combine a.json -o b.json --executor threads:0": (2, "workers is 1 to"),
    "scan a.nc -o a.nc": (2, "is a file"),
    "scan a.nc -o a.nc/b": (2, "no folder can be made"),
    "split a.json a.nc --by array": (5, "is a file"),
    "split a.json /proc/s --by array": (4, "no folder can be made"),
    "scan a.nc -o /proc/a.json": (4, "/proc/a.json"),
    "convert a.json /proc/a.parquet": (4, "/proc/a.parquet"),
    "copy a.nc /proc/a.zarr": (4, "cannot be written"),
    "copy a.nc /proc/a.zip": (4, "cannot be written"),
    "model dump a.json -o /proc/a.json": (4, "/proc/a.json"),
}


@pytest.mark.parametrize("command", UNKNOWN)
def test_one_line_says_what_is_wrong(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, text = UNKNOWN[command]
    assert run(command.split()) == status
    error = capsys.readouterr().err
    assert text in error
    assert "Traceback" not in error


def test_split_by_array_gives_each_a_name_of_its_own(here: Path) -> None:
    assert run(["split", "a.json", "s", "--by", "array"]) == 0
    names = sorted(p.name for p in Path("s").iterdir())
    assert names == ["air.json", "g%2Ex.json", "g.x.json", "time.json"]
    both: list[Any] = [ba.open("s/g.x.json")["g/x"], ba.open("s/g%2Ex.json")["g.x"]]
    assert [a[0] for a in both] == [1, 2]


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_split_along_keeps_coordinates_of_one_chunk(form: str, here: Path) -> None:
    assert run(["split", "a.json", "s", "--along", "time", "--every", "2", "--format", form]) == 0
    pieces: list[Any] = [ba.open(p) for p in sorted(Path("s").iterdir())]
    assert [p["time"][...].tolist() for p in pieces] == [[0, 1], [2, 3], [4, 5]]
    assert [p["air"][0, 0] for p in pieces] == [0, 20, 40]
    whole: Any = ba.open(ba.combine(str(Path("s") / "*"), "time"))
    assert whole["air"][...].tolist() == np.arange(60.0).reshape(6, 10).tolist()


@pytest.mark.parametrize("form", ["json", "parquet"])
@pytest.mark.parametrize("executor", ["serial", "threads:2"])
def test_names_that_are_not_text(form: str, executor: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = os.fsdecode(b"\xff\xfe.nc")
    try:
        archive(here / odd)
    except (OSError, UnicodeError):
        pytest.skip("this file system has names of text only")
    words = ["scan", "a.nc", odd, "-o", "maps", "--map-format", form, "--executor", executor]
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--resume", "--json"]) == 0
    assert [item["resumed"] for item in json.loads(capsys.readouterr().out)] == [True, True]
    for path in Path("maps").iterdir():
        opened: Any = ba.open(path)
        assert opened["air"][5, 9] == 59
    assert len(list(Path("maps").iterdir())) == 2
    both: Any = ba.open(ba.combine([str(p) for p in sorted(Path("maps").iterdir())], "run"))
    assert both["air"].shape == (2, 6, 10)
