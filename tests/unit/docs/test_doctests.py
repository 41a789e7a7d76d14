"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import pydoc
import shutil
import warnings
from contextlib import chdir
from pathlib import Path

import pytest
from docs.running.given import PROGRAMS
from tests.places import ROOT

import byteatlas as ba
import byteatlas_scanners

OPTIONAL = {"xarray", "zarr", "dask", "PIL", "h5py", "netCDF4"}
MODULES = [
    info.name
    for package in (ba, byteatlas_scanners)
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not info.name.endswith("__main__")
]


PUBLIC = {getattr(ba, name).__module__ for name in ba.__all__} | {"byteatlas"}
"""Modules whose examples use ``ba`` and files like a user's."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    with chdir(folder):
        PROGRAMS["examples"]()
    return folder


@pytest.mark.parametrize("name", sorted(set(MODULES) | PUBLIC))
def test_examples(name: str, files: Path, tmp_path: Path) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in OPTIONAL:
            pytest.skip(f"needs {error.name}")
        raise
    if name not in PUBLIC:
        assert doctest.testmod(module).failed == 0
        return
    shutil.copytree(files, tmp_path / "files", symlinks=True)
    with chdir(tmp_path / "files"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning, module="zarr")
        assert doctest.testmod(module, extraglobs={"ba": ba}).failed == 0


@pytest.mark.parametrize("name", ba.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    assert ">>> " in (getattr(ba, name).__doc__ or "")


def test_help_is_a_page_that_one_can_read() -> None:
    text = pydoc.plain(pydoc.render_doc(ba))
    head = text.partition("\n\nPACKAGE CONTENTS")[0]
    assert ">>> year = ba.combine(" in head
    verbs = [name for name in ba.__all__ if name.islower()]
    said = ba.__doc__ or ""
    assert [name for name in verbs if f"`{name}`" not in said] == []
