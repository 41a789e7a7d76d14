"""A sample of the mutants of `run_raster`: only our own errors, no hang, no crash, no value that a library denies."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest
from tests.fuzz.run_raster import run


@pytest.mark.parametrize("name", ["netcdf3", "tiff", "grib", "fits"])
def test_mutants_give_values_or_our_errors(name: str) -> None:
    # The mutants are read in forked children, and this process may have threads by now.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        counts = fresh.submit(run, name, 300, seed=11).result()
    assert sum(counts.values()) == 300
    assert not [said for said in counts if said.startswith("FAULT")]
    assert counts["read"] > 20
    assert sum(n for said, n in counts.items() if said != "read") > 100
