"""What may be written where: a map takes the place of a map, never of anything else.

What lies under a target's name is looked at before it is replaced. A file that is no map stays, and so does a file
that the map refers to, under whatever name (links).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from stat import S_ISDIR, S_ISREG

from byteatlas.errors import BadRequest, Conflict, FetchFailed, InvalidMetadata
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.forms import DMRPP_SUFFIX, MAP_SUFFIXES, form_of_name
from byteatlas.io.local import ICECHUNK, FileIdentity, LocalSource, identity, is_repository, local_path, status
from byteatlas.io.output import is_draft
from byteatlas.io.source import Source
from byteatlas.manifest.json.compressed import decompressed
from byteatlas.manifest.model import SourceInfo, VirtualNode
from byteatlas.manifest.ops.common import all_arrays
from byteatlas.manifest.options import Format
from byteatlas.types import JSON, ByteRange

PARSED = 1 << 18
"""Bytes; texts up to this are parsed to see whether they are maps, of longer ones both ends are looked at."""
END = 1 << 16
DOCUMENT = (".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json")
PART_FILE = r"refs\.\d+(\.[0-9a-f]{12})?\.parq(uet)?"
CHUNK_KEY = rb'"([^"]*/)?(\d+([./]\d+)*|c([./]\d+)*)"\s*:\s*'
REFERENCE = CHUNK_KEY + rb'\[\s*("[^"]*"|null)\s*(,\s*\d+\s*,\s*\d+\s*)?\]'
"""A chunk's key with the place of its bytes."""
METADATA_TEXT = rb'"([^"]*/)?(\.zgroup|\.zarray|\.zattrs|zarr\.json)"\s*:\s*"'
"""A metadata document as a text in a text, which only maps have: in consolidated metadata it is an object."""


def format_for(url: str, format: Format | None) -> Format:
    """The form of a map to be written: the one given, else the one that the name's suffix says.

    Raises `BadRequest` for a name that says nothing, or something else (``.nc``, ``.zarr``).
    """
    if format is not None:
        return format
    if url.startswith(ICECHUNK):
        return "icechunk"
    match form_of_name(url):
        case "json":
            return "json"
        case "parquet":
            return "parquet"
        case _ if url.lower().endswith(DMRPP_SUFFIX):
            return "dmrpp"
        case _:
            known = ", ".join(s for s in MAP_SUFFIXES if s.count(".") == 1)
            hint = f"known: {known} (and .json.gz, .json.zst ...); or say the format"
            raise BadRequest(f"{url}: the name does not say which form of map to write; {hint}")


def check_there(url: str, form: Format, access: Access = DEFAULT) -> None:
    """Raise `Conflict` when there is something else than a map of this form under a URL.

    Nothing, an empty file and an empty folder are fine. Raises `FetchFailed` when it cannot be found out.
    """
    path = local_path(url)
    if path is None:
        _check_remote(url, form, access)
        return
    there = status(url)
    if there is None:
        return
    if S_ISDIR(there.st_mode):
        _check_folder(url, path, form)
    elif not S_ISREG(there.st_mode):
        raise Conflict([f"{url} is no ordinary file"], "write")
    elif form in ("parquet", "icechunk"):
        raise Conflict([f"{url} is a file, and a map of this form is a folder"], "write")
    elif form == "dmrpp":
        _check_document(access.open(url))
    elif there.st_size and not is_map_text(access.open(url)):
        raise Conflict([f"{url} is there and is no reference map: it is not replaced"], "write")


def _check_document(source: Source) -> None:
    """Raise `Conflict` when something else than a DMR++ document is there. An empty file is fine."""
    head = bytes(source.read([ByteRange(0, min(source.size(), END))])[0])
    if head and not (head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"dap/dmrpp" in head):
        raise Conflict([f"{source.url} is there and is no DMR++ document: it is not replaced"], "write")


def _check_folder(url: str, path: str, form: Format) -> None:
    import re
    from pathlib import Path  # not needed for new maps, and not cheap to import

    folder = Path(path)
    if form in ("json", "json-v0", "dmrpp"):
        raise Conflict([f"{url} is a folder, and a map of this form is a file"], "write")
    if form == "icechunk":
        if any(folder.iterdir()) and not is_repository(path):
            raise Conflict([f"{url} is a folder with files in it, and no Icechunk repository"], "write")
        return
    for name in _files(path):
        last = name.rpartition("/")[2]
        if name == ".zmetadata" and _has_record_size((folder / name).read_bytes()):
            continue
        if not re.fullmatch(PART_FILE, last) and not is_draft(last):
            what = f"{url} is a folder with something else than a Parquet map in it ({name})"
            raise Conflict([f"{what}: it is not replaced"], "write")


def _files(folder: str) -> Iterator[str]:
    """The files and links below a folder, relative to it. Links are not followed."""
    from pathlib import Path

    try:
        for here, folders, files in os.walk(folder, onerror=_raise):
            inside = os.path.relpath(here, folder).replace(os.sep, "/")
            base = "" if inside == "." else f"{inside}/"
            links = [name for name in folders if Path(here, name).is_symlink()]
            yield from (base + name for name in sorted([*files, *links]))
    except OSError as error:
        raise FetchFailed(folder, error.strerror or str(error)) from error


