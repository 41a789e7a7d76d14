"""From a URL to a source: protocol, storage options, policy, and a bounded set of open files."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from byteatlas.io.local import LocalSource, local_path
from byteatlas.io.policy import Policy
from byteatlas.io.retry import Retry, Retrying
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.filesystem import LivingFileSystem, file_system, object_source
from byteatlas.io.sources.remote import FsspecSource
from byteatlas.io.stamp import Check, checked
from byteatlas.io.storage_options import StorageOptions
from byteatlas.io.urls import OBJECTS, WEB
from byteatlas.types import JSON

if TYPE_CHECKING:
    from byteatlas.io.traffic.traffic import Meter


def open_source(
    url: str,
    storage_options: Mapping[str, JSON] | None = None,
    retry: Retry | None = None,
    policy: Policy | None = None,
    meter: Callable[[str], Meter] | None = None,
) -> Source:
    """The source for one URL: a local file, or anything fsspec or obstore can open.

    Args:
        policy: where a server may send us on to.
        meter: gives what counts the requests to the server of a URL.

    Raises `FetchFailed` when it is not there, `MissingExtra` when the protocol's package is not installed.
    """
    if local_path(url) is not None:
        return LocalSource(url)
    fs, path = file_system(url, storage_options)
    counting = None if meter is None else meter(url)
    return remote_source(fs, path, url, retry or Retry(), policy or Policy(), counting)


def remote_source(
    fs: LivingFileSystem, path: str, url: str, retry: Retry, policy: Policy, meter: Meter | None = None
) -> Source:
    """An object of a file system, tried again where that may help.

    Args:
        path: the object's name in the file system.
        url: its name in messages.
        meter: counts its requests; None = one of its own.
    """
    if meter is None:
        from byteatlas.io.traffic.traffic import Traffic

        meter = Traffic().meter(url)
    if not OBJECTS.isdisjoint(fs.protocols) and (found := object_source(fs, path, url, retry.deadline)) is not None:
        return Retrying(found, retry, meter=meter)
    if WEB.isdisjoint(fs.protocols):
        return Retrying(FsspecSource.on(fs, path, url), retry, meter=meter)
    from byteatlas.io.sources.http import HttpSource

    return Retrying(HttpSource(fs, path, follow=policy.check_hop, retry=retry, meter=meter), retry, meter=meter)


class SourcePool:
    """An opener with a memory: one source per URL, the least recently used closed when there are too many.

    A closed source is only dropped here; whoever still reads from it keeps its descriptor open until done.

    Args:
        files: sources that are open already, each for its own URL.
        most: sources kept.
        check: what of a source is compared with what a map has recorded of it.
        meter: gives what counts the requests to the server of a URL.
    """

    def __init__(
        self,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
        *,
        retry: Retry | None = None,
        files: Sequence[Source] = (),
        most: int = 256,
        check: Check = "free",
        meter: Callable[[str], Meter] | None = None,
    ) -> None:
        self._options, self._policy = StorageOptions.of(storage_options), policy or Policy()
        self._retry, self._files, self._most = retry or Retry(), {f.url: f for f in files}, most
        self.check: Check = check
        self._meter = meter
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
        source = self._files.get(url) or open_source(url, self._options, self._retry, self._policy, self._counting)
        with self._lock:
            self._open[url] = source
            while len(self._open) > self._most:
                self._open.popitem(last=False)
        return source

    def _counting(self, url: str) -> Meter:
        if self._meter is None:  # nobody wants to know: what is measured is for this pool
            from byteatlas.io.traffic.traffic import Traffic

            self._meter = Traffic().meter
        return self._meter(url)

    def foreign(self, url: str) -> Source:
        """A source of this machine that something from elsewhere names.

        Raises `Forbidden` unless the policy allows just that.
        """
        self._policy.check(url, foreign=True)
        return self(url)


class Named(Protocol):
    """A source as a map or file names it (`byteatlas.manifest.model.SourceInfo`)."""

    @property
    def url(self) -> str: ...

    @property
    def size(self) -> int | None: ...

    @property
    def stamp(self) -> str | None: ...

    @property
    def foreign(self) -> bool: ...


@runtime_checkable
class MadeOfOthers(Protocol):
    """A source that is no file of its own (`byteatlas.manifest.kinds.joined`)."""

    def source(self, opener: Opener, check: Check) -> Source: ...


def opened(opener: Opener, named: Named, check: Check | None = None) -> Source:
    """Open what a map or file names. An opener without a policy of its own opens nothing that is foreign.

    Args:
        check: what is compared with the record; None = what the opener says.

    Raises:
        Forbidden: the policy does not allow it.
        FetchFailed: it is not there.
        SourceChanged: it is not the file that was indexed.
    """
    if check is None:
        check = opener.check if isinstance(opener, SourcePool) else "free"
    if isinstance(named, MadeOfOthers):
        return named.source(opener, check)
    if not named.foreign:
        return checked(opener(named.url), named.size, named.stamp, check)
    if isinstance(opener, SourcePool):
        return checked(opener.foreign(named.url), named.size, named.stamp, check)
    Policy().check(named.url, foreign=True)
    return checked(opener(named.url), named.size, named.stamp, check)
