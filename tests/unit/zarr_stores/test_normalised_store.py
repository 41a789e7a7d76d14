"""The normalised store passes zarr-python's own tests of stores, as far as a store that is read-only can."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.array_support import ZLIB, virtual

import byteatlas as ba
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import Counting, Counts
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import Encoding, RectilinearGrid, RegularGrid
from byteatlas.normalised import NormalisedView

zarr = pytest.importorskip("zarr")

from zarr.abc.store import Store  # noqa: E402
from zarr.core.buffer import cpu, default_buffer_prototype  # noqa: E402
from zarr.testing.store import StoreTests  # noqa: E402

from byteatlas.zarr_stores.normalised import NormalisedZarrStore  # noqa: E402


class Shelf:
    """A view whose values can be put in place: what zarr-python's tests need to have something to read."""

    def __init__(self, values: dict[str, bytes] | None = None) -> None:
        self.values = values or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shelf) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def documents(self) -> Mapping[str, bytes]:
        return {key: value for key, value in self.values.items() if key.endswith("zarr.json")}

    def has_chunk(self, key: str) -> bool:
        return key in self.values

    def chunks(self, keys: Sequence[str]) -> list[bytes | ByteatlasError | None]:
        return [self.values.get(key) for key in keys]

    def every_key(self) -> Iterator[str]:
        yield from self.values


WRITES = (
    "test_set", "test_set_not_open", "test_set_many", "test_delete", "test_delete_dir", "test_clear", "test_is_empty",
    "test_delete_nonexistent_key_does_not_raise", "test_set_if_not_exists", "test_serializable_store",
    "test_getsize_prefix", "test_list", "test_list_prefix", "test_list_empty_path", "test_list_dir",
    "test_store_read_only", "test_store_open_read_only", "test_with_read_only_store", "test_exists",
    "test_get_sync", "test_get_sync_missing", "test_set_sync", "test_delete_sync", "test_delete_sync_missing",
)  # fmt: skip
"""Tests that write through the store, or ask for methods that it does not have.

Those that look at something else are here again, with the values in place.
"""


@pytest.mark.anyio
class TestReadOnlyStore(StoreTests[NormalisedZarrStore, cpu.Buffer]):  # type: ignore[misc]  # zarr is an extra
    store_cls = NormalisedZarrStore
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def store_kwargs(self) -> dict[str, Any]:
        return {"view": Shelf()}

    @pytest.fixture
    async def store(self, open_kwargs: dict[str, Any], anyio_backend: str) -> Store:
        return await self.store_cls.open(**open_kwargs)

    @pytest.fixture
    async def store_not_open(self, store_kwargs: dict[str, Any], anyio_backend: str) -> Store:
        return self.store_cls(**store_kwargs)

    async def set(self, store: Any, key: str, value: Any) -> None:
        store.view.values[key] = value.to_bytes()

    async def get(self, store: Any, key: str) -> Any:
        return self.buffer_cls.from_bytes(store.view.values[key])

    def test_store_repr(self, store: Any) -> None:
        assert repr(store).startswith("NormalisedZarrStore(")

    def test_store_supports_writes(self, store: Any) -> None:
        assert not store.supports_writes
        assert not store.supports_deletes

    def test_store_supports_listing(self, store: Any) -> None:
        assert store.supports_listing

    async def test_writes_are_refused(self, store: Any) -> None:
        with pytest.raises(ValueError, match="read-only"):
            await store.set("foo", self.buffer_cls.from_bytes(b"bar"))
        with pytest.raises(ValueError, match="read-only"):
            await store.delete("foo")
        with pytest.raises(NotImplementedError):
            NormalisedZarrStore(Shelf(), read_only=False)
        assert store.read_only

    async def test_pickles(self, store: Any) -> None:
        await self.set(store, "foo", self.buffer_cls.from_bytes(b"\x01"))
        again = pickle.loads(pickle.dumps(store))
        assert again == store
        found = await again.get("foo", default_buffer_prototype())
        assert found.to_bytes() == b"\x01"

    async def test_lists(self, store: Any) -> None:
        for key in ("zarr.json", "g/zarr.json", "g/x/zarr.json", "g/x/c/0/1"):
            await self.set(store, key, self.buffer_cls.from_bytes(b"1"))
        assert sorted([key async for key in store.list()]) == sorted(store.view.values)
        assert [key async for key in store.list_prefix("g/x/")] == ["g/x/zarr.json", "g/x/c/0/1"]
        assert sorted([name async for name in store.list_dir("g")]) == ["x", "zarr.json"]
        assert sorted([name async for name in store.list_dir("")]) == ["g", "zarr.json"]
        assert [name async for name in store.list_dir("nothing")] == []
        assert await store.getsize_prefix("g/x") == 2
        assert await store.exists("g/x/c/0/1")
        assert not await store.exists("g/x/c/0/2")
        assert not await store.is_empty("g")
        assert await store.is_empty("nothing")


for _name in WRITES:
    setattr(TestReadOnlyStore, _name, None)

DATA = np.arange(40 * 30, dtype="i4").reshape(40, 30)


def _counted(encodings: list[Encoding]) -> tuple[Any, np.ndarray[Any, Any], Counts]:
    grid = RectilinearGrid(((4, 7, 29), (10, 20)))
    node, file, expected = virtual(DATA, grid, encodings)
    counts = Counts()

    def open_it(url: str) -> Source:
        return Counting(MemorySource(file, url), counts)

    from byteatlas.array import open_node

    group = open_node(VirtualGroup(arrays={"x": node}), open_it)
    return NormalisedZarrStore(NormalisedView(group)), expected, counts


def test_uneven_chunks_become_regular_and_are_read_together() -> None:
    store, expected, counts = _counted([Encoding(ZLIB)])
    with zarr.config.set({"async.concurrency": 64}):
        array = zarr.open_group(store, mode="r")["x"]
        assert isinstance(array.metadata.chunk_grid.chunk_shape, tuple)
        before = counts.requests
        np.testing.assert_array_equal(array[...], expected)
    assert counts.requests - before <= 2, "the chunks of a read go out together"
    np.testing.assert_array_equal(array[3:17:2, -1], expected[3:17:2, -1])


def test_errors_stay_errors() -> None:
    node, file, _ = virtual(DATA, RegularGrid((4, 10)), [Encoding(ZLIB)])
    from byteatlas.array import open_node

    group = open_node(VirtualGroup(arrays={"x": node}), lambda url: MemorySource(file[:-40], url))
    array = zarr.open_group(NormalisedZarrStore(NormalisedView(group)), mode="r")["x"]
    with pytest.raises(FetchFailed):
        array[...]


def test_the_verb_gives_the_chunks_as_they_are_unless_told_otherwise() -> None:
    node, _, _ = virtual(DATA, RegularGrid((4, 10)), [Encoding(ZLIB)])
    assert type(ba.zarr_store(VirtualGroup(arrays={"x": node}))).__name__ == "ReferenceZarrStore"
    with pytest.raises(ba.BadRequest):
        ba.zarr_store(VirtualGroup(), options=ba.normalised.NormaliseOptions())
