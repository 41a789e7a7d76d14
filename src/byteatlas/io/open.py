"""From a URL to a source: protocol, storage options, policy, and a bounded set of open files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from byteatlas.io.local import LocalSource, local_path
from byteatlas.io.memory import MemorySource
from byteatlas.io.policy import Policy
from byteatlas.io.remote import FsspecSource
from byteatlas.io.source import Source
from byteatlas.io.wrap import Retrying
from byteatlas.types import JSON, Buffer
from byteatlas.values import dataclass, field


@dataclass(frozen=True, slots=True)
class StorageOptions:
    """fsspec's options: for every URL, and for URLs under a prefix (the longest prefix wins).

    A mapping whose keys hold ``://`` is taken as options by prefix.
    """

    common: Mapping[str, JSON] = field(default_factory=dict)
    by_prefix: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)

    @staticmethod
    def of(options: Mapping[str, JSON] | None) -> StorageOptions:
        options = options or {}
        by_prefix = {k: v for k, v in options.items() if "://" in k and isinstance(v, Mapping)}
        return StorageOptions({k: v for k, v in options.items() if k not in by_prefix}, by_prefix)

    def for_url(self, url: str) -> Mapping[str, JSON]:
        best = max((p for p in self.by_prefix if url.startswith(p)), key=len, default=None)
        return self.common if best is None else {**self.common, **self.by_prefix[best]}


def open_source(url: str, storage_options: Mapping[str, JSON] | None = None) -> Source:
    """The source for one URL: a local file, or anything fsspec can open.

    Raises `FetchFailed` when it is not there, `MissingExtra` when the protocol's package is not installed.
    """
    if local_path(url) is not None:
        return LocalSource(url)
    return Retrying(FsspecSource(url, StorageOptions.of(storage_options).for_url(url)))


class SourcePool:
    """An opener with a memory: one source per URL, the least recently used closed when there are too many.

    A closed source is only dropped here; whoever still reads from it keeps its descriptor open until done.
    """

    def __init__(
        self,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
        *,
        most: int = 256,
        memory: Mapping[str, Buffer] | None = None,
    ) -> None:
        self._options, self._policy = StorageOptions.of(storage_options), policy or Policy()
        self._most, self._memory = most, memory or {}
        self._open: OrderedDict[str, Source] = OrderedDict()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Pickled without what is open."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_open", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _open=OrderedDict(), _lock=threading.Lock())

    def __call__(self, url: str) -> Source:
        with self._lock:
            found = self._open.get(url)
            if found is not None:
                self._open.move_to_end(url)
                return found
        self._policy.check(url)
        source = self._make(url)
        with self._lock:
            self._open[url] = source
            while len(self._open) > self._most:
                self._open.popitem(last=False)
        return source

    def _make(self, url: str) -> Source:
        if url in self._memory:
            return MemorySource(self._memory[url], url)
        if local_path(url) is not None:
            return LocalSource(url)
        return Retrying(FsspecSource(url, self._options.for_url(url)))
