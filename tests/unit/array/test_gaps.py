"""What is fetched between ranges follows the line to the server: little over a slow one, much over a fast one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.array_support import RAW, ZLIB, virtual
from tests.http_server import Served, serve
from tests.slow_line import Web

import byteatlas as ba
from byteatlas.array import Array, ReadOptions
from byteatlas.io.access import Access
from byteatlas.io.urls import place
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray
from byteatlas.meta.model import Encoding, RegularGrid

CHUNKS, EACH, BETWEEN = 500, 4096, 12288
WANTED = CHUNKS * EACH
SLOW, FAST = 1_250_000, 500_000_000
"""Bytes per second: 10 Mbit/s, and a line of this machine."""


def series() -> tuple[VirtualArray, NDArray[Any], bytes]:
    """A time series of 500 chunks, three times as many bytes of other variables between them; the file."""
    data = np.random.default_rng(0).integers(0, 256, (CHUNKS, EACH), "u1")
    node, _, _ = virtual(data, RegularGrid((1, EACH)), [Encoding(RAW)], missing=0, inline=0)
    file = np.zeros((CHUNKS, EACH + BETWEEN), "u1")
    file[:, :EACH] = data
    return node, data, file.tobytes()


def at(node: VirtualArray, url: str) -> VirtualArray:
    offset = np.arange(CHUNKS, dtype=np.uint64) * (EACH + BETWEEN)
    length = np.full(CHUNKS, EACH, np.uint64)
    where = ChunkManifest((CHUNKS, 1), (SourceInfo(url),), np.zeros(CHUNKS, np.int32), offset, length)
    return VirtualArray(node.meta, where)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Served, VirtualArray, NDArray[Any]]]:
    node, data, file = series()
    with serve({"/a.bin": file}) as web:
        yield web, at(node, web.url + "/a.bin"), data


def taught(url: str, bandwidth: int, latency: float = 0.03) -> Access:
    """An access that knows a server's line."""
    access = Access()
    assert access.traffic is not None
    link = access.traffic.link(place(url))
    link.took(1, latency)
    link.took(10 * bandwidth, 10 + latency)
    return access


def read(node: VirtualArray, access: Access, **options: Any) -> NDArray[Any]:
    array = ba.open(node, access=access, options=ReadOptions(**options))
    assert isinstance(array, Array)
    return np.asarray(array[...])


def test_over_a_slow_line_a_series_costs_what_it_has(served: tuple[Served, VirtualArray, NDArray[Any]]) -> None:
    web, node, data = served
    access = taught(web.url, SLOW)
    web.requests.clear()
    np.testing.assert_array_equal(read(node, access), data)
    assert len(web.requests) == access.counters.requests == CHUNKS
    assert access.counters.fetched == access.counters.wanted == WANTED


def test_over_a_fast_line_it_costs_the_same_requests_as_ever(
    served: tuple[Served, VirtualArray, NDArray[Any]],
) -> None:
    web, node, data = served
    access, fixed = taught(web.url, FAST), Access(gaps="fixed")
    for how in (access, fixed):
        web.requests.clear()
        np.testing.assert_array_equal(read(node, how), data)
        assert len(web.requests) == 1
        assert (how.counters.requests, how.counters.rounds) == (1, 1)
        assert how.counters.wanted == WANTED
        assert how.counters.fetched == CHUNKS * (EACH + BETWEEN) - BETWEEN


def test_fixed_gaps_make_the_same_requests_whatever_the_line(
    served: tuple[Served, VirtualArray, NDArray[Any]],
) -> None:
    web, node, _ = served
    how = Access(gaps="fixed", traffic=taught(web.url, SLOW).traffic)
    web.requests.clear()
    read(node, how)
    assert len(web.requests) == 1
    web.requests.clear()
    read(node, how, gap=0)
    assert len(web.requests) == CHUNKS


