"""Stores: the same keys from a directory, a ZIP file, a mapping, a web server; and nothing from outside of them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from tests.http_server import serve

import byteatlas as ba
from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.errors import BadRequest, CorruptFile, FetchFailed, Forbidden, InvalidMetadata, NotFound, Unsupported
from byteatlas.io.local import LocalSource
from byteatlas.io.sources.memory import MemorySource
from byteatlas.meta.model import GroupMeta
from byteatlas.meta.zom import model as zom
from byteatlas.store import nodes
from byteatlas.store.base import Store, check_path
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.documents import load_json, load_object
from byteatlas.store.memory import MappingStore, MemoryStore
from byteatlas.store.open import open_as_store
from byteatlas.store.remote import RemoteStore
from byteatlas.store.zip import ZipStore
from byteatlas.types import JSON, Buffer, ByteRange

FILES = {"zarr.json": b"{}", "a/zarr.json": b'{"x": 1}', "a/c/0/1": bytes(range(200)), "empty": b""}


def _fill(root: Path) -> Path:
    for key, value in FILES.items():
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return root


def _zip(path: Path, method: int) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for key, value in FILES.items():
            archive.writestr(key, value)
    return path


def _check(store: Store) -> None:
    for key, value in FILES.items():
        assert bytes(store.get(key) or b"") == value
        assert store.get(key) is not None
        source = store.source(key)
        assert source is not None
        assert source.size() == len(value)
        assert bytes(source.read_all()) == value
    part = store.source("a/c/0/1")
    assert part is not None
    assert bytes(part.read([ByteRange(3, 4)])[0]) == bytes(range(3, 7))
    with pytest.raises(FetchFailed):
        part.read([ByteRange(199, 2)])
    for key in ("nothing", "a", "a/c", "a/c/0/2", "zarr.json/x"):
        assert store.get(key) is None
    assert store.source("a/c/0/9") is None
    with pytest.raises(FetchFailed):
        store.get("a/c/0/1", 199)


def _check_listing(store: Store) -> None:
    assert list(store.names("") or ()) == ["a", "empty", "zarr.json"]
    assert list(store.names("a") or ()) == ["c", "zarr.json"]
    assert list(store.names("a/c/0") or ()) == ["1"]
    assert list(store.names("b") or ()) == []


def test_directory(tmp_path: Path) -> None:
    store = DirectoryStore(_fill(tmp_path / "s"))
    _check(store)
    _check_listing(store)


def test_memory_and_mapping() -> None:
    for store in (MemoryStore(dict(FILES)), MappingStore(FILES)):
        _check(store)
        _check_listing(store)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_zip(tmp_path: Path, method: int) -> None:
    path = _zip(tmp_path / "s.zip", method)
    for source in (LocalSource(str(path)), MemorySource(path.read_bytes())):
        store = ZipStore(source)
        _check(store)
        _check_listing(store)


def test_zip_members_by_range_where_stored(tmp_path: Path) -> None:
    path = _zip(tmp_path / "s.zip", zipfile.ZIP_STORED)
    with serve({"/s.zip": path.read_bytes()}) as web:
        store = open_as_store(web.url + "/s.zip")
        assert isinstance(store, ZipStore)
        web.requests.clear()
        assert bytes(store.get("a/c/0/1") or b"") == bytes(range(200))
        assert len(web.gets) == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_neighbouring_chunks_in_a_remote_zip_cost_one_request(tmp_path: Path, method: int) -> None:
    memory = MemoryStore()
    made = create_array(memory, "", array_meta((40, 50), "i4", chunks=(1, 50)))
    made[...] = np.arange(2000).reshape(40, 50)
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        for key in ("zarr.json", *(f"c/{i}/0" for i in range(40))):
            archive.writestr(key, bytes(memory.get(key) or b""))
    with serve({"/s.zip": path.read_bytes()}) as web:
        array = open_store(web.url + "/s.zip")
        assert isinstance(array, Array)
        web.requests.clear()
        np.testing.assert_array_equal(array[...], made[...])
        assert len(web.gets) == 1


def test_zip_bad_checksum_and_truncation(tmp_path: Path) -> None:
    data = _zip(tmp_path / "s.zip", zipfile.ZIP_STORED).read_bytes()
    at = data.index(bytes(range(50, 60)))
    with pytest.raises(CorruptFile, match="checksum"):
        ZipStore(MemorySource(data[:at] + b"\xff" + data[at + 1 :])).get("a/c/0/1")
    with pytest.raises(CorruptFile, match="directory"):
        ZipStore(MemorySource(data[:-30]))
    with pytest.raises(CorruptFile):
        ZipStore(MemorySource(b"not a zip"))


def test_zip_bomb_is_stopped_at_the_size_that_the_directory_claims(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c", bytes(50 << 20))
    data = bytearray(path.read_bytes())
    size = (50 << 20).to_bytes(4, "little")
    where = data.rindex(size)
    data[where : where + 4] = (100).to_bytes(4, "little")
    with pytest.raises(CorruptFile):
        ZipStore(MemorySource(bytes(data))).get("c")


def test_zip_with_hostile_names_reaches_only_what_is_inside(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil", b"x")
        archive.writestr("/abs", b"x")
        archive.writestr("ok", b"fine")
    store = ZipStore(LocalSource(str(path)))
    assert list(store.names("")) == ["ok"]
    assert store.get("ok") is not None
    assert not (tmp_path.parent / "evil").exists()


def test_web_server_without_listing(tmp_path: Path) -> None:
    with serve({"/s/" + k: v for k, v in FILES.items()}, broken=frozenset({"/s/secret"})) as web:
        store = RemoteStore(web.url + "/s")
        _check(store)
        assert store.names("") is None
        with pytest.raises(FetchFailed):
            store.get("secret")  # refused is not missing
    with pytest.raises(FetchFailed):
        RemoteStore("http://127.0.0.1:9/s").get("a/zarr.json")  # neither is a dead server


def test_fsspec_memory_store_lists_and_writes() -> None:
    store = RemoteStore("memory://byteatlas-test-store", writable=True)
    for key, value in FILES.items():
        store.set(key, value)
    _check_listing(store)
    assert bytes(store.get("a/c/0/1") or b"") == bytes(range(200))
    store.delete("empty")
    store.delete("empty")
    assert store.get("empty") is None
    with pytest.raises(Forbidden):
        RemoteStore("memory://byteatlas-test-store").set("x", b"")


@pytest.mark.parametrize("key", ["../x", "a/../../x", "/etc/passwd", "a//b", "", ".", "a/.", "a\0b", "a\\..\\b"])
def test_keys_that_climb_out_are_refused(tmp_path: Path, key: str) -> None:
    for store in (DirectoryStore(_fill(tmp_path / "s"), writable=True), MemoryStore(dict(FILES))):
        with pytest.raises(BadRequest):
            store.get(key)
        with pytest.raises(BadRequest):
            store.set(key, b"")


def test_links_out_of_the_directory_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    root = _fill(tmp_path / "s")
    (root / "file").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "inside").symlink_to(root / "a" / "zarr.json")
    store = DirectoryStore(root)
    for key in ("file", "folder/secret"):
        with pytest.raises(Forbidden):
            store.get(key)
        with pytest.raises(Forbidden):
            store.source(key)
    assert store.get("inside") == b'{"x": 1}'
    assert DirectoryStore(root, links=True).get("file") == b"secret"


def test_setting_is_atomic_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DirectoryStore(tmp_path / "s", writable=True)
    store.set("a/b", b"one")
    assert store.get("a/b") == b"one"

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FetchFailed, match="No space left"):
        store.set("a/b", b"two")
    assert store.get("a/b") == b"one"
    assert [p.name for p in (tmp_path / "s" / "a").iterdir()] == ["b"]
    with pytest.raises(Forbidden):
        DirectoryStore(tmp_path / "s").set("a/b", b"")


def test_what_can_be_opened(tmp_path: Path) -> None:
    assert isinstance(open_as_store(_fill(tmp_path / "s")), DirectoryStore)
    assert isinstance(open_as_store(FILES), MappingStore)
    assert isinstance(open_as_store(_zip(tmp_path / "s.zip", 0)), ZipStore)
    with pytest.raises(NotFound):
        open_as_store(str(tmp_path / "nothing"))
    with pytest.raises(BadRequest):
        open_as_store(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["..", "a/..", "a/zarr.json", "a/...", "a/./b", "a\\b"])
def test_illegal_node_names(path: str) -> None:
    with pytest.raises(NotFound):
        check_path(path)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_members_that_begin_with_two_underscores(tmp_path: Path, zarr_format: Literal[2, 3]) -> None:
    """xarray names unnamed arrays so. They are listed, read, copied and part of a model."""
    name, values = "__xarray_dataarray_variable__", np.arange(6)
    meta = ba.array_meta((6,), values.dtype, zarr_format=zarr_format)
    source, target = tmp_path / "a.zarr", tmp_path / "b.zarr"
    ba.create_array(source, f"g/__index/{name}", meta)[...] = values
    assert check_path(f"/__index/{name}") == f"__index/{name}"
    ba.copy(source, target)
    for place in (source, target):
        root = ba.open(place)
        assert isinstance(root, ba.Group)
        assert [path for path, _ in root.walk()] == ["g", "g/__index", f"g/__index/{name}"]
        np.testing.assert_array_equal(np.asarray(root[f"g/__index/{name}"]), values)
    assert f"g/__index/{name}" in zom.from_model(ba.to_model(source))


def test_documents() -> None:
    assert load_json(b'\xef\xbb\xbf{"a": NaN}', "x")["a"] != 0
    for data in (b"\xff", b"{", b"[" * 100_000, b"1" * 5000, b'{"a":' * 70 + b"1" + b"}" * 70):
        with pytest.raises(InvalidMetadata):
            load_json(data, "x")
    with pytest.raises(InvalidMetadata):
        load_object(b"[1]", "x")


def test_unsupported_is_told_from_missing(tmp_path: Path) -> None:
    path = tmp_path / "s.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", b"x" * 100)
    store = ZipStore(LocalSource(str(path)))
    with pytest.raises(Unsupported):
        store.get("a")
    assert store.get("b") is None


def test_the_root_is_read_and_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(data: Buffer, where: str) -> dict[str, JSON]:
        parsed.append(where)
        return load_object(data, where)

    monkeypatch.setattr(nodes, "load_object", counted)
    store = DirectoryStore(_fill(tmp_path))
    (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}}')
    hierarchy = nodes.Nodes(store)
    for number in (1, 2):  # whoever looks again later looks at what is there then
        found = hierarchy.read("")
        assert isinstance(found, GroupMeta)
        assert found.attributes == {"a": number}
        (tmp_path / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {"a": 2}}')
        assert parsed == [f"{store.url}/zarr.json"] * number
