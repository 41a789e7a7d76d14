"""One map into several: by array, by group, or by stretches of a dimension."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np

from byteatlas.errors import BadRequest, unknown
from byteatlas.manifest.kinds.window import window
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.manifest.ops.common import all_arrays, map_group
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, RectilinearGrid, RegularGrid
from byteatlas.values import replace

CutArray: TypeAlias = Callable[[str, VirtualArray, int, int, int], VirtualArray]
"""An array's path, the array, an axis, and two positions along it -> the part between them."""


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
            raise unknown("array", path, known)
    wanted = set(paths)
    return _pruned(map_group(node, lambda path, array: array if path in wanted else None))


def _pruned(node: VirtualGroup) -> VirtualGroup:
    groups = {name: _pruned(group) for name, group in node.groups.items()}
    return replace(node, groups={n: g for n, g in groups.items() if g.arrays or g.groups}, report=())


def split_along(
    node: VirtualGroup, dimension: str, every: int, otherwise: CutArray | None = None
) -> Iterator[VirtualGroup]:
    """Trees of ``every`` elements each along a dimension (the last may be shorter).

    Arrays without the dimension are in each of them.

    Args:
        otherwise: gives the part of an array whose chunks do not end at the cuts.

    Raises:
        NotFound: no array has the dimension.
        BadRequest: without ``otherwise``, an array whose chunks do not end at the cuts; arrays that differ in length
            along the dimension.
    """
    lengths = {path: _length(array.meta, dimension) for path, array in _with(node, dimension)}
    if not lengths:
        names = {d: None for _, a in all_arrays(node) for d in a.meta.dimension_names or () if d}
        raise unknown("dimension", dimension, names)
    if len(set(lengths.values())) > 1:
        raise BadRequest(f"arrays differ in length along {dimension!r}: {lengths}")
    if every < 1:
        raise BadRequest("a piece needs at least one element")
    total = next(iter(lengths.values()))
    for begin in range(0, total, every):
        end = min(begin + every, total)
        piece = map_group(node, partial(_cut, dimension=dimension, begin=begin, end=end, otherwise=otherwise))
        yield replace(piece, report=())


def file_names(pieces: Mapping[str, VirtualGroup]) -> dict[str, str]:
    """A file name (without suffix) for each piece of `split_arrays` or `split_groups`; no two are the same.

    A slash becomes a dot. Where that makes one name of two, dots of the names themselves become ``%2E``.

    >>> file_names(dict.fromkeys(["g/x", "y"], VirtualGroup()))
    {'g/x': 'g.x', 'y': 'y'}
    >>> file_names(dict.fromkeys(["g/x", "g.x"], VirtualGroup()))
    {'g/x': 'g.x', 'g.x': 'g%2Ex'}
    """
    plain = {path: path.replace("/", ".") or "root" for path in pieces}
    if len({name.lower() for name in plain.values()}) == len(plain):
        return plain
    escaped = {p: p.replace("%", "%25").replace(".", "%2E").replace("/", ".") or "root%" for p in pieces}
    lower = Counter(name.lower() for name in escaped.values())
    seen: Counter[str] = Counter()
    found = {}
    for path, name in escaped.items():  # some file systems do not tell X from x
        seen[name.lower()] += 1
        found[path] = name if lower[name.lower()] == 1 else f"{name}%{seen[name.lower()]}"
    return found


def _with(node: VirtualGroup, dimension: str) -> Iterator[tuple[str, VirtualArray]]:
    for path, child in node.walk():
        if isinstance(child, VirtualArray) and dimension in (child.meta.dimension_names or ()):
            yield path, child


def _length(meta: ArrayMeta, dimension: str) -> int:
    return meta.shape[(meta.dimension_names or ()).index(dimension)]


def _cut(
    path: str, array: VirtualArray, *, dimension: str, begin: int, end: int, otherwise: CutArray | None
) -> VirtualArray:
    meta = array.meta
    if dimension not in (meta.dimension_names or ()):
        return array
    axis = (meta.dimension_names or ()).index(dimension)
    edges = boundaries(meta.shape[axis], meta.grid, axis)
    first, last = int(np.searchsorted(edges, begin)), int(np.searchsorted(edges, end))
    if edges[first] != begin or edges[last] != end:
        if otherwise is not None:
            return otherwise(path, array, axis, begin, end)
        raise BadRequest(
            f"{path}: no chunk begins at {begin} or ends at {end} along {dimension!r}; chunks begin at {edges[:8]}"
        )
    shape = (*meta.shape[:axis], end - begin, *meta.shape[axis + 1 :])
    match meta.grid:
        case RegularGrid():
            grid: RegularGrid | RectilinearGrid = meta.grid
        case RectilinearGrid(all_edges):
            grid = RectilinearGrid((*all_edges[:axis], all_edges[axis][first:last], *all_edges[axis + 1 :]))
    return VirtualArray(replace(meta, shape=shape, grid=grid), window(array.manifest, axis, first, last))
