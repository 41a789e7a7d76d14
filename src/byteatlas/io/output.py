"""Writing files so that an interrupted write leaves what was there before: a temporary name, then a rename."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from stat import S_IMODE
from typing import TYPE_CHECKING, Any, Protocol

from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.local import local_path
from byteatlas.io.writing.remote import RemoteFolder, remote_file
from byteatlas.io.writing.versions import FileVersion
from byteatlas.types import JSON, Buffer

if TYPE_CHECKING:
    from pathlib import Path


BUFFERED = 1 << 18
"""Bytes that are written at once: a small map in one call of the system, which costs as much as its text does."""


class Sink(Protocol):
    """Something that bytes are written to, front to back."""

    def write(self, data: Buffer, /) -> Any: ...


class Folder(Protocol):
    """Something that named files are put into."""

    def put(self, name: str, data: Buffer, version: FileVersion | None = None) -> None:
        """Write one file; ``name`` may hold slashes.

        Raises `Overtaken` where there is an object in another state than ``version``, and the storage can compare.
        """
        ...


@contextmanager
def new_file(
    url: str, storage_options: Mapping[str, JSON] | None = None, version: FileVersion | None = None
) -> Iterator[Sink]:
    """A file to be written; it appears under its name only when the block ends without an error.

    Args:
        version: the state that an object must still be in when it is replaced, where the storage can compare.

    Raises:
        FetchFailed: it cannot be written.
        Overtaken: the object is in another state.
    """
    path = local_path(url)
    if path is None:
        with remote_file(url, storage_options, version) as stream:
            yield stream
        return
    path = _behind_links(path)
    draft = draft_of(path)
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        stream = os.fdopen(os.open(draft, flags, 0o666), "wb", BUFFERED)
    except (OSError, ValueError) as error:
        raise FetchFailed(url, getattr(error, "strerror", None) or str(error)) from error
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _keep_mode(path, draft)
        os.replace(draft, path)
    except OSError as error:
        _forget(draft)
        if isinstance(error, ByteatlasError):
            raise
        raise FetchFailed(url, error.strerror or str(error)) from error
    except BaseException:
        _forget(draft)
        raise


def draft_of(path: str, what: str = "part") -> str:
    """The path of a draft beside a file: hidden, and of a name that nobody else has or can guess."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{draft_start(name)}.{os.urandom(6).hex()}.{what}")


def draft_start(name: str) -> str:
    """How the names of a file's drafts begin, behind a dot. Names have a limit: of a long one it is not all."""
    data = os.fsencode(name)
    if len(data) <= 200:
        return name
    from hashlib import sha256

    return f"{data[:80].decode(errors='ignore')}-{sha256(data).hexdigest()[:16]}"


def _behind_links(path: str) -> str:
    """What a link leads to is written, and the link stays. One that leads to nothing is replaced."""
    return os.path.realpath(path) if os.path.exists(path) else path


def is_draft(name: str) -> bool:
    """Whether a file's name is that of a draft, left behind by a write that was killed.

    >>> is_draft(".a.json.0123456789ab.part"), is_draft("a.part")
    (True, False)
    """
    start, _, mark = name.removesuffix(".part").rpartition(".")
    return start.startswith(".") and name.endswith(".part") and len(mark) == 12 and set(mark) <= set("0123456789abcdef")


def _usual_mode(folder: Path) -> int:
    """The mode that a new folder gets here: what the process's mask is cannot be asked without changing it."""
    probe = folder / "mode"
    probe.mkdir()
    mode = S_IMODE(probe.stat().st_mode)
    probe.rmdir()
    return mode


def _keep_mode(old: str, new: str) -> None:
    """What takes a file's or folder's place may be read and written by those who could read and write that."""
    try:
        mode = S_IMODE(os.stat(old).st_mode)
    except FileNotFoundError:
        return
    os.chmod(new, mode)


def _forget(draft: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(draft)


class _LocalFolder:
    """Files below a folder; each has the mode of the one that it replaces, which lies in ``old``."""

    def __init__(self, root: Path, old: Path | None = None) -> None:
        self._root, self._old = root, old

    def put(self, name: str, data: Buffer, version: FileVersion | None = None) -> None:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if self._old is not None:
            there = self._old / name
            _keep_mode(str(there if there.exists() else self._old / ".zmetadata"), str(path))


class _LinkedFolder(_LocalFolder):
    """A folder that shares files with another one, which must not change: its files are replaced, never written to."""

    def put(self, name: str, data: Buffer, version: FileVersion | None = None) -> None:
        (self._root / name).unlink(missing_ok=True)
        super().put(name, data, version)


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
        yield RemoteFolder(url, storage_options)
        return
    import shutil
    from pathlib import Path

    target = Path(_behind_links(path.rstrip("/")))
    draft, old = Path(draft_of(str(target))), Path(draft_of(str(target), "old"))
    try:
        draft.mkdir(0o700)  # nobody else puts files or links into it
        mode = _usual_mode(draft)
        if keep:
            shutil.copytree(target, draft, copy_function=_link, dirs_exist_ok=True)
        yield (_LinkedFolder if keep else _LocalFolder)(draft, target if target.is_dir() else None)
        draft.chmod(mode)
        _keep_mode(str(target), str(draft))
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
