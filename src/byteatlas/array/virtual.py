"""Open virtual trees: metadata and manifests that are in memory (or loaded on demand by their manifest)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.locating.manifest import ManifestLocator
from byteatlas.errors import BadRequest, InvalidMetadata, NotFound
from byteatlas.io.open import SourcePool
from byteatlas.io.source import Opener
from byteatlas.manifest.model import VirtualArray, VirtualGroup, VirtualNode
from byteatlas.meta.grid import chunk_counts
from byteatlas.store.nodes import NodeKind
from byteatlas.values import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class VirtualHierarchy:
    """The members of a virtual tree."""

    root: VirtualNode
    opener: Opener
    options: ReadOptions = DEFAULT
    registry: Mapping[str, Any] | None = field(default=None)

    @property
    def stored(self) -> bool:
        return False

    def members(self, path: str) -> Mapping[str, NodeKind]:
        node = self._find(path)
        if isinstance(node, VirtualArray):
            return {}
        found: dict[str, NodeKind] = dict.fromkeys(node.arrays, "array")
        found.update(dict.fromkeys(node.groups, "group"))
        return found

    def has(self, path: str) -> bool:
        node = self.root
        *above, name = [part for part in path.split("/") if part] or [""]
        for part in above:
            if isinstance(node, VirtualArray) or part not in node.groups:
                return False
            node = node.groups[part]
        return not name or (isinstance(node, VirtualGroup) and (name in node.arrays or name in node.groups))

    def open(self, path: str, *, strict: bool = True) -> Node:
        node = self._find(path)
        if isinstance(node, VirtualGroup):
            return Group(node.meta, self, path)
        grid = chunk_counts(node.meta.shape, node.meta.grid)
        if tuple(node.manifest.grid_shape) != grid:
            raise InvalidMetadata(
                path, f"the manifest is for a grid of {node.manifest.grid_shape}, the array has {grid}"
            )
        return Array(
            node.meta,
            ManifestLocator(node.manifest, self.opener, self.options.check),
            path,
            self.options,
            self.registry,
            strict=strict,
        )

    def _find(self, path: str) -> VirtualNode:
        if not path:
            return self.root
        if isinstance(self.root, VirtualArray):
            raise NotFound(f"{path!r}: the root is an array")
        return self.root[path]


def open_node(
    node: VirtualNode,
    opener: Opener | None = None,
    *,
    path: str = "",
    options: ReadOptions = DEFAULT,
    registry: Mapping[str, Any] | None = None,
) -> Node:
    """A virtual array or group as something to read from.

    Args:
        opener: gives the source for each URL of the manifests; default: local files and fsspec without options.
        path: open this member instead of the root.
    """
    if not isinstance(node, (VirtualArray, VirtualGroup)):
        raise BadRequest(f"{type(node).__name__} is no virtual array or group")
    return VirtualHierarchy(node, opener or SourcePool(), options, registry).open(path.strip("/"))
