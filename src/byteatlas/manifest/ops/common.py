"""What all operations on maps share: trees rebuilt array by array, manifests walked in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import (
    ChunkManifest,
    Manifest,
    Rows,
    SourceInfo,
    VirtualArray,
    VirtualGroup,
    VirtualNode,
)
from byteatlas.types import Shape

BLOCK = 1 << 17
"""Chunks whose rows are held at once while a manifest is walked."""


def map_arrays(
    node: VirtualNode, change: Callable[[str, VirtualArray], VirtualArray | None], prefix: str = ""
) -> VirtualNode:
    """The tree with each array replaced by ``change(path, array)``, or left out where that is None."""
    if isinstance(node, VirtualArray):
        return change(prefix.rstrip("/"), node) or node
    arrays = {name: change(prefix + name, array) for name, array in node.arrays.items()}
    groups = {name: map_arrays(group, change, f"{prefix}{name}/") for name, group in node.groups.items()}
    return replace(
        node,
        arrays={name: array for name, array in arrays.items() if array is not None},
        groups={name: group for name, group in groups.items() if isinstance(group, VirtualGroup)},
    )


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
        chunks = np.arange(begin, min(begin + size, total), dtype=np.int64)
        yield chunks, manifest.rows(chunks)


@dataclass(slots=True, eq=False)
class Renamed:
    """A manifest whose sources are others than those of the manifest behind it."""

    inner: Manifest
    change: Callable[[SourceInfo], SourceInfo]
    _snapshot: tuple[SourceInfo, ...] = ()

    @property
    def grid_shape(self) -> Shape:
        return self.inner.grid_shape

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        inner, known = self.inner.sources, self._snapshot
        if len(inner) > len(known):
            known = self._snapshot = known + tuple(self.change(s) for s in inner[len(known) :])
        return known

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        return self.inner.rows(chunks)

    def inline(self, chunk: int) -> bytes:
        return self.inner.inline(chunk)

    def load(self) -> ChunkManifest:
        return replace(self.inner.load(), sources=self.sources)
