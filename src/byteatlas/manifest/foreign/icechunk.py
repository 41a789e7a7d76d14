"""Icechunk repositories: virtual references written in one commit, and read back (extra ``icechunk``).

Arrays are Zarr version 3 there; chunks in the map become native chunks.
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np

from byteatlas.errors import BadRequest, CorruptFile, InvalidMetadata, MissingExtra, Unsupported
from byteatlas.io.local import local_path
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.model import INLINE, WHOLE, Manifest, VirtualNode
from byteatlas.manifest.ops.common import blocks
from byteatlas.manifest.ops.version3 import as_version3
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.tree import DocumentTree, WrittenArray, node_documents
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

T = TypeVar("T")
NATIVE, VIRTUAL, IN_MANIFEST = 1, 2, 3
"""icechunk.ChunkType's values in the columns of ``array_chunk_iterator``."""


@dataclass(frozen=True, slots=True)
class IcechunkOptions:
    """How a repository is written.

    Attributes:
        branch: commit to this branch.
        message: of the commit.
        containers: for each URL prefix that sources lie under, icechunk's store configuration for it. Local folders
            need none.
        credentials: for each of these prefixes, icechunk's credentials; None = anonymous or the environment's.
    """

    branch: str = "main"
    message: str = "virtual references by byteatlas"
    containers: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, Any] = field(default_factory=dict)


def is_repository(folder: Path) -> bool:
    """Whether a local folder is an Icechunk repository (of its format version 1 or 2)."""
    return (folder / "snapshots").is_dir() and ((folder / "refs").is_dir() or (folder / "repo").exists())


def _icechunk() -> Any:
    try:
        import icechunk
    except ImportError as error:
        raise MissingExtra("icechunk", "an Icechunk repository") from error
    return icechunk


def _storage(where: str | os.PathLike[str] | Any) -> Any:
    """icechunk's storage: a local folder by its path, anything else as icechunk's own object."""
    if isinstance(where, (str, os.PathLike)):
        path = local_path(os.fspath(where))
        if path is None:
            raise BadRequest(f"{where}: pass one of icechunk's storage objects for a repository that is not local")
        return _icechunk().local_filesystem_storage(str(Path(path).absolute()))
    return where


