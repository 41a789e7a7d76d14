"""What all operations on maps share: trees rebuilt array by array, manifests walked in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import (
    ChunkManifest,
    Manifest,
    Rows,
    VirtualArray,
    VirtualGroup,
    VirtualNode,
)
from byteatlas.values import replace

Change: TypeAlias = Callable[[str, VirtualArray], VirtualArray | None]
"""An array's path and the array -> what takes its place."""
BLOCK = 1 << 17
"""Chunks whose rows are held at once while a manifest is walked."""


def map_arrays(node: VirtualNode, change: Change) -> VirtualNode:
    """The tree with each array replaced by ``change(path, array)``, or left out where that is None.

    An array that is the whole tree stays where the change leaves it out.
    """
    if isinstance(node, VirtualArray):
        return change("", node) or node
    return map_group(node, change)


def map_group(group: VirtualGroup, change: Change, prefix: str = "") -> VirtualGroup:
    """The same for a group, whose path is ``prefix``."""
    arrays = {name: change(prefix + name, array) for name, array in group.arrays.items()}
    groups = {name: map_group(child, change, f"{prefix}{name}/") for name, child in group.groups.items()}
    kept = {name: array for name, array in arrays.items() if array is not None}
    return replace(group, arrays=kept, groups=groups)


def in_memory(group: VirtualGroup) -> VirtualGroup:
    """The group with all columns that are read from a map on demand; scanned files' compact manifests stay so."""
    return map_group(group, lambda _, array: replace(array, manifest=_loaded(array.manifest)))


def _loaded(manifest: Manifest) -> Manifest:
    inner: Any = manifest
    while inner is not None:
        if getattr(inner, "place", None) is not None:
            return manifest.load()
        inner = getattr(inner, "inner", None)
    return manifest


def all_arrays(node: VirtualNode) -> Iterator[tuple[str, VirtualArray]]:
    """Every array of a tree with its path; a root array has the path ``""``."""
    if isinstance(node, VirtualArray):
        yield "", node
        return
    for path, child in node.walk():
        if isinstance(child, VirtualArray):
            yield path, child


def blocks(manifest: Manifest, size: int = BLOCK) -> Iterator[tuple[NDArray[np.int64], Rows]]:
    """All rows of a manifest, in order, a block at a time."""
    total = math.prod(manifest.grid_shape)
    for begin in range(0, total, size):
        end = min(begin + size, total)
        chunks = np.arange(begin, end, dtype=np.int64)
        yield chunks, _slice(manifest, begin, end) if isinstance(manifest, ChunkManifest) else manifest.rows(chunks)


def _slice(m: ChunkManifest, begin: int, end: int) -> Rows:
    """Consecutive rows of columns in memory, which need not be copied."""
    encoding = None if m.encoding is None else m.encoding[begin:end]
    return Rows(m.source[begin:end], m.offset[begin:end], m.length[begin:end], encoding)
