"""Arrays, groups, virtual groups and stores of maps travel by URL, options and stamp, and are read elsewhere."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.errors import SourceChanged
from byteatlas.executors.combining import Part

h5py = pytest.importorskip("h5py")
zarr = pytest.importorskip("zarr")


def written(folder: Path, name: str, start: int, n: int = 4000) -> str:
    """A map of one array of ``n`` chunks."""
    with h5py.File(folder / f"{start}.h5", "w") as file:
        file.create_dataset("g/v", data=np.arange(start, start + n, dtype="i8"), chunks=(1,))
    ba.write(ba.scan(folder / f"{start}.h5"), folder / name)
    return str(folder / name)


def store(target: str) -> Any:
    from byteatlas.zarr_stores.reference import ReferenceZarrStore

    return ReferenceZarrStore(ba.load(target))


KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "array": (lambda target: ba.open(target, path="g/v"), "found[5]"),
    "group": (ba.open, "found['g/v'][5]"),
    "subgroup": (lambda target: ba.open(target, path="g"), "found['v'][5]"),
    "virtual": (ba.load, "ba.open(found)['g/v'][5]"),
    "subtree": (lambda target: ba.load(target)["g"], "ba.open(found)['v'][5]"),  # type: ignore[index]
    "store": (store, "zarr.open_group(found, mode='r')['g/v'][5]"),
}
READ = "import pickle, sys, zarr, byteatlas as ba; found = pickle.load(open(sys.argv[1], 'rb')); print(int({}))"


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_read_in_another_process(tmp_path: Path, name: str, kind: str) -> None:
    make, expression = KINDS[kind]
    text = pickle.dumps(make(written(tmp_path, name, 10)))
    assert len(text) < 4000
    (tmp_path / "pickled").write_bytes(text)
    command = [sys.executable, "-c", READ.format(expression), str(tmp_path / "pickled")]
    found = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False)
    assert found.stdout.strip() == "15", found.stderr


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_map_that_was_rewritten_is_not_taken_for_the_old_one(tmp_path: Path, name: str, kind: str) -> None:
    text = pickle.dumps(KINDS[kind][0](written(tmp_path, name, 10)))
    pickle.loads(text)
    written(tmp_path, name, 20, 5000)
    with pytest.raises(SourceChanged, match="open it again"):
        pickle.loads(text)


def test_stores_of_one_map_are_equal(tmp_path: Path) -> None:
    first, second = (store(written(tmp_path, name, 1, 4)) for name in ("a.json", "b.json"))
    assert pickle.loads(pickle.dumps(first)) == first
    assert first != second


def test_what_workers_read_travels_with_its_columns(tmp_path: Path) -> None:
    """The parent must not read again what its workers have read for it."""
    tree: Any = ba.load(written(tmp_path, "m.json", 0, 4))
    text = pickle.dumps(Part(("m",), (tree,)))
    (tmp_path / "m.json").unlink()
    part = pickle.loads(text)
    array = ba.open(part.groups[0], path="g/v")
    assert isinstance(array, ba.Array)
    assert array[2] == 2


def test_a_file_that_changes_while_it_is_scanned(tmp_path: Path) -> None:
    import os

    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("v", data=np.arange(10))
    with pytest.raises(SourceChanged):
        ba.scan(path, progress=lambda _: os.utime(path, ns=(1, 1)))
