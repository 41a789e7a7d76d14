"""What people mistype: one line with the right name in it, no traceback, never status 0."""

from __future__ import annotations

import shlex
from pathlib import Path

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with h5py.File("a.nc", "w") as f:
        f["time"] = np.arange(6)
        f["time"].attrs["units"] = "days since 2001-01-01"
        f["time"].make_scale("time")
        f.create_dataset("air", data=np.arange(60.0).reshape(6, 10), chunks=(2, 10))
        f["air"].dims[0].attach_scale(f["time"])
    ba.write(ba.scan("a.nc"), "a.json")
    return tmp_path


MISTYPED = {
    "scna a.nc": "'scan'",
    "conbine a.json": "'combine'",
    "docter": "'doctor'",
    "model dmp a.json": "'dump'",
    "scan a.nc -o m --recursiv": "'--recursive'",
    "scan a.nc -o m --scanner-optoin x.y=1": "'--scanner-option'",
    "scan a.nc -o m --scanner-option tiff.nope": "FORMAT.NAME=VALUE",
    "scan a.nc -o m --scanner-option tiff.sidecar_mask=true": "sidecar_masks",
    "scan a.nc -o m --scanner-option tif.sidecar_masks=true": "tiff",
    "scan a.nc -o m --format hdf": "'hdf5'",
    "scan a.nc -o m --map-format jsn": "'json'",
    "scan a.nc -o m --on-refusal wran": "'warn'",
    "scan a.nc -o m --target-chunk 0": "1 is the least",
    "scan a.nc -o m --target-chunk 4MB5": "4MiB",
    "scan a.nc -o m --executor thread": "threads",
    "scan a.nc -o m --group ari": "in ",
    "scan b*.nc -o m": "b*.nc",
    "scan -o m --files-from nolist": "nolist",
    "scan -o m": "--files-from",
    "scan a.nc -o m --credentials s3://b/=anonymos": "'anonymous'",
    "scan s3://no-such-bucket/a.nc -o m --storage-options '{\"anom\": true}'": "'anon'",
    "info a.nc --backend obstor": "'obstore'",
    "info a.nc --heder": "'--header'",
    "info a.json --group aire": "'air'",
    "info a.nc --group arr": "'air'",
    "combine a.json -o c.json --concat tme": "'time'",
    "combine a.json -o c.json --conact time": "'--concat'",
    "combine a.json -o c.json --concat time --trust ari": "'air'",
    "combine a.json -o c.json --concat time --coord tme=order": "'time'",
    "combine a.json -o c.json --concat time --coord time=var:tme": "'time'",
    "combine a.json -o c.json --concat time --coord time=atr:x": "attr",
    "combine a.json -o c.json --concat time --on-conflict drop-fil": "'drop-file'",
    "combine a.json -o c.jsn --concat time": ".json",
    "append a.json a.nc --concat tme": "'time'",
    "select a.json s.json tme=1..2": "'time'",
    "select a.json s.json time:1..2": "DIM=FROM..TO",
    "copy a.json s.zarr --group arr": "'air'",
    "copy a.json s.zarr --chunks ari=2,2": "'air'",
    "copy a.json s.zarr --zarr-format 4": "'3'",
    "split a.json p --by arry": "'array'",
    "split a.json p --along tme --every 2": "'time'",
    "model dump a.json --form flt": "'flat'",
    "model diff a.json a.json --only shpe": "'shape'",
    "model diff a.json a.json --without atributes": "'attributes'",
    "convert a.json d.jsn": ".json",
    "convert a.json d.json --format jsn": "'json'",
    "verify a.json --smaple 3": "'--sample'",
    "check a.json --look-in nofolder": "nofolder is no folder",
    "check a.json --lookin .": "'--look-in'",
    "stats a.json --array aire": "'air'",
    "inline a.json b.json --array aire": "'air'",
    "rename a.json b.json --prefix /date/=/data/": "known: /",
    "deinline a.json b.json --side-file b.json": "is the map itself",
    "serve a.json --prot 80": "'--port'",
}


def test_there_are_enough() -> None:
    assert len(MISTYPED) >= 40


@pytest.mark.parametrize("command", MISTYPED)
def test_one_line_with_the_right_name(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(here.rglob("*"))
    status = run(shlex.split(command))
    said = capsys.readouterr()
    assert status not in (0, 1)
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert MISTYPED[command] in said.err
    assert "Traceback" not in said.err
    made = {path.name for path in set(here.rglob("*")) - set(before)}
    assert made <= {"m"}, "nothing but the folder for maps was made"


def test_a_file_that_moved(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.nc").rename("old.nc")
    assert run(["copy", "a.json", "a.zarr"]) == 4
    assert "byteatlas rename MAP NEW --prefix OLD=NEW" in capsys.readouterr().err
    assert run(["info", "a.nc"]) == 4
    assert "rename" not in capsys.readouterr().err, "it is not a map's file that is not there"


def test_a_backslash_in_a_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with h5py.File("b.nc", "w") as f:
        f["a\\b"], f["ok"] = [1], [2]
    assert run(["copy", "b.nc", "b.zarr"]) == 2
    error = capsys.readouterr().err
    assert "'a\\\\b' cannot be copied" in error
    assert "backslash" in error
    assert run(["copy", "b.nc", "b.zarr", "--group", "ok"]) == 0


def test_append_of_a_known_file_says_so(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["combine", "a.nc", "-o", "c.json", "--concat", "time"]) == 0
    capsys.readouterr()
    assert run(["append", "c.json", "a.nc", "--concat", "time"]) == 0
    assert capsys.readouterr().out == "c.json: 0 files added, 1 were there already; the map is as it was\n"
