"""``byteatlas doctor``: what is installed, and what is missing for a file."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import pytest

from byteatlas.cli.app import run
from byteatlas.cli.health.doctor import lines
from byteatlas.cli.health.installed import PackageState, packages


def test_requirements_are_understood() -> None:
    declared = [
        "numpy>=2.0",
        "no-such-package>=1; extra == 'dtypes'",
        "dask[array]>=2025.1; extra == 'dask'",
        "icechunk>=2.0; python_version >= '3.99' and extra == 'icechunk'",
        "pytest>=8; extra == 'test'",
        "byteatlas[http]; extra == 'all'",
    ]
    found = {p.name: p for p in packages(declared)}
    assert list(found) == ["numpy", "no-such-package", "dask"]
    assert found["numpy"].ok
    assert (found["numpy"].extra, found["dask"].extra) == (None, "dask")
    assert not found["no-such-package"].ok


def test_what_is_missing_is_said() -> None:
    known = [PackageState("a", "x", "1.0", "2.0"), PackageState("b", "x", "3.0", ""), PackageState("c", "y", None, "1")]
    text = "\n".join(lines(known, 80))
    assert "missing: a 1.0 (older than 2.0)" in text
    assert "pip install 'byteatlas[x,y]'" in text
    assert all(len(line) <= 80 for line in lines(known, 80)[3:])


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["v"], f["w"] = [1], [1.5]
    assert run(["doctor", str(tmp_path / "a.h5")]) == 0
    assert "2 kinds of arrays can be read" in capsys.readouterr().out
    assert run(["doctor", str(tmp_path / "none.h5"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert "No such file" in found["targets"][0]["troubles"][0]
    assert "hdf5" in found["scanners"]
