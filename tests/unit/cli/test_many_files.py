"""Patterns, lists of names, folders: which files are meant, and where their maps go."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import h5py
import pytest

import byteatlas as ba
from byteatlas.cli.app import run


def archive(path: Path, value: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as f:
        f["v"] = [value]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate(("d/a.nc", "d/x/a.nc", "d/y/a.nc", "d/y/b.h5")):
        archive(tmp_path / name, i)
    return tmp_path


def maps(folder: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for path in sorted(Path(folder).rglob("*.json")):
        root: Any = ba.open(path)
        found[path.relative_to(folder).as_posix()] = int(root["v"][0])
    return found


def test_a_pattern(here: Path) -> None:
    assert run(["scan", "d/y/*", "-o", "m"]) == 0
    assert maps("m") == {"a.json": 2, "b.json": 3}


def test_a_pattern_of_storage(here: Path) -> None:
    system = fsspec.filesystem("memory")
    for name in ("p", "q"):
        system.pipe_file(f"/many-files/{name}.nc", Path("d/a.nc").read_bytes())
    try:
        assert run(["scan", "memory://many-files/*.nc", "-o", "m"]) == 0
        assert sorted(p.name for p in Path("m").iterdir()) == ["p.json", "q.json"]
        assert run(["scan", "memory://many-files/", "-r", "-o", "n"]) == 0
        assert sorted(p.name for p in Path("n").iterdir()) == ["p.json", "q.json"]
    finally:
        system.rm("/many-files", recursive=True)


def test_folders_are_kept(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("d/x/a.txt").write_text("no archive")
    Path("d/.hidden").mkdir()
    archive(here / "d/.hidden/a.nc")
    assert run(["scan", "d", "-r", "-o", "d/maps"]) == 0
    wanted = {"a.json": 0, "x/a.json": 1, "y/a.json": 2, "y/b.json": 3}
    assert maps("d/maps") == wanted
    capsys.readouterr()
    assert run(["scan", "d", "-r", "-o", "d/maps", "--resume", "--json"]) == 0
    assert [item["resumed"] for item in json.loads(capsys.readouterr().out)] == [True] * 4
    assert maps("d/maps") == wanted


def test_files_of_no_known_format_are_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("d/readme.txt").write_text("no archive")
    assert run(["scan", "d", "-r", "-o", "m"]) == 0
    assert "1 file of no known format passed over" in capsys.readouterr().out
    assert run(["scan", "d/readme.txt", "-o", "m"]) == 3, "one that was named is an error"


def test_the_same_name_twice(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ["d/x/a.nc", "d/y/a.nc"]
    assert run(["scan", *both, "-o", "m"]) == 2
    assert "--keep-folders" in capsys.readouterr().err
    assert not Path("m").exists()
    assert run(["scan", *both, "-o", "m", "--keep-folders"]) == 0
    assert maps("m") == {"x/a.json": 1, "y/a.json": 2}
    archive(here / "d/x/a.h5", 7)
    assert run(["scan", "d/x/*", "-o", "n"]) == 2
    assert "--keep-suffixes" in capsys.readouterr().err
    assert run(["scan", "d/x/*", "-o", "n", "--keep-suffixes"]) == 0
    assert maps("n") == {"a.h5.json": 7, "a.nc.json": 1}


@pytest.mark.parametrize("end", ["\n", "\0"])
def test_names_from_standard_input(end: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive(here / "d/odd *name[1].nc", 9)
    text = end.join(["d/a.nc", "d/odd *name[1].nc", ""])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(os.fsencode(text))))
    assert run(["scan", "--files-from", "-", "-o", "m"]) == 0
    assert maps("m") == {"a.json": 0, "odd *name[1].json": 9}


def test_relative_maps_move_with_their_files(here: Path) -> None:
    assert run(["scan", "d", "-r", "-o", "d/maps", "--relative"]) == 0
    Path("d").rename("e")
    assert maps("e/maps") == {"a.json": 0, "x/a.json": 1, "y/a.json": 2, "y/b.json": 3}


def test_many_files_are_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for i in range(9):
        archive(here / f"many/{i}.nc", i)
    Path("many/broken.nc").write_bytes(b"\x89HDF\r\n\x1a\n")
    assert run(["scan", "many/*.nc", "-o", "m"]) == 3
    said = capsys.readouterr()
    assert said.out == "10 files -> m: 9 arrays, 9 chunks, 1 failed\n"
    assert said.err.count("\n") == 1
    assert run(["scan", "many/*.nc", "-o", "m", "-v"]) == 3
    assert len(capsys.readouterr().out.splitlines()) == 10


def test_combine_takes_lists_and_patterns(here: Path) -> None:
    for i in range(3):
        archive(here / f"many/{i}.nc", i)
    Path("names").write_text("many/0.nc\nmany/1.nc\n")
    words = ["--concat", "run", "--coord", "run=order"]
    assert run(["combine", "many/*.nc", "-o", "all.json", *words]) == 0
    assert run(["combine", "--files-from", "names", "-o", "two.json", *words]) == 0
    shapes: list[Any] = [ba.open(name) for name in ("all.json", "two.json")]
    assert [root["v"].shape[0] for root in shapes] == [3, 2]


def test_a_reader_that_goes_away(here: Path) -> None:
    script = "import sys\nfrom byteatlas.cli.app import run\nsys.exit(run(['info', 'd/a.nc', '--json']))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
