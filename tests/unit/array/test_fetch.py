"""How many requests a read makes, and what happens when one of them fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, opener, virtual
from tests.http_server import serve

from byteatlas.array import Array, ReadOptions, open_node
from byteatlas.array.writing.create import sharding
from byteatlas.errors import CorruptChunk, FetchFailed, InvalidMetadata
from byteatlas.io.local import LocalSource
from byteatlas.io.ranges import merge
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import Counting, Counts
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import Encoding, GroupMeta, RegularGrid


def _array(node: VirtualArray, open_it: Any, **options: Any) -> Array:
    opened = open_node(node, open_it, options=ReadOptions(**options), path="")
    assert isinstance(opened, Array)
    return opened


def test_64_adjacent_chunks_over_http_cost_at_most_four_requests() -> None:
    data = np.random.default_rng(0).integers(0, 1000, (64, 16384), dtype="i4")
    node, file, expected = virtual(data, RegularGrid((1, 16384)), [Encoding(ZLIB)], missing=0, inline=0)
    order = np.argsort(node.manifest.load().offset)
    assert order.tolist() != list(range(64))  # adjacent in the file, in another order
    with serve({"/a.bin": file}, latency=0.02) as web:
        rows = node.manifest.load()
        there = ChunkManifest(rows.grid_shape, (SourceInfo(web.url + "/a.bin"),), rows.source, rows.offset, rows.length)
        array = open_node(VirtualArray(node.meta, there))
        assert isinstance(array, Array)
        np.testing.assert_array_equal(array[...], expected)
        assert 1 <= len(web.requests) <= 4
        web.requests.clear()
        np.testing.assert_array_equal(array[5], expected[5])
        assert len(web.requests) == 1


def test_a_counting_source_sees_merged_requests() -> None:
    data = np.arange(64 * 100, dtype="i4").reshape(64, 100)
    node, file, expected = virtual(
        data, RegularGrid((1, 100)), [Encoding(ZLIB)], missing=0, inline=0, url="http://host/x"
    )
    counts = Counts()
    array = _array(node, lambda url: Counting(MemorySource(file, url), counts))
    np.testing.assert_array_equal(array[...], expected)
    assert counts.requests == 1
    assert counts.bytes <= len(file)


def test_a_missing_file_is_an_error_and_never_fill(tmp_path: Path) -> None:
    data = np.arange(100, dtype="i4")
    node, _, _ = virtual(
        data, RegularGrid((10,)), [Encoding(ZLIB)], missing=0, inline=0, url=str(tmp_path / "gone.bin")
    )
    array = _array(node, LocalSource)
    with pytest.raises(FetchFailed, match=r"gone\.bin"):
        array[...]


def test_http_404_is_an_error_too() -> None:
    data = np.arange(100, dtype="i4")
    with serve({}) as web:
        node, _, _ = virtual(data, RegularGrid((10,)), [Encoding(ZLIB)], missing=0, inline=0, url=web.url + "/gone.bin")
        array = open_node(node)
        with pytest.raises(FetchFailed, match=r"gone\.bin"):
            array[...]  # type: ignore[index]


def test_a_range_beyond_the_file_names_the_chunks_range(tmp_path: Path) -> None:
    data = np.arange(100, dtype="i4")
    path = tmp_path / "short.bin"
    node, file, _ = virtual(data, RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0, url=str(path))
    path.write_bytes(file[:-4])
    rows = node.manifest.load()
    last = int(np.argmax(rows.offset))
    array = _array(node, LocalSource)
    with pytest.raises(FetchFailed) as caught:
        array[...]
    assert caught.value.range is not None
    assert caught.value.range.offset == int(rows.offset[last])
    assert caught.value.range.length == 40


def test_a_corrupt_chunk_says_where_it_is() -> None:
    data = np.arange(400, dtype="i4").reshape(20, 20)
    node, file, _ = virtual(data, RegularGrid((5, 5)), [Encoding(ZLIB)], missing=0, inline=0)
    rows = node.manifest.load()
    at, n = int(rows.offset[6]), int(rows.length[6])
    broken = file[:at] + b"\xff" * n + file[at + n :]
    array = _array(node, opener(broken))
    with pytest.raises(CorruptChunk) as caught:
        array[...]
    assert caught.value.chunk == (1, 2)
    assert caught.value.url == "memory:file"
    assert caught.value.range is not None
    assert (caught.value.range.offset, caught.value.range.length) == (at, n)
    array[0:5]  # the others read


def test_a_raw_chunk_of_the_wrong_length_is_corrupt() -> None:
    data = np.arange(100, dtype="i4")
    node, file, _ = virtual(data, RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0)
    rows = node.manifest.load()
    length = rows.length.copy()
    length[3] -= 4
    short = ChunkManifest(rows.grid_shape, rows.sources, rows.source, rows.offset, length)
    array = _array(VirtualArray(node.meta, short), opener(file))
    for selection in (slice(None), slice(33, 35), [31, 35]):
        with pytest.raises(CorruptChunk, match="36 bytes"):
            array.oindex[selection]


def test_offsets_beyond_the_number_range_are_refused() -> None:
    data = np.arange(20, dtype="i4")
    node, file, _ = virtual(data, RegularGrid((10,)), [Encoding(RAW)], missing=0, inline=0)
    rows = node.manifest.load()
    for column in ("offset", "length"):
        bad = getattr(rows, column).copy()
        bad[1] = 2**64 - 3
        columns = {"offset": rows.offset, "length": rows.length, column: bad}
        manifest = ChunkManifest(rows.grid_shape, rows.sources, rows.source, columns["offset"], columns["length"])
        with pytest.raises(InvalidMetadata):
            _array(VirtualArray(node.meta, manifest), opener(file))[...]


@pytest.mark.parametrize("codecs", [RAW, ZLIB, (sharding((5,), RAW),)])
def test_encodings_that_the_array_does_not_have_are_refused(codecs: Any) -> None:
    data = np.arange(100, dtype="i4")
    node, file, _ = virtual(data, RegularGrid((10,)), [Encoding(codecs)], missing=0, inline=0)
    rows = node.manifest.load()
    column = np.zeros(10, np.uint16)
    column[4] = 1
    manifest = ChunkManifest(rows.grid_shape, rows.sources, rows.source, rows.offset, rows.length, column)
    array = _array(VirtualArray(node.meta, manifest), opener(file))
    np.testing.assert_array_equal(array[:40], data[:40])
    for selection in (slice(None), slice(40, 50), slice(42, 44)):
        with pytest.raises(InvalidMetadata, match="encoding"):
            array[selection]
    with pytest.raises(InvalidMetadata, match="encoding"):
        array.vindex[[1, 45]]


def test_a_partial_read_of_a_raw_chunk_fetches_what_it_needs() -> None:
    data = np.arange(256 * 1024, dtype="i4").reshape(256, 1024)
    node, file, expected = virtual(
        data, RegularGrid((256, 1024)), [Encoding(RAW)], missing=0, inline=0, url="http://host/x"
    )
    counts = Counts()

    def open_it(url: str) -> Source:
        return Counting(MemorySource(file, url), counts)

    array = _array(node, open_it, gap=0)
    np.testing.assert_array_equal(array[10, 20:30], expected[10, 20:30])
    assert (counts.requests, counts.bytes) == (1, 40)
    counts.requests = counts.bytes = 0
    np.testing.assert_array_equal(array[10:12], expected[10:12])
    assert (counts.requests, counts.bytes) == (1, 2 * 4096)
    counts.requests = counts.bytes = 0
    np.testing.assert_array_equal(array[::64, :8], expected[::64, :8])
    assert (counts.requests, counts.bytes) == (4, 4 * 32)
    counts.requests = counts.bytes = 0
    bridged = _array(node, open_it, gap=8192)
    np.testing.assert_array_equal(bridged[10:13, 5], expected[10:13, 5])
    assert (counts.requests, counts.bytes) == (1, 2 * 4096 + 4)


def test_large_sources_are_not_all_held_open(tmp_path: Path) -> None:
    opened: list[str] = []

    def open_it(url: str) -> Source:
        opened.append(url)
        return LocalSource(url)

    paths = [tmp_path / f"{i}.bin" for i in range(300)]
    for i, path in enumerate(paths):
        path.write_bytes(np.full(4, i, "<i4").tobytes())
    manifest = ChunkManifest(
        (300,),
        tuple(SourceInfo(str(p)) for p in paths),
        np.arange(300, dtype=np.int32),
        np.zeros(300, np.uint64),
        np.full(300, 16, np.uint64),
    )
    node, _, _ = virtual(np.zeros(1200, "i4"), RegularGrid((4,)), [Encoding(RAW)])
    array = _array(VirtualArray(node.meta, manifest), open_it)
    np.testing.assert_array_equal(array[...], np.repeat(np.arange(300), 4))
    assert len(opened) == 300


def test_merge_covers_every_range() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(1, 40))
        source, offset = rng.integers(0, 3, n), rng.integers(0, 500, n)
        length = rng.integers(0, 60, n)
        gap, block, most = int(rng.integers(0, 40)), int(rng.integers(1, 300)), int(rng.integers(1, 10))
        found = merge(source, offset, length, gap, block, most)
        seen: list[int] = []
        for k in range(found.total):
            items = found.order[int(found.edges[k]) : int(found.edges[k + 1])]
            assert 1 <= len(items) <= most
            assert (source[items] == found.source[k]).all()
            assert (offset[items] >= found.offset[k]).all()
            assert (offset[items] + length[items] <= found.offset[k] + found.length[k]).all()
            seen += items.tolist()
        assert sorted(seen) == list(range(n))


def test_groups_walk_arrays_first() -> None:
    node, file, expected = virtual(np.arange(4, dtype="i4"), RegularGrid((2,)), [Encoding(RAW)], missing=0)
    inner = VirtualGroup(GroupMeta({"k": 1}), {"b": node})
    root = open_node(VirtualGroup(GroupMeta(), {"z": node}, {"g": inner}), opener(file))
    assert [p for p, _ in root.walk()] == ["z", "g", "g/b"]  # type: ignore[union-attr]
    assert root["g"].attrs == {"k": 1}
    np.testing.assert_array_equal(root["g/b"][1:], expected[1:])
    assert "g/x" not in root
    assert list(root) == ["z", "g"]
