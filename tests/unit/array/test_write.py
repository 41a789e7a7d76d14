"""Writing: create, fill, append, resize, consolidate; copies of virtual arrays into stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.array_support import ZLIB, opener, virtual

from byteatlas.array import Array, Group, open_node, open_store
from byteatlas.array.writing.copy import CopyOptions, copy, region_shape
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.documents import consolidate
from byteatlas.array.writing.options import ArrayWriteOptions
from byteatlas.array.writing.write import create_array, create_group, open_writable
from byteatlas.errors import BadRequest, BadSelection, Conflict, NotFound
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta import dtypes
from byteatlas.meta.model import CodecSpec, Encoding, GroupMeta, RectilinearGrid, RegularGrid
from byteatlas.store.base import UNFINISHED
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MemoryStore
from byteatlas.types import Buffer

FORMATS: list[Literal[2, 3]] = [2, 3]


@pytest.mark.parametrize("zarr_format", FORMATS)
@pytest.mark.parametrize("dtype", ["i4", "u1", "f8", "c8", "?", "S3", "U2", "M8[ms]", [("a", "i2"), ("b", "f4")]])
def test_what_is_written_is_read(dtype: Any, zarr_format: Literal[2, 3]) -> None:
    rng = np.random.default_rng(0)
    kind = np.dtype(dtype)
    data = np.frombuffer(rng.integers(1, 100, 60 * kind.itemsize, dtype="u1").tobytes(), kind).reshape(6, 10)
    if kind.kind in "?SU":
        data = rng.integers(0, 2, (6, 10)).astype(kind)
    store = MemoryStore()
    made = create_array(store, "g/x", array_meta(data.shape, kind, chunks=(4, 3), zarr_format=zarr_format))
    made[...] = data
    root = open_store(store)
    assert isinstance(root, Group)
    again = root["g/x"]
    assert isinstance(again, Array)
    assert again.dtype == kind
    np.testing.assert_array_equal(again[...], data)
    assert isinstance(root["g"], Group)


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_text_of_any_length(zarr_format: Literal[2, 3]) -> None:
    store = MemoryStore()
    made = create_array(store, "t", array_meta((5,), dtypes.STRING, chunks=(2,), zarr_format=zarr_format))
    made[...] = ["a", "", "é" * 100, "x", "y"]
    assert made[...].tolist() == ["a", "", "é" * 100, "x", "y"]
    made[3] = "longer"
    assert made[2:4].tolist() == ["é" * 100, "longer"]


def test_parts_of_chunks_are_changed_and_the_rest_kept() -> None:
    store = MemoryStore()
    made = create_array(store, "x", array_meta((10, 10), "i4", chunks=(4, 4), fill_value=-1))
    want = np.full((10, 10), -1, "i4")
    rng = np.random.default_rng(0)
    for _ in range(40):
        a, b = sorted(rng.integers(0, 11, 2).tolist())
        step = int(rng.choice([1, 2, 3, -1]))
        where = (slice(a, b) if step > 0 else slice(b, a, step), slice(None, None, int(rng.choice([1, -2, 4]))))
        values = rng.integers(0, 50, want[where].shape)
        made[where] = values
        want[where] = values
        np.testing.assert_array_equal(made[...], want)
    made[3, 4] = 7
    want[3, 4] = 7
    made.set_orthogonal(([9, 1], [0, 5]), [[1, 2], [3, 4]])
    want[np.ix_([9, 1], [0, 5])] = [[1, 2], [3, 4]]
    made[5] = np.arange(10)
    want[5] = np.arange(10)
    np.testing.assert_array_equal(made[...], want)
    with pytest.raises(BadSelection):
        made[0:3] = np.zeros((4, 4))
    with pytest.raises(BadRequest):
        made[0] = "text"


def test_chunks_of_fill_are_not_stored() -> None:
    store = MemoryStore()
    made = create_array(store, "x", array_meta((4, 4), "f4", chunks=(2, 2), fill_value=np.nan))
    made[...] = np.full((4, 4), np.nan)
    assert [k for k in ("x/c/0/0", "x/c/1/1") if store.get(k) is not None] == []
    made[0, 0] = 1
    assert store.get("x/c/0/0") is not None
    made[0, 0] = np.nan
    assert store.get("x/c/0/0") is None
    full = create_array(store, "y", array_meta((2,), "f4", fill_value=0), write=ArrayWriteOptions(empty_chunks=True))
    full[...] = 0
    assert store.get("y/c/0") is not None
    zero = create_array(store, "z", array_meta((2,), "f4", fill_value=0))
    zero[...] = -0.0
    assert np.signbit(zero[...]).all()


@pytest.mark.parametrize("shards", [None, (8, 6)])
def test_append_and_resize(shards: Any) -> None:
    store = MemoryStore()
    made = create_array(store, "x", array_meta((0, 6), "i2", chunks=(4, 3), shards=shards, fill_value=9))
    first, second = np.arange(30).reshape(5, 6), np.arange(42).reshape(7, 6) + 100
    made = made.append(first).append(second)
    want = np.concatenate([first, second]).astype("i2")
    np.testing.assert_array_equal(open_store(store, "x")[...], want)  # type: ignore[index]
    made = made.resize((3, 4)).resize((6, 6))
    bigger = np.full((6, 6), 9, "i2")
    bigger[:3, :4] = want[:3, :4]
    np.testing.assert_array_equal(made[...], bigger)
    wide = open_writable(store, "x").append(np.ones((6, 2)), axis=1)
    np.testing.assert_array_equal(wide[...], np.concatenate([bigger, np.ones((6, 2), "i2")], axis=1))
    with pytest.raises(BadRequest):
        made.append(np.ones((3, 5)))


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_consolidated_metadata_is_used_and_dropped_when_it_would_lie(zarr_format: Literal[2, 3]) -> None:
    store = MemoryStore()
    create_group(store, "", attributes={"title": "x"}, zarr_format=zarr_format)
    made = create_array(store, "g/a", array_meta((4,), "i4", zarr_format=zarr_format))
    consolidate(store)
    only = {k: v for k in (".zmetadata", "zarr.json") if (v := store.get(k)) is not None}
    alone = open_store(only)
    assert isinstance(alone, Group)
    assert [p for p, _ in alone.walk()] == ["g", "g/a"]
    assert alone.attrs == {"title": "x"}
    made.resize((6,))
    assert open_store(store)["g/a"].shape == (6,)
    with pytest.raises(NotFound):
        open_store(store, consolidated=True)


def test_nodes_do_not_overwrite_each_other() -> None:
    store = MemoryStore()
    create_array(store, "g/x", array_meta((4,), "i4"))
    for path in ("g/x", "g", "g/x/y"):
        with pytest.raises(Conflict):
            create_array(store, path, array_meta((4,), "i4"))
    for path in ("../x", "a/..", "a/.zarray"):
        with pytest.raises(NotFound):
            create_array(store, path, array_meta((4,), "i4"))
    with pytest.raises(BadRequest):
        array_meta((4,), "u1", fill_value=300)
    with pytest.raises(BadRequest):
        array_meta((4,), "u1", chunks=(3,), shards=(4,))


@pytest.mark.parametrize("zarr_format", FORMATS)
def test_nodes_with_the_names_of_version_1_documents_are_listed(zarr_format: Literal[2, 3]) -> None:
    store = MemoryStore()
    for name in ("meta", "attrs", "c", "0.0"):
        create_array(store, f"g/{name}", array_meta((2,), "i4", zarr_format=zarr_format))[...] = 3
    root = open_store(store, consolidated=False)
    assert isinstance(root, Group)
    assert sorted(p for p, _ in root.walk()) == ["g", "g/0.0", "g/attrs", "g/c", "g/meta"]
    group = root["g"]
    assert isinstance(group, Group)
    np.testing.assert_array_equal(group["meta"][...], [3, 3])


# --- copies


def _source() -> tuple[Group, dict[str, np.ndarray[Any, Any]]]:
    first, file, want = virtual(np.arange(60 * 40, dtype="i4").reshape(60, 40), RegularGrid((7, 40)), [Encoding(ZLIB)])
    edges = RectilinearGrid(((5, 25, 30), (11, 29)))
    second, other, want2 = virtual(np.arange(2400, dtype="f4").reshape(60, 40), edges, [Encoding(ZLIB)], seed=3)
    files = {"memory:file": file, "memory:other": other}
    rows = second.manifest.load()
    from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray

    moved = ChunkManifest(
        rows.grid_shape, (SourceInfo("memory:other"),), rows.source, rows.offset, rows.length, None, rows.inlined
    )
    node = VirtualGroup(
        GroupMeta({"title": "t"}),
        {"a": first},
        {"g": VirtualGroup(GroupMeta({}), {"b": VirtualArray(second.meta, moved)})},
    )
    opened = open_node(node, lambda url: opener(files[url])(url))
    assert isinstance(opened, Group)
    return opened, {"a": want, "g/b": want2}


@pytest.mark.parametrize(
    "options",
    [
        CopyOptions(),
        CopyOptions(zarr_format=2),
        CopyOptions(chunks=(16, 8), shards=(32, 16)),
        CopyOptions(chunks={"a": (60, 1)}, compression=(), memory=2000),
        CopyOptions(compression=(CodecSpec("gzip", {"level": 1}),), memory=1),
    ],
)
def test_copies_equal_their_source(tmp_path: Path, options: CopyOptions) -> None:
    source, want = _source()
    store = DirectoryStore(tmp_path / "out.zarr", writable=True)
    seen: list[tuple[str, int, int]] = []
    copy(source, store, options, lambda *step: seen.append(step))
    made = open_store(str(tmp_path / "out.zarr"))
    assert isinstance(made, Group)
    assert made.attrs == {"title": "t"}
    for path, values in want.items():
        np.testing.assert_array_equal(made[path][...], values)
    assert [s for s in seen if s[1] == s[2]][-1][0] == "g/b"
    assert store.get(UNFINISHED) is None


class _Stops(MemoryStore):
    """A store whose writes fail after a while."""

    left = 10**9

    def set(self, key: str, value: Buffer) -> None:
        if self.left <= 0:
            raise KeyboardInterrupt
        self.left -= 1
        super().set(key, value)


def test_a_stopped_copy_is_taken_up() -> None:
    source, want = _source()
    options = CopyOptions(memory=4000)
    whole = _Stops()
    copy(source, whole, options)
    writes = 10**9 - whole.left
    for stop in range(1, writes, 7):
        store = _Stops()
        store.left = stop
        with pytest.raises(KeyboardInterrupt):
            copy(source, store, options)
        store.left = 10**9
        copy(source, store, options)
        for path, values in want.items():
            np.testing.assert_array_equal(open_store(store)[path][...], values)


def test_a_copy_does_not_mix_with_another() -> None:
    source, _ = _source()
    store = _Stops()
    store.left = 12
    with pytest.raises(KeyboardInterrupt):
        copy(source, store, CopyOptions(memory=4000))
    store.left = 10**9
    with pytest.raises(Conflict, match="another"):
        copy(source, store, CopyOptions(memory=4000, chunks=(5, 5)))
    with pytest.raises(Conflict, match="unfinished"):
        copy(source, store, CopyOptions(memory=4000, resume=False))
    copy(source, store, CopyOptions(memory=4000))
    with pytest.raises(Conflict, match="already"):
        copy(source, store, CopyOptions())


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    source, _ = _source()
    largest = 0
    inner = Array.read

    def read(self: Array, selection: Any = ..., out: Any = None) -> Any:
        nonlocal largest
        got = inner(self, selection, out)
        largest = max(largest, got.nbytes)
        return got

    monkeypatch.setattr(Array, "read", read)
    copy(source, MemoryStore(), CopyOptions(chunks=(10, 10), memory=2500))
    assert largest <= 2500


def test_regions() -> None:
    assert region_shape((100, 100), (10, 10), (25, 100), 6000) == (50, 100)
    assert region_shape((100, 100), (10, 10), (10, 10), 1) == (10, 10)
    assert region_shape((100, 100), (10, 10), (10, 10), 10**9) == (100, 100)
    assert region_shape((5,), (10,), (3,), 100) == (10,)
    assert region_shape((), (), (), 100) == ()
