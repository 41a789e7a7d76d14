"""Open binary files that a caller hands in: as URLs where they have one, else as sources of their own."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Sequence
from typing import Any, BinaryIO, TypeGuard

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.local import absolute
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.types import Buffer, ByteRange

OPEN_FILE = "open-file"
"""The protocol of URLs for open files that have no name of their own; they mean something in this process only."""


class FileSource:
    """A seekable binary file that somebody else opened, and closes. Reads take turns."""

    __slots__ = ("_file", "_lock", "_size", "_url")

    def __init__(self, file: BinaryIO) -> None:
        name = os.path.basename(str(getattr(file, "name", ""))) or "unnamed"
        self._file, self._url = file, f"{OPEN_FILE}://{id(file):x}/{name}"
        self._lock = threading.Lock()
        at = file.tell()
        self._size = file.seek(0, os.SEEK_END)
        file.seek(at)

    def __reduce__(self) -> tuple[Any, ...]:
        return MemorySource, (self.read_all(), self._url)

    @property
    def url(self) -> str:
        return self._url

    def size(self) -> int:
        return self._size

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        with self._lock:
            return [self._read(where) for where in ranges]

    def _read(self, where: ByteRange) -> bytes:
        if where.offset < 0 or where.length < 0 or where.end > self._size:
            raise FetchFailed(self._url, f"the file has only {self._size} bytes", where)
        try:
            self._file.seek(where.offset)
            data = b""
            while len(data) < where.length:
                more = self._file.read(where.length - len(data))
                if not more:
                    raise FetchFailed(self._url, f"only {len(data)} bytes are there", where)
                data = data + more if data else more
        except (OSError, ValueError) as error:  # closed meanwhile
            if isinstance(error, FetchFailed):
                raise
            raise FetchFailed(self._url, str(error), where) from error
        return data

    def read_all(self) -> bytes:
        with self._lock:
            return self._read(ByteRange(0, self._size))


def is_open_file(target: object) -> TypeGuard[BinaryIO]:
    """Whether somebody hands in an open file instead of its name."""
    return hasattr(target, "read") and hasattr(target, "seek")


def source_of(file: BinaryIO) -> str | Source:
    """The URL of an open file where it has one (a local file that is still under its name), else a source for it.

    Files that fsspec opened become a source on their own file system, with the options with which they were opened.

    Raises `BadRequest` for a file that is not binary, readable and seekable.
    """
    if isinstance(file, io.TextIOBase):
        raise BadRequest("an open file must be binary: open(name, 'rb')")
    try:
        usable = file.readable() and file.seekable()
    except (ValueError, AttributeError) as error:
        raise BadRequest(f"an open file must be binary, readable and seekable: {error}") from error
    if not usable:
        raise BadRequest("an open file must be readable and seekable")
    name = getattr(file, "name", None)
    if isinstance(name, str) and hasattr(file, "fileno"):
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(name)):
                return absolute(name)
        except (OSError, ValueError):  # no file of the system, or not under this name any more
            pass
    system, path = getattr(file, "fs", None), getattr(file, "path", None)
    if system is not None and isinstance(path, str) and hasattr(system, "unstrip_protocol"):
        from byteatlas.io.sources.filesystem import LivingFileSystem
        from byteatlas.io.sources.remote import FsspecSource

        return FsspecSource.on(LivingFileSystem(system), path, system.unstrip_protocol(path))
    return FileSource(file)
