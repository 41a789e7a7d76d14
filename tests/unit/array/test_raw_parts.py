"""Index arrays and points in uncompressed chunks: only what they need is fetched, and it reads as NumPy has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.array_support import RAW, virtual
from tests.http_server import serve

import byteatlas as ba
from byteatlas.array import Array, ReadOptions, open_node
from byteatlas.array.reading import elements
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.errors import InvalidMetadata
from byteatlas.io.sources.layers import Counting, Counts
from byteatlas.io.sources.memory import MemorySource
from byteatlas.meta.model import CodecSpec, Encoding, RegularGrid
from byteatlas.store.directory import DirectoryStore

RNG = np.random.default_rng(3)
ROWS = np.array([70, 3, 3, 150, 4])
COLUMNS = np.array([1900, 0, 30, 1023])


def counted(
    data: NDArray[Any], codecs: tuple[CodecSpec, ...], chunks: tuple[int, ...], url: str, gap: int
) -> tuple[Array, Counts]:
    node, file, _ = virtual(data, RegularGrid(chunks), [Encoding(codecs)], missing=0, inline=0, url=url)
    counts = Counts()
    options = ReadOptions(gap=gap, local_gap=gap)
    array = open_node(node, lambda url: Counting(MemorySource(file, url), counts), options=options)
    assert isinstance(array, Array)
    return array, counts


def total(counts: Counts) -> int:
    return sum(r.length for r in counts.ranges)  # the list is safe with many threads, the sums are not


@pytest.mark.parametrize("url", ["file:///x", "http://host/x"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("stored", ["<f4", ">f4"])
def test_bytes_that_are_fetched(url: str, order: str, stored: str) -> None:
    data = RNG.random((200, 2000)).astype("f4")
    endian = CodecSpec("bytes", {"endian": "big" if stored[0] == ">" else "little"})
    codecs = (endian,) if order == "C" else (CodecSpec("transpose", {"order": [1, 0]}), endian)
    array, counts = counted(data, codecs, (128, 2000), url, 64)
    rows, columns, chunk = len({*ROWS.tolist()}), len({*COLUMNS.tolist()}), 128 * 2000 * 4

    np.testing.assert_array_equal(array.oindex[ROWS], data[ROWS])
    # In F order a row is spread over the chunk: its elements are 512 bytes apart, beyond the gap.
    assert total(counts) == rows * 2000 * 4
    counts.ranges.clear()
    np.testing.assert_array_equal(array.oindex[:, COLUMNS], data[:, COLUMNS])
    assert total(counts) <= columns * 256 * 4  # the last chunk has padding, which is never asked for with C order
    counts.ranges.clear()
    np.testing.assert_array_equal(array.oindex[ROWS, COLUMNS], data[np.ix_(ROWS, COLUMNS)])
    assert total(counts) <= rows * columns * 4 + 64 * rows * columns
    counts.ranges.clear()
    np.testing.assert_array_equal(array.oindex[ROWS, 100:1000:300], data[ROWS, 100:1000:300])
    assert total(counts) <= rows * 3 * (4 + 64)
    counts.ranges.clear()
    at = (RNG.integers(0, 200, 50), RNG.integers(0, 2000, 50))
    np.testing.assert_array_equal(array.vindex[at], data[at])
    assert total(counts) <= 50 * (4 + 64) < chunk // 50
    assert len(counts.ranges) <= 50


def test_near_points_share_requests() -> None:
    data = np.arange(1 << 16, dtype="i4")
    array, counts = counted(data, RAW, (1 << 16,), "http://host/x", 400)
    at = np.arange(5000, 20000, 100)[::-1].copy()
    np.testing.assert_array_equal(array.vindex[at], data[at])
    np.testing.assert_array_equal(array.oindex[at], data[at])
    assert len(counts.ranges) == 2
    assert total(counts) == 2 * (14900 + 1) * 4


def test_points_are_asked_for_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elements, "MOST_POINTS", 7)
    data = RNG.random((40, 40))
    array, _ = counted(data, RAW, (9, 9), "http://host/x", 16)
    for seed in range(5):
        chosen = np.random.default_rng(seed).random(data.shape) < seed / 5
        np.testing.assert_array_equal(array.vindex[chosen], data[chosen])


def test_structured_elements_and_keys_of_their_own(tmp_path: Path) -> None:
    kind = np.dtype([("a", ">i2"), ("b", "<f8")])
    data = np.zeros((300, 400), kind.newbyteorder("="))
    data["a"], data["b"] = RNG.integers(0, 999, data.shape), RNG.random(data.shape)
    made = create_array(
        DirectoryStore(tmp_path, writable=True),
        "",
        array_meta(data.shape, data.dtype, chunks=(250, 250), compression=()),
    )
    made[...] = data
    (tmp_path / "c" / "1" / "1").unlink()
    expected = data.copy()
    expected[250:, 250:] = np.zeros((), data.dtype)
    array = ba.open(tmp_path)
    assert isinstance(array, Array)
    rows, columns = np.array([299, 0, 251]), np.array([399, 5, 5, 250])
    np.testing.assert_array_equal(array.oindex[rows, columns], expected[np.ix_(rows, columns)])
    np.testing.assert_array_equal(array.oindex[rows, ::-3], expected[rows, ::-3])
    np.testing.assert_array_equal(array.vindex[rows, columns[:3]], expected[rows, columns[:3]])
    np.testing.assert_array_equal(array.vindex["b", rows, columns[:3]], expected["b"][rows, columns[:3]])


def test_a_chunk_under_a_key_of_a_web_server(tmp_path: Path) -> None:
    data = RNG.random((600, 500))
    made = create_array(
        DirectoryStore(tmp_path, writable=True), "", array_meta(data.shape, "f8", chunks=(300, 500), compression=())
    )
    made[...] = data
    files = {f"/{p.relative_to(tmp_path).as_posix()}": p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with serve(files) as web:
        array = ba.open(web.url)
        assert isinstance(array, Array)
        web.requests.clear()
        np.testing.assert_array_equal(array.vindex[[3, 3, 2], [7, 499, 0]], data[[3, 3, 2], [7, 499, 0]])
        ranges = [r for _, path, r in web.gets if path == "/c/0/0"]
        assert sum(_length(r) for r in ranges) < 16 << 10
        assert len(web.requests) <= 2  # its size, the bytes


def _length(header: str | None) -> int:
    assert header is not None
    first, _, last = header.removeprefix("bytes=").partition("-")
    return int(last) - int(first) + 1


def test_an_encoded_chunk_that_is_too_small_is_refused() -> None:
    data = np.arange(36, dtype="i4").reshape(6, 6)
    small = Encoding(RAW, chunk_shape=(3, 2))
    node, file, _ = virtual(data, RegularGrid((3, 3)), [Encoding(RAW)], missing=0, inline=0)
    from dataclasses import replace

    node = replace(node, meta=replace(node.meta, encodings=(small,)))
    rows = node.manifest.load()
    node = replace(node, manifest=replace(rows, length=np.full(4, 24, np.uint64)))
    array = open_node(node, lambda url: MemorySource(file, url))
    assert isinstance(array, Array)
    with pytest.raises(InvalidMetadata):
        array.vindex[[0, 1], [0, 2]]
    with pytest.raises(InvalidMetadata):
        array.oindex[[0, 1], [0, 2]]
