"""Trees into repositories: made, added to or replaced, in commits."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from byteatlas.errors import ByteatlasError, Conflict, Unsupported
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.writing.versions import Overtaken
from byteatlas.manifest.foreign.icechunk.chunks import Locations, SlabWriter, tail
from byteatlas.manifest.foreign.icechunk.containers import Containers
from byteatlas.manifest.foreign.icechunk.options import IcechunkOptions
from byteatlas.manifest.foreign.icechunk.read import OWN, IcechunkManifest, collected
from byteatlas.manifest.foreign.icechunk.repository import configured, known_containers, opened, session_on
from byteatlas.manifest.foreign.icechunk.storage import our_errors, wait
from byteatlas.manifest.kinds.encoded import EncodedManifest
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.kinds.window import WindowManifest
from byteatlas.manifest.model import MISSING, Manifest, SourceInfo, VirtualNode
from byteatlas.manifest.ops.version3 import as_version3
from byteatlas.manifest.options import MapWriteOptions, TellArray
from byteatlas.manifest.tree import WrittenArray, node_documents
from byteatlas.meta import v3
from byteatlas.meta.grid import chunk_counts
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, replace

MOST_RECORDED = 10_000
"""Sources whose sizes and stamps one commit's metadata hold; of more, none are."""


def write_icechunk(
    node: VirtualNode,
    where: str | os.PathLike[str] | Any,
    options: IcechunkOptions | None = None,
    *,
    access: Access = DEFAULT,
    tell: TellArray | None = None,
    check: Callable[[], None] = lambda: None,
    snapshot: str | None = None,
) -> str:
    """Write a tree in one commit (or in several, see `IcechunkOptions.most_references`); returns the last one's id.

    Args:
        where: a local path, a URL, or one of icechunk's storage objects.
        access: how the repository and remote sources are reached.
        check: called before each commit; what it raises leaves the branch as it is.
        snapshot: the version that the tree was made of, with something added: it must be the newest one.

    Raises:
        Unsupported: an array that version 3 cannot express, or whole-file references to files of unknown size.
        BadRequest: sources under no known container.
        Conflict: the branch holds data and ``mode`` is ``create``, or arrays of the same name and ``mode`` is
            ``append``; or others wrote to it meanwhile.
        Overtaken: the same, where ``snapshot`` says what was meant.
        NotFound: nothing to append to.
    """
    chosen = options or IcechunkOptions()
    documents, arrays = node_documents(as_version3(node))
    with our_errors(where):
        repository = opened(where, chosen, access)
        urls = _urls(arrays, where if chosen.mode == "append" else None)
        containers = Containers(urls, chosen, access, known_containers(repository))
        if repository is not None:
            session_on(repository, chosen, where)  # is it allowed? before the configuration changes
        repository = configured(repository, where, arrays, containers, chosen, access)
        session = session_on(repository, chosen, where)
        if snapshot is not None and session.snapshot_id != snapshot:
            raise Overtaken(snapshot)
        writer = _Writer(
            repository, session, chosen, Locations(containers.location, chosen.checksums), check, snapshot is not None
        )
        return writer.run(documents, arrays, where, tell)


def unchanged(manifest: Manifest, where: object, path: str) -> int:
    """How many rows, from the first on, are those that the repository has for this array."""
    match manifest:
        case IcechunkManifest():
            return math.prod(manifest.grid_shape) if manifest.is_of(where, path) else 0
        case EncodedManifest(inner=inner):
            return unchanged(inner, where, path)
        case WindowManifest(inner=inner, axis=0, start=0):
            return min(unchanged(inner, where, path), math.prod(manifest.grid_shape))
        case SegmentedManifest():
            return unchanged(manifest.segments[0], where, path)
        case _:
            return 0


def _urls(arrays: list[WrittenArray], where: object) -> Iterator[str]:
    """The sources of everything that is to be written."""
    for array in arrays:
        first = 0 if where is None else unchanged(array.manifest, where, array.path)
        for _, part, _ in tail(array.manifest, first):
            if first < math.prod(array.manifest.grid_shape):
                yield from (info.url for info in part.load().sources)


