"""From what a caller has - a path, a URL, a mapping, a store - to a store that can be written to.

A ZIP file cannot change in place: what goes into one is collected in a folder beside it (`staged_zip`), packed at the
end under a temporary name, and renamed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any, cast

from byteatlas.errors import BadRequest, Conflict, FetchFailed, Forbidden
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.kind import kind_of
from byteatlas.io.local import local_path
from byteatlas.io.output import draft_of, draft_start, new_file
from byteatlas.io.urls import fault_of
from byteatlas.store.base import Store, WritableStore, is_zip
from byteatlas.store.directory import DirectoryStore
from byteatlas.store.memory import MappingStore
from byteatlas.store.remote import RemoteStore
from byteatlas.types import JSON, Buffer

STAGING = ".staging"
"""How the name of the folder ends where a ZIP file's members are collected."""
ONE_COPY = 1 << 20
"""Bytes of a member packed at a time."""

OWN = ".byteatlas-"
"""How names of our own begin that do not belong to a store: they are left out of a ZIP file."""

WriteTarget = str | os.PathLike[str] | MutableMapping[str, Buffer] | WritableStore
"""What `writable` makes a store of."""


class Staging(DirectoryStore):
    """The folder of a ZIP file to be. The record of what is done stays until the file is there."""

    __slots__ = ()

    def delete(self, key: str) -> None:
        if not key.startswith(OWN):
            super().delete(key)


@contextmanager
def writable(target: WriteTarget, access: Access = DEFAULT) -> Iterator[WritableStore]:
    """A store to write to: a folder, a ZIP file (by its suffix), any fsspec URL, a mapping, or a store.

    A ZIP file appears under its name when the block ends without an error. When it ends with one, what was collected
    stays, and the next block for the same local file goes on from there.

    Raises:
        Conflict: there is such a ZIP file, a file where a folder should be, or a map.
        Forbidden: a store or a kind of storage that is read only.
        FetchFailed: the storage cannot be reached. MissingExtra: its package is not installed.
    """
    if isinstance(target, (str, os.PathLike)):
        url = os.fspath(target)
        if fault := fault_of(url):
            raise BadRequest(f"{url} {fault}".replace("\0", "?"))
        if is_zip(url):
            with staged_zip(url, access.storage_options) as store:
                yield store
            return
        path = local_path(url)
        if path is None:
            yield RemoteStore(url, access, writable=True)
        elif Path(path).exists() and not Path(path).is_dir():
            raise Conflict([f"{url} is a file"], "write")
        else:
            check_no_map(url)
            yield DirectoryStore(path, writable=True)
    elif isinstance(target, MutableMapping):
        if not all(isinstance(key, str) for key in target):
            raise BadRequest("the keys of a dict that holds a store are text")
        yield MappingStore(target, writable=True)
    elif isinstance(target, WritableStore):
        yield target
    elif isinstance(target, Store):
        raise Forbidden(target.url, "a store that cannot be written to")
    else:
        raise BadRequest(f"{type(target).__name__} is no path, URL, mapping or store")


def check_no_map(folder: str) -> None:
    """Raises `Conflict` for a local folder that is a reference map: its documents have the names of a store's."""
    path = Path(local_path(folder) or folder)
    if path.is_dir() and any(path.iterdir()) and kind_of(folder) == "parquet":
        raise Conflict([f"{folder} is a reference map"], "write")


@contextmanager
def staged_zip(url: str, storage_options: Mapping[str, JSON] | None = None) -> Iterator[WritableStore]:
    """A folder that becomes a ZIP file: beside it where the file is local, else a temporary one."""
    path = local_path(url)
    if path is None:
        with tempfile.TemporaryDirectory(prefix="byteatlas-") as folder:
            yield Staging(folder, writable=True)
            pack(Path(folder), url, storage_options)
        return
    target = Path(path)
    if target.exists():
        raise Conflict([f"{url} exists already"], "write")
    staging = staging_of(target)
    try:
        yield Staging(staging, writable=True)
        pack(staging, url, storage_options)
    except BaseException:
        with suppress(OSError):
            staging.rmdir()  # nothing was collected
        raise
    shutil.rmtree(staging, ignore_errors=True)


def _is_own(there: os.stat_result) -> bool:
    """Whether a folder is ours alone. Windows has no such marks: there it lies where the user writes."""
    return not hasattr(os, "getuid") or (there.st_uid == os.getuid() and not there.st_mode & 0o077)


def staging_of(target: Path) -> Path:
    """The folder that an earlier try for this file left, else a new one. Nobody but its owner can write to it.

    What others may have planted under such a name (a link, or a folder of theirs) is passed over.
    """
    start = f".{draft_start(target.name)}."
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for found in sorted(target.parent.iterdir()):
            if found.name.startswith(start) and found.name.endswith(STAGING):
                there = found.lstat()
                if S_ISDIR(there.st_mode) and _is_own(there):
                    return found
        made = Path(draft_of(str(target), STAGING.lstrip(".")))
        made.mkdir(0o700)
    except OSError as error:
        raise FetchFailed(str(target), f"cannot be written: {error.strerror or error}") from error
    return made


def pack(folder: Path, url: str, storage_options: Mapping[str, JSON] | None = None) -> None:
    """Write the files below a folder as a ZIP file: sorted, not compressed (chunks are), without dates."""
    root = str(folder)
    names = sorted(
        os.path.relpath(f"{here}/{name}", root).replace(os.sep, "/")
        for here, _, files in os.walk(root)
        for name in files
        if not name.startswith(OWN)
    )
    with new_file(url, storage_options) as sink:
        try:
            with zipfile.ZipFile(cast(Any, sink), "w", zipfile.ZIP_STORED) as archive:
                for name in names:
                    _add(archive, folder / name, name)
        except (zipfile.BadZipFile, zipfile.LargeZipFile) as error:
            raise FetchFailed(url, f"cannot be written: {error}") from error


def _add(archive: zipfile.ZipFile, file: Path, name: str) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980: the same copy gives the same file
    info.file_size = file.stat().st_size  # decides whether the member needs ZIP64
    info.external_attr = 0o644 << 16
    with file.open("rb") as stream, archive.open(info, "w") as member:
        shutil.copyfileobj(stream, member, ONE_COPY)
