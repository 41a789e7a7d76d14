"""A repository as virtual arrays: virtual chunks by their URLs, native ones as files of the repository."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, CorruptFile, InvalidMetadata, NotFound, Unsupported, unknown
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import local_path
from byteatlas.io.policy import foreign
from byteatlas.manifest.foreign.icechunk.options import RepositoryPlace, place_of_url
from byteatlas.manifest.foreign.icechunk.storage import library, our_errors, storage_of, wait
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo, VirtualNode, unpickled
from byteatlas.manifest.tree import DocumentTree
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, Shape
from byteatlas.values import replace

T = TypeVar("T")
NATIVE, VIRTUAL, IN_MANIFEST = 1, 2, 3
"""icechunk.ChunkType's values in the columns of ``array_chunk_iterator``."""
OWN = "byteatlas"
"""What a commit's metadata have of ours: the sources that it names, with sizes and stamps."""
MOST_LEVELS = 64


def read_icechunk(
    where: str | os.PathLike[str] | Any,
    *,
    branch: str | None = None,
    tag: str | None = None,
    snapshot: str | None = None,
    url: str | None = None,
    access: Access = DEFAULT,
) -> VirtualNode:
    """The tree of one version (by default that of the branch main). Chunks are asked for array by array, on demand.

    Args:
        where: a local path, a URL (``s3://``, ``gs://``, ``https://``, ``az://``), or one of icechunk's storage
            objects.
        url: the repository's own URL, where it has native chunks and ``where`` is a storage object.

    Raises:
        Unsupported: icechunk is older than 2, which cannot tell where chunks lie.
        NotFound: no such branch, tag or snapshot.
        FetchFailed: there is no repository, or it cannot be reached.
    """
    ice = library()
    which = {"branch": branch, "tag": tag, "snapshot_id": snapshot}
    asked = {k: v for k, v in which.items() if v is not None} or {"branch": "main"}
    base = url or repository_name(where)
    with our_errors(where):
        repository = ice.Repository.open(storage_of(where, access))
        (kind, name), *_ = asked.items()
        session = _named(repository, kind, name, lambda: repository.readonly_session(**asked))
        store = session.store
        if not hasattr(store, "array_chunk_iterator"):
            why = f"icechunk {ice.__version__} does not tell where chunks lie; 2.0 or later does"
            raise Unsupported("icechunk", why)
        documents = wait(collected(store))
        known = recorded(repository, session)

    def source(name: str) -> SourceInfo:
        info = known.get(local_path(name) or name, SourceInfo(name))
        return replace(info, url=name, foreign=foreign(base, name))

    table = SourceTable(make=source)
    origin = base or f"icechunk:{id(store)}"

    def attach(path: str, meta: ArrayMeta) -> Manifest:
        return IcechunkManifest(store, table, (origin, path), base, chunk_counts(meta.shape, meta.grid))

    return DocumentTree(documents, "Icechunk repository").build(attach)


def _named(repository: Any, kind: str, name: str, ask: Callable[[], T]) -> T:
    """What a repository says of a version. Raises `NotFound` for a name that is not there, with those that are."""
    try:
        return ask()
    except getattr(library(), "IcechunkError", ValueError) as error:
        names = {"branch": "list_branches", "tag": "list_tags"}.get(kind)
        known = getattr(repository, names)() if names else None
        if known is None or name in known:
            raise
        raise unknown(kind, name, sorted(known)) from error


def read_place(url: str, access: Access = DEFAULT) -> VirtualNode:
    """The repository, and the version of it, that ``icechunk:URL`` names."""
    place = place_of_url(url)
    return read_icechunk(place.url, branch=place.branch, tag=place.tag, snapshot=place.snapshot, access=access)


def tip_of(place: RepositoryPlace, access: Access = DEFAULT) -> str:
    """The newest snapshot of a branch (main where none is named).

    Raises `BadRequest` for a tag or a snapshot, to which nothing can be added; `NotFound`, `FetchFailed`.
    """
    if place.tag is not None or place.snapshot is not None:
        raise BadRequest(f"{place.url}: only branches can be written to")
    with our_errors(place.url):
        branch, repository = place.branch or "main", library().Repository.open(storage_of(place.url, access))
        found: str = _named(repository, "branch", branch, lambda: repository.lookup_branch(branch))
        return found


def repository_name(where: object) -> str | None:
    """A repository's URL, or its absolute path; None for a storage object."""
    if not isinstance(where, (str, os.PathLike)):
        return None
    path = local_path(os.fspath(where))
    return os.fspath(where).rstrip("/") if path is None else str(Path(path).absolute())


def recorded(repository: Any, session: Any) -> dict[str, SourceInfo]:
    """What the commits behind a version say of the sources that they name; the newest counts."""
    found: dict[str, SourceInfo] = {}
    if not hasattr(repository, "ancestry"):
        return found
    for commit in repository.ancestry(snapshot_id=session.snapshot_id):
        own = (commit.metadata or {}).get(OWN)
        rows = own.get("sources") if isinstance(own, Mapping) else None
        for row in rows if isinstance(rows, list) else ():
            match row:
                case [str(name), int() | None as size, str() | None as stamp]:
                    found.setdefault(name, SourceInfo(name, size, stamp))
    return found


