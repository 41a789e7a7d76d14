"""Metadata documents of nodes: written, and consolidated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from byteatlas.errors import BadRequest
from byteatlas.meta import v2, v3
from byteatlas.meta.json_text import json_text
from byteatlas.meta.model import ArrayMeta, GroupMeta
from byteatlas.store.base import WritableStore
from byteatlas.store.documents import load_object
from byteatlas.store.nodes import Nodes
from byteatlas.types import JSON


def write_array_meta(store: WritableStore, path: str, meta: ArrayMeta) -> None:
    """Write an array's metadata documents. Consolidated copies are dropped: they would contradict."""
    if meta.zarr_format == 3:
        _put_documents(store, path, {"zarr.json": v3.dump_array(meta)})
    else:
        zarray, zattrs = v2.dump_array(meta)
        _put_documents(store, path, {".zattrs": zattrs, ".zarray": zarray})


def write_group_meta(store: WritableStore, path: str, meta: GroupMeta) -> None:
    """Write a group's metadata documents. Consolidated copies are dropped: they would contradict."""
    if meta.zarr_format == 3:
        _put_documents(store, path, {"zarr.json": v3.dump_group(meta)})
    else:
        zgroup, zattrs = v2.dump_group(meta)
        _put_documents(store, path, {".zattrs": zattrs, ".zgroup": zgroup})


def _put_documents(store: WritableStore, path: str, documents: Mapping[str, JSON]) -> None:
    """The document that makes the node exist comes last; one without members is removed: an old one would count."""
    drop_consolidated(store)
    for name, document in documents.items():
        key = f"{path}/{name}" if path else name
        if document:
            put_json(store, key, document)
        else:
            store.delete(key)


def consolidate(store: WritableStore, paths: Sequence[str] | None = None) -> None:
    """Write the root's consolidated metadata: ``.zmetadata`` for version 2, inline in ``zarr.json`` for version 3.

    ``paths``: the nodes below the root; None = found by listing the store.
    """
    nodes = Nodes(store, consolidated=False)
    root = nodes.read("")
    if not isinstance(root, GroupMeta):
        raise BadRequest("an array has no members to consolidate")
    found: dict[str, JSON] = {}
    names = ("zarr.json",) if root.zarr_format == 3 else (".zarray", ".zgroup", ".zattrs")
    for path in ["", *(_paths(nodes, "") if paths is None else paths)]:
        for name in names:
            data = store.get(f"{path}/{name}" if path else name)
            if data is not None:
                found[path if root.zarr_format == 3 else (f"{path}/{name}" if path else name)] = json.loads(bytes(data))
    if root.zarr_format == 2:
        put_json(store, ".zmetadata", {"metadata": found, "zarr_consolidated_format": 1})
        return
    document = found.pop("")
    document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": found}
    put_json(store, "zarr.json", document)


def drop_consolidated(store: WritableStore) -> None:
    """Remove the root's consolidated metadata, where there is any."""
    if store.get(".zmetadata") is not None:
        store.delete(".zmetadata")
    data = store.get("zarr.json")
    if data is not None:
        document = load_object(data, f"{store.url}/zarr.json")
        if document.pop("consolidated_metadata", None) is not None:
            put_json(store, "zarr.json", document)


def _paths(nodes: Nodes, path: str) -> list[str]:
    found: list[str] = []
    for name, kind in nodes.children(path).items():
        below = f"{path}/{name}" if path else name
        found.append(below)
        if kind == "group":
            found += _paths(nodes, below)
    return found


def put_json(store: WritableStore, key: str, document: JSON) -> None:
    """Set a metadata document."""
    store.set(key, json_text(document, indent=1).encode())
