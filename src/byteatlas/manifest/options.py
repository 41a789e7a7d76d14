"""How maps are read and written."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

from byteatlas.arguments import FLAG, TEXT, accept_fields, one_of, whole
from byteatlas.io.access import AbsentParts
from byteatlas.io.local import absolute, file_url, is_absolute, local_path, portable
from byteatlas.io.policy import foreign
from byteatlas.io.urls import join
from byteatlas.manifest.model import SourceInfo
from byteatlas.manifest.sharing import SharedDocuments
from byteatlas.masking import without_secrets
from byteatlas.values import dataclass, field

Format: TypeAlias = Literal["json", "json-v0", "parquet", "icechunk", "dmrpp"]
TellArray: TypeAlias = Callable[[str, int, int], None]
"""Called with an array's path before it is written, how many were written, and how many there are."""


class KnownPlace(Protocol):
    """Where a map that is open was read from."""

    def reduced_manifest(self, path: str) -> tuple[Any, ...]:
        """What ``__reduce__`` of an array's manifest gives: how it is had in another process."""
        ...

    def reduced_arrays(self, path: str) -> tuple[Any, ...]:
        """The same for the arrays of a group."""
        ...

    def check(self) -> None:
        """Raises `SourceChanged` when the map's file was written to since it was opened."""
        ...

    def check_name(self) -> None:
        """The same for a map of many files, which are found by name: also when another map has that name now."""
        ...


@dataclass(frozen=True, slots=True)
class MapReadOptions:
    """How a map is read.

    Attributes:
        base: relative source URLs are taken from this URL's folder. None = leave them as they are.
        origin: URL of the map itself, which says what the map may name (`byteatlas.io.policy.foreign`); None = the
            caller made the map. Filled in by `read_references`, as ``base`` is.
        target: the source meant by ``[null, offset, length]``.
        rename: changes each source URL after it was made absolute.
        most_generated: more references than this from ``gen`` are refused.
        parts: Parquet part files that are kept in memory.
        small_text: a JSON text of at most so many bytes is parsed whole, a longer one searched.
        at_once: the references of a small JSON text become columns when it is opened: reading it again later, which
            saves memory where they are never asked for, takes as long.
        shared: what is known of the documents of maps that are read together; it does not go to other processes.
        place: where the map was read from; None = the caller made the map. Filled in by `read_references`.
        absent_parts: what a Parquet part file means that is not there. fsspec's writer leaves out parts all of whose
            chunks are missing; a part that got lost looks the same. So it is an error unless the caller knows better.
    """

    base: str | None = None
    origin: str | None = None
    target: str | None = None
    rename: Callable[[str], str] | None = None
    most_generated: int = 5_000_000
    parts: int = 16
    small_text: int = 1 << 20
    absent_parts: AbsentParts = "raise"
    at_once: bool = False
    shared: SharedDocuments | None = field(default=None, compare=False)
    place: KnownPlace | None = field(default=None, compare=False)

    def absolute(self, url: str, where: str) -> str:
        """A source URL as it is meant."""
        found = url if self.base is None else join(self.base, url)
        return found if self.rename is None else self.rename(found)

    def named(self, url: str, size: int | None = None, stamp: str | None = None) -> SourceInfo:
        """A source that the map names, by its URL as it is meant."""
        return SourceInfo(url, size, stamp, foreign(self.origin, url))


MAP_WRITE_OPTIONS = {
    **dict.fromkeys(("record_size", "block"), whole(1)),
    **dict.fromkeys(("relative", "sources", "keep_queries", "templates", "consolidated"), FLAG),
    "zarr_format": one_of(2, 3) | None,
    **dict.fromkeys(("base", "prefix"), TEXT | None),
}


@dataclass(frozen=True, slots=True)
class MapWriteOptions:
    """How a map is written.

    Attributes:
        record_size: rows of a Parquet part file.
        relative: write source URLs relative to the map where they share its folder's root.
        sources: also write the table of sources with sizes and stamps.
        keep_queries: also write user names, passwords and signatures that URLs hold. Whoever has the map then has them.
        templates: JSON version 1: write URL templates and generated references where that makes the map smaller. GDAL
            and VirtualiZarr refuse such maps; fsspec reads them with ``simple_templates=False``.
        consolidated: JSON: also write all metadata under one key, for readers that look for it there.
        zarr_format: JSON: 3 = all metadata as version 3, which zarr-python with byteatlas installed reads whatever the
            codecs. 2 = version 2 for each array that it can express. None = version 2, which the most readers know,
            where it can express the whole tree, else 3 with ``consolidated``: readers show one version, and say
            nothing of the others. A tree with uneven chunks, or types other than numbers and text, which few
            readers know, is written as with 2.
        block: JSON: chunks that are turned into text at once.
        base: URL of the map itself (filled in by `write_references`).
        prefix: what the template ``u`` stands for in URLs (filled in by the writer).

    >>> ba.write(ba.scan("jan.nc"), "near.json", options=ba.MapWriteOptions(relative=True))
    >>> from pathlib import Path
    >>> '["jan.nc",' in Path("near.json").read_text()
    True
    """

    record_size: int = 100_000
    relative: bool = False
    sources: bool = True
    keep_queries: bool = False
    templates: bool = False
    consolidated: bool = False
    zarr_format: Literal[2, 3] | None = None
    block: int = 1 << 13
    base: str | None = None
    prefix: str | None = None

    def __post_init__(self) -> None:
        accept_fields(MAP_WRITE_OPTIONS, self)

    def shown(self, url: str) -> str:
        """A source URL as it is written into the map: a relative local path would be taken from the map's folder."""
        path = local_path(url)
        if path is not None and not is_absolute(path):
            url = posixpath.normpath(absolute(path).replace(os.sep, "/"))
        elif not self.keep_queries:
            url = without_secrets(url)
        if path is not None and self.base is not None and local_path(self.base) is None:
            url = file_url(local_path(url) or url)  # a path in a map on a server is one of the server's
        elif path is not None and not url.isascii() and (named := portable(url)) != url:
            return named
        if self.relative and self.base is not None:
            url = relative_to(self.base, url)
        if self.prefix is not None and url.startswith(self.prefix):
            return "{{u}}" + url[len(self.prefix) :]
        return url


def relative_to(base: str, url: str) -> str:
    """The URL relative to the folder of ``base``; as it is when the two have nothing in common.

    >>> relative_to("/maps/a.json", "/data/x.nc"), relative_to("/maps/a.json", "s3://b/x.nc")
    ('../data/x.nc', 's3://b/x.nc')
    """
    here, there = split_root(base), split_root(url)
    if here is None or there is None or here[0] != there[0]:
        return url
    folder = posixpath.dirname(here[1])
    return posixpath.relpath(there[1], folder or "/")


def _rooted(path: str) -> tuple[str, str]:
    """A drive (of Windows; else nothing), and the path on it."""
    return ("", path) if path.startswith("/") else (path[:2].upper(), path[2:].replace("\\", "/"))


def split_root(url: str) -> tuple[str, str] | None:
    """What a URL's path hangs on (protocol and host), and the absolute path; None when there is no such path."""
    path = local_path(url)
    if path is not None:
        return _rooted(path) if is_absolute(path) else None
    protocol, mark, rest = url.partition("://")
    if not mark or "::" in url:
        return None
    host, slash, path = rest.partition("/")
    return (f"{protocol}://{host}", slash + path) if slash else None
