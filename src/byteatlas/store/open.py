"""From what a caller has - a path, a URL, a mapping, a store - to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.local import LocalSource, local_path
from byteatlas.io.open import open_source
from byteatlas.store.base import Store
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MappingStore
from byteatlas.store.remote import RemoteStore
from byteatlas.store.zip import ZipStore
from byteatlas.types import JSON, Buffer


def open_as_store(
    target: str | os.PathLike[str] | Mapping[str, Buffer] | Store, storage_options: Mapping[str, JSON] | None = None
) -> Store:
    """A store to read from. Raises `NotFound` for a local path that does not exist, `CorruptFile` for a broken ZIP."""
    if isinstance(target, Mapping):
        return MappingStore(target)
    if isinstance(target, (str, os.PathLike)):
        return _from_url(os.fspath(target), storage_options)
    if isinstance(target, Store):
        return target
    raise BadRequest(f"{type(target).__name__} is no path, URL, mapping or store")


def _from_url(url: str, storage_options: Mapping[str, JSON] | None) -> Store:
    path = local_path(url)
    if path is not None:
        place = Path(path)
        if place.is_dir():
            return DirectoryStore(path)
        if not place.exists():
            raise NotFound(f"{url} does not exist")
        return ZipStore(LocalSource(path))
    if url.partition("?")[0].rstrip("/").endswith(".zip"):
        return ZipStore(open_source(url, storage_options))
    return RemoteStore(url, storage_options)
