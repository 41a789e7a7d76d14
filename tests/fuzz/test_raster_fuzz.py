"""A sample of the mutants of `run_raster`: only our own errors, no hang, no crash, nothing that netCDF4 contradicts."""

from __future__ import annotations

import pytest
from tests.fuzz.run_raster import run


@pytest.mark.parametrize("name", ["netcdf3", "tiff"])
def test_mutants_give_values_or_our_errors(name: str) -> None:
    counts = run(name, 300, seed=11)
    assert sum(counts.values()) == 300
    assert not [said for said in counts if said.startswith("FAULT")]
    assert counts["read"] > 20
    assert sum(n for said, n in counts.items() if said != "read") > 100
