"""From what a caller has - a path, a URL, a mapping, a store - to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import LocalSource, local_path
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.store.base import Store, is_zip
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MappingStore
from byteatlas.store.remote import RemoteStore
from byteatlas.store.zip import ZipStore
from byteatlas.types import Buffer


def open_as_store(target: str | os.PathLike[str] | Mapping[str, Buffer] | Store, access: Access = DEFAULT) -> Store:
    """A store to read from. Raises `NotFound` for a local path that does not exist, `CorruptFile` for a broken ZIP."""
    if isinstance(target, Mapping):
        return MappingStore(target)
    if isinstance(target, (str, os.PathLike)):
        return _from_url(os.fspath(target), access)
    if isinstance(target, Store):
        return target
    raise BadRequest(f"{type(target).__name__} is no path, URL, mapping or store")


def _from_url(url: str, access: Access) -> Store:
    path = local_path(url)
    if path is not None:
        place = Path(path)
        if place.is_dir():
            return DirectoryStore(path)
        if not place.exists():
            raise NotFound(f"{url} does not exist")
        return ZipStore(LocalSource(path))
    if is_zip(url) or url.startswith(OPEN_FILE):
        return ZipStore(access.open(url))
    return RemoteStore(url, access)
