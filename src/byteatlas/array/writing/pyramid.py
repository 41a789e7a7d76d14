"""The levels of a copy: which there are, their metadata, and the coordinates beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.array import Array
from byteatlas.array.group import Group
from byteatlas.array.levels.coarse import Coarse, coarse_attributes, coarse_coordinate
from byteatlas.array.levels.multiscales import described, is_raster, level_path
from byteatlas.array.levels.options import LevelOptions
from byteatlas.array.levels.reduce import MEANS, check_kind
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.documents import write_array_meta, write_group_meta
from byteatlas.array.writing.options import ArrayWriteOptions
from byteatlas.array.writing.write import create_array, create_group, open_writable
from byteatlas.errors import BadRequest, unknown
from byteatlas.meta.model import ArrayMeta, GroupMeta, RegularGrid
from byteatlas.store.base import WritableStore
from byteatlas.store.nodes import Nodes
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class CopyLevel:
    """One level of an array.

    Attributes:
        path: of its array in the store.
        of: path of the array that it is a level of.
        number: from 1 on.
        source: the values.
        target: the metadata.
    """

    path: str
    of: str
    number: int
    factor: int
    source: Coarse
    target: ArrayMeta


def levels_for(
    arrays: Mapping[str, Array], plans: Mapping[str, ArrayMeta], options: LevelOptions | None, memory: int
) -> list[CopyLevel]:
    """The levels of all rasters.

    Raises `BadRequest` where there are none at all, and for one that cannot be resampled so; `NotFound` for a path.
    """
    if options is None:
        return []
    for path in options.arrays or ():
        if path.strip("/") not in arrays:
            raise unknown("array", path, arrays)
    wanted = None if options.arrays is None else {path.strip("/") for path in options.arrays}
    chosen = [p for p, a in arrays.items() if p and (p in wanted if wanted is not None else _is_image(a))]
    if not chosen:
        raise BadRequest("levels: no array of a group has y and x as its last two axes; name them in arrays=")
    found = []
    for path in chosen:
        array = arrays[path]
        if array.ndim < 2:
            raise BadRequest(f"{path} has {array.ndim} axes; levels need two")
        check_kind(options.resampling, array.dtype, path)
        for number, factor in enumerate(options.factors_for(*array.shape[-2:]), 1):
            source = Coarse(array, factor, options.resampling, memory)
            where = level_path(path, number)
            if where in arrays:
                raise BadRequest(f"{where} is in the source already: a level cannot be written there")
            target = _meta(plans[path], source, factor)
            found.append(CopyLevel(where, path, number, factor, source, target))
    return found


def _is_image(array: Array) -> bool:
    numbers = array.dtype.kind in MEANS and array.dtype.itemsize <= 8
    return numbers and is_raster(array.meta.dimension_names, array.attrs)


def _meta(plan: ArrayMeta, source: Coarse, factor: int) -> ArrayMeta:
    """The metadata of a level: chunks of the same shape."""
    assert isinstance(plan.grid, RegularGrid)
    return replace(plan, shape=source.shape, attributes=coarse_attributes(plan.attributes, factor, source.shape))


def finish(
    root: Group, store: WritableStore, levels: list[CopyLevel], options: LevelOptions, write: ArrayWriteOptions
) -> None:
    """What stands beside the levels (coordinates, grid mappings), and the attributes that list them."""
    for level in levels:
        for name, meta, values in _beside(root, level):
            _put(store, level.path.rpartition("/")[0] + "/" + name, meta, values, write)
    nodes = Nodes(store, consolidated=False)
    for folder in sorted({level.of.rpartition("/")[0] for level in levels}):
        group = root[folder] if folder else root
        assert isinstance(group, Group)
        form = levels[0].target.zarr_format
        assert form != 1
        rasters: dict[str, tuple[tuple[str | None, ...], list[int]]] = {}
        for level in levels:
            head, _, name = level.of.rpartition("/")
            if head == folder:
                dims = level.target.dimension_names or (None,) * len(level.target.shape)
                rasters.setdefault(name, (dims, []))[1].append(level.factor)
        added = _merged(group.attrs, described(rasters, options.resampling, form))
        if nodes.kind(folder) is None:
            create_group(store, folder, attributes=added, zarr_format=form)
        write_group_meta(store, folder, GroupMeta(added, form))


def _merged(old: Mapping[str, JSON], new: Mapping[str, JSON]) -> dict[str, JSON]:
    """Attributes with those of the levels; conventions that are named already stay."""
    found = {**old, **new}
    named, more = old.get("zarr_conventions"), new.get("zarr_conventions")
    if isinstance(named, list) and isinstance(more, list):
        found["zarr_conventions"] = [*(c for c in named if c not in more), *more]
    return found


def _beside(root: Group, level: CopyLevel) -> Iterator[tuple[str, ArrayMeta, NDArray[Any]]]:
    """One-dimensional coordinates of the level's dimensions, and its grid mapping."""
    folder = level.of.rpartition("/")[0]
    dims = level.target.dimension_names or ()
    mapping = level.target.attributes.get("grid_mapping")
    names = [d for d in dims if d] + ([mapping.split()[0].rstrip(":")] if isinstance(mapping, str) and mapping else [])
    group = root[folder] if folder else root
    assert isinstance(group, Group)
    for name in dict.fromkeys(names):
        if name not in group.arrays():
            continue
        array = group[name]
        assert isinstance(array, Array)
        if array.ndim > 1 or array.dtype.hasobject:
            continue
        values: NDArray[Any] = array[...]
        attributes = coarse_attributes(array.attrs, level.factor, level.source.shape)
        if name in dims[-2:]:
            if array.dtype.kind not in "iuf":
                continue
            values = coarse_coordinate(values, level.factor)
        yield name, _small(values, array.meta, attributes, level.target), values


def _small(values: NDArray[Any], old: ArrayMeta, attributes: Mapping[str, JSON], like: ArrayMeta) -> ArrayMeta:
    assert like.zarr_format != 1
    names = old.dimension_names if values.ndim else ()
    return array_meta(
        values.shape, np.dtype(values.dtype), chunks=tuple(max(1, n) for n in values.shape), dimension_names=names,
        attributes=attributes, zarr_format=like.zarr_format,
    )  # fmt: skip


def _put(store: WritableStore, path: str, meta: ArrayMeta, values: NDArray[Any], write: ArrayWriteOptions) -> None:
    if Nodes(store, consolidated=False).kind(path) is None:
        made = create_array(store, path, meta, write=write)
    else:
        write_array_meta(store, path, meta)
        made = open_writable(store, path, write=write)
    made[...] = values


def paths_of(levels: list[CopyLevel], root: Group) -> list[str]:
    """Paths of all nodes that levels add, for consolidated metadata."""
    found: dict[str, None] = {}
    for level in levels:
        folder = level.path.rpartition("/")[0]
        found.update({folder: None, level.path: None})
        found.update({f"{folder}/{name}": None for name, _, _ in _beside(root, level)})
    return list(found)
