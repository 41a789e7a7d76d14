"""A plugin for pytest: ``import kerchunk.hdf`` and the like give the modules of `byteatlas.kerchunk`."""

from __future__ import annotations

import importlib
import sys

import pytest

MODULES = ("hdf", "netCDF3", "tiff", "fits", "hdf4", "combine", "df", "utils", "zarr")
KEPT = ("codecs", "xarray_backend")
"""Modules of kerchunk's own that tests and xarray's entry points import."""
HIDDEN = (
    "REFERENCE_LIST CLASS DIMENSION_LIST NAME _Netcdf4Dimid _Netcdf4Coordinates _nc3_strict _NCProperties"
)  # fmt: skip


def pytest_configure(config: pytest.Config) -> None:
    """Swap the modules before tests are imported."""
    theirs = {name: importlib.import_module(f"kerchunk.{name}") for name in KEPT}
    root = importlib.import_module("byteatlas.kerchunk")
    sys.modules["kerchunk"] = root
    for name in MODULES:
        ours = importlib.import_module(f"byteatlas.kerchunk.{name}")
        sys.modules[f"kerchunk.{name}"] = ours
        setattr(root, name, ours)
    for name, module in theirs.items():
        setattr(root, name, module)
    # What only kerchunk's tests, and fsspec's writer of Parquet maps, take from its modules.
    from byteatlas.kerchunk.references import bytes_of

    extra: dict[str, dict[str, object]] = {
        "hdf": {"has_visititems_links": lambda: True, "_HIDDEN_ATTRS": frozenset(HIDDEN.split())},
        "df": {"_proc_raw": bytes_of},
        "combine": {"kerchunk": root},
    }
    for name, values in extra.items():
        vars(sys.modules[f"kerchunk.{name}"]).update(values)
