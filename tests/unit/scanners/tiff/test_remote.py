"""What a scan of a remote file costs: rounds of requests, and that the benchmark runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixtures.tiff.make_tiff import pyramid
from fixtures.tiff.raw_tiff import Raw, gray, write
from tests.bench.raster import cog, run

from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas_scanners.tiff import SCANNER


@pytest.mark.parametrize("tiles", [4, 1000, 100_000])
def test_rounds_of_requests_do_not_depend_on_the_tiles(tiles: int) -> None:
    data = cog(tiles) + bytes(100_000)
    source = Counting(MemorySource(data, "memory://cog.tif"))
    group = scan_source(source, lambda url: source, {"tiff": SCANNER}, ScanOptions())
    assert source.counts.calls <= 4
    total = sum(a.manifest.load().nchunks for p, a in group.walk() if p.endswith("data") and hasattr(a, "manifest"))
    assert total >= tiles
    assert source.counts.bytes <= 3 * 8 * total + (1 << 20)


def test_directories_between_the_tiles_are_found_too() -> None:
    source = Counting(MemorySource(pyramid(), "memory://p.tif"))
    group = scan_source(source, lambda url: source, {"tiff": SCANNER}, ScanOptions())
    assert len(group.report) == 4
    assert source.counts.calls <= 2


def test_benchmark_runs(tmp_path: Path) -> None:
    rows = run(tmp_path, {"tiles": 100, "records": 1000, "rounds": 1})
    assert [row.who for row in rows] == ["byteatlas", "tifffile", "byteatlas", "byteatlas"]
    assert all(row.seconds > 0 for row in rows)


def test_pages_at_equal_distances_are_guessed() -> None:
    data = write([Raw(gray(200, 400, rows=100), [bytes([i]) * 20_000] * 4) for i in range(200)])
    source = Counting(MemorySource(data, "memory://stack.tif"))
    group = scan_source(source, lambda url: source, {"tiff": SCANNER}, ScanOptions(), block=4096)
    assert group.arrays["data"].meta.shape == (200, 400, 200)
    assert source.counts.calls <= 14
