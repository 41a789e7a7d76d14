"""Which library reads the files of a scanner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from byteatlas.io.source import Source
from byteatlas.verifying.native.contract import NativeFile
from byteatlas.verifying.native.hdf5 import open_hdf5
from byteatlas.verifying.native.netcdf3 import open_netcdf3
from byteatlas.verifying.native.tiff import open_tiff

READERS: Mapping[str, Callable[[Source], AbstractContextManager[NativeFile]]] = {
    "hdf5": open_hdf5,
    "netcdf3": open_netcdf3,
    "tiff": open_tiff,
}
"""By scanner name: a context manager that gives the open file."""
