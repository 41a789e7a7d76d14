"""Reads that fall short, locks and targets that fail, and places that cannot be listed: each by class and words."""

from __future__ import annotations

import errno
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
from tests.http_server import serve

from byteatlas.errors import Conflict, FetchFailed, MissingExtra
from byteatlas.io import kind as kinds
from byteatlas.io import local, locks, output
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.globbing import expanded
from byteatlas.io.kind import holds_store, kind_of
from byteatlas.io.local import LocalSource, status
from byteatlas.io.locks import locked
from byteatlas.io.output import new_file, new_folder
from byteatlas.io.source import SourceRecord
from byteatlas.io.sources.answers import check_whole
from byteatlas.io.sources.filesystem import file_system
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.open_file import FileSource
from byteatlas.io.sources.parts import Columns, JoinedSource
from byteatlas.io.sources.remote import FsspecSource
from byteatlas.io.storage_options import StorageOptions
from byteatlas.types import ByteRange

DATA = bytes(range(100))


@pytest.fixture
def source(tmp_path: Path) -> LocalSource:
    (tmp_path / "a.bin").write_bytes(DATA)
    return LocalSource(str(tmp_path / "a.bin"))


def short(fd: int, length: int, offset: int) -> bytes:
    """What the system reads of a file that was cut to 10 bytes."""
    return DATA[offset : min(offset + length, 10)]


