"""What manifests keep in memory of the maps behind them, when there are more of these than memory holds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Protocol, runtime_checkable

from byteatlas.manifest.model import Manifest

MOST_KEPT = 128 << 20
"""Bytes that the manifests of one combination keep of what they have read."""


@runtime_checkable
class Forgetful(Protocol):
    """A manifest that keeps what it has read, and can read it again."""

    def kept(self) -> int:
        """Bytes that it keeps."""
        ...

    def forget(self) -> None:
        """Keep nothing of it."""
        ...


class RecentlyRead:
    """The manifests that were read last; the others are told to forget. Safe to use from many threads."""

    __slots__ = ("_limit", "_lock", "_recent", "_total")

    def __init__(self, limit: int = MOST_KEPT) -> None:
        self._limit, self._total = limit, 0
        self._recent: OrderedDict[int, tuple[Forgetful, int]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, manifest: Manifest) -> None:
        """Rows of this manifest were read."""
        if not isinstance(manifest, Forgetful):
            return
        size, key = manifest.kept(), id(manifest)
        with self._lock:
            _, before = self._recent.pop(key, (manifest, 0))
            self._recent[key] = manifest, size
            self._total += size - before
            while self._total > self._limit and len(self._recent) > 1:
                _, (oldest, freed) = self._recent.popitem(last=False)
                self._total -= freed
                oldest.forget()
