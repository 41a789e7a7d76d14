"""A directory of files, one per key. Values are written to a temporary name and renamed."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR

from byteatlas.errors import FetchFailed, Forbidden
from byteatlas.io.local import ONE_READ, LocalSource
from byteatlas.io.source import Source
from byteatlas.store.base import TEMPORARY, check_key, check_size, check_writable
from byteatlas.types import Buffer

_OPEN = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = _OPEN | getattr(os, "O_DIRECTORY", 0)
FOLDERS_OPEN = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
"""Whether files can be opened below an open folder (not on Windows)."""
MOST_FOLDERS = 1 << 16
"""Folders remembered as lying in the store."""


class DirectoryStore:
    """A local directory. Symbolic links that lead out of it are not followed unless ``links`` allows it."""

    __slots__ = ("_inside", "_links", "_real", "_root", "_url", "_writable")

    def __init__(self, root: str | os.PathLike[str], *, writable: bool = False, links: bool = False) -> None:
        self._root = os.path.abspath(os.fspath(root))  # noqa: PTH100 - strings: a chunk read is a few system calls
        self._real = os.path.realpath(self._root)
        self._url, self._writable, self._links = self._root, writable, links
        self._inside: set[str] = set()

    @property
    def url(self) -> str:
        return self._url

    @property
    def local(self) -> bool:
        return True

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        return self.get_into(key, lambda size: memoryview(bytearray(size)), most)

    def get_into(self, key: str, memory: Callable[[int], memoryview], most: int | None = None) -> Buffer | None:
        """A value in memory that is given for its size."""
        path = self._path(key)
        fd = self._open_if_there(path)
        if fd is None:
            return None
        try:
            return _read_all(fd, path, memory, most)
        except IsADirectoryError:
            return None
        except OSError as error:
            if isinstance(error, FetchFailed):
                raise
            raise FetchFailed(path, str(error.strerror or error)) from error
        finally:
            os.close(fd)

    at_once = 1

    def get_many(self, keys: Sequence[str], most: int | None = None, usual: int = 4096) -> list[Buffer | None]:
        """Many values, in order. Each costs three system calls: keys that follow each other share their folder's."""
        if not FOLDERS_OPEN:
            return [self.get(key, most) for key in keys]
        found: list[Buffer | None] = []
        folder, fd, last = None, -1, len(keys) - 1
        # Names of modules and attributes are looked up once: a tiny chunk costs little more than its system calls.
        start, read, close, flags, enough = os.open, os.read, os.close, _OPEN | _NOFOLLOW, usual + 1
        try:
            for number, key in enumerate(keys):
                here, _, name = key.rpartition("/")
                if here != folder:
                    if fd >= 0:
                        close(fd)
                        fd = -1
                    folder = here
                    if not keys[min(number + 1, last)].startswith(f"{here}/"):  # alone in its folder
                        data = self._alone(key, enough)
                        found.append(data if data is None or len(data) < enough else self.get(key, most))
                        folder = None
                        continue
                    fd = self._open_folder(f"{here}/x" if here else "x")
                if fd < 0:
                    found.append(None)
                    continue
                try:
                    file = start(name, flags, dir_fd=fd)
                    try:
                        data = read(file, enough)
                    finally:
                        close(file)
                except FileNotFoundError:
                    found.append(None)
                except OSError:
                    found.append(self.get(key, most))  # a link, a folder, or what `get` has the right error for
                else:
                    found.append(data if len(data) < enough else self.get(key, most))
        finally:
            if fd >= 0:
                close(fd)
        return found

    def _alone(self, key: str, enough: int) -> bytes | None:
        """The first bytes of a value; None where there is none."""
        path = self._path(key)
        try:
            file = os.open(path, _OPEN | _NOFOLLOW)
            try:
                return os.read(file, enough)
            finally:
                os.close(file)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return bytes(enough)  # a link, a folder, or what `get` has the right error for

    def _open_folder(self, key: str) -> int:
        """A descriptor of the folder that holds a key; -1 when there is none."""
        path = self._path(key).rpartition("/")[0]
        try:
            return os.open(path, _FOLDER)
        except (FileNotFoundError, NotADirectoryError):
            return -1
        except OSError as error:
            raise FetchFailed(path, str(error.strerror or error)) from error

    def source(self, key: str) -> Source | None:
        path = self._path(key)
        fd = self._open_if_there(path)
        if fd is None:
            return None
        os.close(fd)
        return LocalSource(os.path.realpath(path) if os.path.islink(path) else path)  # noqa: PTH114

    def names(self, prefix: str) -> Sequence[str]:
        path = self._path(prefix) if prefix else self._root
        try:
            return sorted(n.name for n in Path(path).iterdir() if not n.name.startswith(TEMPORARY))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise FetchFailed(path, str(error.strerror or error)) from error

    def set(self, key: str, value: Buffer) -> None:
        check_writable(self._url, self._writable)
        path = Path(self._path(key))
        part = path.with_name(f"{TEMPORARY}{uuid.uuid4().hex}")
        try:
            try:
                part.write_bytes(value)
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                part.write_bytes(value)
            part.replace(path)
        except OSError as error:
            with suppress(OSError):
                part.unlink()
            raise FetchFailed(str(path), f"cannot be written: {error.strerror or error}") from error

    def delete(self, key: str) -> None:
        check_writable(self._url, self._writable)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            os.unlink(self._path(key))  # noqa: PTH108

    def _path(self, key: str) -> str:
        """The file of a key, once its folder is known to lie in the store; `_open` looks at files that are links."""
        folder = check_key(key).rpartition("/")[0]
        if not self._links and folder not in self._inside:
            real = os.path.realpath(f"{self._root}/{folder}")
            if real != self._real and not real.startswith(self._real + os.sep):
                raise Forbidden(f"{self._root}/{folder}", f"a link that leads out of the store, to {real}")
            if len(self._inside) < MOST_FOLDERS:
                self._inside.add(folder)
        return f"{self._root}/{key}"

    def _open_if_there(self, path: str) -> int | None:
        """A descriptor to be closed by the caller; None where there is no such file."""
        try:
            return self._open(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Forbidden:
            raise
        except (OSError, ValueError) as error:
            raise FetchFailed(path, str(getattr(error, "strerror", None) or error)) from error

    def _open(self, path: str) -> int:
        if self._links:
            return os.open(path, _OPEN)
        try:
            return os.open(path, _OPEN | _NOFOLLOW)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
        real = os.path.realpath(path)
        if not real.startswith(self._real + os.sep):
            raise Forbidden(path, f"a link that leads out of the store, to {real}")
        return os.open(real, _OPEN | _NOFOLLOW)


def _read_all(fd: int, path: str, memory: Callable[[int], memoryview], most: int | None) -> Buffer:
    stat = os.fstat(fd)
    if S_ISDIR(stat.st_mode):
        raise IsADirectoryError
    size = stat.st_size
    check_size(path, size, most)
    data = memory(size)
    done = 0
    while done < size:
        got = read_into(fd, data[done:])
        if not got:
            raise FetchFailed(path, f"only {done} of {size} bytes are there")
        done += got
    return data


def _readv(fd: int, out: memoryview) -> int:
    return os.readv(fd, [out])


def _read_into(fd: int, out: memoryview) -> int:
    """As `_readv`, where the system has none (Windows)."""
    data = os.read(fd, min(len(out), ONE_READ))
    out[: len(data)] = data
    return len(data)


read_into: Callable[[int, memoryview], int] = _readv if hasattr(os, "readv") else _read_into
