"""Copies into every kind of storage that can be written to: what they read as, stops, refusals."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import fsspec
import h5py
import numpy as np
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

import byteatlas as ba
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array, create_group
from byteatlas.cli.app import run
from byteatlas.errors import Conflict, FetchFailed, Forbidden, NotFound
from byteatlas.progress import Progress
from byteatlas.store import write as store_write
from byteatlas.store.base import UNFINISHED
from byteatlas.store.memory import MemoryStore
from byteatlas.store.remote import RemoteStore
from byteatlas.types import Buffer

VALUES = np.arange(60 * 48, dtype="f4").reshape(60, 48)
MORE = np.arange(7, dtype="i8")
SMALL = ba.CopyOptions(chunks={"a": (16, 16)}, memory=16 * 16 * 4)


def source() -> ba.Group:
    store = MemoryStore()
    create_group(store, "", attributes={"title": "t"})
    create_array(store, "a", array_meta(VALUES.shape, "f4", chunks=(20, 48)))[...] = VALUES
    create_array(store, "g/b", array_meta(MORE.shape, "i8"))[...] = MORE
    opened = ba.open(store)
    assert isinstance(opened, ba.Group)
    return opened


def check(target: Any) -> None:
    made = ba.open(target)
    assert isinstance(made, ba.Group)
    assert made.attrs == {"title": "t"}
    np.testing.assert_array_equal(made["a"][...], VALUES)
    np.testing.assert_array_equal(made["g/b"][...], MORE)
    assert sorted(path for path, _ in made.walk()) == ["a", "g", "g/b"]


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://byteatlas-copy/x.zarr"
    system = fsspec.filesystem("memory")
    if system.exists("/byteatlas-copy"):
        system.rm("/byteatlas-copy", recursive=True)


def test_into_a_url(memory: str) -> None:
    report = ba.copy(source(), memory, options=SMALL)
    assert (report.arrays, report.nbytes) == (2, VALUES.nbytes + MORE.nbytes)
    check(memory)
    system = fsspec.filesystem("memory")
    files = [path for path in system.find("/byteatlas-copy") if UNFINISHED not in path]
    assert 0 < sum(system.size(path) for path in files) < report.written
    assert not any(UNFINISHED in path for path in system.find("/byteatlas-copy"))
    with pytest.raises(Conflict, match="already"):
        ba.copy(source(), memory)


def test_into_a_mapping_and_a_folder(tmp_path: Path) -> None:
    mapping: dict[str, Buffer] = {}
    ba.copy(source(), mapping)
    check(mapping)
    ba.copy(source(), tmp_path / "o.zarr")
    check(tmp_path / "o.zarr")
    ba.copy(source(), tmp_path / "b.zarr", path="g/b")
    alone = ba.open(tmp_path / "b.zarr")
    assert isinstance(alone, ba.Array)
    np.testing.assert_array_equal(alone[...], MORE)


def check_unfinished(target: str) -> None:
    """What can be opened of a copy that broke off is whole: chunks that are still to come are no fill values."""
    said = []
    for whole in (check, lambda url: np.testing.assert_array_equal(ba.open_array(url, path="a")[...], VALUES)):
        try:
            whole(target)
        except NotFound as error:
            said.append(str(error))
    assert all("unfinished copy" in text for text in said)


class _Stops(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Storage whose writes fail after a while; it cannot be listed."""

    protocol = "memory"
    left = 10**9
    chunks = 0

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> Any:
        type(self).left -= 1
        type(self).chunks += "/c/" in path
        if type(self).left < 0:
            raise OSError("the line is dead")
        return super().pipe_file(path, value, mode, **kwargs)

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch, memory: str) -> type[_Stops]:
    from fsspec.registry import _registry

    monkeypatch.setitem(_registry, "memory", _Stops)
    monkeypatch.setattr(_Stops, "left", 10**9)
    monkeypatch.setattr(_Stops, "chunks", 0)
    return _Stops


def test_a_stopped_copy_goes_on_where_nothing_can_be_listed(stopping: type[_Stops], memory: str) -> None:
    ba.copy(source(), memory, options=SMALL)
    writes, chunks = 10**9 - stopping.left, stopping.chunks
    fsspec.filesystem("memory").store.clear()
    for stop in range(1, writes, 5):
        stopping.left, stopping.chunks = stop, 0
        with pytest.raises(FetchFailed, match="dead"):
            ba.copy(source(), memory, options=SMALL)
        stopping.left = 10**9
        check_unfinished(memory)
        ba.copy(source(), memory, options=SMALL)
        assert stopping.chunks <= chunks + 1  # what was done is not done again
        check(memory)
        fsspec.filesystem("memory").store.clear()


