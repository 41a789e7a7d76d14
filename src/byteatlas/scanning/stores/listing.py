"""What lies below an array in a store: keys with sizes and stamps, in batches. A listing that fails is an error."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from byteatlas.errors import FetchFailed, Unsupported
from byteatlas.store.base import TEMPORARY, Store
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.remote import RemoteStore
from byteatlas.values import dataclass, field

BATCH = 1 << 14
"""Keys that are held as texts at once."""
MOST_DEPTH = 64
Entry: TypeAlias = "os.DirEntry[str]"
_NO_CHUNKS = (".z", "zarr.json", TEMPORARY)


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
    for inside, files in _walk(store, path, "", 0):
        begin = f"{inside}/" if inside else ""
        found.keys += [begin + file.name for file in files]
        _take_facts(files, f"{store.url}/{_below(path, begin)}", found)
        if len(found.keys) >= BATCH:
            yield found
            found = ListedValues()
    yield found


def _take_facts(files: list[Entry], folder: str, found: ListedValues) -> None:
    size, time = found.size.append, found.time.append
    for file in files:
        try:
            facts = file.stat()
        except OSError as error:
            raise FetchFailed(folder + file.name, error.strerror or str(error)) from error
        size(facts.st_size)
        time(facts.st_mtime_ns)


def _walk(store: DirectoryStore, path: str, inside: str, depth: int) -> Iterator[tuple[str, list[Entry]]]:
    """The files below a folder, some at a time, with the path of their folder below the array."""
    folder = "/".join(part for part in (store.url, path, inside) if part)
    if depth > MOST_DEPTH:
        raise FetchFailed(folder, f"folders are nested more than {MOST_DEPTH} deep")
    deeper: list[str] = []
    for some in _entries(folder):
        folders = list(map(os.DirEntry.is_dir, some))
        files = some
        if any(folders):
            deeper += [_below(inside, entry.name) for entry in itertools.compress(some, folders)]
            files = [entry for entry, is_folder in zip(some, folders, strict=True) if not is_folder]
        yield inside, _chunk_files(store, _below(path, inside), files)
    for key in deeper:
        if Path(folder, key.rpartition("/")[2]).is_symlink():
            store.source("/".join(part for part in (path, key, "x") if part))  # raises where it leads out of the store
        yield from _walk(store, path, key, depth + 1)


def _chunk_files(store: DirectoryStore, path: str, files: list[Entry]) -> list[Entry]:
    """Files that may be chunks. Raises for links that lead out of the store."""
    found = [file for file in files if not file.name.startswith(_NO_CHUNKS)]
    for link in itertools.compress(found, map(os.DirEntry.is_symlink, found)):
        store.source(_below(path, link.name))
    return found


def _entries(folder: str) -> Iterator[list[Entry]]:
    """What is in a folder, some at a time. Asked for below an open folder, a file's facts cost a third less."""
    try:
        opened = os.open(folder, os.O_RDONLY) if os.scandir in os.supports_fd else None
        try:
            with os.scandir(folder if opened is None else opened) as entries:
                while some := list(itertools.islice(entries, BATCH)):
                    yield some
        finally:
            if opened is not None:
                os.close(opened)
    except OSError as error:
        raise FetchFailed(folder, error.strerror or str(error)) from error


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and name else folder or name


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