def test_a_local_file_that_was_cut(source: LocalSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", short)
    assert source.read([ByteRange(2, 8)]) == [DATA[2:10]]
    with pytest.raises(FetchFailed, match="only 8 bytes are there") as refused:
        source.read([ByteRange(2, 9)])
    assert refused.value.range == ByteRange(2, 9)


def test_a_local_file_that_comes_in_pieces(source: LocalSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pread", lambda fd, length, offset: DATA[offset : offset + min(length, 3)])
    assert source.read([ByteRange(2, 10)]) == [DATA[2:12]]


def test_a_buffer_that_is_not_filled(source: LocalSource, monkeypatch: pytest.MonkeyPatch) -> None:
    def preadv(fd: int, buffers: Any, offset: int) -> int:
        data = short(fd, min(3, len(buffers[0])), offset)
        buffers[0][: len(data)] = data
        return len(data)

    monkeypatch.setattr(os, "preadv", preadv)
    out = bytearray(8)
    source.read_into(2, memoryview(out))
    assert bytes(out) == DATA[2:10]
    with pytest.raises(FetchFailed, match="only 8 bytes are there") as refused:
        source.read_into(2, memoryview(bytearray(9)))
    assert refused.value.range == ByteRange(2, 9)
    for begin, length in ((-1, 2), (99, 2)):
        with pytest.raises(FetchFailed, match="the file has only 100 bytes"):
            source.read_into(begin, memoryview(bytearray(length)))


@pytest.mark.parametrize("where", [ByteRange(0, 1), ByteRange(0, 1 << 30)])
def test_a_folder_is_no_file(tmp_path: Path, where: ByteRange) -> None:
    folder = LocalSource(str(tmp_path))
    folder._size = 1 << 31
    with pytest.raises(FetchFailed, match="is a directory"):
        folder.read([where])
    with pytest.raises(FetchFailed, match="is a directory"):
        folder.read_into(0, memoryview(bytearray(1)))


def test_what_is_no_local_path() -> None:
    with pytest.raises(FetchFailed, match="not a local path") as refused:
        LocalSource("s3://b/a")
    assert refused.value.url == "s3://b/a"


def test_names_that_the_system_does_not_take(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="null"):
        status(f"{tmp_path}/a\0b")
    (tmp_path / "file").touch()
    with pytest.raises(FetchFailed, match="Not a directory") as refused:
        status(f"{tmp_path}/file/a")
    assert refused.value.url == f"{tmp_path}/file/a"
    assert status(f"{tmp_path}/none") is None
    assert local.identity(f"{tmp_path}/file/a") is None


def test_a_lock_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def failing(fd: int, how: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", failing)
    with pytest.raises(FetchFailed, match="cannot be locked: Input/output error"), locked(str(tmp_path / "m.json")):
        pass
    with (
        pytest.raises(FetchFailed, match="cannot be locked: No such file"),
        locked(str(tmp_path / "none" / "m.json")),
    ):
        pass


def test_a_lock_that_others_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def held(fd: int, how: int) -> None:
        raise OSError(errno.EAGAIN, "held")

    monkeypatch.setattr(fcntl, "flock", held)
    with pytest.raises(Conflict, match="is being written by others, for more than 0 seconds"):
        locks._acquired(str(tmp_path / "lock"), "m.json", 0.0)


def failing(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("no")


def test_storage_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    system = type(fsspec.filesystem("memory"))
    with pytest.raises(FetchFailed, match="http://h/a: cannot be written"), new_file("http://h/a"):
        pass
    monkeypatch.setattr(system, "pipe_file", failing)
    with (
        pytest.raises(FetchFailed, match="memory://refused/f/a: cannot be written: this kind of storage is read only"),
        new_folder("memory://refused/f") as folder,
    ):
        folder.put("a", b"1")
    with pytest.raises(Conflict, match="mine"), new_folder("memory://refused/f"):
        raise Conflict(["mine"])


def test_a_remote_file_that_fails_is_not_there() -> None:
    def half() -> None:
        with new_file("memory://refused/half") as stream:
            stream.write(b"1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert not fsspec.filesystem("memory").exists("/refused/half")
    with new_file("memory://refused/whole") as stream:
        stream.write(b"1")
    assert fsspec.filesystem("memory").cat_file("/refused/whole") == b"1"


def test_a_folder_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an exchange of names by the system, the old folder comes back when the new one does not get its name."""
    target = tmp_path / "m.parquet"
    target.mkdir()
    (target / "old").write_bytes(b"1")
    monkeypatch.setattr(output, "_exchanged", lambda draft, target: False)
    rename = Path.rename

    def refusing(self: Path, to: Path) -> Path:
        if to == target and not (self / "old").exists():
            raise OSError(errno.EACCES, "Permission denied")
        return rename(self, to)

    monkeypatch.setattr(Path, "rename", refusing)
    with pytest.raises(FetchFailed, match="Permission denied"), new_folder(str(target)) as folder:
        folder.put("new", b"2")
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]
    assert (target / "old").read_bytes() == b"1"
    monkeypatch.setattr(Path, "rename", rename)
    with new_folder(str(target)) as folder:
        folder.put("new", b"2")
    assert [p.name for p in target.iterdir()] == ["new"]
    assert [p.name for p in tmp_path.iterdir()] == ["m.parquet"]


def test_names_that_cannot_be_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    system = type(fsspec.filesystem("memory"))
    monkeypatch.setattr(system, "glob", failing)
    with pytest.raises(FetchFailed, match="names cannot be listed there") as refused:
        expanded("memory://refused/*.nc")
    assert refused.value.url == "memory://refused/*.nc"

    def denied(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(system, "glob", denied)
    with pytest.raises(FetchFailed, match=r"memory://refused/\*\.nc") as refused:
        expanded("memory://refused/*.nc")
    assert refused.value.denied


def test_protocols_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(url: str, **_: Any) -> Any:
        raise ImportError("no adlfs")

    monkeypatch.setattr(fsspec.core, "url_to_fs", without)
    fsspec_only = StorageOptions({}, backend="fsspec")
    with pytest.raises(MissingExtra, match="opening abfs://c/a") as refused:
        file_system("abfs://c/a", fsspec_only)
    assert refused.value.extra == "azure"
    with pytest.raises(MissingExtra) as refused:
        file_system("s3://b/a", fsspec_only)
    assert refused.value.extra == "s3"


def test_whole_answers_have_a_bound() -> None:
    headers = {"Content-Length": "100"}
    assert check_whole("http://h/a", headers, SourceRecord(), 100) == 100
    with pytest.raises(FetchFailed, match="has 100 bytes, and the server gives no parts: too much to be read whole"):
        check_whole("http://h/a", headers, SourceRecord(), 99)


class Growing(io.BytesIO):
    """A file that is shorter than it says."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        found = super().seek(offset, whence)
        return 100 if whence == 2 else found


def test_open_files_that_fall_short() -> None:
    source = FileSource(Growing(DATA[:10]))
    assert source.size() == 100
    assert source.read([ByteRange(2, 8)]) == [DATA[2:10]]
    with pytest.raises(FetchFailed, match="only 8 bytes are there") as refused:
        source.read([ByteRange(2, 9)])
    assert refused.value.range == ByteRange(2, 9)
    for where in (ByteRange(-1, 1), ByteRange(0, -1), ByteRange(100, 1)):
        with pytest.raises(FetchFailed, match="the file has only 100 bytes"):
            source.read([where])
    file = io.BytesIO(DATA)
    closed = FileSource(file)
    file.close()
    with pytest.raises(FetchFailed, match="closed file"):
        closed.read([ByteRange(0, 1)])


def joined() -> JoinedSource:
    lengths = np.array([4, 6])
    columns = Columns(np.array([0, 1], np.int32), np.array([10, 50]), lengths, np.cumsum(lengths))
    return JoinedSource("joined", columns, lambda n: MemorySource(DATA, f"{n}"))


def test_parts_of_files_in_one() -> None:
    assert joined().size() == 10
    wanted = [ByteRange(0, 10), ByteRange(3, 2), ByteRange(4, 1), ByteRange(10, 0)]
    whole = DATA[10:14] + DATA[50:56]
    assert [bytes(d) for d in joined().read(wanted)] == [whole[r.offset : r.end] for r in wanted]
    for where in (ByteRange(-1, 1), ByteRange(0, -1), ByteRange(5, 6)):
        with pytest.raises(FetchFailed, match="only 10 bytes are there") as refused:
            joined().read([where])
        assert (refused.value.url, refused.value.range) == ("joined", where)


def test_storage_that_does_not_tell_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    system = type(fsspec.filesystem("memory"))
    fsspec.filesystem("memory").pipe_file("/refused/sized", DATA)
    monkeypatch.setattr(system, "info", lambda self, path, **_: {"name": path, "type": "file", "size": None})
    with pytest.raises(FetchFailed, match="the server does not say how large the file is"):
        DEFAULT.open("memory://refused/sized").size()


def test_what_comes_back_of_a_range() -> None:
    where = ByteRange(0, 2)
    source = FsspecSource("memory://refused/range")
    assert source._checked(where, b"12") == b"12"
    for data, transient in ((b"1", True), (b"123", False)):
        found = source._checked(where, data)
        assert isinstance(found, FetchFailed)
        assert f"{len(data)} bytes came back" in str(found)
        assert found.transient is transient
    assert isinstance(source._checked(where, FileNotFoundError("a")), FetchFailed)
    with pytest.raises(ZeroDivisionError):
        source._checked(where, ZeroDivisionError())


def test_kinds_of_zip_files() -> None:
    def zipped(*names: str) -> MemorySource:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name in names:
                archive.writestr(name, b"")
        return MemorySource(out.getvalue(), "a.zip")

    assert holds_store(zipped())
    assert holds_store(zipped("a.nc", "g/zarr.json"))
    assert not holds_store(zipped("a.nc", "zarr.json.nc"))
    assert holds_store(MemorySource(b"nothing", "a.zip"))

    class Failing(MemorySource):
        def read(self, ranges: Any) -> Any:
            raise FetchFailed("a.zip", "no answer")

    with pytest.raises(FetchFailed, match="no answer"):
        holds_store(Failing(zipped("a").read_all(), "a.zip"))


def test_kinds_of_folders(tmp_path: Path) -> None:
    def folder(name: str, **files: str) -> str:
        (tmp_path / name).mkdir()
        for inside, text in files.items():
            (tmp_path / name / f".{inside}").write_text(text)
        return str(tmp_path / name)

    assert kind_of(folder("plain"), DEFAULT) == "zarr"
    assert kind_of(folder("named.parq"), DEFAULT) == "parquet"
    assert kind_of(folder("consolidated", zmetadata='{"metadata": {}}'), DEFAULT) == "zarr"
    assert kind_of(folder("map", zmetadata='{"metadata": {}, "record_size": 1}'), DEFAULT) == "parquet"
    large = '{"metadata": {"a": "' + "x" * 3 * kinds._END + '"}, "record_size": 1}'
    assert kind_of(folder("large", zmetadata=large), DEFAULT) == "parquet"


def test_a_remote_folder_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def opened(self: Access, url: str) -> Any:
        asked.append(url)
        raise FetchFailed(url, "no answer", absent=len(asked) < 3)

    monkeypatch.setattr(Access, "open", opened)
    with pytest.raises(FetchFailed, match="no answer"):
        kind_of("memory://refused/name", DEFAULT)
    assert len(asked) == 3


def test_a_file_of_others_that_fails_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File systems that commit: nothing is left under the name, and the error stays what it was."""
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url, **_: (fsspec.filesystem("file"), str(tmp_path / "a")))

    def half() -> None:
        with new_file("s3://b/a", fsspec_only) as stream:
            stream.write(b"1")
            raise ZeroDivisionError

    fsspec_only = StorageOptions({}, backend="fsspec")
    with pytest.raises(ZeroDivisionError):
        half()
    assert list(tmp_path.iterdir()) == []
    with new_file("s3://b/a", fsspec_only) as stream:
        stream.write(b"12")
    assert (tmp_path / "a").read_bytes() == b"12"


def test_ranges_that_a_web_server_does_not_have() -> None:
    with serve({"/a.bin": DATA}) as web:
        source = DEFAULT.open(f"{web.url}/a.bin")
        assert [bytes(d) for d in source.read([ByteRange(2, 3), ByteRange(0, 0)])] == [DATA[2:5], b""]
        for where, why in (
            (ByteRange(-1, 2), "negative"),
            (ByteRange(0, -1), "negative"),
            (ByteRange(99, 2), "only 100 bytes"),
        ):
            with pytest.raises(FetchFailed, match=why) as refused:
                source.read([where])
            assert refused.value.range == where
        assert source.read([]) == []
