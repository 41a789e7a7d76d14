"""Imports whose order matters to all tests."""

from contextlib import suppress

import hdf5plugin  # noqa: F401  (its filters fail to set up when netCDF4 was imported before it)

with suppress(ImportError):
    import pyproj  # noqa: F401  (it does not find its tables when eccodes was imported before it)
