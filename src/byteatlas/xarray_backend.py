"""The xarray engine ``byteatlas``: reference maps, Zarr stores and archives as datasets and data trees.

Variables are lazy: only what is indexed is fetched and decoded, by this library's own engine. Packing, times and
missing values are left to xarray's CF decoding, which sees the attributes that the netCDF engines would show it.
"""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.core import indexing

from byteatlas.api.opening import open as open_node
from byteatlas.api.targets import place_of
from byteatlas.array import Array, Group, Node
from byteatlas.array.reading.opening import fill_of
from byteatlas.errors import BadRequest, NotFound
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.forms import MAP_SUFFIXES
from byteatlas.io.kind import kind_of
from byteatlas.io.local import local_path
from byteatlas.io.policy import Policy
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.store.base import Store
from byteatlas.types import JSON

FLOAT_WORDS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}
MASKS = ("_FillValue", "missing_value")
PACKING = ("scale_factor", "add_offset")


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to open something again: what goes to other processes instead of open files.

    ``target`` is a URL, virtual arrays, or an open `Group`.
    """

    target: Any
    access: Access | None = None

    def open(self) -> Node:
        if isinstance(self.target, (Group, Array)):
            return self.target
        if isinstance(self.target, str) and not (self.access and self.access.files):
            return _reopened(self.target, self.access)
        return open_node(self.target, access=self.access)

    @cached_property
    def native(self) -> bool:
        """Whether it is a native Zarr store."""
        return isinstance(self.target, str) and kind_of(self.target, self.access or DEFAULT) == "zarr"


@lru_cache(maxsize=32)
def _reopened(url: str, access: Access | None) -> Node:
    """In worker processes every chunk's task opens the same map: once is enough."""
    return open_node(url, access=access)