def _raise(error: OSError) -> None:
    raise error


def _has_record_size(data: bytes) -> bool:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and "record_size" in document


def _check_remote(url: str, form: Format, access: Access) -> None:
    """Object storage replaces single objects only: those of a map's names must be a map's."""
    if form == "icechunk":
        return  # a repository is told by icechunk, which never writes over other things
    if form == "dmrpp":
        document = object_there(url, access)
        if document is not None:
            _check_document(document)
        return
    if form in ("json", "json-v0"):
        data = object_there(url, access)
        if data is not None and data.size() and not is_map_text(data):
            raise Conflict([f"{url} is there and is no reference map: it is not replaced"], "write")
        return
    for name in (".zgroup", ".zarray", "zarr.json"):
        if object_there(f"{url}/{name}", access) is not None:
            raise Conflict([f"{url} is a Zarr store, and no Parquet map: it is not replaced"], "write")
    metadata = object_there(f"{url}/.zmetadata", access)
    if metadata is not None and not _has_record_size(bytes(metadata.read_all())):
        raise Conflict([f"{url} is no Parquet map: it is not replaced"], "write")


def object_there(url: str, access: Access) -> Source | None:
    """A file or object; None when the storage says that there is none."""
    try:
        found = access.open(url)
        found.size()
    except FetchFailed as error:
        if error.absent:
            return None
        raise
    return found


def is_map_text(source: Source) -> bool:
    """Whether a text, compressed or not, is a map in Kerchunk's JSON of version 0 or 1."""
    try:
        plain = decompressed(source, source.url)
    except InvalidMetadata:
        return False
    size = plain.size()
    head = bytes(plain.read([ByteRange(0, min(size, 256))])[0])
    if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    if size <= PARSED:
        try:
            return _is_map(json.loads(bytes(plain.read_all())))
        except (ValueError, RecursionError):
            return False
    ends = plain.read([ByteRange(0, END), ByteRange(size - END, END)])
    import re

    return any(re.search(pattern, bytes(end)) for end in ends for pattern in (REFERENCE, METADATA_TEXT))


def _is_map(document: JSON) -> bool:
    if not isinstance(document, dict):
        return False
    if isinstance(document.get("refs"), Mapping):
        return True
    if "zarr_consolidated_format" in document or "zarr_format" in document:
        return False  # consolidated metadata, or a model
    return not document or any(key.rpartition("/")[2] in DOCUMENT for key in document)


def refers_to_same(node: VirtualNode, url: str) -> bool:
    """Whether a small JSON map of this machine refers to a file that a tree has bytes in.

    For scanning a file again to the same map: its text says so before the modules that read maps are imported. False
    says nothing.
    """
    from byteatlas.manifest.facts import sources_of

    if local_path(url) is None:
        return False
    try:
        text = LocalSource(url)
        document = json.loads(text.read_all()) if text.size() <= PARSED else None
    except (FetchFailed, OSError, ValueError, RecursionError):
        return False
    references = document.get("refs") if isinstance(document, dict) else None
    if not isinstance(references, dict):
        return False
    own = {local_path(source) or source for source in sources_of(node)}
    named = {r[0] for r in references.values() if isinstance(r, list) and len(r) == 3 and isinstance(r[0], str)}
    return not own.isdisjoint(named)


def check_not_source(node: VirtualNode, url: str) -> None:
    """Raise `BadRequest` when something written to a URL would take the place of a file that the references lead to.

    Files of this machine are compared by what they are, not by name: a link to a source is the source.
    """
    from byteatlas.manifest.origin import source_files

    tables: dict[int, tuple[SourceInfo, ...]] = {}
    owners: dict[str, str] = {}  # of each file an array; most arrays have theirs in the same ones
    for path, array in all_arrays(node):
        table = array.manifest.sources
        if id(table) not in tables:
            tables[id(table)] = table
            for source in source_files(table):
                owners.setdefault(source.url, path)
    there = identity(url)
    for name, path in owners.items():
        if is_same(name, url, there):
            raise BadRequest(f"{path or 'the array'} has its bytes in {url}: a map there would replace them")


def leads_to(urls: Iterable[str], url: str) -> bool:
    """Whether one of these URLs leads to a file, under whatever name."""
    there = identity(url)
    return any(is_same(u, url, there) for u in urls)


def is_same(name: str, url: str, there: FileIdentity | None) -> bool:
    """Whether a name leads to the file at ``url``; ``there`` is what lies there."""
    return name == url or (there is not None and (own := identity(name)) is not None and own[:2] == there[:2])


def is_of_others(node: VirtualNode, other: VirtualNode) -> bool:
    """Whether a map has nothing to do with an older one: no source in common, nor (where one has none) an array."""
    from byteatlas.manifest.facts import sources_of

    mine, theirs = ({local_path(url) or url for url in sources_of(n)} for n in (node, other))
    if mine and theirs:
        return mine.isdisjoint(theirs)
    paths = {path for path, _ in all_arrays(other)}
    return bool(paths) and paths.isdisjoint(path for path, _ in all_arrays(node))
