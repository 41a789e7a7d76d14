"""Files of this machine, read by position: one descriptor serves any number of threads."""

from __future__ import annotations

import _thread as threads  # what `threading` has from it: a file is read without importing that
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

from byteatlas.errors import FetchFailed
from byteatlas.io.source import SourceRecord
from byteatlas.types import Buffer, ByteRange

WINDOWS = os.name == "nt"


def local_path(url: str) -> str | None:
    """The path of a local URL (``/a/b``, ``a/b``, ``file:///a/b``); None for any other protocol.

    >>> local_path("file:///data/a%20b.nc"), local_path("s3://bucket/key")
    ('/data/a b.nc', None)
    """
    if "://" not in url:
        return None if "::" in url else url
    from urllib.parse import unquote, urlsplit  # plain paths, the most of all, do not need it

    try:
        parts = urlsplit(url)
    except ValueError:  # brackets that are no IPv6 address: whoever opens it says so
        return None
    if parts.scheme not in ("file", "local") or parts.netloc not in ("", "localhost"):
        return None
    path = unquote(parts.path, errors="surrogateescape")
    return without_slash(path) if WINDOWS else path


def without_slash(path: str) -> str:
    """The path of a ``file`` URL as Windows has it: the slash before a drive is the URL's (RFC 8089, appendix E.2).

    >>> without_slash("/C:/data/a.nc"), without_slash("/data/a.nc")
    ('C:/data/a.nc', '/data/a.nc')
    """
    return path[1:] if path[:1] == "/" and path[1:2].isalpha() and path[2:3] in (":", "|") else path


def with_slashes(path: str) -> str:
    """A path of Windows as our maps and URLs have it.

    >>> with_slashes("C:\\\\data\\\\a.nc")
    'C:/data/a.nc'
    """
    return path.replace("\\", "/")


def portable(path: str) -> str:
    """A local path as text that a map can hold: one that is not UTF-8 as a URL with escapes.

    >>> portable("/data/a.nc"), portable(os.fsdecode(b"/data/\\xff.nc"))
    ('/data/a.nc', 'file:///data/%FF.nc')
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return file_url(path)
    return path


def file_url(path: str) -> str:
    """An absolute path as a URL.

    >>> file_url("/data/a b.nc")
    'file:///data/a%20b.nc'
    """
    from urllib.parse import quote

    start = "file:///" if path[1:2] == ":" else "file://"  # a drive's letter: the third slash begins the path
    return start + quote(os.fsencode(path), safe="/:" if path[1:2] == ":" else "/")


def absolute(url: str) -> str:
    """A URL as it is, a local path made absolute. Links and ``..`` are not resolved.

    >>> absolute("s3://bucket/key"), absolute("/data//./a.nc")
    ('s3://bucket/key', '/data/a.nc')
    """
    path = local_path(url)
    if path is None:
        return url
    if WINDOWS:
        return with_slashes(os.path.abspath(path))
    full = path if path.startswith("/") else f"{os.getcwd()}/{path}"
    if "//" in full or "/." in full or full.endswith("/"):
        from pathlib import Path  # importing it takes longer than a scan: usual paths do without

        return str(Path(path).absolute())
    return full


def is_absolute(path: str) -> bool:
    """Whether a local path begins at the top: with a slash, or with a drive where there are drives.

    >>> is_absolute("/data/a.nc"), is_absolute("a.nc")
    (True, False)
    """
    return path.startswith("/") or (WINDOWS and path[1:2] == ":" and path[:1].isalpha())


class FileIdentity(NamedTuple):
    """What tells a local file from one that took its place.

    Attributes:
        device, number: which file it is, whatever its names.
        size: in bytes.
        time: of its last modification, in nanoseconds.
    """

    device: int
    number: int
    size: int
    time: int

    @classmethod
    def of(cls, facts: os.stat_result) -> FileIdentity:
        return cls(facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def identity(url: str) -> FileIdentity | None:
    """That of the file which is under a name now, links followed; None for what is not local, or not there."""
    try:
        facts = None if local_path(url) is None else status(url)
    except FetchFailed:
        return None
    return None if facts is None else FileIdentity.of(facts)


def status(url: str) -> os.stat_result | None:
    """What the system says of a local file or folder, links followed; None when there is none.

    Raises `FetchFailed` when that cannot be found out.
    """
    try:
        return os.stat(local_path(url) or url)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise FetchFailed(url, getattr(error, "strerror", None) or str(error)) from error


ICECHUNK = "icechunk:"
"""How the name of an Icechunk repository begins where what lies there does not tell: ``icechunk:s3://bucket/all``."""


def is_repository(folder: str) -> bool:
    """Whether a local folder is an Icechunk repository (of its format version 1 or 2)."""
    inside = os.path.join
    return os.path.isdir(inside(folder, "snapshots")) and (
        os.path.isdir(inside(folder, "refs")) or os.path.exists(inside(folder, "repo"))
    )


