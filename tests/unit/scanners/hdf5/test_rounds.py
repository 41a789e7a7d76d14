"""How often a remote HDF5 file is asked: the number of rounds follows the depth of the structure, not its size."""

from __future__ import annotations

from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest

from byteatlas.io.source import Source
from byteatlas.io.sources.layers import BlockCache, Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas_scanners.hdf5 import SCANNER

MOST_ROUNDS = 7


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


@pytest.mark.parametrize("variables", [3, 24])
def test_bytes_of_a_typical_netcdf_file(tmp_path: Path, variables: int) -> None:
    """Blocks of 64 KiB for the structures, pages of 16 KiB for the leaves of the indexes."""
    data = _write(tmp_path / "file.nc", variables)
    counting = Counting(MemorySource(data))
    scan_source(BlockCache(counting), _nothing_else, {"hdf5": SCANNER}, ScanOptions())
    assert counting.counts.bytes <= min(len(data), 2_500_000)


@pytest.mark.parametrize("page", [1 << 20, 4 << 20])
def test_the_first_page_of_a_paged_file_comes_at_once(tmp_path: Path, page: int) -> None:
    path = tmp_path / "paged.h5"
    with h5py.File(path, "w", libver=("v110", "v110"), fs_strategy="page", fs_page_size=page) as file:
        for number in range(24):
            values = np.random.default_rng(number).normal(size=(100, 20, 30))
            file.create_dataset(f"v{number}", data=values, chunks=(1, 20, 30), compression="gzip")
            for attribute in range(9):
                file[f"v{number}"].attrs[f"attribute_{attribute}"] = "x" * 20
    counting = Counting(MemorySource(path.read_bytes()))
    found = scan_source(BlockCache(counting), _nothing_else, {"hdf5": SCANNER}, ScanOptions())
    assert len(found.arrays) == 24
    assert counting.counts.calls == 3
    assert counting.counts.bytes <= page + 5 * (64 << 10)


def test_a_page_size_beyond_all_measure_is_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "paged.h5"
    with h5py.File(path, "w", libver=("v110", "v110"), fs_strategy="page", fs_page_size=1 << 30) as file:
        file["a"] = np.arange(10)
    counting = Counting(MemorySource(path.read_bytes()[:]))
    assert list(scan_source(BlockCache(counting), _nothing_else, {"hdf5": SCANNER}, ScanOptions()).arrays) == ["a"]
