"""Small netCDF-4 archives for tests, made by the demonstration's own writer."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from byteatlas.demo.archive import ArchivePlan, make_archive


@cache
def small_archive(months: int = 3) -> tuple[Path, ...]:
    """Files of 36 x 72 cells and six time steps each, made once per process."""
    return tuple(make_archive(Path(mkdtemp(prefix="byteatlas-test-")), ArchivePlan(months=months, step=5.0)))
