"""An array: metadata, and reading by selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import selection as sel
from byteatlas.array.handle import chunk_lengths
from byteatlas.array.indexing import Indexed
from byteatlas.array.options import DEFAULT, ReadOptions, check_read_options
from byteatlas.array.reading.locating.located import Locator
from byteatlas.array.reading.locating.places import raise_of_array
from byteatlas.array.reading.one_chunk import read_one
from byteatlas.array.reading.opening import ArrayChunks, open_chunks
from byteatlas.array.reading.planning.orthogonal import plan_orthogonal
from byteatlas.array.reading.planning.points import plan_points
from byteatlas.array.reading.read import read_orthogonal, read_points
from byteatlas.array.reading.scattering.assign import allocate
from byteatlas.errors import BadRequest, BadSelection, InvalidMetadata, Unsupported
from byteatlas.importing import shown_as_html
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta
from byteatlas.meta.text import array_text
from byteatlas.types import Shape


class Array(Indexed):
    """A Zarr array, virtual or stored. Immutable handle; reading is safe from many threads.

    Indexing with integers, slices (any step) and an ellipsis gives what NumPy gives. ``oindex`` takes index arrays
    along each axis, ``vindex`` points or a mask, ``blocks`` grid positions. A chunk that was never written reads as
    the fill value; one whose bytes cannot be fetched raises `FetchFailed`, one that does not decode `CorruptChunk`.

    An array whose codecs are unknown or wrong raises `Unsupported` or `InvalidMetadata` when it is made, or with
    ``strict=False`` when it is first read: walking over a tree shows its metadata beside its neighbours'.

    >>> air = ba.open("jan.nc")["air"]
    >>> air.shape, air.chunks, air.dims
    ((2, 4, 8), (1, 1, 8), ('time', 'lat', 'lon'))
    >>> air[0, 1:3, -1]
    array([15., 23.], dtype=float32)
    >>> air.oindex[:, [0, 3], 0].shape, air.vindex[[0, 1], [0, 3], [1, 2]].shape
    ((2, 2), (2,))
    """

    __slots__ = ("_chunks", "_fault", "_locator", "_options", "_registry")

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
        super().__init__(meta, path)
        self._locator, self._options, self._registry = locator, options, registry
        self._chunks: ArrayChunks | None = None
        self._fault: Unsupported | InvalidMetadata | None = None
        try:
            self._chunks = open_chunks(meta, locator, path, options, registry)
        except (Unsupported, InvalidMetadata) as error:
            if strict:
                raise
            self._fault = error

    @property
    def chunks(self) -> tuple[Any, ...]:
        """The shape of the chunks that can be read by themselves (within shards: the inner chunks).

        For a rectilinear grid the chunk lengths along each axis, as Dask writes them.
        """
        return self._inner_shape or chunk_lengths(self._meta)

    @property
    def shards(self) -> tuple[Any, ...] | None:
        """The shape of the stored chunks when they are shards, else None."""
        return chunk_lengths(self._meta) if self._inner_shape is not None else None

    @property
    def locator(self) -> Locator:
        """Where its stored chunks lie."""
        return self._locator

    @property
    def options(self) -> ReadOptions:
        return self._options

    def with_options(self, options: ReadOptions) -> Array:
        """The same array, read differently. Raises `BadRequest` for options that cannot be."""
        check_read_options(options)
        return Array(self._meta, self._locator, self._path, options, self._registry, strict=self._fault is None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what it was made of: pipelines and open files are made anew."""
        return Array, (self._meta, self._locator, self._path, self._options, self._registry)

    def __repr__(self) -> str:
        return f"<Array {'/' + self._path!r} {array_text(self._meta)}>"

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)

    # --- reading

    def read(self, selection: Any = ..., out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._orthogonal(sel.basic(selection, self.shape), out)

    def read_orthogonal(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        return self._orthogonal(sel.orthogonal(selection, self.shape), out)

    def read_blocks(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        grid = self._readable().grid
        starts = [boundaries(n, grid, i) for i, n in enumerate(self.shape)]
        return self._orthogonal(sel.blocks(selection, starts, self.shape), out)

    def read_points(self, selection: Any, out: NDArray[Any] | None = None) -> NDArray[Any]:
        chunks = self._readable()
        at, shape = sel.coordinates(selection, self.shape)
        result = self._result(shape, out)
        if result.size:
            plan, options = plan_points(at, self.shape, chunks.grid), self._options_for(out)
            flat = result.reshape(-1) if result.flags.c_contiguous else np.empty(result.size, self.dtype)
            read_points(plan, flat, chunks, options)
            if not result.flags.c_contiguous:
                result[...] = flat.reshape(shape)
        return result

    def _orthogonal(self, selection: tuple[sel.AxisSelection, ...], out: NDArray[Any] | None) -> NDArray[Any]:
        chunks = self._readable()
        # The result's size is checked before anything is planned: an absurd shape has an absurd number of chunks.
        result = self._result(sel.result_shape(selection), out)
        # An axis of no length beside one of 2**60: nothing to plan.
        if result.size and not read_one(selection, result, chunks, options := self._options_for(out)):
            read_orthogonal(plan_orthogonal(selection, self.shape, chunks.grid), result, chunks, options)
        return result

    @property
    def _inner_shape(self) -> Shape | None:
        return None if self._chunks is None else self._chunks.inner_shape

    def _readable(self) -> ArrayChunks:
        """What is read from. Raises what was wrong with the array when it was opened."""
        if self._chunks is None:
            assert self._fault is not None
            raise_of_array(self._fault, self._path)
        return self._chunks

    def _options_for(self, out: NDArray[Any] | None) -> ReadOptions:
        return self._options.without_bound() if out is None else self._options

    def _result(self, shape: Shape, out: NDArray[Any] | None) -> NDArray[Any]:
        if out is None:
            return allocate(shape, self.dtype, self._options, BadSelection)
        if not isinstance(out, np.ndarray) or out.shape != shape:
            raise BadRequest(f"out has shape {getattr(out, 'shape', None)}, the selection {shape}")
        if out.dtype != self.dtype:
            raise BadRequest(f"out has dtype {out.dtype}, the array {self.dtype}")
        if not out.flags.writeable:
            raise BadRequest("out is read-only")
        return out