def is_store(url: str) -> bool:
    """Whether a URL names a Zarr store by what can be told without asking: a folder here, or a name that says it."""
    path = local_path(url)
    if path is not None:
        return os.path.isdir(path) and not is_repository(path)
    return url.rstrip("/").endswith(".zarr") and "::" not in url


ONE_READ = 1 << 30
"""Bytes that one system call reads for sure."""


def _preadv(fd: int, out: memoryview, offset: int) -> int:
    return os.preadv(fd, [out], offset)


def _pread_into(fd: int, out: memoryview, offset: int) -> int:
    """As `_preadv`, where the system has none."""
    data = _seek_and_read(fd, min(len(out), ONE_READ), offset)
    out[: len(data)] = data
    return len(data)


_TURNS = threads.allocate_lock()


def _seek_and_read(fd: int, length: int, offset: int) -> bytes:
    """As `os.pread`, where the system has none (Windows): threads take turns, for a descriptor has one position."""
    with _TURNS:
        os.lseek(fd, offset, os.SEEK_SET)
        return os.read(fd, min(length, ONE_READ))


PREAD_INTO: Callable[[int, memoryview, int], int] = _preadv if hasattr(os, "preadv") else _pread_into


class LocalSource:
    """One local file. The descriptor is opened at the first read and closed with the object."""

    __slots__ = ("_fd", "_path", "_size", "_time", "_url", "identity")

    def __init__(self, url: str) -> None:
        path = local_path(url)
        if path is None:
            raise FetchFailed(url, "not a local path")
        self._url, self._path = url, path
        try:
            self._fd = os.open(self._path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError) as error:
            self._fd = -1
            why = getattr(error, "strerror", None) or str(error)
            raise FetchFailed(url, why, absent=isinstance(error, FileNotFoundError | NotADirectoryError)) from error
        facts = os.fstat(self._fd)
        self._size, self._time = facts.st_size, facts.st_mtime_ns
        self.identity = FileIdentity.of(facts)

    def __reduce__(self) -> tuple[type[LocalSource], tuple[str]]:
        return LocalSource, (self._url,)  # a descriptor means nothing elsewhere

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if getattr(self, "_fd", -1) >= 0:
            close(self._fd)  # a parameter: at the end of the process this module's names are gone
            self._fd = -1

    @property
    def url(self) -> str:
        return self._url

    def size(self) -> int:
        return self._size

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        found: list[Buffer] = []
        fd, size, pread = self._fd, self._size, getattr(os, "pread", _seek_and_read)
        try:
            for where in ranges:  # a scan asks for hundreds of small ranges: the usual case is spelled out
                offset, length = where.offset, where.length
                if offset >= 0 and 0 <= length <= size - offset and length < ONE_READ:
                    data = pread(fd, length, offset)
                    if len(data) == length:
                        found.append(data)
                        continue
                found.append(self._read_one(where))
        except IsADirectoryError as error:
            raise FetchFailed(self._url, "is a directory") from error
        return found

    def _read_one(self, where: ByteRange) -> bytes:
        """One range with all checks, in as many reads as it takes."""
        if where.offset < 0 or where.length < 0:
            raise FetchFailed(self._url, "a negative range", where)
        if where.end > self._size:
            raise FetchFailed(self._url, f"the file has only {self._size} bytes", where)
        try:
            pread = getattr(os, "pread", _seek_and_read)
            data = pread(self._fd, where.length, where.offset)
            while len(data) < where.length:  # the kernel caps one read at 2 GiB
                more = pread(self._fd, where.length - len(data), where.offset + len(data))
                if not more:
                    raise FetchFailed(self._url, f"only {len(data)} bytes are there", where)
                data += more
        except IsADirectoryError as error:
            raise FetchFailed(self._url, "is a directory", where) from error
        return data

    def read_into(self, offset: int, out: memoryview) -> None:
        """Fill ``out`` with the bytes from ``offset`` on, without an intermediate copy."""
        where = ByteRange(offset, len(out))
        if offset < 0 or where.end > self._size:
            raise FetchFailed(self._url, f"the file has only {self._size} bytes", where)
        done = 0
        try:
            while done < len(out):
                got = PREAD_INTO(self._fd, out[done:], offset + done)
                if not got:
                    raise FetchFailed(self._url, f"only {done} bytes are there", where)
                done += got
        except IsADirectoryError as error:
            raise FetchFailed(self._url, "is a directory", where) from error

    def read_all(self) -> bytes:
        return self._read_one(ByteRange(0, self._size))

    def stamp(self) -> str:
        """Modification time in nanoseconds, as text: when the file was opened."""
        return str(self._time)

    def now(self) -> SourceRecord:
        """The size and modification time that the file has at this moment, which may have been written to."""
        facts = os.fstat(self._fd)
        return SourceRecord(facts.st_size, str(facts.st_mtime_ns))
