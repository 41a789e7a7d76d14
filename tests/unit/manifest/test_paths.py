"""Paths in maps do not depend on the working folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.array import Group

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
