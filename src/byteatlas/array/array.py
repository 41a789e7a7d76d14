"""An array: metadata, and reading by selection."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import selection as sel
from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.execute import ChunkContext, allocate, read_plan
from byteatlas.array.reading.inner import unsharded
from byteatlas.array.reading.locate import Locator
from byteatlas.array.reading.pipelines import Pipelines
from byteatlas.array.reading.plan import Plan, plan_orthogonal, plan_points
from byteatlas.array.reading.points import read_points
from byteatlas.errors import BadRequest, BadSelection, InvalidMetadata, Unsupported
from byteatlas.meta.fill import default
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ArrayMeta, RegularGrid
from byteatlas.meta.text import array_text
from byteatlas.types import JSON, Shape


class Indexer:
    """A way of selecting, as an attribute of an array: ``array.oindex[...]``."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def __getitem__(self, selection: Any) -> Any:
        return self._read(selection)


class Array:
    """A Zarr array, virtual or stored. Immutable handle; reading is safe from many threads.

    Indexing with integers, slices (any step) and an ellipsis gives what NumPy gives. ``oindex`` takes index arrays
    along each axis, ``vindex`` points or a mask, ``blocks`` grid positions. A chunk that was never written reads as
    the fill value; one whose bytes cannot be fetched raises `FetchFailed`, one that does not decode `CorruptChunk`.

    An array whose codecs are unknown or wrong raises `Unsupported` or `InvalidMetadata` when it is made, or with
    ``strict=False`` when it is first read: walking over a tree shows its metadata beside its neighbours'.
    """

    __slots__ = ("_context", "_fault", "_grid", "_inner_shape", "_locator", "_meta", "_options", "_path", "_registry")

    def __init__(
        self,
        meta: ArrayMeta,
        locator: Locator,
        path: str = "",
        options: ReadOptions = DEFAULT,
        registry: Mapping[str, Any] | None = None,
        *,
        strict: bool = True,
    ) -> None:
        self._meta, self._path, self._options = meta, path, options
        self._locator, self._registry = locator, registry
        self._fault: Unsupported | InvalidMetadata | None = None
        try:
            inner = unsharded(meta, locator, Pipelines(meta, registry), options)
        except (Unsupported, InvalidMetadata) as error:
            if strict:
                raise
            self._grid, self._inner_shape, self._fault = meta.grid, None, error
            return
        self._grid, self._inner_shape = inner.grid, inner.chunk_shape
        counts = chunk_counts(meta.shape, inner.grid)
        self._context = ChunkContext(path, counts, inner.locator, inner.pipelines, fill_of(meta))

    # --- what it is

    @property
    def meta(self) -> ArrayMeta:
        return self._meta

    @property
    def path(self) -> str:
        """Its place in the hierarchy, without a leading slash; empty for an array at the root."""
        return self._path

    @property
    def name(self) -> str:
        return self._path.rpartition("/")[2]

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
    def chunks(self) -> tuple[Any, ...]:
        """The shape of the chunks that can be read by themselves (within shards: the inner chunks).

        For a rectilinear grid the chunk lengths along each axis, as Dask writes them.
        """
        return self._inner_shape or _lengths(self._meta)

    @property
    def shards(self) -> tuple[Any, ...] | None:
        """The shape of the stored chunks when they are shards, else None."""
        return _lengths(self._meta) if self._inner_shape is not None else None

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        return self._meta.dimension_names

    @property
    def attrs(self) -> Mapping[str, JSON]:
        return self._meta.attributes

    @property
    def fill_value(self) -> Any:
        return self._meta.fill_value

    @property
    def options(self) -> ReadOptions:
        return self._options

    def with_options(self, options: ReadOptions) -> Array:
        """The same array, read differently."""
        strict = self._fault is None
        return Array(self._meta, self._locator, self._path, options, self._registry, strict=strict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made of: pipelines and open files are made anew."""
        return Array, (self._meta, self._locator, self._path, self._options, self._registry)

    def __repr__(self) -> str:
        return f"<Array {'/' + self._path!r} {array_text(self._meta)}>"

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        step = max(1, self._meta.grid.chunk_shape[0]) if isinstance(self._meta.grid, RegularGrid) and self.shape else 1
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("reading an array makes a copy")
        whole = self.read()
        return whole if dtype is None else whole.astype(dtype)

    # --- reading

    def __getitem__(self, selection: Any) -> Any:
        selection, fields = sel.split_fields(selection)
        got = _fields(self.read(selection), fields)
        # NumPy: integers on every axis give a scalar, an ellipsis among them an array without axes.
        items = selection if isinstance(selection, tuple) else (selection,)
        return got[()] if got.ndim == 0 and not any(i is Ellipsis for i in items) else got

    def read(self, selection: Any = ..., out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A basic selection as an array; into ``out`` when given (of the selection's shape and this array's dtype).

        Raises `BadSelection`, `BadRequest` (``out`` does not fit), `FetchFailed`, `CorruptChunk`.
        """
        return self._orthogonal(sel.basic(selection, self.shape), out)

    @property
    def oindex(self) -> Indexer:
        """Orthogonal selection: ``array.oindex[[1, 5], :, mask]``; each axis by itself."""
        return Indexer(lambda s: self._with_fields(s, lambda rest: self.read_orthogonal(rest)))

    @property
    def vindex(self) -> Indexer:
        """Coordinate selection: ``array.vindex[[1, 5], [0, 2]]`` (two points), or a mask of the array's shape."""
        return Indexer(lambda s: self._with_fields(s, lambda rest: self.read_points(rest)))

    @property
    def blocks(self) -> Indexer:
        """Whole chunks by grid position: ``array.blocks[0, 2:4]``."""
        return Indexer(lambda s: self._with_fields(s, lambda rest: self.read_blocks(rest)))

    def read_orthogonal(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._orthogonal(sel.orthogonal(selection, self.shape), out)

    def read_blocks(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        grid = self._meta.grid if self._inner_shape is None else RegularGrid(self._inner_shape)
        starts = [boundaries(n, grid, i) for i, n in enumerate(self.shape)]
        return self._orthogonal(sel.blocks(selection, starts, self.shape), out)

    def read_points(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """The values at points, in the shape of the broadcast index arrays."""
        at, shape = sel.coordinates(selection, self.shape)
        result = self._result(shape, out)
        if result.size:
            plan, options = plan_points(at, self.shape, self._grid), self._how(out)
            if result.flags.c_contiguous:
                read_points(plan, result.reshape(-1), self._context, options)
            else:
                flat = np.empty(result.size, self.dtype)
                read_points(plan, flat, self._context, options)
                result[...] = flat.reshape(shape)
        return result

    def _with_fields(self, selection: Any, read: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        rest, fields = sel.split_fields(selection)
        return _fields(read(rest), fields)

    def _orthogonal(self, selection: tuple[sel.AxisSelection, ...], out: NDArray[Any] | None) -> NDArray[Any]:
        # The result's size is checked before anything is planned: an absurd shape has an absurd number of chunks.
        result = self._result(sel.result_shape(selection), out)
        if not result.size:  # an axis of no length beside one of 2**60: nothing to plan
            return result
        plan = plan_orthogonal(selection, self.shape, self._grid)
        read_plan(plan, _undropped(plan, result), self._context, self._how(out))
        return result

    def _how(self, out: NDArray[Any] | None) -> ReadOptions:
        return self._options.without_bound() if out is None else self._options

    def _result(self, shape: Shape, out: NDArray[Any] | None) -> NDArray[Any]:
        match self._fault:
            case Unsupported(reason=reason, detail=detail):
                raise Unsupported(reason, detail, self._path) from self._fault
            case InvalidMetadata(why=why):
                raise InvalidMetadata(self._path, why) from self._fault
        if out is None:
            return allocate(shape, self.dtype, self._options, BadSelection)
        if not isinstance(out, np.ndarray) or out.shape != shape:
            raise BadRequest(f"out has shape {getattr(out, 'shape', None)}, the selection {shape}")
        if out.dtype != self.dtype:
            raise BadRequest(f"out has dtype {out.dtype}, the array {self.dtype}")
        if not out.flags.writeable:
            raise BadRequest("out is read-only")
        return out


def _lengths(meta: ArrayMeta) -> tuple[Any, ...]:
    if isinstance(meta.grid, RegularGrid):
        return meta.grid.chunk_shape
    return tuple(tuple(np.diff(boundaries(n, meta.grid, i)).tolist()) for i, n in enumerate(meta.shape))


def _undropped(plan: Plan, result: NDArray[Any]) -> NDArray[Any]:
    """The result with axes of length 1 where the selection has integers."""
    if not any(a.drop for a in plan.axes):
        return result
    return result[tuple(np.newaxis if a.drop else slice(None) for a in plan.axes)]


def _fields(values: NDArray[Any], fields: tuple[str, ...]) -> NDArray[Any]:
    if not fields:
        return values
    if values.dtype.names is None or any(f not in values.dtype.names for f in fields):
        raise BadSelection(f"no field {fields} in {values.dtype}")
    if len(fields) == 1:
        return np.ascontiguousarray(values[fields[0]]).reshape(values.shape + values.dtype[fields[0]].shape)
    from numpy.lib.recfunctions import repack_fields

    packed: NDArray[Any] = repack_fields(values[list(fields)])
    return packed


def fill_of(meta: ArrayMeta) -> Any:
    """What a missing chunk reads as: the fill value, or zero (an empty string) where there is none."""
    value = default(meta.data_type) if meta.fill_value is None else meta.fill_value
    if not meta.data_type.numpy.hasobject:
        return value
    boxed = np.empty((), object)  # so that assigning it broadcasts, whatever the value is
    boxed[()] = value
    return boxed