class LazyArray(BackendArray):
    """An array that xarray indexes; pickled without its open files.

    ``shape`` may be larger than the array's: then the rest reads as its fill value.
    """

    def __init__(self, recipe: Recipe, array: Array, shape: tuple[int, ...]) -> None:
        self.recipe, self.path = recipe, array.path
        self.shape, self.dtype = shape, array.dtype
        self._array: Array | None = array

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_array": None}

    @property
    def array(self) -> Array:
        if self._array is None:
            root = self.recipe.open()
            node = root[self.path] if isinstance(root, Group) else root
            if not isinstance(node, Array):
                raise NotFound(f"{self.path!r} is no array any more")
            self._array = node
        return self._array

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if self.shape != self.array.shape:
            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._padded)
        read = self._basic
        if isinstance(key, indexing.VectorizedIndexer):
            read = self._vectorized
        elif isinstance(key, indexing.OuterIndexer):
            read = self._outer
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.VECTORIZED, read)

    def _basic(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self.array.read(key)

    def _outer(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self.array.read_orthogonal(key)

    def _vectorized(self, key: tuple[Any, ...]) -> NDArray[Any]:
        return self.array.read_points(pointwise(key, self.shape))

    def _padded(self, key: tuple[Any, ...]) -> NDArray[Any]:
        """An outer selection of which a part lies beyond the array itself."""
        places = [np.atleast_1d(np.arange(n)[k]) for k, n in zip(key, self.shape, strict=True)]
        inside = [p < n for p, n in zip(places, self.array.shape, strict=True)]
        out = np.empty([len(p) for p in places], self.dtype)
        out[...] = fill_of(self.array.meta)
        out[np.ix_(*inside)] = self.array.read_orthogonal(tuple(p[i] for p, i in zip(places, inside, strict=True)))
        return out[tuple(0 if np.ndim(k) == 0 and not isinstance(k, slice) else slice(None) for k in key)]


def pointwise(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...]:
    """A vectorized key with its slices spelled out: the arrays' axes come first, then one axis for each slice."""
    arrays = [np.asarray(k) for k in key if not isinstance(k, slice)]
    lead = max((a.ndim for a in arrays), default=0)
    slices = sum(isinstance(k, slice) for k in key)
    out, nth = [], 0
    for item, n in zip(key, shape, strict=True):
        if isinstance(item, slice):
            nth += 1
            positions = np.arange(n, dtype=np.int64)[item]
            out.append(positions.reshape((1,) * (lead + nth - 1) + (-1,) + (1,) * (slices - nth)))
        else:
            positions = np.asarray(item)
            out.append(positions.reshape(positions.shape + (1,) * slices))
    return tuple(out)


@dataclass(eq=False)
class ByteatlasStore(AbstractDataStore):
    """One group as xarray's backends see it."""

    recipe: Recipe
    group: Group
    fill_as_mask: bool = False
    without: frozenset[str] = frozenset()
    lengths: Mapping[str, int] = field(default_factory=dict)
    _phony: dict[int, list[str]] = field(default_factory=dict)

    @cached_property
    def members(self) -> dict[str, Array]:
        """Arrays by name. Those to leave out are not even opened: they may be what cannot be."""
        nodes = ((name, self.group[name]) for name in self.group if name not in self.without)
        return {name: node for name, node in nodes if isinstance(node, Array)}

    def get_variables(self) -> Mapping[str, Variable]:
        return {name: self._variable(array) for name, array in self.members.items()}

    def get_attrs(self) -> dict[str, Any]:
        return dict(self.group.attrs)

    def get_dimensions(self) -> dict[str, int]:
        return {d: n for v in self.get_variables().values() for d, n in v.sizes.items()}

    @cached_property
    def longest(self) -> dict[str, int]:
        """The length of each dimension: that of the longest array, here or in a group above.

        Along an unlimited dimension netCDF-4 stores each variable only as far as it was written; to the netCDF library
        all are as long as the longest, and read as their fill value beyond.
        """
        found = dict(self.lengths)
        for array in self.members.values():
            for name, n in zip(self.dims(array), array.shape, strict=True):
                found[name] = max(n, found.get(name, 0))
        return found

    def get_encoding(self) -> dict[str, Any]:
        return {"source": self.recipe.target} if isinstance(self.recipe.target, str) else {}

    def dims(self, array: Array) -> tuple[str, ...]:
        """Dimension names; axes without one are named for their length, as the netCDF library does."""
        taken: list[str] = [d for d in array.dims or () if d]
        out = []
        for name, n in zip(array.dims or (None,) * array.ndim, array.shape, strict=True):
            chosen = name or next((d for d in self._phony.get(n, []) if d not in taken), None)
            if chosen is None:
                chosen = f"phony_dim_{sum(map(len, self._phony.values()))}"
                self._phony.setdefault(n, []).append(chosen)
            taken.append(chosen)
            out.append(chosen)
        return tuple(out)

    def _variable(self, array: Array) -> Variable:
        dims = self.dims(array)
        attributes = cf_attributes(array)
        if self.fill_as_mask and not set(MASKS) & set(attributes) and array.fill_value is not None:
            attributes["_FillValue"] = array.fill_value
        native = self.recipe.native
        shape = array.shape if native else tuple(self.longest[d] for d in dims)
        data = indexing.LazilyIndexedArray(LazyArray(self.recipe, array, shape))
        encoding = {
            "chunks": array.chunks,
            "preferred_chunks": dict(zip(dims, array.chunks, strict=True)),
            "dtype": str if array.meta.data_type.name == "string" else array.dtype,
            **self.get_encoding(),
        }
        return Variable(dims, data, attributes, encoding)


def cf_attributes(array: Array) -> dict[str, Any]:
    """Attributes with the types that CF decoding depends on, which JSON does not keep.

    ``_FillValue`` and ``missing_value`` get the array's type. ``scale_factor`` and ``add_offset`` become 32-bit floats
    when they are surely such (numbers like 0.009999999776482582): netCDF then unpacks to 32 bits.
    """
    attributes = dict(array.attrs)
    for name in MASKS:
        if name in attributes:
            attributes[name] = _as_value(attributes[name], array.dtype)
    numbers = [attributes[name] for name in PACKING if isinstance(attributes.get(name), float)]
    fits = all(float(np.float32(n)) == n for n in numbers)
    if fits and any(str(np.float32(n)) != str(np.float64(n)) for n in numbers):
        attributes.update({name: np.float32(attributes[name]) for name in PACKING if name in attributes})
    return attributes


def _as_value(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and dtype.kind == "f":
        value = _float(value)
    if isinstance(value, str) and dtype.kind == "S":
        return np.bytes_(value.encode("utf-8", "surrogateescape"))
    if dtype.kind in "iufb" and isinstance(value, (bool, int, float)):
        if dtype.kind in "iu" and not (
            float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
        ):
            return value  # for example a float marker of packed integers: xarray decides what it means
        return dtype.type(value)
    return value


def _float(text: str) -> Any:
    """A float that JSON could not say: a word, or xarray's own form, the base64 of its eight bytes."""
    if text in FLOAT_WORDS:
        return FLOAT_WORDS[text]
    try:
        return struct.unpack("<d", base64.standard_b64decode(text))[0]
    except (ValueError, struct.error):
        return text


class ByteatlasBackend(BackendEntrypoint):
    """Entry point of ``engine="byteatlas"``."""

    description = "Reference maps, Zarr stores and archives (HDF5, netCDF, TIFF) through byteatlas"
    url = "https://github.com/byteatlas/byteatlas"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords", "drop_variables",
        "use_cftime", "decode_timedelta", "group", "access", "storage_options", "policy", "use_zarr_fill_value_as_mask",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Reference maps only: archives and native stores have engines of their own."""
        if isinstance(filename_or_obj, (VirtualGroup, Group)):
            return True
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        name = os.fspath(filename_or_obj)
        if not name.rstrip("/").lower().endswith(MAP_SUFFIXES):
            return False
        path = local_path(name)
        if path is None or not Path(path).exists():
            return True
        kind = kind_of(name)
        return kind == "parquet" or (kind == "json" and _looks_like_a_map(Path(path)))

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: Any = True,
        decode_times: Any = True,
        concat_characters: Any = True,
        decode_coords: Any = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: Any = None,
        decode_timedelta: Any = None,
        group: str | None = None,
        access: Access | None = None,
        storage_options: Mapping[str, JSON] | None = None,
        policy: Policy | None = None,
        use_zarr_fill_value_as_mask: bool | None = None,
    ) -> Dataset:
        """One group as a dataset.

        Args:
            filename_or_obj: a URL or path; an open binary file; references as a dict; a `VirtualGroup`; a `Group`.
            group: its path; the root if not given.
            access: how the map, and the files that it leads to, may be reached. None = as a virtual group was.
            storage_options, policy: short for one.
            use_zarr_fill_value_as_mask: take the arrays' fill value as ``_FillValue`` where there is no such
                attribute. Default: only for native Zarr v2 stores; the fill value of a scanned file is what its own
                library gives for chunks that were never written, and masks nothing.
        """
        recipe = _recipe(filename_or_obj, access, storage_options, policy)
        decoding = {
            "mask_and_scale": mask_and_scale, "decode_times": decode_times, "concat_characters": concat_characters,
            "decode_coords": decode_coords, "drop_variables": drop_variables, "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }  # fmt: skip
        return _dataset(recipe, _group_at(recipe, group), use_zarr_fill_value_as_mask, decoding)

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, group: str | None = None, **options: Any
    ) -> dict[str, Dataset]:
        """Every group from ``group`` (or the root) down, by its path from there; options as for `open_dataset`."""
        mask = options.pop("use_zarr_fill_value_as_mask", None)
        how = (options.pop(name, None) for name in ("access", "storage_options", "policy"))
        recipe = _recipe(filename_or_obj, *how)
        start = _group_at(recipe, group)
        return {path: _dataset(recipe, node, mask, options) for path, node in _groups(start)}

    def open_datatree(self, filename_or_obj: Any, **options: Any) -> DataTree:
        """Every group as a node of a tree; options as for `open_dataset`."""
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **options))


def _looks_like_a_map(path: Path) -> bool:
    """Whether a JSON file has the words of a reference map near its beginning; compressed ones are believed."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    words = (b'"refs"', b".zgroup", b".zarray", b"zarr.json", b'"gen"', b'"templates"')
    return not head.lstrip().startswith((b"{", b"[")) or any(word in head for word in words)


def _recipe(
    target: Any, access: Access | None, storage_options: Mapping[str, JSON] | None, policy: Policy | None
) -> Recipe:
    if access is not None or storage_options is not None or policy is not None:
        access = Access.of(access, storage_options, policy)
    if isinstance(target, (VirtualArray, VirtualGroup, Group, Array, Store, Mapping)):
        return Recipe(target, access)
    return Recipe(*place_of(target, access or DEFAULT))


def _group_at(recipe: Recipe, group: str | None) -> Group:
    root = recipe.open()
    node = root[group or ""] if isinstance(root, Group) else root
    if not isinstance(node, Group):
        raise BadRequest(f"{group or 'the root'} is an array; xarray opens groups")
    return node


def _groups(start: Group) -> Iterator[tuple[str, Group]]:
    yield "/", start
    for path, node in start.walk():
        if isinstance(node, Group):
            yield f"/{path}", node


def _dataset(recipe: Recipe, group: Group, fill_as_mask: bool | None, decoding: Mapping[str, Any]) -> Dataset:
    if fill_as_mask is None:
        # As xarray's own zarr engine has it for stores of version 2.
        fill_as_mask = group.meta.zarr_format == 2 and recipe.native
    drop = decoding.get("drop_variables") or ()
    without = frozenset((drop,) if isinstance(drop, str) else drop)
    store = ByteatlasStore(recipe, group, fill_as_mask, without, _lengths_above(recipe, group))
    dataset: Dataset = StoreBackendEntrypoint().open_dataset(store, **decoding)
    dataset.set_close(_nothing)  # not the store's method, which would be pickled with open files and all
    return dataset


def _nothing() -> None:
    """Files are closed when the last array that reads from them is gone."""


def _lengths_above(recipe: Recipe, group: Group) -> dict[str, int]:
    """Lengths of the dimensions that arrays in the groups above have."""
    root, found = recipe.open(), dict[str, int]()
    if not isinstance(root, Group) or recipe.native or not group.path.startswith(root.path):
        return found
    path = group.path
    while path != root.path and path:
        path = path.rpartition("/")[0]
        above = root[path[len(root.path) :]]
        for array in above.arrays().values() if isinstance(above, Group) else ():
            for name, n in zip(array.dims or (), array.shape, strict=False):
                if name is not None:
                    found[name] = max(n, found.get(name, 0))
    return found
