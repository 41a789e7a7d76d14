"""What commands do not take, by exit status and words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.manifest.model import VirtualGroup
from byteatlas.pages.numbers import size_text

X = array((8,), (4,))


@pytest.fixture
def single(tmp_path: Path) -> str:
    ba.write(X, tmp_path / "one.json")
    return str(tmp_path / "one.json")


@pytest.fixture
def group(tmp_path: Path) -> str:
    ba.write(VirtualGroup(arrays={"x": X}), tmp_path / "m.json")
    return str(tmp_path / "m.json")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    status = run(list(words))
    found = capsys.readouterr()
    return status, " ".join((found.out + found.err).split())


def refused(capsys: pytest.CaptureFixture[str], why: str, *words: str) -> None:
    status, text = said(capsys, *words)
    assert status != 0
    assert why in text


@pytest.mark.parametrize("verb", ["scan", "combine"])
def test_dask_and_another_executor(capsys: pytest.CaptureFixture[str], group: str, verb: str, tmp_path: Path) -> None:
    more = ["--concat", "t"] if verb == "combine" else []
    words = (verb, group, *more, "-o", str(tmp_path / "out.json"), "--dask", "local", "--executor", "threads")
    refused(capsys, "--dask and --executor exclude each other", *words)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("option", ["tiff", "tiff.=1", ".a=1", "tiff.a", "=1"])
def test_options_of_scanners(capsys: pytest.CaptureFixture[str], group: str, option: str) -> None:
    why = f"--scanner-option {option}: FORMAT.NAME=VALUE is expected"
    refused(capsys, why, "scan", group, "-o", "out.json", "--scanner-option", option)


@pytest.mark.parametrize(("text", "why"), [("[1]", "not a JSON object"), ("{", "Expecting"), ("none.json", "No such")])
def test_storage_options(capsys: pytest.CaptureFixture[str], group: str, tmp_path: Path, text: str, why: str) -> None:
    if text == "[1]":
        (tmp_path / "options.json").write_text(text)
        text = str(tmp_path / "options.json")
    refused(capsys, why, "stats", group, "--storage-options", text)


def test_a_slice_is_one_of_an_array(capsys: pytest.CaptureFixture[str], group: str) -> None:
    refused(capsys, "--slice needs --array", "stats", group, "--slice", "0:1")
    assert said(capsys, "stats", group, "--array", "x", "--slice", "0:1")[0] == 0


def test_shapes_for_all_or_by_path(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ba.copy(VirtualGroup(arrays={"x": ba.scan(made(tmp_path)).arrays["x"]}), tmp_path / "s.zarr")
    words = ("copy", str(tmp_path / "s.zarr"), str(tmp_path / "t.zarr"))
    why = "one shape for all arrays, or shapes by path, not both"
    refused(capsys, why, *words, "--chunks", "2", "--chunks", "x=2")
    refused(capsys, "'a' is no shape", *words, "--chunks", "x=a")
    assert said(capsys, *words, "--chunks", "2")[0] == 0
    copied = ba.open(tmp_path / "t.zarr" / "x")
    assert getattr(copied, "chunks", None) == (2,)


def made(folder: Path) -> Path:
    import h5py

    with h5py.File(folder / "a.h5", "w") as f:
        f["x"] = np.arange(4.0)
    return folder / "a.h5"


def test_a_single_array_has_no_members(capsys: pytest.CaptureFixture[str], single: str) -> None:
    refused(capsys, "one.json: the root is an array", "info", single, "--group", "a")
    assert said(capsys, "info", single)[0] == 0


def test_a_single_array_is_no_group(capsys: pytest.CaptureFixture[str], single: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out.json")
    refused(capsys, "one.json is a single array; a group was expected", "select", single, out, "x=0..1")


def test_a_map_that_cannot_be_read_is_not_replaced(
    capsys: pytest.CaptureFixture[str], group: str, tmp_path: Path
) -> None:
    there = tmp_path / "there.json"
    there.write_text('{"version": 1, "refs": {"x/.zarray": "{"}}')
    before = there.read_bytes()
    refused(capsys, "is there and cannot be read as a map", "convert", group, str(there))
    assert there.read_bytes() == before
    assert said(capsys, "convert", group, str(there), "--overwrite")[0] == 0
    assert there.read_bytes() != before


def test_a_new_dimension_needs_a_source(capsys: pytest.CaptureFixture[str], group: str) -> None:
    why = "for a new dimension, --coord run=order says that files are in order"
    refused(capsys, why, "combine", group, group, "--concat", "run", "--dry-run")


def test_standard_input_holds_no_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Input:
        buffer = io.BytesIO(json.dumps({"a": 1}).encode())

        def read(self) -> str:
            return json.dumps({"a": 1})

    monkeypatch.setattr(sys, "stdin", Input())
    refused(capsys, "standard input holds no model", "model", "dump", "-")


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 B"), (999_499, "999.5 kB"), (999_500, "1.0 MB"), (10**12, "1.0 TB"), (10**16, "10000.0 TB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert size_text(size) == text


def test_folders_for_maps_are_made_with_those_above(tmp_path: Path) -> None:
    from byteatlas.cli.map_io import make_folder

    make_folder(str(tmp_path / "a" / "b"))
    make_folder(str(tmp_path / "a" / "b"))
    make_folder("s3://bucket/a")
    assert (tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").touch()
    with pytest.raises(ba.Conflict, match="file is a file; a folder was expected"):
        make_folder(str(tmp_path / "file"))


@pytest.mark.parametrize("levels", ["abc", "", "until=x", "2,,4"])
def test_levels_that_are_no_numbers(single: str, levels: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, f"{levels!r} is not like 2,4,8 or until=512", "copy", single, "out.zarr", "--levels", levels)
