"""Imports whose order matters to all tests."""

import hdf5plugin  # noqa: F401  (its filters fail to set up when netCDF4 was imported before it)

try:
    import pyproj
except ImportError:
    pass
else:
    pyproj.CRS.from_epsg(4326)  # ecCodes brings a PROJ library along; the one that is used first has to be pyproj's
