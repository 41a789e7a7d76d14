"""Open native Zarr stores: version 1, 2 and 3."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.io.access import DEFAULT as ACCESS
from byteatlas.io.access import Access
from byteatlas.meta.model import GroupMeta
from byteatlas.store.base import Store
from byteatlas.store.nodes import NodeKind, Nodes
from byteatlas.store.open import open_as_store
from byteatlas.types import Buffer
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class StoredHierarchy:
    """The members of a stored hierarchy."""

    nodes: Nodes
    options: ReadOptions = DEFAULT
    registry: Mapping[str, Any] | None = None

    @property
    def stored(self) -> bool:
        return True

    def members(self, path: str) -> Mapping[str, NodeKind]:
        return self.nodes.children(path)

    def has(self, path: str) -> bool:
        return self.nodes.has(path)

    def open(self, path: str, *, strict: bool = True) -> Node:
        found = self.nodes.read(path)
        if isinstance(found, GroupMeta):
            return Group(found, self, path)
        locator = StoreLocator.of(self.nodes.store, path, found)
        return Array(found.meta, locator, path, self.options, self.registry, strict=strict)


def open_store(
    target: str | os.PathLike[str] | Mapping[str, Buffer] | Store,
    path: str = "",
    *,
    access: Access = ACCESS,
    consolidated: bool | None = None,
    options: ReadOptions = DEFAULT,
    registry: Mapping[str, Any] | None = None,
) -> Node:
    """A native Zarr hierarchy as something to read from.

    Args:
        target: a directory, a ZIP file, any fsspec URL, a mapping of keys to bytes, or a store.
        path: open this member instead of the root.
        consolidated: True = only with consolidated metadata, False = without, None = where it is there.

    Raises:
        NotFound: there is no Zarr, or no such member. FetchFailed: the storage cannot be reached.
        InvalidMetadata, Unsupported: its metadata breaks the specification, or needs what we do not have.
    """
    nodes = Nodes(open_as_store(target, access), consolidated=consolidated)
    return StoredHierarchy(nodes, options, registry).open(path.strip("/"))
