"""What lies behind a URL: a reference map, a Zarr store, or an archive file."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from byteatlas.errors import FetchFailed
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.forms import (
    ARCHIVE_SUFFIXES,
    DATA_SUFFIXES,
    JSON_SUFFIXES,
    PARQUET_SUFFIXES,
    compression_of_bytes,
    form_of_url,
)
from byteatlas.io.local import ICECHUNK, LocalSource, is_repository, local_path
from byteatlas.io.source import Source
from byteatlas.io.urls import last_link
from byteatlas.types import ByteRange

UrlKind: TypeAlias = Literal["json", "parquet", "zarr", "archive"]
"""``json`` is a reference map in one text, ``archive`` what scanners read."""

MEMBERS = ("zip://", "tar://")
"""How the URL of a file in an archive begins."""
METADATA_NAMES = ("zarr.json", ".zmetadata", ".zgroup", ".zarray")
_RECORDS, _END = b'"record_size"', 1 << 16
"""What only a Parquet map's ``.zmetadata`` has, and how far from its ends it is looked for."""


def kind_of(url: str, access: Access = DEFAULT) -> UrlKind:
    """Tell the kind by what is there; for remote URLs by the name first, which costs nothing.

    Raises `FetchFailed` when there is nothing.
    """
    if url.startswith(ICECHUNK):
        return "parquet"  # a map of many files as well
    path = local_path(url)
    if path is not None and os.path.isdir(path):
        return _folder(path)
    if path is None and url.startswith(MEMBERS):
        member = url.partition("::")[0].lower()
        if member.endswith(DATA_SUFFIXES) and local_path(last_link(url)) is None:
            return "archive"  # a look into a remote tar file may read all of it
        return _content(url, member, access)
    name = url.rstrip("/").rpartition("/")[2].lower()
    if name in METADATA_NAMES:
        return "zarr"
    if name.endswith(ARCHIVE_SUFFIXES):
        return "archive"
    if path is None and (kind := form_of_url(url)) is not None:
        return kind
    return _content(url, name, access)


def is_repository_url(url: str) -> bool:
    """Whether a URL names an Icechunk repository: it says so, or one lies there on this machine."""
    path = local_path(url)
    return url.startswith(ICECHUNK) or (path is not None and is_repository(path))


def _folder(folder: str) -> UrlKind:
    """A folder with ``record_size`` in its ``.zmetadata`` is a Parquet reference map, any other a Zarr store."""
    from pathlib import Path  # not needed for files, and not cheap to import

    path = Path(folder)
    consolidated = path / ".zmetadata"
    if path.suffix in PARQUET_SUFFIXES:
        return "parquet"
    if is_repository(folder):
        return "parquet"  # an Icechunk repository: a map in a folder as well
    if consolidated.is_file():
        with consolidated.open("rb") as file:  # the member may stand at either end of a large document
            head = file.read(_END)
            file.seek(max(0, consolidated.stat().st_size - _END))
            if _RECORDS in head + file.read():
                return "parquet"
    return "zarr"


def _content(url: str, name: str, access: Access) -> UrlKind:
    try:
        source = access.open(url)
        head = _first_bytes(source)
    except FetchFailed:
        kind = _remote_folder(url, access) if local_path(url) is None else None
        if kind is not None:
            return kind
        raise
    if head.lstrip().startswith((b"{", b"\xef\xbb\xbf{")) or (name.endswith(JSON_SUFFIXES) and head[:2] != b"PK"):
        return "json"
    if head.startswith(b"PK"):
        return "zarr" if name.endswith(".zarr") or holds_store(source) else "archive"
    if compression_of_bytes(head) and ".json" in name:
        return "json"
    return "archive"


def _first_bytes(source: Source) -> bytes:
    """Up to 16; of remote files without asking for their size first, which few are too small for."""
    if not isinstance(source, LocalSource):
        try:
            return bytes(source.read([ByteRange(0, 16)])[0])
        except FetchFailed as error:
            if error.absent or error.denied or error.transient:
                raise
    return bytes(source.read([ByteRange(0, min(16, source.size()))])[0])


def holds_store(source: Source) -> bool:
    """Whether the members of a ZIP file are a Zarr store's. True when it has none that could be told."""
    import struct
    import zipfile

    from byteatlas.io.sources.file_object import open_file

    try:
        with open_file(source) as file, zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError) as error:
        if isinstance(error, FetchFailed):
            raise
        return True  # whoever opens it says what is wrong
    return not names or any(name.rpartition("/")[2] in METADATA_NAMES for name in names)


def _remote_folder(url: str, access: Access) -> UrlKind | None:
    """As `_folder`; None when there is no document of either."""
    for name in METADATA_NAMES:
        try:
            source = access.open(f"{url.rstrip('/')}/{name}")
            size = source.size()
        except FetchFailed as error:
            if not (error.absent or error.denied):
                raise  # a store without this document would be something else
            continue
        if name == ".zmetadata":
            ends = [ByteRange(0, min(size, _END)), ByteRange(max(0, size - _END), min(size, _END))]
            if any(_RECORDS in bytes(data) for data in source.read(ends)):
                return "parquet"
        return "zarr"
    return None