def _wait(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on zarr's own event loop, also where one runs already (notebooks)."""
    from zarr.core.sync import sync

    found: T = sync(work)
    return found


def write_icechunk(
    node: VirtualNode, where: str | os.PathLike[str] | Any, options: IcechunkOptions | None = None
) -> str:
    """Write a tree as one commit that replaces what the branch held; returns the snapshot's id.

    Raises:
        Unsupported: an array that version 3 cannot express, or whole-file references to files of unknown size.
        BadRequest: sources under no known container.
    """
    ice, chosen = _icechunk(), options or IcechunkOptions()
    documents, arrays = node_documents(as_version3(node))
    prefixes = {_url(p): s for p, s in chosen.containers.items()}
    local = {_folder(s.url) for a in arrays for s in a.manifest.load().sources if local_path(s.url) is not None}
    common = posixpath.commonpath(local).rstrip("/") + "/" if local else None
    if common is not None:
        if common == "/":
            raise BadRequest("the local sources share no folder; Icechunk needs one to allow access to")
        prefixes[f"file://{common}"] = ice.local_filesystem_store(common)
    config = ice.RepositoryConfig.default()
    for prefix, store in prefixes.items():
        config.set_virtual_chunk_container(ice.VirtualChunkContainer(prefix, store))
    here = getattr(getattr(ice, "credentials", None), "LocalFileSystemAccess", None)  # icechunk 2 wants it said
    given = {p: chosen.credentials.get(p, here if p.startswith("file://") else None) for p in prefixes}
    allowed = ice.containers_credentials(given) if prefixes else None
    repository = ice.Repository.open_or_create(_storage(where), config, authorize_virtual_chunk_access=allowed)
    repository.save_config()
    session = repository.writable_session(chosen.branch)
    _wait(_fill(session.store, documents, arrays))
    found: str = session.commit(chosen.message)
    return found


def _url(url: str) -> str:
    path = local_path(url)
    return url if path is None else f"file://{path}"


def _folder(url: str) -> str:
    path = local_path(MapWriteOptions().shown(url))
    return posixpath.dirname(path or "/")


async def _fill(store: Any, documents: Mapping[str, JSON], arrays: list[WrittenArray]) -> None:
    from zarr.core.buffer import cpu

    await store.clear()
    for key, document in documents.items():
        await store.set(key, cpu.Buffer.from_bytes(json.dumps(document).encode()))
    for array in arrays:
        await _chunks(store, array, cpu.Buffer.from_bytes)


async def _chunks(store: Any, array: WrittenArray, buffer: Any) -> None:
    spec = _icechunk().VirtualChunkSpec
    counts = array.manifest.grid_shape
    base = f"{array.path}/c" if array.path else "c"
    for chunks, rows in blocks(array.manifest):
        sources = array.manifest.sources
        places = np.stack(np.unravel_index(chunks, counts), axis=1).tolist() if counts else [[]]
        refs = []
        for i in np.flatnonzero((rows.source >= 0) & (rows.length > 0)).tolist():
            info = sources[int(rows.source[i])]
            length = int(rows.length[i])
            if rows.length[i] == WHOLE:
                if info.size is None:
                    raise Unsupported(
                        "icechunk", f"a whole-file reference to {info.url}, whose size is unknown", array.path
                    )
                length = info.size
            location = _url(MapWriteOptions().shown(info.url))
            refs.append(spec(places[i], location, int(rows.offset[i]), length, None, None))
        if refs:
            failed = await store.set_virtual_refs_async(f"/{array.path}", refs, validate_containers=True)
            if failed:
                bad = next(r for r in refs if list(r.index) == list(failed[0]))
                raise BadRequest(f"no container for {bad.location} (containers={{prefix: store}})")
        for i in np.flatnonzero(rows.source == INLINE).tolist():
            key = "/".join([base, *map(str, places[i])])
            await store.set(key, buffer(array.manifest.inline(int(chunks[i]))))


def read_icechunk(
    where: str | os.PathLike[str] | Any, *, branch: str = "main", snapshot: str | None = None, url: str | None = None
) -> VirtualNode:
    """A repository's tree as virtual arrays: virtual chunks by their URLs, native ones as files of the repository.

    Args:
        url: the repository's own URL, where it has native chunks and ``where`` is a storage object.

    Raises:
        Unsupported: icechunk is older than 2, which cannot tell where chunks lie.
    """
    ice = _icechunk()
    repository = ice.Repository.open(_storage(where))
    session = repository.readonly_session(None if snapshot else branch, snapshot_id=snapshot)
    store = session.store
    if not hasattr(store, "array_chunk_iterator"):
        raise Unsupported("icechunk", f"icechunk {ice.__version__} does not tell where chunks lie; 2.0 or later does")
    base = url
    if base is None and isinstance(where, (str, os.PathLike)):
        base = str(Path(local_path(os.fspath(where)) or "").absolute())
    documents, rows = _wait(_collect(store))
    hierarchy = DocumentTree(documents, "Icechunk repository")
    table = SourceTable()

    def attach(path: str, meta: ArrayMeta) -> Manifest:
        collector = Collector(chunk_counts(meta.shape, meta.grid), path or "/")
        for batch in rows[path]:
            _take(collector, batch, table, base, path)
        return collector.finish(table.infos)

    return hierarchy.build(attach)


async def _collect(store: Any) -> tuple[dict[str, JSON], dict[str, list[Any]]]:
    from zarr.core.buffer import default_buffer_prototype

    documents: dict[str, JSON] = {}
    rows: dict[str, list[Any]] = {}
    async for key in store.list():
        if key.rpartition("/")[2] != "zarr.json":
            continue
        found = await store.get(key, default_buffer_prototype())
        try:
            documents[key] = json.loads(found.to_bytes())
        except ValueError as error:
            raise InvalidMetadata(key, str(error)) from error
        if documents[key].get("node_type") == "array":
            path = key.rpartition("/")[0]
            rows[path] = [batch async for batch in store.array_chunk_iterator(f"/{path}")]
    return documents, rows


def _take(collector: Collector, batch: Any, table: SourceTable, base: str | None, path: str) -> None:
    coords, kinds, paths, offsets, lengths, inlined = batch
    counts = collector.grid_shape
    flat = np.zeros(len(kinds), np.int64)
    inside = np.ones(len(kinds), np.bool_)
    for axis, count in enumerate(counts):
        place = np.asarray(coords)[:, axis].astype(np.int64)
        inside &= place < count
        flat = flat * count + place
    for i, data in inlined.items():
        if inside[i]:
            collector.add_inline(int(flat[i]), bytes(data))
    source = np.full(len(kinds), -1, np.int32)
    for i in np.flatnonzero(inside & (np.asarray(kinds) != IN_MANIFEST)).tolist():
        location = paths[i]
        if int(kinds[i]) == NATIVE:
            if base is None:
                raise BadRequest(f"{path}: native chunks; say where the repository lies (url=...)")
            location = f"{base.rstrip('/')}/chunks/{location}"
        elif int(kinds[i]) != VIRTUAL:
            raise CorruptFile(0, f"a chunk of unknown kind {int(kinds[i])}", path)
        source[i] = table.number(_plain(location))
    chosen = source >= 0
    collector.add(
        flat[chosen],
        source[chosen],
        np.asarray(offsets)[chosen].astype(np.uint64),
        np.asarray(lengths)[chosen].astype(np.uint64),
    )


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return url.removeprefix("file://") if parts.scheme == "file" and not parts.netloc and "%" not in url else url
