"""Imports whose order matters to all tests."""

import hdf5plugin  # noqa: F401  (its filters fail to set up when netCDF4 was imported before it)