def test_files_appear_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = DirFileSystem(path=str(tmp_path), fs=LocalFileSystem())
    seen: list[str] = []
    move = DirFileSystem.mv

    def mv(self: Any, one: str, two: str, **kwargs: Any) -> Any:
        seen.append(one)
        return move(self, one, two, **kwargs)

    monkeypatch.setattr(DirFileSystem, "mv", mv)
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url, **_: (system, "z"))
    store = RemoteStore("dir://z", writable=True)
    store.set("a/b", b"one")
    store.set("a/b", b"two")
    assert store.get("a/b") == b"two"
    assert len(seen) == 2
    assert store.names("a") == ["b"]
    (tmp_path / "z" / "a" / Path(seen[0]).name).write_bytes(b"left over from a crash")
    assert store.names("a") == ["b"]
    store.delete("a/b")
    store.delete("a/b")
    assert store.get("a/b") is None


def test_into_a_zip(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    target = tmp_path / "o.zarr.zip"
    ba.copy(source(), target, options=SMALL)
    check(target)
    assert [p.name for p in tmp_path.iterdir()] == ["o.zarr.zip"]
    with zipfile.ZipFile(target) as archive:
        assert archive.testzip() is None
        assert not [n for n in archive.namelist() if n.startswith(".byteatlas")]
    group = zarr.open_group(zarr.storage.ZipStore(target, mode="r"), mode="r")
    np.testing.assert_array_equal(group["a"][...], VALUES)
    with pytest.raises(Conflict, match="exists"):
        ba.copy(source(), target)
    again = tmp_path / "again.zip"
    ba.copy(source(), again, options=SMALL)
    assert again.read_bytes() == target.read_bytes()


def test_a_stopped_zip_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "o.zip"

    def stop(event: Progress) -> None:
        if event.name == "g/b":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ba.copy(source(), target, options=SMALL, progress=stop)
    assert not target.exists()
    whole = store_write.pack
    with monkeypatch.context() as patch:
        patch.setattr(store_write, "_add", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(FetchFailed, match="No space"):
            ba.copy(source(), target, options=SMALL)
    assert not target.exists()
    assert store_write.pack is whole
    report = ba.copy(source(), target, options=SMALL)
    assert report.written < VALUES.nbytes
    check(target)
    assert [p.name for p in tmp_path.iterdir()] == ["o.zip"]


def test_a_zip_behind_a_url(memory: str) -> None:
    target = memory.replace("x.zarr", "x.zip")
    ba.copy(source(), target)
    check(target)
    assert fsspec.filesystem("memory").find("/byteatlas-copy") == ["/byteatlas-copy/x.zip"]


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_text_without_axes(zarr_format: Literal[2, 3], tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["title"] = "hello"
        file["words"] = ["a", "bb"]
        file["bare"] = np.float32(3)
    ba.copy(tmp_path / "a.h5", tmp_path / "a.zarr", options=ba.CopyOptions(zarr_format=zarr_format))
    copied: Any = ba.open(tmp_path / "a.zarr")
    assert copied["title"][()] == "hello"
    assert copied["words"][...].tolist() == ["a", "bb"]
    assert (copied["bare"][()], copied["bare"].dims) == (3, ())


def test_arrays_without_axes_have_no_names() -> None:
    store = MemoryStore()
    create_array(store, "a", array_meta((), "f4"))
    opened: Any = ba.open(store)
    assert opened["a"].dims == ()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(Forbidden, match="web servers are read only"):
        ba.copy(source(), "http://127.0.0.1:9/x.zarr")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(Conflict, match="is a file"):
        ba.copy(source(), tmp_path / "file")
    with pytest.raises(ba.BadRequest):
        ba.copy(source(), 3)  # type: ignore[arg-type]
    with pytest.raises(Forbidden):
        RemoteStore("memory://x").set("a", b"")


def test_the_command(memory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ba.copy(source(), tmp_path / "in.zarr")
    for target in (memory, str(tmp_path / "out.zip")):
        assert run(["copy", str(tmp_path / "in.zarr"), target, "--chunks", "a=30,48", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["arrays"] == 2
        assert found["nbytes"] == VALUES.nbytes + MORE.nbytes
        check(target)
    assert run(["copy", str(tmp_path / "in.zarr"), "http://127.0.0.1:9/x.zarr"]) == 4
    assert "read only" in capsys.readouterr().err


class Stop(Exception):
    """Stops a copy."""


def stopped_after(bytes_copied: int) -> Any:
    def stop(event: Progress) -> None:
        if event.done >= bytes_copied:
            raise Stop

    return stop


@pytest.mark.parametrize("name", ["o.zarr", "o.zip"])
def test_a_half_copy_of_another_source_is_not_taken_up(tmp_path: Path, name: str) -> None:
    h5py = pytest.importorskip("h5py")
    for i, letter in enumerate("ab"):
        with h5py.File(tmp_path / f"{letter}.h5", "w") as f:
            f.create_dataset("x", data=np.arange(1000.0) + 1000 * i, chunks=(100,))
    options = ba.CopyOptions(memory=800)
    with pytest.raises(Stop):
        ba.copy(tmp_path / "a.h5", tmp_path / name, options=options, progress=stopped_after(3200))
    with pytest.raises(Conflict, match="another source"):
        ba.copy(tmp_path / "b.h5", tmp_path / name, options=options)
    ba.write(ba.scan(tmp_path / "a.h5"), tmp_path / "a.json")
    ba.copy(tmp_path / "a.json", tmp_path / name, options=options)  # the same bytes under another name
    made: Any = ba.open(tmp_path / name)
    np.testing.assert_array_equal(made["x"][...], np.arange(1000.0))


def test_a_half_copy_of_other_values_is_not_taken_up(tmp_path: Path) -> None:
    stores = [MemoryStore(), MemoryStore()]  # which have one name
    for i, store in enumerate(stores):
        create_group(store)
        create_array(store, "x", array_meta((100,), "f8", chunks=(10,)))[...] = np.arange(100.0) + i
    options = ba.CopyOptions(memory=80)
    with pytest.raises(Stop):
        ba.copy(stores[0], tmp_path / "o.zarr", options=options, progress=stopped_after(400))
    with pytest.raises(Conflict, match="other values"):
        ba.copy(stores[1], tmp_path / "o.zarr", options=options)


def test_nothing_is_copied_among_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_bytes(b"data")
    with pytest.raises(Conflict, match=r"a\.nc"):
        ba.copy(source(), tmp_path)
    with pytest.raises(Conflict, match="mine"):
        ba.copy(source(), {"mine": b"data"})
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]


@pytest.mark.parametrize("what", ["chunks", "shards"])
def test_shapes_for_nobody(tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]) -> None:
    for choice, message in (
        ({"aa": (16, 16)}, "no array 'aa'; did you mean 'a'"),
        ((4, 4, 4), "no array has 3 axes"),
        ({"g": (4,)}, "no array 'g'"),
    ):
        with pytest.raises(ba.ByteatlasError, match=message):
            ba.copy(source(), tmp_path / "o.zarr", options=ba.CopyOptions(**{what: choice}))  # type: ignore[arg-type]
    ba.copy(source(), tmp_path / "in.zarr")
    assert run(["copy", str(tmp_path / "in.zarr"), str(tmp_path / "o.zarr"), f"--{what}", "b=4"]) == 4
    assert "g/b" in capsys.readouterr().err
    assert not (tmp_path / "o.zarr").exists()
    ba.copy(source(), tmp_path / "o.zarr", options=ba.CopyOptions(**{what: {"/g/b": (7,)}}))  # type: ignore[arg-type]


def test_old_attributes_do_not_come_back(tmp_path: Path) -> None:
    made = array_meta((3,), "i4", zarr_format=2)
    for path in ("", "x", "g"):
        (tmp_path / path).mkdir(exist_ok=True)
        (tmp_path / path / ".zattrs").write_text('{"old": 1}')
    ba.create_group(tmp_path, zarr_format=2)
    ba.create_group(tmp_path, "g", zarr_format=2)
    ba.create_array(tmp_path, "x", made)
    opened: Any = ba.open(tmp_path)
    assert [dict(n.attrs) for n in (opened, opened["g"], opened["x"])] == [{}, {}, {}]


def test_staging_folders_are_private(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in (".o.zip.staging", ".o.zip.000000000000.staging"):
        (tmp_path / name).symlink_to(elsewhere)
    open_to_all = tmp_path / ".o.zip.111111111111.staging"
    open_to_all.mkdir(0o777)
    open_to_all.chmod(0o777)
    seen: list[Path] = []

    def look(event: Progress) -> None:
        new = [p for p in tmp_path.iterdir() if p.is_dir() and not p.is_symlink() and p not in (elsewhere, open_to_all)]
        seen.extend(p for p in new if p.stat().st_mode & 0o777 == 0o700)

    ba.copy(source(), tmp_path / "o.zip", progress=look)
    check(tmp_path / "o.zip")
    assert seen
    assert not list(elsewhere.iterdir())
    assert not list(open_to_all.iterdir())


@pytest.mark.parametrize("name", ["a.parquet", "map"])
def test_no_store_is_made_of_a_map(tmp_path: Path, name: str) -> None:
    """A Parquet map is a folder, and its documents have the names of a store's."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["a"] = VALUES
    target = tmp_path / name
    ba.write(ba.scan(tmp_path / "a.h5"), target, format="parquet")
    before = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    (tmp_path / "link").symlink_to(target)
    acts: list[Callable[[Any], object]] = [
        lambda t: ba.create_array(t, "new", ba.array_meta((2,), "f4")),
        lambda t: ba.create_array(t, "new", ba.array_meta((2,), "f4", zarr_format=2)),
        lambda t: ba.create_group(t, "g"),
        lambda t: ba.open_writable(t, "a"),
        lambda t: ba.from_model(ba.to_model(tmp_path / "a.h5"), t, path="sub"),
        lambda t: ba.from_model(ba.to_model(tmp_path / "a.h5"), t, overwrite=True),
        lambda t: ba.copy(tmp_path / "a.h5", t),
    ]
    for act in acts:
        for spelling in (str(target), f"{target}/", target.as_uri(), tmp_path / "link"):
            with pytest.raises(Conflict, match="is a reference map"):
                act(spelling)
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == before
