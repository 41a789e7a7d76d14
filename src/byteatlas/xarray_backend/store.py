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
from byteatlas.array.dimensions import Dimensions
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
    _dimensions: Dimensions = field(default_factory=Dimensions)

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
        """The length of each dimension: that of the longest array, here or in a group above."""
        return self._dimensions.longest(self.members.values(), self.lengths)

    def get_encoding(self) -> dict[str, Any]:
        return {} if self.source is None else {"source": self.source}

    def dims(self, array: Array) -> tuple[str, ...]:
        return self._dimensions.names(array)

    def _variable(self, array: Array) -> Variable:
        dims = self.dims(array)
        attributes = cf_attributes(array)
        if self.fill_as_mask and not set(MASKS) & set(attributes) and array.fill_value is not None:
            attributes["_FillValue"] = array.fill_value
        shape = array.shape if self.group.stored else tuple(self.longest[d] for d in dims)
        data = indexing.LazilyIndexedArray(LazyArray(array, shape))
        encoding = encoding_of(array, dims, shape, stored=self.group.stored) | self.get_encoding()
        return Variable(dims, data, attributes, encoding)
