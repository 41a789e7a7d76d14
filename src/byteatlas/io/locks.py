"""One writer at a time: a lock beside a file of this machine, and a look at whether a file is still what was read."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

from byteatlas.errors import Conflict, FetchFailed
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import local_path
from byteatlas.io.stamp import number_of, stamp_of
from byteatlas.io.writing.versions import FileVersion

PATIENCE = 600.0
"""Seconds that a writer waits for others."""
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


@contextmanager
def locked(url: str, patience: float = PATIENCE) -> Iterator[None]:
    """Holds a lock on a file or folder, which need not be there; processes and threads take turns.

    The lock is that of a file beside it, ``.NAME.lock``, which is removed at the end. The system lets go of it when its
    process dies. File systems without locks have none: there nothing is held (see `version_of`). For object storage see
    `byteatlas.io.writing.leases`.

    Raises:
        Conflict: others did not finish in time.
        FetchFailed: no file can be made there.
    """
    path = local_path(url)
    lock = None if path is None else _beside(os.path.realpath(path))
    fd = None if lock is None else _acquired(lock, url, patience)
    try:
        yield
    finally:
        if fd is not None and lock is not None:
            _released(fd, lock)


def _beside(path: str) -> str:
    folder, name = os.path.split(path.rstrip("/"))
    return os.path.join(folder, f".{name}.lock")


def _hold() -> Callable[[int], None]:
    """A function that takes the lock of an open file, or raises OSError (EAGAIN, EACCES) while another has it."""
    try:
        import fcntl
    except ImportError:  # Windows
        return _hold_first_byte
    return lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _hold_first_byte(fd: int) -> None:
    """As Windows locks: a range of bytes, which need not be there."""
    try:
        msvcrt = import_module("msvcrt")
    except ImportError as error:  # a system with neither
        raise OSError(errno.ENOSYS, "no locks") from error
    os.lseek(fd, 0, os.SEEK_SET)
    msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)


def _released(fd: int, lock: str) -> None:
    if os.name == "nt":  # which removes no file that is open: who waits then finds it, or makes it anew
        os.close(fd)
        with suppress(OSError):
            os.unlink(lock)
        return
    with suppress(FileNotFoundError):
        os.unlink(lock)  # before it is let go: who waits for it sees that it is no longer there
    os.close(fd)


def _acquired(lock: str, url: str, patience: float) -> int | None:
    """A descriptor that holds the lock, which is this file; None where the file system has no locks."""
    hold = _hold()
    end, wait = time.monotonic() + patience, 0.002
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        try:
            fd = os.open(lock, flags, 0o666)
        except OSError as error:
            raise FetchFailed(url, f"cannot be locked: {error.strerror or error}") from error
        try:
            hold(fd)
            if _is_under(fd, lock):
                return fd
        except OSError as error:
            if error.errno in NO_LOCKS:
                _released(fd, lock)
                return None
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                os.close(fd)
                raise FetchFailed(url, f"cannot be locked: {error.strerror or error}") from error
        os.close(fd)
        if time.monotonic() > end:
            raise Conflict([f"{url} is being written by others, for more than {patience:.0f} seconds"], "append")
        time.sleep(wait)
        wait = min(wait * 1.5, 0.1)


def _is_under(fd: int, path: str) -> bool:
    """Whether the file that was locked is still the one under its name: who had it before removed it."""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def version_of(url: str, access: Access = DEFAULT) -> FileVersion:
    """The state of a file: another one says that it was written again.

    Raises `FetchFailed` when it is not there.
    """
    source = access.open(url)
    return FileVersion(source.size(), stamp_of(source), number_of(source))
