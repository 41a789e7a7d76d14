"""fsspec's file systems: which one a URL belongs to, with what options, and whether it still lives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from byteatlas.errors import MissingExtra
from byteatlas.io.sources.faults import backend_errors, failure
from byteatlas.io.urls import protocol_of
from byteatlas.types import JSON


class LivingFileSystem:
    """An fsspec file system that is made again in a process that was forked: its threads and connections are not there.

    Pickled as fsspec has it, by class and options.
    """

    __slots__ = ("_fs", "_pid", "protocols")

    def __init__(self, fs: Any) -> None:
        self._fs, self._pid = fs, os.getpid()
        self.protocols = frozenset((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)

    def __call__(self) -> Any:
        if self._pid != os.getpid():
            self._fs = type(self._fs)(*self._fs.storage_args, **self._fs.storage_options)
            self._pid = os.getpid()
        return self._fs

    def __reduce__(self) -> tuple[type[LivingFileSystem], tuple[Any]]:
        return LivingFileSystem, (self._fs,)

    def forget(self, path: str) -> None:
        """Drop what the file system remembers of a path: whoever asks now wants to know what is there now."""
        with suppress(*backend_errors()):
            self().invalidate_cache(path)


EXTRAS: Mapping[str, str] = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}
POOL = 64
"""Connections that one file system may keep open at a time, where it would keep ten."""
_S3 = frozenset({"s3", "s3a"})


def file_system(url: str, options: Mapping[str, JSON] | None = None) -> tuple[LivingFileSystem, str]:
    """fsspec's file system for a URL, and the path in it.

    Raises `FetchFailed` where a chain's inner file is not there, `MissingExtra` without the protocol's package.
    """
    from fsspec.core import url_to_fs

    try:
        fs, path = url_to_fs(url, **_tuned(url, options or {}))
    except ImportError as error:
        protocol = url.partition("://")[0].partition("::")[0]
        raise MissingExtra(EXTRAS.get(protocol, protocol), f"opening {url}") from error
    except backend_errors() as error:
        raise failure(url, error) from error
    return LivingFileSystem(fs), path


def _tuned(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a back end does not do by itself: as many connections as requests, and no retries beside ours."""
    if "::" in url or protocol_of(url) not in _S3 or "config_kwargs" in options:
        return dict(options)
    return {
        **options,
        "config_kwargs": {"max_pool_connections": POOL, "retries": {"max_attempts": 1, "mode": "standard"}},
    }
