"""Any fsspec URL as a source. All ranges of one call are requested at once where the file system is asynchronous."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from byteatlas.errors import FetchFailed, MissingExtra, NotFound
from byteatlas.io.source import SourceRecord
from byteatlas.io.stamp import compare
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


def facts_of_answer(headers: Mapping[str, str]) -> SourceRecord:
    """What a web server says of a file beside a part of its bytes (RFC 9110 8.8, 14.4)."""
    _, _, total = headers.get("Content-Range", "").rpartition("/")
    size = int(total) if total.isdigit() else None
    return SourceRecord(size, headers.get("ETag") or headers.get("Last-Modified"))


def facts_of_info(info: Mapping[str, Any]) -> SourceRecord:
    """What fsspec's description of a file says, whose words differ between file systems."""
    names = ("ETag", "etag", "LastModified", "Last-Modified", "last_modified", "mtime", "created")
    stamp = next((info[name] for name in names if info.get(name)), None)
    size = info.get("size")
    return SourceRecord(None if size is None else int(size), None if stamp is None else str(stamp))


class LivingFileSystem:
    """An fsspec file system that is made again in a process that was forked: its threads and connections are not there.

    Pickled as fsspec has it, by class and options.
    """

    __slots__ = ("_fs", "_pid", "protocols")

    def __init__(self, fs: Any) -> None:
        self._fs, self._pid = fs, os.getpid()
        self.protocols = frozenset((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)

    def __call__(self) -> Any:
        if self._pid != os.getpid():
            self._fs = type(self._fs)(*self._fs.storage_args, **self._fs.storage_options)
            self._pid = os.getpid()
        return self._fs

    def __reduce__(self) -> tuple[type[LivingFileSystem], tuple[Any]]:
        return LivingFileSystem, (self._fs,)

    def forget(self, path: str) -> None:
        """Drop what the file system remembers of a path: whoever asks now wants to know what is there now."""
        with suppress(*backend_errors()):
            self().invalidate_cache(path)


class FsspecSource:
    """One object behind an fsspec file system.

    It never mixes two objects: when an answer says that another one has taken its place, reading raises.
    """

    __slots__ = ("_facts", "_info", "_living", "_path", "_url")

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None = None) -> None:
        from fsspec.core import url_to_fs

        self._url = url
        self._info: Mapping[str, Any] | None = None
        self._facts = SourceRecord()
        try:
            fs, self._path = url_to_fs(url, **(storage_options or {}))
            self._living = LivingFileSystem(fs)
        except ImportError as error:
            protocol = url.partition("://")[0].partition("::")[0]
            raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
        except backend_errors() as error:
            raise failure(url, error) from error

    @classmethod
    def on(cls, fs: Any, path: str, url: str) -> FsspecSource:
        """An object of a file system that is already there; ``url`` is its name in messages."""
        made = cls.__new__(cls)
        made._living, made._path, made._url, made._info = LivingFileSystem(fs), path, url, None
        made._facts = SourceRecord()
        return made

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Another process asks again; what is known of the object goes with it."""
        return None, {name: None if name == "_info" else getattr(self, name) for name in self.__slots__}

    @property
    def url(self) -> str:
        return self._url

    @property
    def facts(self) -> SourceRecord:
        """What the answers so far have said of the object. It is asked for nothing."""
        return self._facts

    def _learn(self, found: SourceRecord) -> None:
        """Raises `SourceChanged` for an answer about another object than the earlier ones."""
        known = self._facts
        compare(self._url, known, found)
        if known.size is None or known.stamp is None:
            self._facts = SourceRecord(
                found.size if known.size is None else known.size, found.stamp if known.stamp is None else known.stamp
            )

    def info(self) -> Mapping[str, Any]:
        """What the file system says of the object; asked for once."""
        if self._info is None:
            self._living.forget(self._path)
            try:
                found = self._living().info(self._path)
            except backend_errors() as error:
                raise failure(self._url, error) from error
            self._learn(facts_of_info(found))
            self._info = found
        return self._info

    def size(self) -> int:
        size = self.info().get("size")
        if size is None:
            raise FetchFailed(self._url, "the server does not say how large the file is")
        return int(size)

    def stamp(self) -> str | None:
        """The etag or modification time, where the storage tells."""
        return facts_of_info(self.info()).stamp

    def _heard(self, answers: list[SourceRecord]) -> Mapping[str, Any]:
        """Options with which a read puts what the storage says beside the bytes into a list."""
        if self._living.protocols.isdisjoint(("http", "https")):
            return {}

        async def listen(response: Any) -> None:
            if response.status in (200, 206):
                answers.append(facts_of_answer(response.headers))

        hook: Callable[[Any], Any] = listen  # aiohttp's own, called with each answer; fsspec raises by itself
        return {"raise_for_status": hook}

    def _understand(self, answers: Sequence[SourceRecord]) -> None:
        if "memory" in self._living.protocols:  # no request at all
            with suppress(*backend_errors()):
                answers = [facts_of_info(self._living().info(self._path))]
        for found in answers:
            self._learn(found)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if not ranges:
            return []
        for where in ranges:  # fsspec would count negative offsets from the end
            if where.offset < 0 or where.length < 0:
                raise FetchFailed(self._url, "a negative range", where)
        answers: list[SourceRecord] = []
        try:
            found = self._living().cat_ranges(
                [self._path] * len(ranges),
                [r.offset for r in ranges],
                [r.end for r in ranges],
                on_error="return",
                **self._heard(answers),
            )
        except backend_errors() as error:
            raise failure(self._url, error, ranges[0]) from error
        self._understand(answers)
        for where, data in zip(ranges, found, strict=True):
            if isinstance(data, BaseException):
                raise failure(self._url, data, where) from data
            if len(data) != where.length:
                raise FetchFailed(self._url, f"{len(data)} bytes came back", where)
        return list(found)

    def read_all(self) -> bytes:
        answers: list[SourceRecord] = []
        try:
            data: bytes = self._living().cat_file(self._path, **self._heard(answers))
        except backend_errors() as error:
            raise failure(self._url, error) from error
        self._understand(answers)
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
