"""One writer at a time where there are no locks: an object beside the map, which only one writer can make.

Object storage makes an object only if there is none, and replaces it only if it is still the same, in one step
(`byteatlas.io.writing.versions`). A writer that died leaves the object behind: who sees it unchanged for long takes it
over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import uniform

from byteatlas.errors import Conflict, FetchFailed
from byteatlas.io.access import Access
from byteatlas.io.local import local_path
from byteatlas.io.locks import PATIENCE, locked, version_of
from byteatlas.io.sources.faults import backend_errors
from byteatlas.io.sources.filesystem import LivingFileSystem, file_system
from byteatlas.io.writing.remote import compares, put
from byteatlas.io.writing.versions import NEW, FileVersion, Overtaken

LEASE = 120.0
"""Seconds after which an object that did not change is one that was left behind."""
Renew = Callable[[], None]
"""Says that the writer is still there. Raises `Overtaken` when another one took over."""


@contextmanager
def one_writer(url: str, access: Access, patience: float = PATIENCE, lease: float = LEASE) -> Iterator[Renew]:
    """Wait until nobody else writes a map, here or on object storage. What is yielded is called before each write.

    Where the storage cannot compare, nothing is held.

    Raises:
        Conflict: others did not finish in time.
        FetchFailed: no file can be made there.
    """
    if local_path(url) is not None:
        with locked(url, patience):
            yield lambda: None
        return
    folder, _, name = url.rstrip("/").rpartition("/")
    lock = f"{folder}/.{name}.lock"
    living, path = file_system(lock, access.storage_options)
    held = _Held(lock, path, living, access, lease)
    if not compares(living) or not held.acquire(url, patience):
        yield lambda: None
        return
    try:
        yield held.renew
    finally:
        held.release()


class _Held:
    """The object of one writer."""

    def __init__(self, url: str, path: str, living: LivingFileSystem, access: Access, lease: float) -> None:
        self._url, self._path, self._living, self._access, self._lease = url, path, living, access, lease
        self._version, self._since = NEW, 0.0

    def acquire(self, target: str, patience: float) -> bool:
        """Whether this storage keeps others out; False: it writes whatever the conditions say.

        Raises `Conflict` when others did not finish in time.
        """
        end, wait = time.monotonic() + patience, 0.02
        seen, since = NEW, 0.0
        while True:
            now = self._there()
            if now != seen:
                seen, since = now, time.monotonic()
            if (now.is_new or time.monotonic() - since > self._lease) and self._taken(now):
                return self._is_refused_to_others()
            if time.monotonic() > end:
                why = f"{target} is being written by others, for more than {patience:.0f} seconds"
                raise Conflict([f"{why}; if they died, remove {self._url}"], "append")
            time.sleep(wait * uniform(0.5, 1))
            wait = min(wait * 1.5, 0.5)

    def renew(self) -> None:
        """Once in a while, make the object anew."""
        if time.monotonic() - self._since > self._lease / 4 and not self._taken(self._version):
            raise Overtaken(self._url)

    def release(self) -> None:
        """Remove the object, if it is still ours. When that fails, others wait for a while."""
        with suppress(*backend_errors(), NotImplementedError):
            if self._there() == self._version:
                self._living().rm_file(self._path)

    def _there(self) -> FileVersion:
        try:
            return version_of(self._url, self._access)
        except FetchFailed as error:
            if error.absent:
                return NEW
            raise

    def _taken(self, before: FileVersion) -> bool:
        try:
            self._put(before)
        except Overtaken:
            return False
        self._since = time.monotonic()
        self._version = self._there()
        return True

    def _put(self, before: FileVersion) -> None:
        token = os.urandom(16).hex().encode()
        try:
            put(self._living, self._path, self._url, token, before)
        except Overtaken:
            if not self._holds(token):
                raise

    def _holds(self, token: bytes) -> bool:
        """Whether it is ours: a try whose answer was lost made it, and the next try found it there."""
        try:
            return bytes(self._access.open(self._url).read_all()) == token
        except FetchFailed as error:
            if error.absent:
                return False
            raise

    def _is_refused_to_others(self) -> bool:
        try:
            self._put(NEW)
        except Overtaken:
            return True
        self._living().rm_file(self._path)
        return False
