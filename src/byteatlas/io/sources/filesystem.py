"""File systems: which one a URL belongs to, with what options, and whether it still lives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from byteatlas.errors import BadRequest, MissingExtra
from byteatlas.io.retry import RETRY, Retry
from byteatlas.io.sources.faults import backend_errors, failure
from byteatlas.io.storage_options import StorageOptions
from byteatlas.io.urls import OBJECTS, S3, protocol_of
from byteatlas.types import JSON
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.io.credentials.asking import AskedOptions


class LivingFileSystem:
    """A file system that is made again in a process that was forked, where its threads and connections are not there,
    and when its credentials expire.

    Pickled as fsspec has it, by class and options; with a provider of credentials, without what that gave.

    Attributes:
        retry: how often writing is tried again.
    """

    __slots__ = ("_asked", "_fs", "_pid", "_serial", "protocols", "retry")

    def __init__(self, fs: Any, asked: AskedOptions | None = None, serial: int = 0, retry: Retry = RETRY) -> None:
        self.retry = retry
        self._fs, self._pid, self._asked, self._serial = _set_up(fs), os.getpid(), asked, serial
        self.protocols = frozenset((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)

    def __call__(self) -> Any:
        if self._asked is not None and (serial := self._asked.serial()) != self._serial:
            self._fs, self._serial = _granted(self._asked, self.retry), serial
        elif self._pid != os.getpid() and hasattr(self._fs, "storage_args"):
            self._fs = _set_up(type(self._fs)(*self._fs.storage_args, **self._fs.storage_options))
        self._pid = os.getpid()
        return self._fs

    def __reduce__(self) -> tuple[Any, ...]:
        if self._asked is None:
            return LivingFileSystem, (self._fs, None, 0, self.retry)
        return _again, (self._asked, self.retry)

    def forget(self, path: str) -> None:
        """Drop what the file system remembers of a path: whoever asks now wants to know what is there now."""
        with suppress(*backend_errors()):
            self().invalidate_cache(path)


def _again(asked: AskedOptions, retry: Retry) -> LivingFileSystem:
    serial = asked.serial()  # first: what expires meanwhile is asked for again
    return LivingFileSystem(_granted(asked, retry), asked, serial, retry)


def _granted(asked: AskedOptions, retry: Retry) -> Any:
    url = (asked.second() or asked.url) if asked.otherwise else asked.url
    return _made(url, asked.options(), retry)[0]


EXTRAS: Mapping[str, str] = {
    "http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "azure",
    "abfs": "azure", "abfss": "azure", "adl": "azure",
}  # fmt: skip
OURS_ALONE = {"total_max_attempts": 1, "mode": "standard"}
"""How botocore tries again what we try again: not at all."""
POOL = 64
"""Connections that one file system may keep open at a time, where it would keep ten."""


def file_system(url: str, options: Mapping[str, JSON] | None = None) -> tuple[LivingFileSystem, str]:
    """The file system for a URL, and the path in it.

    Raises:
        BadRequest: an option that the back end does not know.
        FetchFailed: a chain's inner file is not there.
        MissingExtra: the protocol's package is not installed.
    """
    given = StorageOptions.of(options)
    retry = given.retry
    asked = given.asked(url)
    if protocol_of(url) in OBJECTS and "::" not in url:
        found = _in_objects(url, given, asked)
        if found is not None:
            return found
    if asked is None:
        fs, path = _made(url, given.for_url(url), retry)
        return LivingFileSystem(fs, retry=retry), path
    serial = asked.serial()
    fs, path = _made(url, asked.options(), retry)
    if (second := asked.second()) is not None and _is_denied(LivingFileSystem(fs), path, url):
        asked = replace(asked, otherwise=True)
        fs, path = _made(second, asked.options(), retry)
    return LivingFileSystem(fs, asked, serial, retry), path


def _in_objects(url: str, options: StorageOptions, asked: AskedOptions | None) -> tuple[LivingFileSystem, str] | None:
    """The bucket through obstore; None where fsspec is asked for, or knows more."""
    if options.backend == "fsspec" or (options.backend is None and not has_obstore()):
        return None
    if not has_obstore():
        raise MissingExtra("obstore", f"opening {url} with backend='obstore'")
    from byteatlas.io.sources.objects.choose import through_obstore

    found = through_obstore(url, options, asked)
    return None if found is None else (LivingFileSystem(found[0], retry=options.retry), found[1])


@cache
def has_obstore() -> bool:
    """Whether obstore is installed."""
    from importlib.util import find_spec

    return find_spec("obstore") is not None


def _is_denied(living: LivingFileSystem, path: str, url: str) -> bool:
    try:
        living().info(path)
    except backend_errors() as error:
        return failure(url, error).denied
    return False


def _made(url: str, options: Mapping[str, Any], retry: Retry) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path in it."""
    from fsspec.core import url_to_fs

    from byteatlas.io.sources.option_names import for_links, unsuitable

    url = _in_lower_case(url)
    try:
        fs, path = url_to_fs(url, **_tuned(url, for_links(url, options), retry))
    except ImportError as error:
        protocol = protocol_of(url.rpartition("::")[2])
        raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
    except TypeError as error:
        raise unsuitable(url, error) from error
    except backend_errors() as error:
        if isinstance(error, BadRequest):
            raise
        raise failure(url, error) from error
    return _set_up(fs), path


def _set_up(fs: Any) -> Any:
    """The same file system. s3fs with our settings gets those that are no options, here and wherever it is made again.

    It tries nothing again, and sends what is written without asking first (``Expect: 100-continue``, RFC 9110 10.1.1):
    aiohttp forgets its time-out with the answer to that, and who is not answered then waits without an end. A session
    that the caller made is left as it is.
    """
    given = getattr(fs, "storage_options", {}).get("config_kwargs") or {}
    if given.get("retries") != OURS_ALONE:
        return fs
    fs.retries = 1
    if fs.session is not None:
        return fs
    from aiobotocore.session import AioSession
    from botocore.handlers import add_expect_header

    fs.session, fs._session_is_owned = AioSession(**fs.kwargs), False  # else s3fs makes another one at times
    fs.session.unregister("before-call.s3", add_expect_header)
    return fs


def _in_lower_case(url: str) -> str:
    """A URL with its protocols in lower case: fsspec takes no others."""
    links = []
    for link in url.split("::"):
        protocol, mark, rest = link.partition("://")
        links.append(f"{protocol.lower()}{mark}{rest}" if mark else link)
    return "::".join(links)


def _tuned(url: str, options: Mapping[str, Any], retry: Retry) -> dict[str, Any]:
    """What a back end does not do by itself: as many connections as requests, our time-outs, no retries beside ours."""
    if not _is_tuned(url, options):
        return dict(options)
    return {
        **options,
        "config_kwargs": {
            "max_pool_connections": POOL,
            "retries": OURS_ALONE,
            "connect_timeout": retry.idle,
            "read_timeout": retry.idle,
        },
    }


def _is_tuned(url: str, options: Mapping[str, Any]) -> bool:
    return "::" not in url and protocol_of(url) in S3 and "config_kwargs" not in options


def object_source(living: LivingFileSystem, path: str, url: str, seconds: float) -> Any:
    """An object's source through obstore; None where the file system is fsspec's."""
    from byteatlas.io.sources.objects.source import ObjectSource
    from byteatlas.io.sources.objects.system import ObjectSystem

    system = living()
    return ObjectSource(system.living, system.key(path), url, seconds) if isinstance(system, ObjectSystem) else None
