"""What answers of web servers say of a file's bytes, when credentials end, and which open files stand for a place."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.credentials.asking import _until
from byteatlas.io.sources.answers import check_part
from byteatlas.io.sources.open_file import FileSource, source_of
from byteatlas.manifest.model import SourceInfo
from byteatlas.manifest.ops.sources import _moved_to
from byteatlas.types import ByteRange

WHERE = ByteRange(10, 10)


@pytest.mark.parametrize(("said", "size"), [("bytes 10-19/20", 20), ("bytes 10-19/*", None), ("Bytes 10-19/500", 500)])
def test_parts_that_were_asked_for(said: str, size: int | None) -> None:
    assert check_part("u", {"Content-Range": said}, WHERE).size == size


@pytest.mark.parametrize(
    ("said", "why", "transient"),
    [
        ("bytes 10-14/15", "the file has only 15 bytes", False),
        ("bytes 10-14/20", "the server answered with bytes 10 to 14", True),
        ("bytes 10-15/15", "the server answered with bytes 10 to 15", True),
        ("bytes 10-14/*", "the server answered with bytes 10 to 14", True),
        ("bytes 9-14/15", "the server answered with bytes 9 to 14", True),
        ("bytes 11-19/20", "the server answered with bytes 11 to 19", True),
        ("bytes 10-20/21", "the server answered with bytes 10 to 20", True),
        ("bytes 0-9/20", "the server answered with bytes 0 to 9", True),
        ("items 10-19/20", "the server answered with a part, but says of its place: items 10-19/20", False),
        ("bytes 10-x/20", "the server answered with a part, but says of its place: bytes 10-x/20", False),
        ("bytes x-19/20", "the server answered with a part, but says of its place: bytes x-19/20", False),
        ("bytes 10-19/x", "the server answered with a part, but says of its place: bytes 10-19/x", False),
        ("bytes 10-19", "the server answered with a part, but says of its place: bytes 10-19", False),
        (None, "the server answered with a part, but does not say of which place", False),
    ],
)
def test_other_parts(said: str | None, why: str, transient: bool) -> None:
    with pytest.raises(FetchFailed) as caught:
        check_part("u", {} if said is None else {"Content-Range": said}, WHERE)
    assert why in str(caught.value)
    assert caught.value.transient == transient


def test_parts_that_are_compressed() -> None:
    with pytest.raises(FetchFailed, match=r"the server compresses parts \(gzip\)"):
        check_part("u", {"Content-Range": "bytes 10-19/20", "Content-Encoding": "gzip"}, WHERE)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        (5, 5.0),
        (5.5, 5.5),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01T00:01:00+00:00", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        (datetime(1970, 1, 1, 0, 1), 60.0),
        (datetime(1970, 1, 1, 0, 1, tzinfo=UTC), 60.0),
        (datetime(1970, 1, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), 60.0),
    ],
)
def test_when_credentials_end(value: object, wanted: float | None) -> None:
    assert _until(value) == wanted


@pytest.mark.parametrize("value", [True, "tomorrow", [1], {}])
def test_ends_that_are_none(value: object) -> None:
    with pytest.raises(BadRequest, match="credentials expire at a number of seconds"):
        _until(value)


class Handle(io.BytesIO):
    """An open file of somebody's file system."""

    def __init__(self, system: Any, path: Any) -> None:
        super().__init__(b"abc")
        self.fs, self.path = system, path


class Named:
    def unstrip_protocol(self, path: str) -> str:
        return f"own://{path}"


@pytest.mark.parametrize(("system", "path"), [(object(), "a"), (None, "a"), (Named(), 3), (None, None)])
def test_open_files_without_a_place(system: Any, path: Any) -> None:
    found = source_of(Handle(system, path))
    assert type(found) is FileSource
    assert bytes(found.read([ByteRange(1, 2)])[0]) == b"bc"


def unreadable() -> io.IOBase:
    class Written(io.BytesIO):
        def readable(self) -> bool:
            return False

    return Written()


def unseekable() -> io.IOBase:
    class Piped(io.BytesIO):
        def seekable(self) -> bool:
            return False

    return Piped()


@pytest.mark.parametrize("make", [unreadable, unseekable])
def test_open_files_that_cannot_be_read(make: Callable[[], Any]) -> None:
    with pytest.raises(BadRequest, match="must be readable and seekable"):
        source_of(make())


def test_files_that_moved(tmp_path: Path) -> None:
    """Under as much of their old path as is kept, in one of the folders; with the size that they had."""
    (tmp_path / "a.bin").write_bytes(b"12345")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "b.bin").write_bytes(b"1234567")

    def moved(url: str, size: int | None, *folders: str) -> str | None:
        from byteatlas.io.local import identity

        now = identity(f"{tmp_path}/{'a.bin' if 'a.bin' in url else 'deep/er/b.bin'}")
        assert now is not None
        return _moved_to(SourceInfo(url, size, str(now.time)), folders)

    here = str(tmp_path)
    assert moved("/a.bin", 5, here) == f"{here}/a.bin"
    assert moved("/old/a.bin", 5, "/nowhere", here) == f"{here}/a.bin"
    assert moved("/old/a.bin", 6, here) is None
    assert moved("/old/a.bin", None, here) is None
    assert moved("http://host/a.bin", 5, here) is None
    assert moved("/deep/er/b.bin", 7, here) == f"{here}/deep/er/b.bin"
    assert moved("/old/er/b.bin", 7, here) is None
    assert moved("/old/er/b.bin", 7, f"{here}/deep") == f"{here}/deep/er/b.bin"
