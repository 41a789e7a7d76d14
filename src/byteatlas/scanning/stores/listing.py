"""What lies below an array in a store: keys with sizes and stamps, in batches. A listing that fails is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from byteatlas.errors import ByteatlasError, FetchFailed, Unsupported
from byteatlas.store.base import TEMPORARY, Store
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.remote import RemoteStore
from byteatlas.values import dataclass, field

BATCH = 1 << 14
"""Keys that are held as texts at once."""
MOST_DEPTH = 64


@dataclass(slots=True)
class ListedValues:
    """Some keys below an array; ``time`` in nanoseconds, ``stamp`` is an etag."""

    keys: list[str] = field(default_factory=list)
    size: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    stamp: list[str | None] = field(default_factory=list)


def below(store: Store, path: str) -> Iterator[ListedValues]:
    """The values below an array, in batches.

    Raises:
        FetchFailed: a folder cannot be listed.
        Unsupported: the storage does not list what it has.
    """
    match store:
        case DirectoryStore():
            yield from _folders(store, path)
        case RemoteStore():
            yield from _remote(store, path)
        case _:
            raise Unsupported("listing", f"{store.url} does not list sizes", path)


def _folders(store: DirectoryStore, path: str) -> Iterator[ListedValues]:
    found = ListedValues()
    for key, stat in _walk(store, path, "", 0):
        found.keys.append(key)
        found.size.append(stat.st_size)
        found.time.append(stat.st_mtime_ns)
        if len(found.keys) >= BATCH:
            yield found
            found = ListedValues()
    yield found


def _walk(store: DirectoryStore, path: str, inside: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    folder = "/".join(part for part in (store.url, path, inside) if part)
    if depth > MOST_DEPTH:
        raise FetchFailed(folder, f"folders are nested more than {MOST_DEPTH} deep")
    deeper: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                key = f"{inside}/{entry.name}" if inside else entry.name
                if entry.is_dir():
                    deeper.append(key)
                elif not entry.name.startswith((".z", "zarr.json", TEMPORARY)):
                    if entry.is_symlink():
                        store.source(f"{path}/{key}" if path else key)  # the same
                    yield key, entry.stat()
    except ByteatlasError:
        raise
    except OSError as error:
        raise FetchFailed(folder, error.strerror or str(error)) from error
    for key in deeper:
        if Path(folder, key.rpartition("/")[2]).is_symlink():
            store.source("/".join(part for part in (path, key, "x") if part))  # raises where it leads out of the store
        yield from _walk(store, path, key, depth + 1)


def _remote(store: RemoteStore, path: str) -> Iterator[ListedValues]:
    found = ListedValues()
    for key, record in store.values_below(path):
        if record.size is None:
            raise FetchFailed(f"{store.url}/{path}/{key}", "the listing does not say how large it is")
        found.keys.append(key)
        found.size.append(record.size)
        etag = record.stamp is not None and record.stamp.endswith('"')  # times are not told everywhere in one form
        found.stamp.append(record.stamp if etag else None)
        if len(found.keys) >= BATCH:
            yield found
            found = ListedValues()
    yield found
