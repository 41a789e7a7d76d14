"""Handles of arrays and groups: membership, writable arrays, and what errors of a read say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, opener, virtual
from tests.http_server import serve

from byteatlas.array import Array, Group, ReadOptions, open_node, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array, create_group
from byteatlas.errors import CorruptChunk, FetchFailed, Forbidden, InvalidMetadata
from byteatlas.io.local import LocalSource
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MemoryStore

ODD = CodecSpec("numcodecs.no_such_codec")


def odd_array() -> VirtualArray:
    chain = (CodecSpec("bytes", {"endian": "little"}), ODD)
    meta = ArrayMeta((4,), from_numpy(np.dtype("<i4")), RegularGrid((4,)), (Encoding(chain),), np.int32(0))
    return VirtualArray(meta, inline_manifest((1,), {0: bytes(16)}))


def test_a_member_that_cannot_be_decoded_is_a_member() -> None:
    root = open_node(VirtualGroup(arrays={"odd": odd_array()}, groups={"g": VirtualGroup(arrays={"odd": odd_array()})}))
    assert isinstance(root, Group)
    assert "odd" in root
    assert "/g/odd/" in root
    for absent in ("no", "g/no", "odd/no", "g/odd/no", 5, None):
        assert absent not in root


def test_membership_in_a_store(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, writable=True)
    create_array(store, "a/b/x", array_meta((4,), "i4"))
    document = (tmp_path / "a/b/x/zarr.json").read_text()
    (tmp_path / "a/odd").mkdir()
    (tmp_path / "a/odd/zarr.json").write_text(document.replace('"blosc"', '"no_such_codec"'))
    (tmp_path / "a/broken").mkdir()
    (tmp_path / "a/broken/zarr.json").write_text("{")
    (tmp_path / "old/x").mkdir(parents=True)
    (tmp_path / "old/x/.zarray").write_text("{}")
    root = open_store(store)
    assert isinstance(root, Group)
    # "old" is a folder without metadata that holds nodes; "broken" is there, whatever it is.
    for path in ("a", "a/b", "a/b/x", "a/odd", "a/broken", "old", "old/x"):
        assert path in root, path
    for path in ("b", "a/c", "a/b/x/c", "..", "__x", "a//"):
        assert (path in root) == (path == "a//"), path


def test_membership_that_cannot_be_found_out_is_an_error() -> None:
    with serve({"/zarr.json": b'{"zarr_format": 3, "node_type": "group"}'}, broken=frozenset({"/x/zarr.json"})) as web:
        root = open_store(web.url)
        assert isinstance(root, Group)
        with pytest.raises(FetchFailed):
            "x" in root  # noqa: B015 - it raises


def test_other_read_options_leave_an_array_writable() -> None:
    store = MemoryStore()
    made = create_array(store, "x", array_meta((10, 4), "i4", chunks=(3, 4), fill_value=-1))
    again = made.with_options(ReadOptions(threads=1))
    assert again.options.threads == 1
    again[2:5] = 7
    np.testing.assert_array_equal(made[1:6, 0], [-1, 7, 7, 7, -1])
    grown = again.append(np.ones((2, 4), "i4"))
    assert grown.options.threads == 1
    assert grown.shape == (12, 4)


def test_a_writable_array_reads_as_an_array_does() -> None:
    store = MemoryStore()
    data = np.arange(60, dtype="i4").reshape(6, 10)
    made = create_array(store, "g/x", array_meta(data.shape, "i4", chunks=(2, 5), shards=(4, 10), fill_value=3))
    made[...] = data
    read = open_store(store, "g/x")
    assert isinstance(read, Array)
    names = ("meta", "path", "name", "shape", "ndim", "size", "dtype", "nbytes", "chunks", "shards", "dims", "attrs")
    for name in (*names, "fill_value", "options"):
        assert getattr(made, name) == getattr(read, name), name
    assert len(made) == len(read) == 6
    for array in (made, read):
        np.testing.assert_array_equal(array[1:5, ::-2], data[1:5, ::-2])
        np.testing.assert_array_equal(array.oindex[[4, 0], [1, 9]], data[np.ix_([4, 0], [1, 9])])
        np.testing.assert_array_equal(array.vindex[[4, 0], [1, 9]], data[[4, 0], [1, 9]])
        np.testing.assert_array_equal(array.blocks[1, 0], data[2:4, :5])
        np.testing.assert_array_equal(np.asarray(array), data)
        np.testing.assert_array_equal(list(array), list(data))
        out = np.zeros((6, 10), "i4")
        assert array.read(out=out) is out
        np.testing.assert_array_equal(out, data)
    with pytest.raises(TypeError):
        read[0] = 1  # type: ignore[index]


def test_groups_and_arrays_know_their_names() -> None:
    store = MemoryStore()
    create_group(store, "a/b", attributes={"k": 1})
    create_array(store, "a/b/x", array_meta((2,), "i4"))
    root = open_store(store)
    assert isinstance(root, Group)
    assert (root.path, root.name) == ("", "")
    assert (root["a/b"].path, root["a/b"].name, root["a/b"].attrs) == ("a/b", "b", {"k": 1})
    assert (root["a/b/x"].path, root["a/b/x"].name) == ("a/b/x", "x")


READS: list[Any] = [
    lambda array: array[...],
    lambda array: array[8:9],
    lambda array: array.oindex[[8, 1], :],
    lambda array: array.vindex[[8, 1], [3, 3]],
]


@pytest.mark.parametrize("codecs", [RAW, ZLIB])
@pytest.mark.parametrize("read", READS)
def test_a_failed_fetch_names_array_chunk_url_and_range(tmp_path: Path, codecs: Any, read: Any) -> None:
    data = np.arange(100, dtype="i4").reshape(10, 10)
    path = tmp_path / "short.bin"
    node, file, _ = virtual(data, RegularGrid((2, 5)), [Encoding(codecs)], missing=0, inline=0, url=str(path))
    rows = node.manifest.load()
    offset = rows.offset.copy()
    chunk = 8  # at (4, 0)
    offset[chunk] = len(file) + 100
    moved = ChunkManifest(rows.grid_shape, rows.sources, rows.source, offset, rows.length)
    path.write_bytes(file)
    array = open_node(VirtualGroup(arrays={"v": VirtualArray(node.meta, moved)}), LocalSource, path="v")
    with pytest.raises(FetchFailed) as caught:
        read(array)
    error = caught.value
    assert error.array == "v"
    assert error.chunk == (4, 0)
    assert error.url == str(path)
    assert error.range is not None
    assert offset[chunk] <= error.range.offset
    assert error.range.end <= offset[chunk] + rows.length[chunk]
    assert "array 'v', chunk (4, 0)" in str(error)


@pytest.mark.parametrize("read", READS)
def test_a_file_that_is_not_there_names_the_array(tmp_path: Path, read: Any) -> None:
    data = np.arange(100, dtype="i4").reshape(10, 10)
    gone = str(tmp_path / "gone.bin")
    node, _, _ = virtual(data, RegularGrid((2, 5)), [Encoding(ZLIB)], missing=0, inline=0, url=gone)
    array = open_node(VirtualGroup(arrays={"v": node}), LocalSource, path="v")
    with pytest.raises(FetchFailed, match="array 'v'") as caught:
        read(array)
    assert caught.value.url == gone


@pytest.mark.parametrize("read", READS)
def test_corrupt_chunks_and_bad_references_name_the_array(read: Any) -> None:
    data = np.arange(100, dtype="i4").reshape(10, 10)
    node, file, _ = virtual(data, RegularGrid((2, 5)), [Encoding(ZLIB)], missing=0, inline=0)
    rows = node.manifest.load()
    at, n = int(rows.offset[8]), int(rows.length[8])
    broken = file[:at] + b"\xff" * n + file[at + n :]
    array = open_node(VirtualGroup(arrays={"v": node}), opener(broken), path="v")
    with pytest.raises(CorruptChunk) as corrupt:
        read(array)
    error = corrupt.value
    assert (error.array, error.chunk, error.url) == ("v", (4, 0), "memory:file")
    assert error.range is not None
    assert (error.range.offset, error.range.length) == (at, n)
    offset = rows.offset.copy()
    offset[8] = 2**64 - 3
    far = ChunkManifest(rows.grid_shape, rows.sources, rows.source, offset, rows.length)
    array = open_node(VirtualGroup(arrays={"v": VirtualArray(node.meta, far)}), opener(file), path="v")
    with pytest.raises(InvalidMetadata, match="v") as invalid:
        read(array)
    assert invalid.value.where == "v"


def test_a_corrupt_shard_index_names_the_array() -> None:
    store = MemoryStore()
    made = create_array(store, "v", array_meta((8, 8), "i4", chunks=(2, 2), shards=(4, 4), fill_value=0))
    made[...] = np.arange(64).reshape(8, 8)
    value = bytearray(store.get("v/c/1/0") or b"")
    value[-1] ^= 1
    store.set("v/c/1/0", bytes(value))
    array = open_store(store, "v")
    assert isinstance(array, Array)
    with pytest.raises(CorruptChunk) as caught:
        array[...]
    assert (caught.value.array, caught.value.chunk) == ("v", (1, 0))
    assert caught.value.url is not None
    assert caught.value.url.endswith("v/c/1/0")


def test_errors_of_the_policy_pass_through() -> None:
    def refuse(url: str) -> Any:
        raise Forbidden(url, "not allowed")

    manifest = ChunkManifest(
        (1,), (SourceInfo("http://x/y"),), np.zeros(1, "i4"), np.zeros(1, "u8"), np.array([8], "u8")
    )
    meta = ArrayMeta((2,), from_numpy(np.dtype("<i4")), RegularGrid((2,)), (Encoding(RAW),), np.int32(0))
    array = open_node(VirtualArray(meta, manifest), refuse)
    with pytest.raises(Forbidden):
        array[...]  # type: ignore[index]
