"""A Zarr store (versions 1 to 3, in a folder, on object storage, or as a ZIP file) as virtual arrays.

A chunk's key that the listing does not have is a missing chunk, which reads as the fill value (v3 core, "Chunk
reading").
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from byteatlas.errors import InvalidMetadata
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.source import SourceRecord
from byteatlas.io.stamp import facts_of
from byteatlas.manifest.kinds.encoded import EncodedManifest
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.model import Manifest, SourceInfo, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, GroupMeta
from byteatlas.scanning.stores.keys import KeyManifest, ValueSources, flat_chunks
from byteatlas.scanning.stores.listing import below
from byteatlas.store.base import Store
from byteatlas.store.nodes import Nodes, StoredArray
from byteatlas.store.open import open_as_store
from byteatlas.store.zip import ZipStore

MOST_LEVELS = 64


def virtual_store(target: str | Store, access: Access = DEFAULT) -> VirtualNode:
    """The hierarchy of a store, with where its chunks lie. No chunk is read.

    Raises:
        NotFound: there is no Zarr.
        Unsupported: storage that does not list what it has (web servers above all), or members of a ZIP file that are
            compressed.
        FetchFailed: a listing failed.
        InvalidMetadata: broken documents; two keys for one chunk.
    """
    store = open_as_store(target, access)
    nodes = Nodes(store)
    return _node(nodes, "", 0)


def _node(nodes: Nodes, path: str, depth: int) -> VirtualNode:
    if depth > MOST_LEVELS:
        raise InvalidMetadata(nodes.store.url, f"groups are nested more than {MOST_LEVELS} deep")
    found = nodes.read(path)
    if isinstance(found, GroupMeta):
        return _group(nodes, path, found, depth)
    return _array(nodes.store, path, found)


def _group(nodes: Nodes, path: str, meta: GroupMeta, depth: int) -> VirtualGroup:
    arrays: dict[str, VirtualArray] = {}
    groups: dict[str, VirtualGroup] = {}
    for name in nodes.children(path):
        node = _node(nodes, f"{path}/{name}" if path else name, depth + 1)
        match node:
            case VirtualArray():
                arrays[name] = node
            case VirtualGroup():
                groups[name] = node
    return VirtualGroup(meta, arrays, groups)


def _array(store: Store, path: str, stored: StoredArray) -> VirtualArray:
    meta = stored.meta
    manifest = _members(store, path, meta) if isinstance(store, ZipStore) else _values(store, path, meta)
    column = stored.column
    return VirtualArray(meta, manifest if column is None else EncodedManifest(manifest, column))


def _values(store: Store, path: str, meta: ArrayMeta) -> Manifest:
    """Values under keys of their own."""
    counts = chunk_counts(meta.shape, meta.grid)
    columns: list[list[np.ndarray[tuple[int], np.dtype[np.int64]]]] = [[], [], []]
    stamps: list[str | None] = []
    for batch in below(store, path):
        flat = flat_chunks(meta.keys, batch.keys, counts)
        there = flat >= 0
        columns[0].append(flat[there])
        columns[1].append(np.array(batch.size, np.int64)[there])
        if batch.time:
            columns[2].append(np.array(batch.time, np.int64)[there])
        elif batch.stamp:
            stamps += [batch.stamp[i] for i in np.flatnonzero(there).tolist()]
    chunk = np.concatenate(columns[0]) if columns[0] else np.zeros(0, np.int64)
    order = np.argsort(chunk, kind="stable")
    chunk = chunk[order]
    if len(chunk) > 1 and bool((chunk[1:] == chunk[:-1]).any()):
        raise InvalidMetadata(path or "/", "two keys for one chunk")
    size = np.concatenate(columns[1])[order] if columns[1] else np.zeros(0, np.int64)
    time = np.concatenate(columns[2])[order] if columns[2] and not stamps else None
    ordered = [stamps[i] for i in order.tolist()] if stamps else None
    prefix = f"{store.url.rstrip('/')}/{path}/" if path else f"{store.url.rstrip('/')}/"
    return KeyManifest(counts, ValueSources(prefix, meta.keys, counts, chunk, size, time, ordered))


def _members(store: ZipStore, path: str, meta: ArrayMeta) -> Manifest:
    """Members of a ZIP file that are stored as they are: ranges of the file."""
    counts = chunk_counts(meta.shape, meta.grid)
    collector, table = Collector(counts, path or "/"), SourceTable(make=_info(facts_of(store.archive)))
    number = table.number(store.url)
    found = list(store.places(path))
    flat = flat_chunks(meta.keys, [k for k, _ in found], counts)
    there = flat >= 0
    offset = np.array([r.offset for _, r in found], np.uint64)
    length = np.array([r.length for _, r in found], np.uint64)
    collector.add(flat[there], np.full(int(there.sum()), number, np.int32), offset[there], length[there])
    return collector.finish(table.infos)


def _info(facts: SourceRecord) -> Callable[[str], SourceInfo]:
    return lambda url: SourceInfo(url, facts.size, facts.stamp)
