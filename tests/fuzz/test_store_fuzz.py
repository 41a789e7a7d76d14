"""Damaged stores: whatever the bytes, opening and reading gives values or a `ByteatlasError`, in bounded time."""

from __future__ import annotations

import json
import zipfile
from contextlib import suppress
from copy import deepcopy
from io import BytesIO
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from byteatlas.array import Array, ReadOptions, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.documents import consolidate
from byteatlas.array.writing.write import create_array, create_group
from byteatlas.errors import ByteatlasError
from byteatlas.io.sources.memory import MemorySource
from byteatlas.store.memory import MemoryStore
from byteatlas.store.zip import ZipStore

pytestmark = pytest.mark.filterwarnings("ignore")
OPTIONS = ReadOptions(threads=1, most_result=32 << 20)


def _store(zarr_format: Literal[2, 3], shards: Any) -> dict[str, bytes]:
    data: dict[str, Any] = {}
    store = MemoryStore(data)
    create_group(store, "", attributes={"a": 1}, zarr_format=zarr_format)
    meta = array_meta((9, 7), "f4", chunks=(2, 3), shards=shards, zarr_format=zarr_format, fill_value=1)
    create_array(store, "x", meta)[...] = np.arange(63).reshape(9, 7)
    kind = np.dtype([("a", "i2"), ("b", "S2")])
    create_array(store, "g/s", array_meta((4,), kind, zarr_format=zarr_format))[...] = np.zeros(4, kind)
    consolidate(store)
    return {k: bytes(v) for k, v in data.items()}


STORES = [_store(2, None), _store(3, None), _store(3, (4, 6))]


def _read(data: dict[str, bytes]) -> None:
    try:
        root = open_store(data, options=OPTIONS)
        nodes = [root] if isinstance(root, Array) else [n for _, n in root.walk()]
    except ByteatlasError:
        return
    for node in nodes:
        if isinstance(node, Array):
            for selection in (..., tuple(slice(0, 1) for _ in node.shape)):
                with suppress(ByteatlasError):
                    node[selection]


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.sampled_from(
        [[-1], [0], [2**62, 2**62], "float32", "<i4", "|O", "sharding_indexed", {"name": "bytes"}, "default"]
    ),
)


def _paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in items:
        found += _paths(child, (*at, key))
    return found


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(STORES), st.data())
def test_metadata_with_a_wrong_member(store: dict[str, bytes], data: st.DataObject) -> None:
    damaged = dict(store)
    documents = [k for k in store if k.rpartition("/")[2].startswith(".z") or k.endswith("zarr.json")]
    key = data.draw(st.sampled_from(documents))
    document = json.loads(store[key])
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(_paths(document)))
        if not path:
            document = data.draw(JUNK)
            break
        parent = document
        for step in path[:-1]:
            parent = parent[step]
        if data.draw(st.booleans()):
            parent[path[-1]] = deepcopy(data.draw(JUNK))  # the second damage may go into it
        else:
            del parent[path[-1]]
    damaged[key] = json.dumps(document).encode()
    _read(damaged)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(STORES), st.data())
def test_damaged_bytes(store: dict[str, bytes], data: st.DataObject) -> None:
    damaged = dict(store)
    key = data.draw(st.sampled_from(sorted(store)))
    value = bytearray(store[key])
    match data.draw(st.sampled_from(["flip", "cut", "junk"])):
        case "flip" if value:
            for _ in range(data.draw(st.integers(1, 4))):
                value[data.draw(st.integers(0, len(value) - 1))] = data.draw(st.integers(0, 255))
        case "cut":
            del value[data.draw(st.integers(0, len(value))) :]
        case _:
            value = bytearray(data.draw(st.binary(max_size=60)))
    damaged[key] = bytes(value)
    _read(damaged)


def _zipped() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in STORES[1].items():
            archive.writestr(key, value)
    return file.getvalue()


ZIPPED = _zipped()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(ZIPPED) - 1), st.integers(0, 255)), min_size=1, max_size=5), st.booleans())
def test_damaged_zip(changes: list[tuple[int, int]], tail: bool) -> None:
    value = bytearray(ZIPPED)
    for at, byte in changes:
        value[max(0, len(value) - 1 - at // 8) if tail else at] = byte
    try:
        store = ZipStore(MemorySource(bytes(value)))
    except ByteatlasError:
        return
    with suppress(ByteatlasError):
        root = open_store(store, options=OPTIONS)
        nodes = [root] if isinstance(root, Array) else [n for _, n in root.walk()]
        for node in nodes:
            if isinstance(node, Array):
                node[...]


def test_the_undamaged_stores_read() -> None:
    opened = [open_store(store) for store in STORES] + [open_store(ZipStore(MemorySource(ZIPPED)))]
    for root in opened:
        node = root["x"]
        assert isinstance(node, Array)
        np.testing.assert_array_equal(node[...], np.arange(63, dtype="f4").reshape(9, 7))
