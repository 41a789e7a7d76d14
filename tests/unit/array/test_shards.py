"""Shards: only the inner chunks that are needed, the index once; nested; at either end; broken ones refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, virtual

from byteatlas.array import Array, ReadOptions, open_node, open_store
from byteatlas.array.writing.create import array_meta, sharding
from byteatlas.array.writing.write import create_array
from byteatlas.errors import CorruptChunk
from byteatlas.io.sources.layers import Counting, Counts
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.dtypes import BYTES, STRING
from byteatlas.meta.model import CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.store.memory import MemoryStore
from byteatlas.types import Buffer

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
URL = "http://host/shards"


def shard(inner: Sequence[int], chain: Sequence[CodecSpec], **more: Any) -> CodecSpec:
    made = sharding(tuple(inner), chain)
    return CodecSpec(made.name, {**made.configuration, **more})


CHAINS = {
    "end": (shard((2, 5), ZLIB),),
    "start": (shard((2, 5), RAW, index_location="start"),),
    "no checksum": (shard((2, 5), ZLIB, index_codecs=[LITTLE]),),
    "nested": (shard((4, 10), (shard((2, 5), ZLIB),)),),
    "nested, start": (shard((4, 10), (shard((2, 5), RAW, index_location="start"),), index_location="start"),),
    "three levels": (shard((4, 10), (shard((4, 5), (shard((2, 1), ZLIB),)),)),),
    "compressed as a whole": (shard((2, 5), RAW), CodecSpec("gzip", {"level": 1})),
    "transposed": (CodecSpec("transpose", {"order": [1, 0]}), shard((5, 2), ZLIB)),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("grid", [RegularGrid((4, 10)), RectilinearGrid(((4, 8), (10, 20, 10)))])
def test_reads_equal(name: str, grid: Any) -> None:
    if name != "end" and isinstance(grid, RectilinearGrid) and "nested" in name:
        grid = RectilinearGrid(((4, 8), (10, 20, 10)))
    data = np.arange(11 * 37, dtype="i4").reshape(11, 37)
    node, file, expected = virtual(data, grid, [Encoding(CHAINS[name])], url=URL, inline=0.2)
    array = open_node(node, lambda url: MemorySource(file, url))
    assert isinstance(array, Array)
    for selection in (..., (3, 7), (slice(None, None, 3), slice(30, 2, -4)), (slice(8, 9), slice(0, 3))):
        np.testing.assert_array_equal(array[selection], expected[selection])
    np.testing.assert_array_equal(array.oindex[[9, 1], [3, 36, 5]], expected[np.ix_([9, 1], [3, 36, 5])])
    np.testing.assert_array_equal(array.vindex[[9, 1], [3, 36]], expected[[9, 1], [3, 36]])


def test_only_the_inner_chunks_that_are_needed_and_the_index_once() -> None:
    data = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    chain = (shard((8, 8), RAW),)
    node, file, expected = virtual(data, RegularGrid((64, 64)), [Encoding(chain)], missing=0, inline=0, url=URL)
    counts = Counts()
    array = open_node(node, lambda url: Counting(MemorySource(file, url), counts), options=ReadOptions(gap=0))
    assert isinstance(array, Array)
    assert array.chunks == (8, 8)
    assert array.shards == (64, 64)
    np.testing.assert_array_equal(array[0:8, 0:8], expected[0:8, 0:8])
    assert (counts.requests, counts.bytes) == (2, 64 * 16 + 4 + 256)
    np.testing.assert_array_equal(array[60, 60], expected[60, 60])
    assert (counts.requests, counts.bytes) == (3, 64 * 16 + 4 + 256 + 4)  # one element of a raw inner chunk
    np.testing.assert_array_equal(array[0:8], expected[0:8])
    assert counts.requests == 4  # eight neighbours: one request


def test_indexes_are_kept_within_bounds() -> None:
    data = np.arange(64 * 8, dtype="i4").reshape(64, 8)
    node, file, expected = virtual(
        data, RegularGrid((4, 8)), [Encoding((shard((2, 2), RAW),))], missing=0, inline=0, url=URL
    )
    for size, most in ((1 << 20, 16), (0, 32)):
        counts = Counts()
        options = ReadOptions(index_cache=size, gap=0)
        array = open_node(node, lambda url, c=counts: Counting(MemorySource(file, url), c), options=options)  # type: ignore[misc]
        for _ in range(2):
            np.testing.assert_array_equal(array[...], expected)  # type: ignore[index]
        index = 8 * 16 + 4
        assert sum(r.length == index for r in counts.ranges) <= most


def _broken(file: bytes, node: VirtualArray, change: Any) -> Array:
    rows = node.manifest.load()
    at, n = int(rows.offset[0]), int(rows.length[0])
    part = bytearray(file[at : at + n])
    change(part)
    data = file[:at] + bytes(part)
    manifest = ChunkManifest(rows.grid_shape, rows.sources, rows.source, rows.offset, np.array([len(part)], np.uint64))
    opened = open_node(VirtualArray(node.meta, manifest), lambda url: MemorySource(data, url))
    assert isinstance(opened, Array)
    return opened


@pytest.mark.parametrize(
    ("where", "value"),
    [(0, 2**63), (0, 2**64 - 4), (8, 2**63), (8, 2**64 - 5), (0, 10_000), (8, 10_000)],
)
def test_entries_outside_of_the_shard_are_corrupt(where: int, value: int) -> None:
    data = np.arange(32, dtype="i4").reshape(4, 8)
    chain = (shard((2, 4), RAW, index_codecs=[LITTLE]),)
    node, file, _ = virtual(data, RegularGrid((4, 8)), [Encoding(chain)], missing=0, inline=0, url=URL)

    def change(part: bytearray) -> None:
        at = len(part) - 64 + where
        part[at : at + 8] = value.to_bytes(8, "little")

    with pytest.raises(CorruptChunk) as caught:
        _broken(file, node, change)[0, 0]
    assert caught.value.chunk == (0, 0)


def test_a_bad_index_checksum_and_a_short_shard_are_corrupt() -> None:
    data = np.arange(32, dtype="i4").reshape(4, 8)
    node, file, _ = virtual(data, RegularGrid((4, 8)), [Encoding((shard((2, 4), RAW),))], missing=0, inline=0, url=URL)

    def flip(part: bytearray) -> None:
        part[-1] ^= 1

    def shorten(part: bytearray) -> None:
        del part[:-20]

    for change in (flip, shorten):
        with pytest.raises(CorruptChunk):
            _broken(file, node, change)[0, 0]


class _Spy(MemoryStore):
    """Counts whole values read."""

    def __init__(self) -> None:
        super().__init__()
        self.whole: list[str] = []

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        self.whole.append(key)
        return super().get(key, most)


def test_shards_in_a_store() -> None:
    store = MemoryStore()
    meta = array_meta((40, 40), "f4", chunks=(5, 5), shards=(20, 20), fill_value=1.5)
    made = create_array(store, "x", meta)
    data = np.arange(1600, dtype="f4").reshape(40, 40)
    data[20:, :20] = 1.5  # an empty shard
    data[0:5, 0:5] = 1.5  # an empty inner chunk
    made[...] = data
    assert store.get("x/c/1/0") is None
    again = open_store(store, "x")
    np.testing.assert_array_equal(again[...], data)  # type: ignore[index]
    np.testing.assert_array_equal(again[3:23, 4], data[3:23, 4])  # type: ignore[index]
    made[1, 1] = 8
    data[1, 1] = 8
    np.testing.assert_array_equal(again[0:2, 0:2], data[0:2, 0:2])  # type: ignore[index]


def test_trailing_nuls_are_no_fill_value() -> None:
    """NumPy takes b"" and b"\\0", "" and "\\0" for equal: inner chunks of these are stored all the same."""
    cases: list[tuple[Any, list[Any]]] = [(BYTES, [b"\0", b"", b"\0\0", b""]), (STRING, ["\0", "", "a\0", ""])]
    for kind, values in cases:
        store = MemoryStore()
        meta = array_meta((4,), kind, chunks=(1,), shards=(4,), fill_value=values[1])
        made = create_array(store, "", meta)
        made[...] = np.array(values, object)
        assert made[...].tolist() == values
        assert made[2:3].tolist() == values[2:3]
