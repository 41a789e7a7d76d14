"""Any fsspec URL as a source. All ranges of one call are requested at once where the file system is asynchronous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byteatlas.errors import FetchFailed, MissingExtra
from byteatlas.io.sources.faults import backend_errors, failure
from byteatlas.io.urls import protocol_of
from byteatlas.types import JSON, Buffer, ByteRange

EXTRAS: Mapping[str, str] = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
POOL = 64
"""Connections that one file system may keep open at a time, where it would keep ten."""
_S3 = frozenset({"s3", "s3a"})


def file_system(url: str, options: Mapping[str, JSON] | None = None) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path in it.

    Raises `FetchFailed` where a chain's inner file is not there, `MissingExtra` without the protocol's package.
    """
    from fsspec.core import url_to_fs

    try:
        return url_to_fs(url, **_tuned(url, options or {}))  # type: ignore[no-any-return]
    except ImportError as error:
        protocol = url.partition("://")[0].partition("::")[0]
        raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
    except backend_errors() as error:
        raise failure(url, error) from error


def _tuned(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a back end does not do by itself: as many connections as requests, and no retries beside ours."""
    if "::" in url or protocol_of(url) not in _S3 or "config_kwargs" in options:
        return dict(options)
    return {
        **options,
        "config_kwargs": {"max_pool_connections": POOL, "retries": {"max_attempts": 1, "mode": "standard"}},
    }


class FsspecSource:
    """One object behind an fsspec file system."""

    __slots__ = ("_fs", "_info", "_path", "_url")

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None = None) -> None:
        self._url = url
        self._info: Mapping[str, Any] | None = None
        self._fs, self._path = file_system(url, storage_options)

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
        answers = self.attempt(ranges, 0.0)
        for answer in answers:
            if isinstance(answer, FetchFailed):
                raise answer
        return [a for a in answers if not isinstance(a, FetchFailed)]

    def attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[Buffer | FetchFailed]:
        """The bytes of each range, or why there are none; in at most so many seconds (0: no limit)."""
        if not ranges:
            return []
        for where in ranges:  # fsspec would count negative offsets from the end
            if where.offset < 0 or where.length < 0:
                raise FetchFailed(self._url, "a negative range", where)
        try:
            found = self._fetch(ranges, seconds)
        except backend_errors() as error:
            return [failure(self._url, error, where) for where in ranges]
        return [self._checked(where, data) for where, data in zip(ranges, found, strict=True)]

    def _fetch(self, ranges: Sequence[ByteRange], seconds: float) -> list[Any]:
        paths, starts, ends = [self._path] * len(ranges), [r.offset for r in ranges], [r.end for r in ranges]
        if seconds and getattr(self._fs, "async_impl", False) and not self._fs.asynchronous:
            from fsspec.asyn import sync

            fetch = self._fs._cat_ranges
            return list(sync(self._fs.loop, fetch, paths, starts, ends, on_error="return", timeout=seconds))
        return list(self._fs.cat_ranges(paths, starts, ends, on_error="return"))

    def _checked(self, where: ByteRange, data: Any) -> Buffer | FetchFailed:
        if isinstance(data, BaseException):
            if not isinstance(data, backend_errors()):
                raise data
            return failure(self._url, data, where)
        if len(data) != where.length:
            return FetchFailed(self._url, f"{len(data)} bytes came back", where, transient=len(data) < where.length)
        found: Buffer = data
        return found

    def read_all(self) -> bytes:
        try:
            data: bytes = self._fs.cat_file(self._path)
        except backend_errors() as error:
            raise failure(self._url, error) from error
        return data
