"""Reference maps through zarr-python: equal values, merged requests, errors that stay errors."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, virtual

from byteatlas.errors import FetchFailed, Forbidden
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import Counting, Counts
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import ChunkKeys, Encoding, GroupMeta, RegularGrid
from byteatlas.store.base import Store
from byteatlas.store.reference import KeyRange, ReferenceStore

zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore:Numcodecs codecs are not")

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest  # noqa: E402
from zarr.core.buffer import default_buffer_prototype  # noqa: E402

from byteatlas.zarr_stores.reference import ReferenceZarrStore  # noqa: E402

DATA = np.arange(40 * 30, dtype="i4").reshape(40, 30)


def _tree(zarr_format: Any) -> tuple[VirtualGroup, bytes, np.ndarray[Any, Any]]:
    node, file, expected = virtual(DATA, RegularGrid((4, 10)), [Encoding(ZLIB)])
    keys = ChunkKeys("default", "/") if zarr_format == 3 else ChunkKeys("v2", ".")
    from dataclasses import replace

    array = VirtualArray(replace(node.meta, zarr_format=zarr_format, keys=keys), node.manifest)
    inner = VirtualGroup(GroupMeta({"k": [1]}, zarr_format), {"x": array})
    return VirtualGroup(GroupMeta({"title": "t"}, zarr_format), {}, {"g": inner}), file, expected


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_zarr_python_reads_the_same(zarr_format: int) -> None:
    node, file, expected = _tree(zarr_format)
    root = zarr.open_group(ReferenceZarrStore(node, opener=lambda url: MemorySource(file, url)), mode="r")
    assert dict(root.attrs) == {"title": "t"}
    assert [name for name, _ in root.members(max_depth=None)] == ["g", "g/x"]
    array = root["g/x"]
    np.testing.assert_array_equal(array[...], expected)
    np.testing.assert_array_equal(array[3:17:2, -1], expected[3:17:2, -1])


def test_requests_under_way_together_go_out_merged() -> None:
    node, file, expected = _tree(3)
    counts = Counts()

    def open_it(url: str) -> Source:
        return Counting(MemorySource(file, url), counts)

    with zarr.config.set({"async.concurrency": 64}):
        array = zarr.open_group(ReferenceZarrStore(node, opener=open_it), mode="r")["g/x"]
        np.testing.assert_array_equal(array[...], expected)
    assert counts.requests <= 4


def test_a_file_that_cannot_be_read_is_an_error_and_not_fill() -> None:
    node, file, _ = _tree(3)
    array = zarr.open_group(ReferenceZarrStore(node, opener=lambda url: MemorySource(file[:50], url)), mode="r")["g/x"]
    with pytest.raises(FetchFailed):
        array[...]


def test_one_failure_does_not_take_its_neighbours_down() -> None:
    node, file, _ = _tree(3)
    store = ReferenceZarrStore(node, opener=lambda url: MemorySource(file[:-10], url))

    async def both() -> list[Any]:
        keys = [k async for k in store.list_prefix("g/x/c/")]
        jobs = [store.get(k, default_buffer_prototype()) for k in keys]
        return list(await asyncio.gather(*jobs, return_exceptions=True))

    found = asyncio.run(both())
    assert sum(isinstance(f, FetchFailed) for f in found) == 1
    assert len(found) > 10


def test_byte_ranges_and_listing() -> None:
    node, file, _ = _tree(2)
    store = ReferenceZarrStore(node, opener=lambda url: MemorySource(file, url))
    buffers = default_buffer_prototype()

    async def check() -> None:
        keys = [k async for k in store.list()]
        chunks = [k for k in keys if k.startswith("g/x/") and not k.rpartition("/")[2].startswith(".")]
        key = chunks[0]
        whole = (await store.get(key, buffers)).to_bytes()  # type: ignore[union-attr]
        asks = [RangeByteRequest(2, 6), OffsetByteRequest(5), SuffixByteRequest(3), RangeByteRequest(4, 10**6), None]
        parts = await store.get_partial_values(buffers, [(key, a) for a in asks])
        assert [p.to_bytes() for p in parts if p is not None] == [whole[2:6], whole[5:], whole[-3:], whole[4:], whole]
        assert await store.get("g/x/99.0", buffers) is None
        assert await store.get("g/x/00.0", buffers) is None
        assert await store.exists("g/x/.zarray")
        assert not await store.exists("g/y/.zarray")
        assert [n async for n in store.list_dir("")] == [".zattrs", ".zgroup", "g"]
        names = [n async for n in store.list_dir("g/x")]
        assert set(names) == {".zarray"} | {k.rpartition("/")[2] for k in chunks}
        with pytest.raises(Forbidden):
            await store.set(key, buffers.buffer.from_bytes(b""))

    asyncio.run(check())


def test_the_reference_store_is_a_store() -> None:
    node, file, _ = virtual(np.arange(10, dtype="i4"), RegularGrid((5,)), [Encoding(RAW)], missing=0, inline=0)
    store = ReferenceStore(node, lambda url: MemorySource(file, url))
    assert isinstance(store, Store)
    assert bytes(store.get("0") or b"") == np.arange(5, dtype="<i4").tobytes()
    source = store.source("1")
    assert source is not None
    assert source.size() == 20
    assert [bytes(b or b"") for b in store.get_many([KeyRange("1", -4), KeyRange("7"), KeyRange("0", 4, 8)])] == [
        b"\x09\0\0\0",
        b"",
        b"\x01\0\0\0",
    ]
    assert list(store.list_keys()) == [".zarray", "0", "1"]
