"""Imports whose order matters to all tests, and what makes all of them quicker."""

import gc

import hdf5plugin  # noqa: F401  (its filters fail to set up when netCDF4 was imported before it)
from hypothesis import HealthCheck, settings

try:
    import pyproj
except ImportError:
    pass
else:
    pyproj.CRS.from_epsg(4326)  # ecCodes brings a PROJ library along; the one that is used first has to be pyproj's

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # how long examples take says more of what else runs than of the code


def pytest_collection_finish() -> None:
    """Objects of the imports and of some ten thousand tests stay: no collection of garbage has to look at them."""
    gc.collect()
    gc.freeze()