@dataclass(slots=True)
class _Writer:
    """One writing: the session, which is made anew after each commit."""

    repository: Any
    session: Any
    options: IcechunkOptions
    locations: Locations
    check: Callable[[], None]
    continued: bool
    """The tree is the repository's own, with something added to it."""
    pending: int = 0
    commits: int = 0
    last: str = ""

    def run(
        self, documents: Mapping[str, JSON], arrays: list[WrittenArray], where: object, tell: TellArray | None
    ) -> str:
        old: dict[str, JSON] = {}
        if self.options.mode == "append":
            old = wait(collected(self.session.store))
        elif self.options.mode == "replace":
            wait(self.session.store.clear())
        first = {a.path: unchanged(a.manifest, where, a.path) if _key(a.path) in old else 0 for a in arrays}
        if not (self.continued or any(first.values())):
            _check_new(arrays, old, where)
        for key, document in documents.items():
            if key not in old or old[key] != document:
                self._document(key, document, old)
        for number, array in enumerate(arrays):
            if tell is not None:
                tell(array.path, number, len(arrays))
            self._chunks(array, first[array.path], old.get(_key(array.path)))
        if self.options.mode == "append" and not self.session.has_uncommitted_changes:
            return str(self.session.snapshot_id)
        if self.commits and not self.pending:
            return self.last
        return self._commit()

    def _document(self, key: str, document: JSON, old: Mapping[str, JSON]) -> None:
        from zarr.core.buffer import cpu

        if key in old and key == "zarr.json" and self.options.mode == "append":
            mine, theirs = document, old[key]
            if isinstance(mine, Mapping) and isinstance(theirs, Mapping) and not mine.get("attributes"):
                return  # a root that says nothing changes nothing
        try:
            wait(self.session.store.set(key, cpu.Buffer.from_bytes(json.dumps(document).encode())))
        except ByteatlasError:
            raise
        except Exception as error:  # icechunk's own checks of metadata, of whatever type
            why = str(error).partition("\n")[0]
            raise Unsupported("icechunk", f"Icechunk cannot hold it: {why}", key.rpartition("/")[0] or "/") from error

    def _chunks(self, array: WrittenArray, first: int, old: JSON) -> None:
        chunks = SlabWriter(self.session.store, array.path, self.locations)
        there = _counts(old, array.path)
        if there is not None and (not first or there[1:] != array.manifest.grid_shape[1:]):
            first = 0
            wait(self.session.store.delete_dir(f"{array.path}/c" if array.path else "c"))
        elif there is not None:
            self._gone(array, chunks, first, math.prod(there))
        for count in chunks.write(array.manifest, first):
            self.pending += count
            if self.pending >= self.options.most_references:
                self._commit(more=True)
                chunks = replace(chunks, store=self.session.store)

    def _gone(self, array: WrittenArray, chunks: SlabWriter, first: int, end: int) -> None:
        """Remove chunks that the older rows from ``first`` to ``end`` had and the new ones have not."""
        layer = max(1, math.prod(array.manifest.grid_shape[1:]))
        for begin, part, skip in tail(array.manifest, first):
            places = np.arange(skip, min(math.prod(part.grid_shape), end - begin), dtype=np.int64)
            for chunk in places[part.rows(places).source == MISSING].tolist() if len(places) else ():
                at = list(map(int, np.unravel_index(chunk, part.grid_shape)))
                at[0] += begin // layer
                wait(self.session.store.delete(chunks.key(at)))

    def _commit(self, *, more: bool = False) -> str:
        self.check()
        text = self.options.message
        if more or self.commits:
            text += f" (part {self.commits + 1})"
        rows = [[i.url, i.size, i.stamp] for i in map(_shown, self.locations.seen.values())]
        known = [r for r in rows if r[1] is not None or r[2] is not None]
        metadata = {OWN: {"sources": known}} if 0 < len(known) <= MOST_RECORDED else {OWN: {}}
        try:
            found: str = self.session.commit(text, metadata=metadata)
        except Exception as error:
            if self.continued and type(error).__name__ == "ConflictError":
                raise Overtaken(self.options.branch) from error
            raise
        self.commits, self.last = self.commits + 1, found
        self.pending = 0
        self.locations.seen.clear()
        if more:
            self.session = self.repository.writable_session(self.options.branch)
        return found


def _shown(info: SourceInfo) -> SourceInfo:
    return replace(info, url=MapWriteOptions().shown(info.url))


def _key(path: str) -> str:
    return f"{path}/zarr.json" if path else "zarr.json"


def _counts(document: JSON, path: str) -> Shape | None:
    """Chunks along each axis of an array that was there; None for none."""
    if not isinstance(document, Mapping) or document.get("node_type") != "array":
        return None
    meta, _ = v3.parse_array(document, path)
    return chunk_counts(meta.shape, meta.grid)


def _check_new(arrays: list[WrittenArray], old: Mapping[str, JSON], where: object) -> None:
    """Raise `Conflict` for arrays that are there already, in a tree that has nothing to do with the repository."""
    both = [a.path or "/" for a in arrays if _key(a.path) in old]
    if both:
        advice = "use append along a dimension, or mode='replace'"
        raise Conflict([f"{where} has {', '.join(both[:5])} already, and not from this tree: {advice}"], "append")
