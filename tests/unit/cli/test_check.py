"""``byteatlas check``: what became of the files that a map leads to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.http_server import serve

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.manifest.ops.rename import Rename, rename_sources

h5py = pytest.importorskip("h5py")


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    """A map of three files in ``data``."""
    (tmp_path / "data").mkdir()
    for i in range(3):
        with h5py.File(tmp_path / f"data/{i}.h5", "w") as file:
            file.create_dataset("t", data=np.arange(i * 2.0, i * 2.0 + 2)).make_scale("t")
            file.create_dataset("v", data=np.ones((2, 8)), chunks=(1, 8)).dims[0].attach_scale(file["t"])
    files = [tmp_path / f"data/{i}.h5" for i in range(3)]
    ba.write(ba.combine(files, concat="t"), tmp_path / "all.json")
    return tmp_path


def states(folder: Path, *places: Path) -> list[str]:
    return [s.state for s in ba.check(folder / "all.json", look_in=places)]


def test_nothing_happened(maps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert states(maps) == ["same"] * 3
    assert run(["check", str(maps / "all.json")]) == 0
    assert "3 sources (3 same)" in capsys.readouterr().out


def test_changed_moved_and_vanished(maps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.utime(maps / "data/0.h5", ns=(1, 5))
    (maps / "elsewhere").mkdir()
    (maps / "data/1.h5").rename(maps / "elsewhere/1.h5")
    (maps / "data/2.h5").unlink()
    assert states(maps) == ["changed", "vanished", "vanished"]
    assert states(maps, maps / "elsewhere") == ["changed", "moved", "vanished"]
    command = ["check", str(maps / "all.json"), "--look-in", str(maps / "elsewhere")]
    assert run(command) == 1
    text = capsys.readouterr()
    assert f"moved: {maps}/data/1.h5: the file is at {maps}/elsewhere/1.h5 now" in text.out
    assert "rename" in text.err
    assert run([*command, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [f["moved_to"] for f in found] == [None, f"{maps}/elsewhere/1.h5", None]


def test_files_that_moved_with_the_map_are_found(maps: Path) -> None:
    (maps / "new").mkdir()
    (maps / "data").rename(maps / "new/data")
    (maps / "all.json").rename(maps / "new/all.json")
    assert states(maps / "new") == ["moved"] * 3


def test_no_data_are_read(maps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from byteatlas.io.local import LocalSource

    real, read = LocalSource.read, list[str]()

    def counting(self: LocalSource, ranges: Any) -> Any:
        read.append(self.url)
        return real(self, ranges)

    monkeypatch.setattr(LocalSource, "read", counting)
    states(maps)
    assert {Path(url).name for url in read} <= {"all.json"}


def test_files_that_a_web_server_no_longer_has(maps: Path) -> None:
    """Only the server's own word says that a file is gone; one that it does not give out may well be there."""
    pytest.importorskip("aiohttp")
    data = {f"/data/{i}.h5": (maps / f"data/{i}.h5").read_bytes() for i in range(3)}
    with serve(data, broken=frozenset({"/data/1.h5"})) as served:
        node = ba.combine([maps / f"data/{i}.h5" for i in range(3)], concat="t")
        moved = rename_sources(node, Rename({f"{maps}/": f"{served.url}/"}))
        del data["/data/2.h5"]
        assert [s.state for s in ba.check(moved, access=ba.Access())] == ["same", "unreachable", "vanished"]
