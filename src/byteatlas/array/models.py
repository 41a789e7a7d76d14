"""Object models (ZEP 6) of what is opened, and hierarchies created from models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.array.writing.documents import drop_consolidated, put_json, write_array_meta, write_group_meta
from byteatlas.array.writing.writable import WritableArray
from byteatlas.array.writing.write import check_writable, make_parents
from byteatlas.errors import BadRequest, Conflict
from byteatlas.meta import zom
from byteatlas.meta.model import ArrayMeta, ChunkKeys, GroupMeta, NodeMeta
from byteatlas.meta.zom.versions import convert
from byteatlas.store.base import WritableStore, check_path
from byteatlas.store.erase import erase
from byteatlas.store.nodes import Nodes
from byteatlas.types import JSON

DEFAULT_KEYS: Mapping[int, ChunkKeys] = {2: ChunkKeys("v2", "."), 3: ChunkKeys("default", "/")}


def model_of(node: Node, *, depth: int | None = None) -> zom.Model:
    """The structure of an array, or of a group and what is below it. No chunk is read.

    ``depth``: levels of members to go down; None = all. A hierarchy whose nodes are of versions 2 and 3, as reference
    maps can be, becomes one of version 3, and arrays of version 1 become version 2.

    Raises `Unsupported` for metadata that cannot be understood, and for a store that cannot be listed.
    """
    if isinstance(node, Array):
        return zom.to_model({"": _newer(node.meta)})
    found: dict[str, NodeMeta] = {"": node.meta}
    _below(node, "", depth, found)
    numbers = {3 if meta.zarr_format == 3 else 2 for meta in found.values()}
    if len(numbers) > 1:
        found = {path: convert(meta, 3) for path, meta in found.items()}
    return zom.to_model({path: _newer(meta) for path, meta in found.items()})


def _below(group: Group, prefix: str, depth: int | None, found: dict[str, NodeMeta]) -> None:
    if depth is not None and depth < 1:
        return
    for name, array in group.arrays().items():
        found[prefix + name] = array.meta
    for name, inner in group.groups().items():
        found[prefix + name] = inner.meta
        _below(inner, f"{prefix}{name}/", None if depth is None else depth - 1, found)


def _newer(meta: NodeMeta) -> NodeMeta:
    return convert(meta, 2) if isinstance(meta, ArrayMeta) and meta.zarr_format == 1 else meta


def create_from_model(
    model: zom.Model | Mapping[str, JSON],
    store: WritableStore,
    path: str = "",
    *,
    zarr_format: Literal[2, 3] | None = None,
    overwrite: bool = False,
    consolidated: bool = False,
) -> None:
    """Create a hierarchy without data: groups, and arrays that hold their fill values.

    The whole model is checked before anything is written. The members come first and the root last, each key at once:
    nobody who opens the root sees half of a hierarchy.

    Args:
        model: a model, or its nested JSON form.
        path: where in the store its root goes; groups above it are made.
        zarr_format: the version to create; None = the model's. Conversion gives chunks the version's usual keys.
        overwrite: remove what is there, with all below it and all its chunks; else that is a `Conflict`.
        consolidated: write consolidated metadata too (only at the store's root).

    Raises:
        Conflict: there is a node, or an array above it.
        InvalidMetadata, Unsupported: a model that breaks a rule, or that cannot be written.
    """
    value = zom.from_json(dict(model)) if isinstance(model, Mapping) else model
    if zarr_format is not None and zom.version_of(value) != zarr_format:
        value = zom.convert(value, zarr_format, keys=lambda _: DEFAULT_KEYS[zarr_format])
    root = check_path(path)
    if consolidated and (root or isinstance(value, ArrayMeta)):
        raise BadRequest("consolidated metadata belong to a group at the root of a store")
    nodes = zom.from_model(value)
    for name, meta in nodes.items():
        _check(store, f"{root}/{name}".strip("/"), meta)
    extra = zom.consolidate(value) if consolidated else None
    there = Nodes(store, consolidated=False).kind(root) is not None
    if there and not overwrite:
        raise Conflict([f"{store.url} has a node at {'/' + root!r} already"], "create")
    make_parents(store, root, zom.version_of(value))
    if there:
        drop_consolidated(store)
        erase(store, root)
    for name, meta in reversed(nodes.items()):
        here = f"{root}/{name}".strip("/")
        if isinstance(meta, ArrayMeta):
            write_array_meta(store, here, meta)
        elif here or extra is None or meta.zarr_format != 3:
            write_group_meta(store, here, meta)
    if extra is not None:
        put_json(store, "zarr.json" if zom.version_of(value) == 3 else ".zmetadata", extra)


def _check(store: WritableStore, path: str, meta: NodeMeta) -> None:
    """That the node can be written: its documents, its name, and codecs that encode."""
    check_path(path)
    zom.node_json(meta)
    if isinstance(meta, GroupMeta):
        return
    check_writable(path, meta)
    WritableArray(store, path, meta)
