"""Stored arrays that can be assigned to, resized and appended to (Zarr v2 and v3).

A stored chunk (a shard, where there are shards) is the unit of writing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.arguments import accept, listed, whole
from byteatlas.array import selection as sel
from byteatlas.array.array import Array
from byteatlas.array.indexing import Indexed
from byteatlas.array.options import DEFAULT, ReadOptions, check_read_options
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.array.reading.opening import fill_of
from byteatlas.array.reading.planning.orthogonal import plan_orthogonal
from byteatlas.array.writing.chunks import ChunkWriter
from byteatlas.array.writing.documents import write_array_meta
from byteatlas.array.writing.options import DEFAULT_WRITE, ArrayWriteOptions
from byteatlas.errors import BadRequest, BadSelection, Unsupported
from byteatlas.meta.model import ArrayMeta, RectilinearGrid, RegularGrid
from byteatlas.meta.text import array_text
from byteatlas.store.base import WritableStore
from byteatlas.store.nodes import StoredArray
from byteatlas.types import Shape
from byteatlas.values import replace

WHOLE = whole(-(1 << 63))
WRITING = {"axis": WHOLE, "shape": listed(WHOLE, "a tuple of lengths")}


class WritableArray(Indexed):
    """A stored array that can be assigned to, and read as `Array` is. Not safe for several writers of one chunk.

    It holds an `Array` for reading (``.array``), and what it takes to write.

    >>> array = ba.create_array("w.zarr", "v", ba.array_meta((4,), "f8", chunks=(2,)))
    >>> array[1:3] = [1.5, 2.5]
    >>> array[...]
    array([0. , 1.5, 2.5, 0. ])
    """

    __slots__ = ("_array", "_registry", "_store", "_write")

    def __init__(
        self,
        store: WritableStore,
        path: str,
        meta: ArrayMeta,
        options: ReadOptions = DEFAULT,
        write: ArrayWriteOptions = DEFAULT_WRITE,
        registry: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(meta, path)
        self._array = Array(meta, StoreLocator.of(store, path, StoredArray(meta)), path, options, registry)
        self._store, self._write, self._registry = store, write, registry

    @property
    def array(self) -> Array:
        """The same array for reading only."""
        return self._array

    @property
    def chunks(self) -> tuple[Any, ...]:
        """The shape of the chunks that can be read by themselves (within shards: the inner chunks)."""
        return self._array.chunks

    @property
    def shards(self) -> tuple[Any, ...] | None:
        """The shape of the stored chunks when they are shards, else None."""
        return self._array.shards

    @property
    def options(self) -> ReadOptions:
        return self._array.options

    def with_options(self, options: ReadOptions) -> WritableArray:
        """The same array, read differently. Raises `BadRequest` for options that cannot be."""
        check_read_options(options)
        return self._like(self._meta, options)

    def _like(self, meta: ArrayMeta, options: ReadOptions) -> WritableArray:
        return WritableArray(self._store, self._path, meta, options, self._write, self._registry)

    def __reduce__(self) -> tuple[Any, ...]:
        return WritableArray, (self._store, self._path, self._meta, self.options, self._write, self._registry)

    def __repr__(self) -> str:
        return f"<WritableArray {'/' + self._path!r} {array_text(self._meta)}>"

    # --- reading

    def read(self, selection: Any = ..., out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._array.read(selection, out)

    def read_orthogonal(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._array.read_orthogonal(selection, out)

    def read_points(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._array.read_points(selection, out)

    def read_blocks(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._array.read_blocks(selection, out)

    # --- writing

    def __setitem__(self, selection: Any, values: Any) -> None:
        """Assign to a basic selection; values are broadcast as in NumPy and cast to this array's type."""
        self._assign(sel.basic(selection, self.shape), values)

    def set_orthogonal(self, selection: Any, values: Any) -> None:
        """Assign to an orthogonal selection (index arrays along each axis by itself)."""
        self._assign(sel.orthogonal(selection, self.shape), values)

    def resize(self, shape: Shape) -> WritableArray:
        """The same array with another shape: metadata only, except that chunks wholly outside are removed."""
        accept(WRITING, shape=shape)
        shape = tuple(shape)
        if len(shape) != self.ndim or any(n < 0 for n in shape):
            raise BadRequest(f"{shape} is no shape for an array of {self.ndim} axes")
        if isinstance(self._meta.grid, RectilinearGrid):
            raise Unsupported("rectilinear", "resizing an array with a rectilinear grid", self._path)
        meta = replace(self._meta, shape=shape)
        if any(new < old for new, old in zip(shape, self.shape, strict=True)):
            self._writer().remove_outside(shape)
            self._blank_outside(shape)
        write_array_meta(self._store, self._path, meta)
        return self._like(meta, self.options)

    def append(self, values: Any, axis: int = 0) -> WritableArray:
        """The array grown along one axis by these values. The old handle keeps the old shape."""
        accept(WRITING, axis=axis)
        try:
            block = np.asarray(values)
        except ValueError as error:
            raise BadRequest(f"values make no array: {' '.join(str(error).split())}") from error
        if block.ndim != self.ndim or not 0 <= axis < self.ndim:
            raise BadRequest(f"cannot append an array of {block.ndim} axes along axis {axis} of {self.shape}")
        rest = tuple(n for i, n in enumerate(self.shape) if i != axis)
        if tuple(n for i, n in enumerate(block.shape) if i != axis) != rest:
            raise BadRequest(f"cannot append shape {block.shape} to shape {self.shape} along axis {axis}")
        grown = self.resize(tuple(n + block.shape[axis] * (i == axis) for i, n in enumerate(self.shape)))
        where = tuple(slice(self.shape[axis], None) if i == axis else slice(None) for i in range(self.ndim))
        grown[where] = block
        return grown

    def _assign(self, selection: tuple[sel.AxisSelection, ...], values: Any) -> None:
        plan = plan_orthogonal(selection, self.shape, self._meta.grid)
        data = self._cast(values)
        try:
            data = np.broadcast_to(data, plan.shape)
        except ValueError as error:
            raise BadSelection(f"values of shape {data.shape} do not fit a selection of shape {plan.shape}") from error
        writer = self._writer()
        first = writer.pipelines.first
        nbytes = None if first is None else first.nbytes
        writer.write(plan, plan.laid_out(data), self._write.encoders(self.options, self._store.local, nbytes))

    def _writer(self) -> ChunkWriter:
        return ChunkWriter.of(self._store, self._path, self._meta, self._registry, self._write.empty_chunks)

    def _cast(self, values: Any) -> NDArray[Any]:
        if self.dtype.hasobject and not isinstance(values, np.ndarray):
            values = np.asarray(values, object)
        if isinstance(values, np.ndarray) and values.dtype.names is not None and values.dtype.names != self.dtype.names:
            raise BadRequest(f"values of {values.dtype} for an array of {self.dtype}")
        try:
            return np.asarray(values).astype(self.dtype, copy=False)
        except (ValueError, TypeError, OverflowError) as error:
            raise BadRequest(f"values cannot be cast to {self.dtype}: {error}") from error

    def _blank_outside(self, shape: Shape) -> None:
        """Fill the parts of chunks that lie outside of a smaller shape: they would come back when it grows again."""
        assert isinstance(self._meta.grid, RegularGrid)
        sizes = self._meta.grid.chunk_shape
        edges = [min(-(-new // c) * c, old) for new, c, old in zip(shape, sizes, self.shape, strict=True)]
        for axis, (new, edge) in enumerate(zip(shape, edges, strict=True)):
            if new < edge:
                where = tuple(slice(new, e) if i == axis else slice(0, e) for i, e in enumerate(edges))
                self[where] = fill_of(self._meta)
