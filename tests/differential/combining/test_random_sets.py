"""Some of the random sets that ``python -m tests.differential.random_sets`` compares with xarray by the thousand."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("netCDF4")
pytest.importorskip("xarray")

from tests.differential.random_sets.compare import try_set


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_sets_read_as_xarray_reads_them(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 10):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = try_set(seed, folder)
        assert found.verdict in ("equal", "refused"), found
