"""A store around a store that counts the bytes put into it."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from byteatlas.io.source import Source
from byteatlas.store.base import WritableStore
from byteatlas.types import Buffer


class Counted:
    """Passes everything on; ``written`` is the bytes of all values set so far."""

    __slots__ = ("_inner", "_lock", "written")

    def __init__(self, inner: WritableStore) -> None:
        self._inner, self._lock, self.written = inner, threading.Lock(), 0

    @property
    def url(self) -> str:
        return self._inner.url

    @property
    def local(self) -> bool:
        return self._inner.local

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        return self._inner.get(key, most)

    def source(self, key: str) -> Source | None:
        return self._inner.source(key)

    def names(self, prefix: str) -> Sequence[str] | None:
        return self._inner.names(prefix)

    def set(self, key: str, value: Buffer) -> None:
        self._inner.set(key, value)
        with self._lock:
            self.written += memoryview(value).nbytes

    def delete(self, key: str) -> None:
        self._inner.delete(key)
