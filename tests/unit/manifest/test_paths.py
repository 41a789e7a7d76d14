"""Paths in maps do not depend on the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.maps import array as virtual_array
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.array import Group
from byteatlas.io.local import local_path
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import VirtualGroup
from byteatlas.manifest.references import read_references, write_references

FIXTURE = FIXTURES / "netcdf3" / "cdf1.nc"


def test_scan_of_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "maps").mkdir()
    (tmp_path / "data" / "a.nc").write_bytes(FIXTURE.read_bytes())
    monkeypatch.chdir(tmp_path)
    ba.write(ba.scan("data/a.nc"), "maps/a.json")
    monkeypatch.chdir("/")
    ours, theirs = ba.open(tmp_path / "maps" / "a.json"), ba.open(FIXTURE)
    assert isinstance(ours, Group)
    assert isinstance(theirs, Group)
    for name, array in theirs.arrays().items():
        assert ours.arrays()[name][...].tolist() == array[...].tolist()


@pytest.mark.parametrize("name", ["a.json", "a.parquet"])
def test_a_map_in_storage_says_which_files_are_of_this_machine(name: str, tmp_path: Path) -> None:
    """A path alone would be one of the server's, and another file might be there."""
    here = tmp_path / "data 1.bin"
    here.write_bytes(bytes(24))
    target = f"memory://{tmp_path.name}/{name}"
    node = VirtualGroup(arrays={"x": virtual_array((6,), (6,), url=str(here), dimension_names=("t",))})
    write_references(node, target)
    (source,) = sources_of(read_references(target)).values()
    assert local_path(source.url) == str(here)
    assert source.foreign
