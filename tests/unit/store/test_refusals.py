"""What stores refuse: files that shrink, links, ZIP archives that lie, storage that cannot do what is asked."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import fsspec
import pytest
from tests.unit.codecs.refusals.tables import fault

from byteatlas.errors import (
    BadRequest,
    Conflict,
    CorruptFile,
    FetchFailed,
    Forbidden,
    InvalidMetadata,
    NotFound,
    Unsupported,
)
from byteatlas.io.sources.memory import MemorySource
from byteatlas.store import erase, write
from byteatlas.store import zip as zips
from byteatlas.store.directory import DirectoryStore, _read_all
from byteatlas.store.memory import MappingStore, MemoryStore
from byteatlas.store.nodes import Nodes
from byteatlas.store.remote import RemoteStore
from byteatlas.store.zip import ZipStore

GROUP = b'{"zarr_format": 3, "node_type": "group"}'


# ------------------------------------------------------------------------------------------------------ folders


def test_files_that_shrink_while_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "chunk"
    path.write_bytes(bytes(10))

    def memory(size: int) -> memoryview:
        path.write_bytes(bytes(4))
        return memoryview(bytearray(size))

    fd = os.open(path, os.O_RDONLY)
    try:
        with fault(FetchFailed, str(path), "only 4 of 10 bytes are there"):
            _read_all(fd, str(path), memory, None)
    finally:
        os.close(fd)
    path.write_bytes(bytes(10))
    with fault(FetchFailed, "only 4 of 10 bytes are there"):
        DirectoryStore(tmp_path).get_into("chunk", memory)


def test_storage_that_fails_is_not_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x").write_bytes(b"1")
    store = DirectoryStore(tmp_path, writable=True)

    def failing(*given: Any, **options: Any) -> Any:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", failing)
        asks: list[Callable[[], Any]] = [
            partial(store.get, "a/x"),
            partial(store.get_many, ["a/x"]),
            partial(store.source, "a/x"),
        ]
        for ask in asks:
            with fault(FetchFailed, "Input/output error"):
                ask()
    with monkeypatch.context() as patch:
        patch.setattr(os, "readv", failing)
        with fault(FetchFailed, "a/x", "Input/output error"):
            store.get("a/x")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", failing)
        with fault(FetchFailed, "Input/output error"):
            store.names("a")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", failing)
        with fault(FetchFailed, "a/y: cannot be written: Input/output error"):
            store.set("a/y", b"1")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["x"]
    assert store.get("a") is None


def test_links_do_not_lead_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"secret")
    root = tmp_path / "store"
    root.mkdir()
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "x")
    store = DirectoryStore(root)
    for key in ("link/x", "file"):
        asks: list[Callable[[], Any]] = [
            partial(store.get, key),
            partial(store.source, key),
            partial(store.get_many, [key]),
        ]
        for ask in asks:
            with fault(Forbidden, "a link that leads out of the store, to ", str(outside)):
                ask()


def test_stores_that_do_not_change(tmp_path: Path) -> None:
    for store in (DirectoryStore(tmp_path), MappingStore({})):
        with pytest.raises(Forbidden, match="the store was opened for reading"):
            store.set("a", b"")
        with pytest.raises(Forbidden, match="the store was opened for reading"):
            store.delete("a")
    frozen = MappingStore(MappingProxyType({"a": b"1"}), writable=True)
    changes: list[Callable[[], Any]] = [partial(frozen.set, "a", b""), partial(frozen.delete, "a")]
    for change in changes:
        with fault(Forbidden, "a mappingproxy cannot change"):
            change()


# ------------------------------------------------------------------------------------------------------ nodes


class Unlisted(MemoryStore):
    """A store that cannot say what is in it."""

    __slots__ = ()

    def names(self, prefix: str) -> Any:
        return None


def test_stores_that_cannot_be_listed() -> None:
    store = Unlisted({"zarr.json": GROUP})
    with fault(Unsupported, "cannot be listed and has no consolidated metadata", "[listing]"):
        Nodes(store).children("")
    with fault(Unsupported, "a: ", "cannot be listed: what is there cannot be removed", "[listing]"):
        list(erase._walk(store, "a", 0))


def test_folders_in_each_other_are_bounded() -> None:
    store = MemoryStore({"/".join("a" * (erase.MOST_DEPTH + 3)): b""})
    with fault(Unsupported, "[listing]"):
        list(erase._walk(store, "", 0))


def test_nodes_that_are_not_there() -> None:
    with fault(NotFound, "b"):
        Nodes(MemoryStore({"zarr.json": GROUP})).read("b")
    consolidated = GROUP[:-1] + b', "consolidated_metadata": {"metadata": {"a": 5}}}'
    with pytest.raises(InvalidMetadata):
        Nodes(MemoryStore({"zarr.json": consolidated})).read("a")
    old = b'{"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, "a/.zarray": 5}}'
    with fault(InvalidMetadata, "a/.zarray: consolidated metadata holds no object for this node"):
        Nodes(MemoryStore({".zmetadata": old, ".zgroup": b'{"zarr_format": 2}'})).read("a")


# ------------------------------------------------------------------------------------------------------ archives


def archive(method: int = zipfile.ZIP_STORED, **members: bytes) -> bytearray:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as out:
        for name, data in (members or {"a": b"0123456789"}).items():
            out.writestr(name, data)
    return bytearray(buffer.getvalue())


def directory(data: bytearray) -> int:
    """Where the first entry of the central directory begins (APPNOTE 4.3.12)."""
    return data.index(b"PK\1\2")


def put(form: str, place: int, value: int) -> Callable[[bytearray], None]:
    """Change a field of the first entry."""
    return lambda data: struct.pack_into(form, data, directory(data) + place, value)


def at(place: int, value: bytes) -> Callable[[bytearray], None]:
    def change(data: bytearray) -> None:
        data[place : place + len(value)] = value

    return change


LIES: list[tuple[int, Callable[[bytearray], None], type[Exception], str]] = [
    (zipfile.ZIP_STORED, at(0, b"PK\5\6"), CorruptFile, "has no local header"),
    (zipfile.ZIP_STORED, put("<I", 16, 1), CorruptFile, "member 'a' has a wrong length or checksum"),
    (zipfile.ZIP_STORED, put("<I", 24, 9), CorruptFile, "member 'a' has a wrong length or checksum"),
    (zipfile.ZIP_STORED, put("<I", 20, 4000), CorruptFile, "a member runs past the end of the file"),
    (zipfile.ZIP_STORED, put("<I", 42, 4000), CorruptFile, "beyond the end of the file"),
    (zipfile.ZIP_STORED, put("<H", 8, 1), Unsupported, "an encrypted ZIP member [compression]"),
    (zipfile.ZIP_STORED, put("<H", 10, 12), Unsupported, "ZIP compression method 12 [compression]"),
    (zipfile.ZIP_STORED, put("<H", 10, 8), CorruptFile, "does not inflate: "),
    (zipfile.ZIP_DEFLATED, put("<I", 24, 9), CorruptFile, "member 'a' has a wrong length or checksum"),
    (zipfile.ZIP_DEFLATED, put("<I", 20, 3), CorruptFile, "member 'a' has a wrong length or checksum"),
]


@pytest.mark.parametrize(("method", "change", "kind", "words"), LIES, ids=[words for *_, words in LIES])
def test_archives_that_lie(method: int, change: Callable[[bytearray], None], kind: Any, words: str) -> None:
    data = archive(method)
    assert bytes(ZipStore(MemorySource(bytes(data))).get("a") or b"") == b"0123456789"
    change(data)
    with fault(kind, words):
        ZipStore(MemorySource(bytes(data), "http://host/a.zip")).get("a")


def test_members_as_sources() -> None:
    data = archive()
    store = ZipStore(MemorySource(bytes(data)))
    found = store.source("a")
    assert found is not None
    assert bytes(found.read_all()) == b"0123456789"
    assert store.source("b") is None
    for change, words in ((put("<I", 42, 4000), "beyond the end of the file"), (at(0, b"XXXX"), "has no local header")):
        broken = bytearray(data)
        change(broken)
        with fault(CorruptFile, words):
            ZipStore(MemorySource(bytes(broken))).source("a")


def test_headers_that_are_longer_than_they_should_be() -> None:
    """What a writer put between header and member is passed over, however long."""
    info = zipfile.ZipInfo("a")
    info.extra = b"\xff\xff" + (60_000).to_bytes(2, "little") + bytes(60_000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr(info, b"0123456789")
    data = bytearray(buffer.getvalue())
    assert bytes(ZipStore(MemorySource(bytes(data))).get("a") or b"") == b"0123456789"
    assert zips.SLACK < 60_000


# ------------------------------------------------------------------------------------------------------ remote storage


class Failing:
    """A file system of fsspec's that cannot do what is asked."""

    protocol = ("memory",)

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        def fail(*given: Any, **options: Any) -> Any:
            raise self.error

        return fail


