"""One group as xarray's backends see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from xarray import Variable
from xarray.backends import AbstractDataStore
from xarray.core import indexing

from byteatlas.array import Array, Group
from byteatlas.meta.attributes import MASKS
from byteatlas.xarray_backend.attributes import cf_attributes
from byteatlas.xarray_backend.encoding import encoding_of
from byteatlas.xarray_backend.lazy import LazyArray


@dataclass(eq=False)
class ByteatlasStore(AbstractDataStore):
    """One group as xarray's backends see it."""

    group: Group
    source: str | None = None
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
        return {} if self.source is None else {"source": self.source}

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
        shape = array.shape if self.group.stored else tuple(self.longest[d] for d in dims)
        data = indexing.LazilyIndexedArray(LazyArray(array, shape))
        encoding = encoding_of(array, dims, shape, stored=self.group.stored) | self.get_encoding()
        return Variable(dims, data, attributes, encoding)
