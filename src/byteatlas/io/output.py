"""Writing files so that an interrupted write leaves what was there before: a temporary name, then a rename."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, Protocol

from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.local import local_path
from byteatlas.io.storage_options import StorageOptions
from byteatlas.types import JSON, Buffer

if TYPE_CHECKING:
    from pathlib import Path


class Sink(Protocol):
    """Something that bytes are written to, front to back."""

    def write(self, data: Buffer, /) -> Any: ...


class Folder(Protocol):
    """Something that named files are put into."""

    def put(self, name: str, data: Buffer) -> None:
        """Write one file; ``name`` may hold slashes."""
        ...


@contextmanager
def new_file(url: str, storage_options: Mapping[str, JSON] | None = None) -> Iterator[Sink]:
    """A file to be written; it appears under its name only when the block ends without an error.

    Raises:
        FetchFailed: it cannot be written.
    """
    path = local_path(url)
    if path is None:
        with _remote_file(url, storage_options) as stream:
            yield stream
        return
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{_mark()}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        stream = os.fdopen(os.open(draft, flags, 0o666), "wb")
    except OSError as error:
        raise FetchFailed(url, error.strerror or str(error)) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except OSError as error:
        _forget(draft)
        if isinstance(error, ByteatlasError):
            raise
        raise FetchFailed(url, error.strerror or str(error)) from error
    except BaseException:
        _forget(draft)
        raise


def _mark() -> str:
    """Makes the name of a draft one that nobody else has."""
    return os.urandom(6).hex()


def _forget(draft: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(draft)


@contextmanager
def _remote_file(url: str, storage_options: Mapping[str, JSON] | None) -> Iterator[IO[bytes]]:
    from fsspec.core import url_to_fs

    options = StorageOptions.of(storage_options).for_url(url)
    try:
        system, path = url_to_fs(url, **options)
        stream = system.open(path, "wb", autocommit=False)
    except (OSError, ValueError, NotImplementedError) as error:
        raise FetchFailed(url, f"cannot be written: {error}") from error
    try:
        yield stream
        stream.close()
        stream.commit()
    except BaseException:
        stream.closed = True
        with suppress(OSError, NotImplementedError):  # nothing was committed: nothing is left under the name
            stream.discard()
        raise


class _LocalFolder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, name: str, data: Buffer) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


class _RemoteFolder:
    def __init__(self, system: Any, root: str) -> None:
        self._system, self._root = system, root.rstrip("/")

    def put(self, name: str, data: Buffer) -> None:
        path = f"{self._root}/{name}"
        self._system.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(path, bytes(data))


class _LinkedFolder(_LocalFolder):
    """A folder that shares files with another one, which must not change: its files are replaced, never written to."""

    def put(self, name: str, data: Buffer) -> None:
        (self._root / name).unlink(missing_ok=True)
        super().put(name, data)


@contextmanager
def new_folder(url: str, storage_options: Mapping[str, JSON] | None = None, *, keep: bool = False) -> Iterator[Folder]:
    """A folder to be filled; locally it replaces what has its name when the block ends without an error.

    A reader finds the old folder or the new one, never a mixture. Object stores have no renames: there the files are
    put one by one, the caller's last one makes the map whole.

    Args:
        keep: it begins with the files of the folder that it replaces (as hard links, where the file system has them).
    """
    path = local_path(url)
    if path is None:
        from fsspec.core import url_to_fs

        try:
            system, root = url_to_fs(url, **StorageOptions.of(storage_options).for_url(url))
            yield _RemoteFolder(system, root)
        except ByteatlasError:
            raise
        except (OSError, NotImplementedError) as error:
            raise FetchFailed(url, f"cannot be written: {error}") from error
        return
    import shutil
    from pathlib import Path

    target = Path(path.rstrip("/"))
    mark = _mark()
    draft = target.with_name(f".{target.name}.{mark}.part")
    old = target.with_name(f".{target.name}.{mark}.old")
    try:
        if keep:
            shutil.copytree(target, draft, copy_function=_link)
        else:
            draft.mkdir()
        yield _LinkedFolder(draft)
        if _exchanged(draft, target):
            shutil.rmtree(draft, ignore_errors=True)
            return
        if target.is_dir():
            target.rename(old)
        try:
            draft.rename(target)
        except OSError:
            if old.is_dir():
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, ByteatlasError):
            raise
        raise FetchFailed(url, error.strerror or str(error)) from error
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # a file system without hard links
        import shutil

        shutil.copy2(source, target)


RENAME_EXCHANGE = 2
"""renameat2(2): both names exist before and after, and there is no moment without them."""


def _exchanged(draft: Path, target: Path) -> bool:
    """Let two folders change names at once; False where the system cannot, and nothing was done."""
    if sys.platform != "linux" or not target.is_dir() or target.is_symlink():
        return False
    import ctypes

    here = -100  # AT_FDCWD: names are taken as everywhere else
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    return bool(rename(here, os.fsencode(draft), here, os.fsencode(target), RENAME_EXCHANGE) == 0)