def remote(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> RemoteStore:
    fsspec.filesystem("memory")
    store = RemoteStore("memory://teeth", writable=True)
    monkeypatch.setattr(RemoteStore, "_fs", property(lambda self: Failing(error)))
    return store


def test_storage_that_has_not_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote(monkeypatch, NotImplementedError())
    assert store.names("a") is None
    with fault(Unsupported, "a: ", "cannot be listed", "[listing]"):
        store.keys_below("a")
    with fault(Forbidden, "memory storage cannot be written"):
        store.set("a", b"")
    with fault(Forbidden, "this storage cannot remove keys"):
        store.delete("a")


def test_storage_that_fails_far_away(monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote(monkeypatch, OSError(5, "Input/output error"))
    asks: list[Callable[[], Any]] = [
        partial(store.names, "a"),
        partial(store.keys_below, "a"),
        partial(store.set, "a", b""),
        partial(store.delete, "a"),
    ]
    for ask in asks:
        with fault(FetchFailed, "memory://teeth/a", "Input/output error"):
            ask()


def test_storage_that_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    store = remote(monkeypatch, FileNotFoundError("a"))
    assert list(store.names("a") or ()) == []
    assert store.keys_below("a") == []
    store.delete("a")


def test_sources_that_fail_are_not_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __init__(self, absent: bool) -> None:
            self.absent = absent

        def size(self) -> int:
            raise FetchFailed("memory://teeth/a", "timed out", absent=self.absent)

    store = RemoteStore("memory://teeth")
    monkeypatch.setattr(RemoteStore, "unchecked", lambda self, key: Broken(key == "absent"))
    assert store.source("absent") is None
    with fault(FetchFailed, "timed out"):
        store.source("a")


# ------------------------------------------------------------------------------------------------------ targets


def test_targets_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass
    refused: list[tuple[Any, type[Exception], str]] = [
        (str(tmp_path / "file"), Conflict, "is a file"),
        (str(tmp_path / "a.zip"), Conflict, "exists already"),
        (ZipStore(MemorySource(bytes(archive()))), Forbidden, "a store that cannot be written to"),
        (5, BadRequest, "int is no path, URL, mapping or store"),
    ]
    for target, kind, words in refused:
        with pytest.raises(kind, match=words), write.writable(target):
            pass


def test_archives_that_cannot_be_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_bytes(b"x")

    def too_large(*given: Any) -> None:
        raise zipfile.LargeZipFile("Filesize would require ZIP64 extensions")

    monkeypatch.setattr(write, "_add", too_large)
    with fault(FetchFailed, "out.zip: cannot be written: Filesize would require ZIP64"):
        write.pack(folder, str(tmp_path / "out.zip"))
    assert not (tmp_path / "out.zip").exists()


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with fault(FetchFailed, "cannot be written: "):
        write.staging_of(tmp_path / "file/below/out.zip")


class Paged(MemoryStore):
    """A web server that answers a folder with a page of its own."""

    __slots__ = ()
    page: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        return False

    def names(self, prefix: str) -> Any:
        return self.page


@pytest.mark.parametrize("page", [(), ("login",)])
def test_a_page_that_is_no_listing(page: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Paged, "page", page)
    with fault(Unsupported, "the answer names nothing of the group", "[listing]"):
        Nodes(Paged({"zarr.json": GROUP})).children("")
    monkeypatch.setattr(Paged, "page", ("zarr.json",))
    assert Nodes(Paged({"zarr.json": GROUP})).children("") == {}
