"""What handles of nodes have in common: a path and metadata, and what an array's metadata say of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import numpy as np

from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, GroupMeta, RegularGrid
from byteatlas.types import JSON, Shape

MetaT = TypeVar("MetaT", ArrayMeta, GroupMeta)


class NodeHandle(Generic[MetaT]):
    """A node of a hierarchy: its metadata and its place."""

    __slots__ = ("_meta", "_path")

    def __init__(self, meta: MetaT, path: str) -> None:
        self._meta: MetaT = meta
        self._path = path

    @property
    def meta(self) -> MetaT:
        return self._meta

    @property
    def path(self) -> str:
        """Its place in the hierarchy, without a leading slash; empty for the root."""
        return self._path

    @property
    def name(self) -> str:
        """The last part of its path; empty for the root."""
        return self._path.rpartition("/")[2]

    @property
    def attrs(self) -> Mapping[str, JSON]:
        return self._meta.attributes


class ArrayHandle(NodeHandle[ArrayMeta]):
    """What an array's metadata say of it."""

    __slots__ = ()

    @property
    def shape(self) -> Shape:
        return self._meta.shape

    @property
    def ndim(self) -> int:
        return len(self._meta.shape)

    @property
    def size(self) -> int:
        return math.prod(self._meta.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of what is read, in native byte order; object for variable-length types."""
        return self._meta.data_type.numpy

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the axes, None where they have none; ``()`` without axes."""
        return self._meta.dimension_names if self._meta.shape else ()

    @property
    def fill_value(self) -> Any:
        return self._meta.fill_value

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]


def chunk_lengths(meta: ArrayMeta) -> tuple[Any, ...]:
    """The shape of the stored chunks; for a rectilinear grid the chunk lengths along each axis, as Dask writes them."""
    if isinstance(meta.grid, RegularGrid):
        return meta.grid.chunk_shape
    return tuple(tuple(np.diff(boundaries(n, meta.grid, i)).tolist()) for i, n in enumerate(meta.shape))