def test_an_unknown_line_is_tried_with_one_request(served: tuple[Served, VirtualArray, NDArray[Any]]) -> None:
    web, node, data = served
    access = Access()
    web.requests.clear()
    np.testing.assert_array_equal(read(node, access), data)
    first, *others = [tuple(map(int, span[len("bytes=") :].split("-"))) for _, _, span in web.gets if span]
    assert first[1] - first[0] < 256 << 10
    assert 1 <= len(others) <= 3
    assert access.counters.rounds == 2
    assert access.meter(web.url).speed() is not None


def test_little_is_not_worth_a_try(served: tuple[Served, VirtualArray, NDArray[Any]]) -> None:
    web, node, data = served
    web.requests.clear()
    array = ba.open(node, access=Access())
    assert isinstance(array, Array)
    np.testing.assert_array_equal(array[:40], data[:40])
    assert len(web.requests) == 1


def test_a_slow_line_is_found_out(tmp_path: Path) -> None:
    node, data, file = series()
    path = tmp_path / "a.bin"
    path.write_bytes(file)
    web, access = Web([path], 0.01, SLOW), Access()
    try:
        np.testing.assert_array_equal(read(at(node, f"{web.base}/a.bin"), access), data)
        fetched = sum(size for _, _, size in web.log())
    finally:
        web.close()
    assert fetched == access.counters.fetched
    assert fetched <= 1.3 * WANTED
    speed = access.meter(web.base).speed()
    assert speed is not None
    assert 0.5 * SLOW < speed.bandwidth < 2 * SLOW


def test_points_of_a_raw_chunk_over_a_slow_line() -> None:
    data = np.arange(2_000_000, dtype="f8")
    node, file, _ = virtual(data, RegularGrid(data.shape), [Encoding(RAW)], missing=0, inline=0)
    rows = node.manifest.load()
    chosen = np.random.default_rng(1).integers(0, len(data), 300)
    with serve({"/a.bin": file}) as web:
        where = SourceInfo(web.url + "/a.bin")
        there = ChunkManifest(rows.grid_shape, (where,), rows.source, rows.offset, rows.length)
        slow, fixed = taught(web.url, SLOW), Access(gaps="fixed")
        for how in (slow, fixed):
            array = ba.open(VirtualArray(node.meta, there), access=how)
            assert isinstance(array, Array)
            np.testing.assert_array_equal(array.vindex[chosen], data[chosen])
    assert slow.counters.fetched <= 1.3 * 8 * len(chosen)
    assert fixed.counters.fetched > 10_000_000


def test_strides_of_a_raw_chunk_over_a_slow_line() -> None:
    data = np.arange(400 * 5000, dtype="f8").reshape(400, 5000)
    node, file, _ = virtual(data, RegularGrid(data.shape), [Encoding(RAW)], missing=0, inline=0)
    rows = node.manifest.load()
    with serve({"/a.bin": file}) as web:
        where = SourceInfo(web.url + "/a.bin")
        there = ChunkManifest(rows.grid_shape, (where,), rows.source, rows.offset, rows.length)
        how = taught(web.url, SLOW)
        array = ba.open(VirtualArray(node.meta, there), access=how)
        assert isinstance(array, Array)
        np.testing.assert_array_equal(array[:, 7], data[:, 7])
    assert how.counters.fetched <= 1.3 * 8 * len(data)


def test_a_slab_of_64_chunks_is_one_request() -> None:
    data = np.random.default_rng(0).integers(0, 1000, (64, 4096), dtype="i4")
    node, file, expected = virtual(data, RegularGrid((1, 4096)), [Encoding(ZLIB)], missing=0, inline=0)
    rows = node.manifest.load()
    with serve({"/a.bin": file}) as web:
        where = SourceInfo(web.url + "/a.bin")
        there = ChunkManifest(rows.grid_shape, (where,), rows.source, rows.offset, rows.length)
        for how in (Access(), taught(web.url, SLOW), taught(web.url, FAST)):
            web.requests.clear()
            np.testing.assert_array_equal(read(VirtualArray(node.meta, there), how), expected)
            assert len(web.requests) <= 2
            assert how.counters.fetched <= 1.3 * how.counters.wanted
