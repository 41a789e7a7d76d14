"""Many processes add to one map: every addition is there, or its process was told."""

from __future__ import annotations

import errno
import fcntl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import fsspec
import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.io import locks
from byteatlas.io.writing.versions import FileVersion

COMMAND = """
import sys, byteatlas as ba
try:
    ba.append(sys.argv[1], [sys.argv[2]], "time")
except ba.Conflict:
    sys.exit(5)
"""


def archives(folder: Path, count: int) -> list[str]:
    found = []
    for i in range(count):
        path = folder / f"{i:03d}.h5"
        with h5py.File(path, "w") as f:
            f["time"] = np.array([i], "i4")
            f["time"].make_scale()
            f["x"] = np.array([float(i)])
            f["x"].dims[0].attach_scale(f["time"])
        found.append(str(path))
    return found


@pytest.mark.parametrize(("name", "count"), [("all.json", 16), ("all.parquet", 8)])
def test_processes_take_turns(name: str, count: int, tmp_path: Path) -> None:
    first, *others = archives(tmp_path, 1 + count)
    target = str(tmp_path / name)
    ba.write(ba.scan(first), target)
    running = [subprocess.Popen([sys.executable, "-c", COMMAND, target, path]) for path in others]
    assert [process.wait(300) for process in running] == [0] * len(others)
    opened: Any = ba.open(target)
    assert opened["x"][...].tolist() == list(range(1 + count))
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("target", ["all.json", "all.parquet"])
def test_a_map_that_others_write_is_read_again(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are no locks: the map changes between reading and writing."""
    first, second, third, fourth = archives(tmp_path, 4)
    url = str(tmp_path / target)
    ba.write(ba.scan(first), url)
    monkeypatch.setattr(locks, "_acquired", lambda *_: None)
    looked = locks.version_of
    calls: list[str] = []

    def overtaken(where: str, *rest: Any) -> Any:
        calls.append(where)
        if len(calls) == 2:  # before writing
            ba.append(url, [second], "time")
        return looked(where, *rest)

    monkeypatch.setattr(locks, "version_of", overtaken)
    ba.append(url, [third], "time")
    opened: Any = ba.open(url)
    assert opened["x"][...].tolist() == [0, 1, 2]

    def always(where: str, *_: Any) -> FileVersion:
        calls.append(where)
        return FileVersion(len(calls))

    monkeypatch.setattr(locks, "version_of", always)
    with pytest.raises(ba.Conflict, match="written by others"):
        ba.append(url, [fourth], "time")


def test_who_waits_too_long_is_told(tmp_path: Path) -> None:
    target = str(tmp_path / "a.json")
    with locks.locked(target), pytest.raises(ba.Conflict, match="by others"), locks.locked(target, patience=0.01):
        pass
    assert not list(tmp_path.iterdir())
    with pytest.raises(ba.FetchFailed, match="cannot be locked"), locks.locked(str(tmp_path / "no" / "a.json")):
        pass


def test_threads_take_turns(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):
            with locks.locked(str(tmp_path / "a.json")):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (160, 1)


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_map_in_storage_whose_name_says_nothing(form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is looked at again is the map's document: a folder has no size and no time that say anything."""
    looked: list[str] = []
    real = locks.version_of

    def version_of(url: str, access: ba.Access) -> FileVersion:
        looked.append(url)
        return real(url, access)

    monkeypatch.setattr(locks, "version_of", version_of)
    base = f"memory://{tmp_path.name}{form}"
    first, second = (f"{base}/{Path(path).name}" for path in archives(tmp_path, 2))
    for url in (first, second):
        fsspec.filesystem("memory").pipe_file(url, (tmp_path / url.rpartition("/")[2]).read_bytes())
    target = f"{base}/ocean"
    ba.write(ba.scan(first), target, format=form)
    ba.append(target, [second], "time")
    opened: Any = ba.open(target)
    assert opened["x"][...].tolist() == [0, 1]
    assert looked == [target if form == "json" else f"{target}/.zmetadata"] * 2


def test_no_file_is_left_where_there_are_no_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with locks.locked(str(tmp_path / "a.json")):
        assert not list(tmp_path.iterdir())