async def collected(store: Any) -> dict[str, JSON]:
    """The metadata documents by key, found group by group: listing all keys would name every chunk."""
    documents: dict[str, JSON] = {}
    level = [""]
    for _ in range(MOST_LEVELS):
        below: list[str] = []
        for path in level:
            document = await _document(store, path, documents)
            if document is not None and document.get("node_type") != "array":
                base = f"{path}/" if path else ""
                names = [n.rstrip("/") async for n in store.list_dir(path)]
                below += [base + n for n in names if n and n != "zarr.json"]
        if not below:
            return documents
        level = below
    raise InvalidMetadata("Icechunk repository", f"groups are nested more than {MOST_LEVELS} deep")


async def _document(store: Any, path: str, documents: dict[str, JSON]) -> Mapping[str, JSON] | None:
    from zarr.core.buffer import default_buffer_prototype

    key = f"{path}/zarr.json" if path else "zarr.json"
    data = await store.get(key, default_buffer_prototype())
    if data is None:
        return None
    try:
        document = json.loads(data.to_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidMetadata(key, str(error)) from error
    documents[key] = document
    if not isinstance(document, Mapping):
        raise InvalidMetadata(key, "no JSON object")
    return document


class IcechunkManifest:
    """Where the chunks of one array of a repository lie: asked for when the first row is needed, then kept."""

    __slots__ = ("_base", "_counts", "_loaded", "_lock", "_store", "_table", "origin")

    def __init__(
        self, store: Any, table: SourceTable, origin: tuple[str, str], base: str | None, counts: Shape
    ) -> None:
        self._store, self._table, self._base, self._counts = store, table, base, counts
        self.origin = origin
        self._loaded: Manifest | None = None
        self._lock = threading.Lock()

    def is_of(self, where: object, path: str) -> bool:
        """Whether this is the array at a path of the repository there."""
        name = repository_name(where)
        return name is not None and self.origin == (name, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.load(),)

    @property
    def grid_shape(self) -> Shape:
        return self._counts

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far: ask for rows first."""
        return self._table.infos

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        total = math.prod(self._counts)
        if len(chunks) and (int(chunks.min()) < 0 or int(chunks.max()) >= total):
            raise NotFound(f"a chunk outside of the grid {self._counts}")
        return self._all().rows(chunks)

    def inline(self, chunk: int) -> bytes:
        return self._all().inline(chunk)

    def load(self) -> ChunkManifest:
        return self._all().load()

    def _all(self) -> Manifest:
        with self._lock:
            if self._loaded is None:
                path = self.origin[1]
                with our_errors(self._base or "Icechunk repository"):
                    batches = wait(_batches(self._store, path))
                collector = Collector(self._counts, path or "/")
                while batches:
                    _take(collector, batches.pop(0), self._table, self._base, path)
                self._loaded = collector.finish(self._table.infos)
            return self._loaded


async def _batches(store: Any, path: str) -> list[Any]:
    return [batch async for batch in store.array_chunk_iterator(f"/{path}")]


def _take(collector: Collector, batch: Any, table: SourceTable, base: str | None, path: str) -> None:
    """The rows of one batch: columns with a row for each chunk that is there."""
    coords, kinds, paths, offsets, lengths, inlined = batch
    kinds = np.asarray(kinds)
    flat, inside = _flat(np.asarray(coords), collector.grid_shape, len(kinds))
    for i, data in inlined.items():
        if inside[i]:
            collector.add_inline(int(flat[i]), bytes(data))
    unknown = kinds[inside & ~np.isin(kinds, (NATIVE, VIRTUAL, IN_MANIFEST))]
    if len(unknown):
        raise CorruptFile(0, f"a chunk of unknown kind {int(unknown[0])}", path)
    numbers: dict[tuple[bool, str], int] = {}
    coded = [numbers.setdefault((k == NATIVE, p), len(numbers)) for k, p in zip(kinds.tolist(), paths, strict=True)]
    chosen = inside & (kinds != IN_MANIFEST)
    column = np.fromiter(coded, np.int64, len(coded))
    known = np.full(len(numbers), -1, np.int32)
    names = list(numbers)
    for n in np.unique(column[chosen]).tolist():
        native, location = names[n]
        if native and base is None:
            raise BadRequest(f"{path}: native chunks; say where the repository lies (url=...)")
        known[n] = table.number(f"{str(base).rstrip('/')}/chunks/{location}" if native else _plain(location))
    collector.add(
        flat[chosen],
        known[column[chosen]],
        np.asarray(offsets)[chosen].astype(np.uint64),
        np.asarray(lengths)[chosen].astype(np.uint64),
    )


def _flat(coords: NDArray[Any], counts: Shape, n: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Flat numbers of grid places, and which of them lie in the grid: an array may have been made smaller."""
    flat, inside = np.zeros(n, np.int64), np.ones(n, np.bool_)
    for axis, count in enumerate(counts):
        place = coords[:, axis].astype(np.int64)
        inside &= place < count
        flat = flat * count + place
    return flat, inside


def _plain(url: str) -> str:
    parts = urlsplit(url)
    return url.removeprefix("file://") if parts.scheme == "file" and not parts.netloc and "%" not in url else url
