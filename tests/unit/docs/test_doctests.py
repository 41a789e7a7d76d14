"""The examples in docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import byteatlas
import byteatlas_scanners

OPTIONAL = {"xarray", "zarr", "dask", "PIL", "h5py", "netCDF4"}
MODULES = [
    info.name
    for package in (byteatlas, byteatlas_scanners)
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not info.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name in OPTIONAL:
            pytest.skip(f"needs {error.name}")
        raise
    assert doctest.testmod(module).failed == 0
