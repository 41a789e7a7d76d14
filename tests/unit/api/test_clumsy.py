"""Slips of callers: each is a `BadRequest` that says what was expected, and none destroys a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.cli.app import run

h5py = pytest.importorskip("h5py")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(6.0)
    return path


any_ba: Any = ba  # what a type checker would find is tried on purpose
SLIPS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "options of another verb": ("ScanOptions was expected", lambda p: any_ba.scan(p, options=ba.ReadOptions())),
    "options as a dict": ("ReadOptions was expected", lambda p: any_ba.open(p, options={"threads": 2})),
    "copy options": ("CopyOptions was expected", lambda p: any_ba.copy(p, p.parent / "o.zarr", options={})),
    "verify options": ("VerifyOptions was expected", lambda p: any_ba.verify(p, options={})),
    "write options": ("MapWriteOptions was", lambda p: any_ba.write(ba.scan(p), p.parent / "o.json", options={})),
    "combine options": ("CombineOptions was expected", lambda p: any_ba.combine([p], options={})),
    "on_refusal": ("known: warn, raise, ignore", lambda p: any_ba.scan(p, on_refusal="wran")),
    "a scanner that is none": (
        "known: .*hdf5",
        lambda p: ba.scan(p, options=ba.ScanOptions(extra={"hdf": {"a": 1}})),
    ),
    "one name to combine": ("inputs is a list", lambda p: ba.combine(str(p), "x")),
    "one path to plan": ("inputs is a list", lambda p: any_ba.plan_combine(p, "x")),
    "one name to scan": ("urls is a list", lambda p: ba.scan_many(str(p))),
    "one name to prepare": ("names is a list", lambda p: ba.prepare_many(str(p), ba.CombineOptions())),
    "names to concat": ("scan or load", lambda p: any_ba.concat([str(p)], "x")),
    "a name to concat": ("groups is a list", lambda p: any_ba.concat(str(p), "x")),
    "a name as others": ("others is a list", lambda p: any_ba.scan(p).concat(str(p), "x")),
    "a name to select": ("scan or load", lambda p: any_ba.select(str(p), {"x": 1})),
    "a name to write": ("scan or load", lambda p: any_ba.write(str(p), p.parent / "o.json")),
    "nowhere to write": ("no path, URL or dict", lambda p: any_ba.write(ba.scan(p), None)),
    "duplicates": ("known: error, first, last", lambda p: ba.combine([p], duplicates="frist")),
    "order": ("known: coordinate, given", lambda p: any_ba.CombineOptions(order="name")),
    "coords": ("a dict of dimensions", lambda p: ba.combine([p], "x", coords="x")),
    "pattern": ("not a regular expression", lambda p: any_ba.FromName("(")),
    "stamps": ("known: free", lambda p: any_ba.Access(stamps="all")),
    "absent_parts": ("known: raise, missing", lambda p: any_ba.load(p, absent_parts="none")),
    "retry": ("no Retry", lambda p: any_ba.Access(retry=3)),
    "storage options": ("a dict was expected", lambda p: any_ba.open(p, storage_options="anon")),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_told(slip: str, archive: Path) -> None:
    message, call = SLIPS[slip]
    with pytest.raises(ba.BadRequest, match=message):
        call(archive)


def test_a_pattern_may_be_text(archive: Path) -> None:
    coords = {"run": ba.FromName(r"(\w)\.h5")}  # type: ignore[arg-type]  # typed as compiled
    assert "run" in ba.combine([archive], "run", coords=coords).arrays


def test_one_dimension_is_one_not_its_letters() -> None:
    options = ba.CombineOptions(concat="time", trust="lat")  # type: ignore[arg-type]
    assert options.concat == ("time",)
    assert options.trust == ("lat",)


@pytest.mark.parametrize("form", [None, "json", "parquet"])
def test_no_map_takes_the_place_of_its_archive(form: Any, archive: Path) -> None:
    before = archive.read_bytes()
    for node in (ba.scan(archive), ba.concat([ba.scan(archive), ba.scan(archive)], "run")):
        with pytest.raises(ba.BadRequest, match="would replace"):
            ba.write(node, archive, format=form)
    assert archive.read_bytes() == before


@pytest.mark.parametrize("command", ["convert {a} {a}", "rename {a} {a}", "inline {a} {a}", "scan {a} -o {a}"])
def test_no_command_replaces_an_archive(command: str, archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = archive.read_bytes()
    assert run(command.format(a=archive).split()) == 2
    assert archive.read_bytes() == before
    assert "Traceback" not in capsys.readouterr().err
