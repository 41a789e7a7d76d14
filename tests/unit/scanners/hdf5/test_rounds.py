"""How often a remote HDF5 file is asked: the number of rounds follows the depth of the structure, not its size."""

from __future__ import annotations

from pathlib import Path

import netCDF4
import numpy as np
import pytest

from byteatlas.io.source import Source
from byteatlas.io.sources.layers import BlockCache, Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas_scanners.hdf5 import SCANNER

MOST_ROUNDS = 8


def _write(path: Path, variables: int) -> bytes:
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("time", None)
        file.createDimension("lat", 20)
        file.createDimension("lon", 30)
        for name in ("time", "lat", "lon"):
            file.createVariable(name, "f8", (name,)).units = "1"
        file["lat"][:], file["lon"][:] = np.arange(20), np.arange(30)
        for number in range(variables):
            variable = file.createVariable(
                f"v{number}", "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 20, 30)
            )
            for attribute in range(9):  # enough to be stored densely
                variable.setncattr(f"attribute_{attribute}", f"{attribute}" * 20)
            variable[0:130] = np.random.default_rng(number).normal(size=(130, 20, 30))
        file["time"][:] = np.arange(130)
    return path.read_bytes()


def _nothing_else(url: str) -> Source:
    raise AssertionError(url)


@pytest.mark.parametrize("variables", [3, 24])
@pytest.mark.parametrize("block", [4 << 10, 64 << 10])
def test_rounds_of_a_typical_netcdf_file(tmp_path: Path, variables: int, block: int) -> None:
    counting = Counting(MemorySource(_write(tmp_path / "file.nc", variables)))
    source = BlockCache(counting, block)
    found = scan_source(source, _nothing_else, {"hdf5": SCANNER}, ScanOptions())
    assert len(found.arrays) == variables + 3
    assert len(found.arrays["v0"].meta.attributes) == 9
    assert all(array.manifest.load().source.min() >= 0 for array in found.arrays.values())
    assert counting.counts.calls <= MOST_ROUNDS
