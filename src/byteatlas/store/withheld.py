"""A store around a store that keeps metadata documents back until all chunks are there.

A document without its chunks would say that they were never written, and so that they hold the fill value. What breaks
off before `Withheld.release` leaves chunks that belong to nothing, which no reader takes for data.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.store.base import WritableStore
from byteatlas.types import Buffer

LAST = (".zattrs", ".zarray", ".zgroup", "zarr.json", ".zmetadata")
"""Names of documents, in the order in which a node's documents are written: what makes it exist comes late."""


class Withheld:
    """Passes values on and keeps documents; ``written``: bytes of all values put into the inner store."""

    __slots__ = ("_documents", "_inner", "_lock", "written")

    def __init__(self, inner: WritableStore) -> None:
        self._inner, self._lock, self.written = inner, threading.Lock(), 0
        self._documents: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return self._inner.url

    @property
    def local(self) -> bool:
        return self._inner.local

    def get(self, key: str, most: int | None = None) -> Buffer | None:
        kept = self._documents.get(key)
        return self._inner.get(key, most) if kept is None else kept

    def source(self, key: str) -> Source | None:
        kept = self._documents.get(key)
        return self._inner.source(key) if kept is None else MemorySource(kept, f"{self.url}/{key}")

    def names(self, prefix: str) -> Sequence[str] | None:
        return self._inner.names(prefix)

    def set(self, key: str, value: Buffer) -> None:
        if key.rpartition("/")[2] in LAST:
            self._documents[key] = bytes(value)
        else:
            self._put(key, value)

    def delete(self, key: str) -> None:
        self._documents.pop(key, None)
        self._inner.delete(key)

    def release(self) -> None:
        """Write the documents: those of nodes far from the root first, so that what can be found is whole."""
        for key in sorted(self._documents, key=_turn):
            self._put(key, self._documents[key])
        self._documents.clear()

    def _put(self, key: str, value: Buffer) -> None:
        self._inner.set(key, value)
        with self._lock:
            self.written += memoryview(value).nbytes


def _turn(key: str) -> tuple[int, str, int]:
    """The place of a document in the order of writing.

    >>> sorted([".zmetadata", ".zgroup", "g/.zgroup", "g/x/.zarray", "g/x/.zattrs"], key=_turn)
    ['g/x/.zattrs', 'g/x/.zarray', 'g/.zgroup', '.zgroup', '.zmetadata']
    """
    node, _, name = key.rpartition("/")
    return -key.count("/") - bool(node), node, LAST.index(name)
