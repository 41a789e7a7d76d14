"""One map into several: by array, by group, or by stretches of a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, NotFound
from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.manifest.ops.common import map_arrays
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, RectilinearGrid, RegularGrid
from byteatlas.types import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Chunks ``start`` to ``start + count`` along one axis of another manifest."""

    inner: Manifest
    axis: int
    start: int
    count: int

    @property
    def grid_shape(self) -> Shape:
        whole = self.inner.grid_shape
        return (*whole[: self.axis], self.count, *whole[self.axis + 1 :])

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return self.inner.sources

    def _outer(self, chunks: NDArray[np.int64]) -> NDArray[np.int64]:
        index = list(np.unravel_index(chunks, self.grid_shape))
        index[self.axis] = index[self.axis] + self.start
        flat = np.ravel_multi_index(index, self.inner.grid_shape)
        return np.asarray(flat, np.int64)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        return self.inner.rows(self._outer(chunks) if len(chunks) else chunks)

    def inline(self, chunk: int) -> bytes:
        return self.inner.inline(int(self._outer(np.array([chunk], np.int64))[0]))

    def load(self) -> ChunkManifest:
        total = int(np.prod(self.grid_shape, dtype=np.int64))
        chunks = np.arange(total, dtype=np.int64)
        outer = self._outer(chunks) if total else chunks
        rows = self.inner.rows(outer)
        inlined = {i: self.inner.inline(int(outer[i])) for i in np.flatnonzero(rows.source == -2).tolist()}
        return ChunkManifest(
            self.grid_shape, self.sources, rows.source, rows.offset, rows.length, rows.encoding, inlined
        )


def split_arrays(node: VirtualGroup) -> dict[str, VirtualGroup]:
    """One tree for each array, by the array's path; the groups above it keep their attributes."""
    paths = [path for path, child in node.walk() if isinstance(child, VirtualArray)]
    return {path: only(node, [path]) for path in paths}


def split_groups(node: VirtualGroup) -> dict[str, VirtualGroup]:
    """One tree for each group that holds arrays itself, by the group's path, as a root."""
    found = {"": replace(node, groups={}, report=())} if node.arrays else {}
    for path, child in node.walk():
        if isinstance(child, VirtualGroup) and child.arrays:
            found[path] = replace(child, groups={})
    return found


def only(node: VirtualGroup, paths: list[str]) -> VirtualGroup:
    """The tree with these arrays alone, and the groups above them.

    Raises:
        NotFound: a path that is no array.
    """
    known = [path for path, child in node.walk() if isinstance(child, VirtualArray)]
    for path in paths:
        if path not in known:
            raise NotFound(f"no array {path!r}", known)
    wanted = set(paths)
    kept = map_arrays(node, lambda path, array: array if path in wanted else None)
    assert isinstance(kept, VirtualGroup)
    return _pruned(kept)


def _pruned(node: VirtualGroup) -> VirtualGroup:
    groups = {name: _pruned(group) for name, group in node.groups.items()}
    return replace(node, groups={n: g for n, g in groups.items() if g.arrays or g.groups}, report=())


def split_along(node: VirtualGroup, dimension: str, every: int) -> Iterator[VirtualGroup]:
    """Trees of ``every`` elements each along a dimension (the last may be shorter).

    Arrays without the dimension are in each of them.

    Raises:
        NotFound: no array has the dimension.
        BadRequest: an array whose chunks do not end at the cuts, or arrays that differ in length along the dimension.
    """
    lengths = {path: _length(array.meta, dimension) for path, array in _with(node, dimension)}
    if not lengths:
        raise NotFound(f"no array has a dimension {dimension!r}")
    if len(set(lengths.values())) > 1:
        raise BadRequest(f"arrays differ in length along {dimension!r}: {lengths}")
    if every < 1:
        raise BadRequest("a piece needs at least one element")
    total = next(iter(lengths.values()))
    for begin in range(0, total, every):
        end = min(begin + every, total)
        piece = map_arrays(node, lambda path, array, a=begin, b=end: _cut(path, array, dimension, a, b))  # type: ignore[misc]
        assert isinstance(piece, VirtualGroup)
        yield replace(piece, report=())


def _with(node: VirtualGroup, dimension: str) -> Iterator[tuple[str, VirtualArray]]:
    for path, child in node.walk():
        if isinstance(child, VirtualArray) and dimension in (child.meta.dimension_names or ()):
            yield path, child


def _length(meta: ArrayMeta, dimension: str) -> int:
    return meta.shape[(meta.dimension_names or ()).index(dimension)]


def _cut(path: str, array: VirtualArray, dimension: str, begin: int, end: int) -> VirtualArray:
    meta = array.meta
    if dimension not in (meta.dimension_names or ()):
        return array
    axis = (meta.dimension_names or ()).index(dimension)
    edges = boundaries(meta.shape[axis], meta.grid, axis)
    first, last = int(np.searchsorted(edges, begin)), int(np.searchsorted(edges, end))
    if edges[first] != begin or edges[last] != end:
        raise BadRequest(
            f"{path}: no chunk begins at {begin} or ends at {end} along {dimension!r}; chunks begin at {edges[:8]}"
        )
    shape = (*meta.shape[:axis], end - begin, *meta.shape[axis + 1 :])
    match meta.grid:
        case RegularGrid():
            grid: RegularGrid | RectilinearGrid = meta.grid
        case RectilinearGrid(all_edges):
            grid = RectilinearGrid((*all_edges[:axis], all_edges[axis][first:last], *all_edges[axis + 1 :]))
    return VirtualArray(replace(meta, shape=shape, grid=grid), Window(array.manifest, axis, first, last - first))
