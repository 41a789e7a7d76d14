"""Any fsspec URL as a source. All ranges of one call are requested at once where the file system is asynchronous."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from byteatlas.errors import FetchFailed
from byteatlas.io.source import SourceRecord
from byteatlas.io.sources.faults import backend_errors, failure
from byteatlas.io.sources.filesystem import LivingFileSystem, file_system
from byteatlas.io.stamp import learned
from byteatlas.io.urls import S3
from byteatlas.types import JSON, Buffer, ByteRange


def facts_of_info(info: Mapping[str, Any]) -> SourceRecord:
    """What fsspec's description of a file says, whose words differ between file systems."""
    names = ("ETag", "etag", "LastModified", "Last-Modified", "last_modified", "mtime", "created")
    stamp = next((info[name] for name in names if info.get(name)), None)
    size = info.get("size")
    return SourceRecord(None if size is None else int(size), None if stamp is None else str(stamp))


class FsspecSource:
    """One object behind an fsspec file system.

    It never mixes two objects: when an answer says that another one has taken its place, reading raises.
    """

    __slots__ = ("_facts", "_info", "_living", "_path", "_url")

    def __init__(self, url: str, storage_options: Mapping[str, JSON] | None = None) -> None:
        self._url = url
        self._info: Mapping[str, Any] | None = None
        self._facts = SourceRecord()
        self._living, self._path = file_system(url, storage_options)

    @classmethod
    def on(cls, fs: LivingFileSystem, path: str, url: str) -> FsspecSource:
        """An object of a file system that is already there; ``url`` is its name in messages."""
        made = cls.__new__(cls)
        made._living, made._path, made._url, made._info = fs, path, url, None
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
        self._facts = learned(self._url, self._facts, found)

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
        if S3.isdisjoint(self._living.protocols):
            return self._answers(ranges, seconds)
        wanted = [where for where in ranges if where.length]  # s3fs takes an empty range for all there is
        found = iter(self._answers(wanted, seconds) if wanted else ())
        return [next(found) if where.length else b"" for where in ranges]

    def _answers(self, ranges: Sequence[ByteRange], seconds: float) -> list[Buffer | FetchFailed]:
        try:
            found = self._fetch(ranges, seconds)
        except backend_errors() as error:
            return [failure(self._url, error, where) for where in ranges]
        self._look_again()
        return [self._checked(where, data) for where, data in zip(ranges, found, strict=True)]

    def _fetch(self, ranges: Sequence[ByteRange], seconds: float) -> list[Any]:
        paths, starts, ends = [self._path] * len(ranges), [r.offset for r in ranges], [r.end for r in ranges]
        fs = self._living()
        if self._is_s3fs(fs):
            from byteatlas.io.sources.s3_answers import parts

            return parts(fs, self._path, self._url, ranges, seconds, self._learn)
        if seconds and getattr(fs, "async_impl", False) and not fs.asynchronous:
            from fsspec.asyn import sync

            return list(sync(fs.loop, fs._cat_ranges, paths, starts, ends, on_error="return", timeout=seconds))
        return list(fs.cat_ranges(paths, starts, ends, on_error="return"))

    def _is_s3fs(self, fs: Any) -> bool:
        """Whether answers for this file are looked at by us, and not by the file system alone."""
        return not S3.isdisjoint(self._living.protocols) and hasattr(fs, "_call_s3") and not fs.asynchronous

    def _look_again(self) -> None:
        """Whether it is the same object still, where asking costs no request at all."""
        if "memory" in self._living.protocols:
            with suppress(*backend_errors()):
                self._learn(facts_of_info(self._living().info(self._path)))

    def _checked(self, where: ByteRange, data: Any) -> Buffer | FetchFailed:
        if isinstance(data, BaseException):
            if not isinstance(data, backend_errors()):
                raise data
            return failure(self._url, data, where)
        if len(data) < where.length and self._ends_within(where):
            return FetchFailed(self._url, f"the file has only {self.size()} bytes", where)
        if len(data) != where.length:
            return FetchFailed(self._url, f"{len(data)} bytes came back", where, transient=len(data) < where.length)
        found: Buffer = data
        return found

    def _ends_within(self, where: ByteRange) -> bool:
        """Whether a range goes beyond the end: then fewer bytes are no cut answer, and asking again is of no use."""
        try:
            return where.end > self.size()
        except FetchFailed:
            return False

    def read_all(self) -> bytes:
        fs = self._living()
        try:
            if self._is_s3fs(fs):
                from byteatlas.io.sources.s3_answers import whole

                return whole(fs, self._path, self._url, self._facts, self._learn)
            data: bytes = fs.cat_file(self._path)
        except backend_errors() as error:
            raise failure(self._url, error) from error
        self._look_again()
        return data
