"""Any fsspec URL as a source. All ranges of one call are requested at once where the file system is asynchronous."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from byteatlas.errors import FetchFailed, MissingExtra, NotFound
from byteatlas.types import JSON, Buffer, ByteRange

EXTRAS: Mapping[str, str] = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
_TRANSIENT = ("timeout", "timed out", "429", "500", "502", "503", "504", "reset", "disconnected", "temporarily")
_THEIRS: Mapping[str, str] = {
    "zipfile": "BadZipFile",
    "tarfile": "TarError",
    "zlib": "error",
    "aiohttp": "ClientError",
    "botocore.exceptions": "BotoCoreError",
    "google.auth.exceptions": "GoogleAuthError",
}
_DENIED = ("credential", "access denied", "accessdenied", "forbidden", "unauthorized", "401", "403")


def backend_errors() -> tuple[type[BaseException], ...]:
    """What fsspec's back ends raise. Some errors of theirs are no OSErrors; they can only occur once imported."""
    known: tuple[type[BaseException], ...] = (OSError, ValueError, RuntimeError, TimeoutError, KeyError)
    found = [
        getattr(sys.modules[module], name)
        for module, name in _THEIRS.items()
        if module in sys.modules and hasattr(sys.modules[module], name)
    ]
    return (*known, *found)


def failure(url: str, error: BaseException, where: ByteRange | None = None) -> FetchFailed:
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    lowered = text.lower()
    if isinstance(error, PermissionError) or any(word in lowered for word in _DENIED):
        protocol, mark, rest = url.rpartition("::")[2].partition("://")
        prefix = f"{protocol}{mark}{rest.partition('/')[0]}/"
        text += f"; {prefix} may need credentials: storage_options={{{prefix!r}: {{...}}}}"
    return FetchFailed(url, text, where, transient=any(word in lowered for word in _TRANSIENT))


class FsspecSource:
    """One object behind an fsspec file system."""

    __slots__ = ("_fs", "_info", "_path", "_url")

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None = None) -> None:
        from fsspec.core import url_to_fs

        self._url = url
        self._info: Mapping[str, Any] | None = None
        try:
            self._fs, self._path = url_to_fs(url, **(storage_options or {}))
        except ImportError as error:
            protocol = url.partition("://")[0].partition("::")[0]
            raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
        except backend_errors() as error:
            raise failure(url, error) from error

    @classmethod
    def on(cls, fs: Any, path: str, url: str) -> FsspecSource:
        """An object of a file system that is already there; ``url`` is its name in messages."""
        made = cls.__new__(cls)
        made._fs, made._path, made._url, made._info = fs, path, url, None
        return made

    @property
    def url(self) -> str:
        return self._url

    def info(self) -> Mapping[str, Any]:
        """What the file system says of the object; asked for once."""
        if self._info is None:
            try:
                self._info = self._fs.info(self._path)
            except backend_errors() as error:
                raise failure(self._url, error) from error
        return self._info

    def size(self) -> int:
        size = self.info().get("size")
        if size is None:
            raise FetchFailed(self._url, "the server does not say how large the file is")
        return int(size)

    def stamp(self) -> str | None:
        """The etag or modification time, where the storage tells."""
        info = self.info()
        found = info.get("ETag") or info.get("etag") or info.get("LastModified") or info.get("mtime")
        return None if found is None else str(found)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if not ranges:
            return []
        for where in ranges:  # fsspec would count negative offsets from the end
            if where.offset < 0 or where.length < 0:
                raise FetchFailed(self._url, "a negative range", where)
        try:
            found = self._fs.cat_ranges(
                [self._path] * len(ranges),
                [r.offset for r in ranges],
                [r.end for r in ranges],
                on_error="return",
            )
        except backend_errors() as error:
            raise failure(self._url, error, ranges[0]) from error
        for where, data in zip(ranges, found, strict=True):
            if isinstance(data, BaseException):
                raise failure(self._url, data, where) from data
            if len(data) != where.length:
                raise FetchFailed(self._url, f"{len(data)} bytes came back", where)
        return list(found)

    def read_all(self) -> bytes:
        try:
            data: bytes = self._fs.cat_file(self._path)
        except backend_errors() as error:
            raise failure(self._url, error) from error
        return data


def exists(source: FsspecSource) -> bool:
    """Whether the object is there; raises `FetchFailed` when that cannot be found out."""
    try:
        source.info()
    except FetchFailed as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False
        raise
    except NotFound:
        return False
    return True
