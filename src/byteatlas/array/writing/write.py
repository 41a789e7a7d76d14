"""Create arrays and groups in stores, and open arrays for writing (Zarr v2 and v3).

A node's documents are written before the first chunk that they describe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.writing.documents import write_array_meta, write_group_meta
from byteatlas.array.writing.options import DEFAULT_WRITE, ArrayWriteOptions
from byteatlas.array.writing.writable import WritableArray
from byteatlas.errors import BadRequest, Conflict, Unsupported
from byteatlas.meta.model import ArrayMeta, GroupMeta
from byteatlas.store.base import WritableStore, check_path
from byteatlas.store.nodes import Nodes
from byteatlas.types import JSON


def create_group(
    store: WritableStore,
    path: str = "",
    *,
    attributes: Mapping[str, JSON] | None = None,
    zarr_format: Literal[2, 3] = 3,
) -> None:
    """Create a group, and the groups above it that do not exist yet. Raises `Conflict` when there is a node."""
    clean = check_path(path)
    _free(store, clean)
    make_parents(store, clean, zarr_format)
    write_group_meta(store, clean, GroupMeta(dict(attributes or {}), zarr_format))


def create_array(
    store: WritableStore,
    path: str,
    meta: ArrayMeta,
    *,
    options: ReadOptions = DEFAULT,
    write: ArrayWriteOptions = DEFAULT_WRITE,
    registry: Mapping[str, Any] | None = None,
) -> WritableArray:
    """Create an array that holds its fill value, and the groups above it that do not exist yet.

    Raises:
        Conflict: there is a node at this path, or an array above it.
        Unsupported: the metadata cannot be written in ``meta.zarr_format``, or a codec cannot encode.
    """
    clean = check_path(path)
    check_writable(clean, meta)
    _free(store, clean)
    made = WritableArray(store, clean, meta, options, write, registry)
    make_parents(store, clean, 3 if meta.zarr_format == 3 else 2)
    write_array_meta(store, clean, meta)
    return made


def check_writable(path: str, meta: ArrayMeta) -> None:
    """Raises `Unsupported` for an array that can be read but not written."""
    if len(meta.encodings) != 1 or meta.encodings[0].cast or meta.encodings[0].chunk_shape is not None:
        raise Unsupported("encodings", "an array with several encodings can be read and referenced, not written", path)
    if meta.zarr_format == 1:
        raise Unsupported("zarr-v1", "version 1 is read only", path)


def open_writable(
    store: WritableStore,
    path: str = "",
    *,
    options: ReadOptions = DEFAULT,
    write: ArrayWriteOptions = DEFAULT_WRITE,
    registry: Mapping[str, Any] | None = None,
) -> WritableArray:
    """An existing array for writing. Raises `NotFound`, `BadRequest` (a group)."""
    clean = check_path(path)
    found = Nodes(store, consolidated=False).read(clean)
    if isinstance(found, GroupMeta):
        raise BadRequest(f"{'/' + clean!r} is a group")
    if found.column is not None:
        raise Unsupported("encodings", "an array with several encodings can be read and referenced, not written", clean)
    return WritableArray(store, clean, found.meta, options, write, registry)


def _free(store: WritableStore, path: str) -> None:
    if Nodes(store, consolidated=False).kind(path) is not None:
        raise Conflict([f"{store.url} has a node at {'/' + path!r} already"], "write")


def make_parents(store: WritableStore, path: str, zarr_format: Literal[2, 3]) -> None:
    """Make the groups above a path that do not exist yet. Raises `Conflict` for an array among them."""
    nodes = Nodes(store, consolidated=False)
    parts: Sequence[str] = path.split("/")[:-1] if path else ()
    for above in ["", *("/".join(parts[: i + 1]) for i in range(len(parts)))] if path else ():
        kind = nodes.kind(above)
        if kind == "array":
            raise Conflict([f"{'/' + above!r} is an array; it cannot hold {path!r}"], "write")
        if kind is None:
            write_group_meta(store, above, GroupMeta({}, zarr_format))
