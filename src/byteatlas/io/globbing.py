"""Patterns of names (``maps/*.json``), looked up on this machine or at the storage."""

from __future__ import annotations

import os
from collections.abc import Mapping

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
        found = _remote(pattern, storage_options)
    if not found:
        raise NotFound(f"nothing has a name like {pattern}")
    return found


def _remote(pattern: str, storage_options: Mapping[str, JSON] | None) -> list[str]:
    from byteatlas.io.sources.faults import backend_errors, failure
    from byteatlas.io.sources.filesystem import file_system

    def listed() -> list[str]:
        try:
            living, path = file_system(pattern, storage_options)
            system = living()
            return sorted(str(system.unstrip_protocol(name)) for name in system.glob(path))
        except NotImplementedError as error:
            raise FetchFailed(pattern, "names cannot be listed there") from error
        except backend_errors() as error:
            raise failure(pattern, error) from error

    return persistently(pattern, StorageOptions.of(storage_options).retry, listed)
