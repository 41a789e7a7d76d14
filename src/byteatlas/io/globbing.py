"""Patterns of names (``maps/*.json``), looked up on this machine or at the storage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from byteatlas.errors import FetchFailed, NotFound
from byteatlas.io.local import local_path
from byteatlas.io.retry import persistently
from byteatlas.io.storage_options import StorageOptions
from byteatlas.types import JSON


def expanded(pattern: str, storage_options: Mapping[str, JSON] | None = None) -> list[str]:
    """The names that a pattern with ``*``, ``?`` or ``[...]`` stands for, sorted; any other name is itself.

    Raises `NotFound` when nothing has such a name.
    """
    path = local_path(pattern)
    if not any(mark in pattern for mark in "*?[") or (path is not None and os.path.lexists(path)):
        return [pattern]
    if path is not None:
        from glob import glob

        found = sorted(glob(path, recursive=True))
    else:
        found = _asked(pattern, storage_options, "glob")
    if not found:
        raise NotFound(f"nothing has a name like {pattern}")
    return found


MARKERS = frozenset({"zarr.json", ".zgroup", ".zarray", ".zmetadata"})
"""What a folder of a Zarr store holds: its files are chunks."""


def files_below(folder: str, storage_options: Mapping[str, JSON] | None = None) -> list[str]:
    """The files in a folder and its subfolders, sorted. Links to folders are not followed.

    Hidden ones are left out, and Zarr stores. Raises `FetchFailed` when the storage does not list it.
    """
    path = local_path(folder)
    if path is None:
        return _visible(folder, _asked(folder, storage_options, "find"))
    found: list[str] = []
    for here, folders, names in os.walk(path, onerror=_raise):
        if MARKERS.intersection(names):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [os.path.join(here, name) for name in sorted(names) if not name.startswith(".")]
    return found


def _visible(folder: str, urls: list[str]) -> list[str]:
    stores = tuple(f"{url.rpartition('/')[0]}/" for url in urls if url.rpartition("/")[2] in MARKERS)
    start = len(folder.rstrip("/"))
    return [url for url in urls if not url.startswith(stores) and "/." not in url[start:]]


def _raise(error: OSError) -> None:
    raise FetchFailed(str(error.filename), error.strerror or str(error)) from error


def _asked(url: str, storage_options: Mapping[str, JSON] | None, verb: Literal["glob", "find"]) -> list[str]:
    """The names that a file system gives for a pattern, or below a folder, as URLs, sorted."""
    from byteatlas.io.sources.faults import backend_errors, failure
    from byteatlas.io.sources.filesystem import file_system

    def listed() -> list[str]:
        try:
            living, path = file_system(url, storage_options)
            system = living()
            return sorted(str(system.unstrip_protocol(name)) for name in getattr(system, verb)(path))
        except NotImplementedError as error:
            raise FetchFailed(url, "names cannot be listed there") from error
        except backend_errors() as error:
            raise failure(url, error) from error

    return persistently(url, StorageOptions.of(storage_options).retry, listed)
