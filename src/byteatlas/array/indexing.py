"""Square brackets: ``array[...]``, ``array.oindex[...]``, ``array.vindex[...]`` and ``array.blocks[...]``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import selection as sel
from byteatlas.array.handle import ArrayHandle
from byteatlas.errors import BadSelection
from byteatlas.meta.model import RegularGrid


class Indexer:
    """A way of selecting, as an attribute of an array: ``array.oindex[...]``."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[Any], NDArray[Any]]) -> None:
        self._read = read

    def __getitem__(self, selection: Any) -> Any:
        rest, fields = sel.split_fields(selection)
        return only_fields(self._read(rest), fields)


class Indexed(ArrayHandle, ABC):
    """An array that is read by selections: the four ways of reading, and what follows from them."""

    __slots__ = ()

    @abstractmethod
    def read(self, selection: Any = ..., out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A basic selection as an array; into ``out`` when given (of the selection's shape and this array's dtype).

        Raises `BadSelection`, `BadRequest` (``out`` does not fit), `FetchFailed`, `CorruptChunk`.
        """
        ...

    @abstractmethod
    def read_orthogonal(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Index arrays along each axis by itself."""
        ...

    @abstractmethod
    def read_points(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The values at points, in the shape of the broadcast index arrays."""
        ...

    @abstractmethod
    def read_blocks(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Whole chunks by grid position."""
        ...

    def __getitem__(self, selection: Any) -> Any:
        selection, fields = sel.split_fields(selection)
        got = only_fields(self.read(selection), fields)
        # NumPy: integers on every axis give a scalar, an ellipsis among them an array without axes.
        items = selection if isinstance(selection, tuple) else (selection,)
        return got[()] if got.ndim == 0 and not any(i is Ellipsis for i in items) else got

    @property
    def oindex(self) -> Indexer:
        """Orthogonal selection: ``array.oindex[[1, 5], :, mask]``; each axis by itself."""
        return Indexer(self.read_orthogonal)

    @property
    def vindex(self) -> Indexer:
        """Coordinate selection: ``array.vindex[[1, 5], [0, 2]]`` (two points), or a mask of the array's shape."""
        return Indexer(self.read_points)

    @property
    def blocks(self) -> Indexer:
        """Whole chunks by grid position: ``array.blocks[0, 2:4]``."""
        return Indexer(self.read_blocks)

    def __iter__(self) -> Iterator[Any]:
        grid = self._meta.grid
        step = max(1, grid.chunk_shape[0]) if isinstance(grid, RegularGrid) and self.shape else 1
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("reading an array makes a copy")
        whole = self.read()
        return whole if dtype is None else whole.astype(dtype)


def only_fields(values: NDArray[Any], fields: tuple[str, ...]) -> NDArray[Any]:
    """Some fields of structured values; none named: all. Raises `BadSelection` for a field that is not there."""
    if not fields:
        return values
    if values.dtype.names is None or any(f not in values.dtype.names for f in fields):
        raise BadSelection(f"no field {fields} in {values.dtype}")
    if len(fields) == 1:
        return np.ascontiguousarray(values[fields[0]]).reshape(values.shape + values.dtype[fields[0]].shape)
    from numpy.lib.recfunctions import repack_fields

    packed: NDArray[Any] = repack_fields(values[list(fields)])
    return packed
