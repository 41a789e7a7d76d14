"""Maps that are stored in the repository: read as they were meant, and written as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from fixtures.maps import make_maps

import byteatlas as ba

HERE = Path(make_maps.__file__).parent


@pytest.mark.parametrize("name", ["minimal_v0.json", "minimal_v1.json"])
def test_minimal_maps_read(name: str) -> None:
    root = ba.open(HERE / name)
    assert isinstance(root, ba.Group)
    assert root.attrs["title"] == "minimal"
    array = root["x"]
    assert isinstance(array, ba.Array)
    assert array[...].tolist() == [1, 2, 3, 4]


def test_minimal_maps_are_relative_to_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("minimal_v0.json", "0.bin", "1.bin"):
        shutil.copy(HERE / file, tmp_path)
    monkeypatch.chdir("/")
    array = ba.open(tmp_path / "minimal_v0.json", path="x")
    assert isinstance(array, ba.Array)
    assert array[1:3].tolist() == [2, 3]


@pytest.mark.parametrize("name", sorted(make_maps.ARCHIVES))
def test_what_is_written_has_not_changed(name: str, tmp_path: Path) -> None:
    """A difference here is a change of what users store: make the maps anew only when it is meant."""
    archive = HERE.parent / make_maps.ARCHIVES[name]
    folder = tmp_path / "maps"
    (tmp_path / archive.parent.name).mkdir()
    folder.mkdir()
    copy = tmp_path / archive.parent.name / archive.name
    shutil.copy(archive, copy)
    found = ba.scan(copy, on_refusal="ignore")
    ba.write(found, folder / name, options=ba.MapWriteOptions(relative=True, sources=False))
    new, old = json.loads((folder / name).read_text()), json.loads((HERE / name).read_text())
    assert new["refs"].keys() == old["refs"].keys()
    assert new == old


@pytest.mark.parametrize("name", sorted(make_maps.ARCHIVES))
def test_stored_maps_read_as_their_archives(name: str) -> None:
    stored = ba.open(HERE / name)
    direct = ba.open(ba.scan(HERE.parent / make_maps.ARCHIVES[name], on_refusal="ignore"))
    assert isinstance(stored, ba.Group)
    assert isinstance(direct, ba.Group)
    arrays = {path: node for path, node in direct.walk() if isinstance(node, ba.Array)}
    assert arrays
    for path, node in stored.walk():
        if isinstance(node, ba.Array):
            ours, theirs = node[...], arrays[path][...]
            same = repr(ours) == repr(theirs) if ours.dtype.hasobject else ours.tobytes() == theirs.tobytes()
            assert same, path
