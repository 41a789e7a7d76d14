"""The codec pipelines of one array: one per encoding and chunk shape, built when first needed, checked at opening."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.errors import InvalidMetadata
from byteatlas.meta.grid import chunk_counts, chunk_shape_at
from byteatlas.meta.model import ArrayMeta, EncodingColumn, RegularGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass

MOST_SHAPES = 4096
"""Pipelines kept for a rectilinear grid; beyond this they are built anew."""


class ChunkPipelines(Protocol):
    """The pipeline of every chunk of an array."""

    @property
    def first(self) -> Pipeline | None:
        """That of the first encoding; None when the array has no chunks."""
        ...

    @property
    def single(self) -> bool:
        """Whether all chunks share one pipeline."""
        ...

    @property
    def typical_nbytes(self) -> int:
        """What a chunk decodes to; 0 when that is not known."""
        ...

    def at(self, encoding: int, chunk: int) -> Pipeline:
        """The pipeline of the chunk with this flat index."""
        ...


class Pipelines:
    """Pipelines by encoding and chunk. Building one checks the whole chain (`Unsupported`, `InvalidMetadata`)."""

    __slots__ = ("_built", "_counts", "_first", "_lock", "_meta", "_registry", "_regular")

    def __init__(self, meta: ArrayMeta, registry: Mapping[str, Any] | None = None) -> None:
        self._meta, self._registry = meta, registry
        self._lock = threading.Lock()
        self._built: dict[tuple[int, Shape], Pipeline] = {}
        self._counts = chunk_counts(meta.shape, meta.grid)
        self._regular = isinstance(meta.grid, RegularGrid)
        shape = chunk_shape_at(meta.grid, (0,) * meta.ndim) if self._regular or 0 not in self._counts else None
        # Every encoding is built once now: an array that cannot be decoded must not open.
        if shape is not None:
            self._first = tuple(self._get(i, shape) for i in range(len(meta.encodings)))
        else:
            self._first = ()

    @property
    def typical_nbytes(self) -> int:
        """What a chunk decodes to; 0 when that is not known."""
        return (self._first[0].nbytes or 0) if self._first else 0

    @property
    def first(self) -> Pipeline | None:
        return self._first[0] if self._first else None

    @property
    def single(self) -> bool:
        """Whether all chunks share one pipeline."""
        return self._regular and len(self._meta.encodings) == 1

    def at(self, encoding: int, chunk: int) -> Pipeline:
        """The pipeline of the chunk with this flat index."""
        if encoding >= len(self._meta.encodings):
            raise InvalidMetadata("", f"chunk {chunk} has encoding {encoding}, the array {len(self._meta.encodings)}")
        if self._regular:
            return self._first[encoding]
        index = tuple(int(i) for i in np.unravel_index(chunk, self._counts)) if self._counts else ()
        return self._get(encoding, chunk_shape_at(self._meta.grid, index))

    def _get(self, encoding: int, grid_chunk: Shape) -> Pipeline:
        built = self._built.get((encoding, grid_chunk))
        if built is None:
            built = self._build(encoding, grid_chunk)
            with self._lock:
                if len(self._built) < MOST_SHAPES:
                    self._built[encoding, grid_chunk] = built
        return built

    def _build(self, encoding: int, grid_chunk: Shape) -> Pipeline:
        how = self._meta.encodings[encoding]
        shape = grid_chunk if how.chunk_shape is None else how.chunk_shape
        if self._registry is None:
            return _shared(_Same(how), _Same(self._meta.data_type), shape, _Same(self._meta.fill_value))
        return build_pipeline(how, self._meta.data_type, shape, self._meta.fill_value, self._registry)


class _Same:
    """An object that is equal to itself only. Sibling arrays share what their documents have in common."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


@lru_cache(maxsize=64)
def _shared(how: _Same, data_type: _Same, shape: Shape, fill_value: _Same) -> Pipeline:
    return build_pipeline(how.value, data_type.value, shape, fill_value.value)


@dataclass(frozen=True, slots=True, eq=False)
class InnerPipelines:
    """The inner chunks of shards: one pipeline for all."""

    first: Pipeline
    single: bool = True

    @property
    def typical_nbytes(self) -> int:
        return self.first.nbytes or 0

    def at(self, encoding: int, chunk: int) -> Pipeline:
        return self.first


def check_encodings(column: EncodingColumn | None, single: bool) -> None:
    """An array with one encoding cannot have chunks of another: decoding them with the first would read wrong."""
    if single and column is not None and bool(column.any()):
        raise InvalidMetadata("", f"chunks of encoding {int(column.max())} in an array that has one encoding")


def check_extent(pipeline: Pipeline, inside: tuple[slice | NDArray[np.int64], ...]) -> None:
    """An encoded chunk that is smaller than what the grid says it covers would read wrong: refuse."""
    for want, have in zip(inside, pipeline.shape, strict=True):
        top = want.stop if isinstance(want, slice) else int(want.max()) + 1
        if top > have:
            raise InvalidMetadata("", f"an encoded chunk of shape {pipeline.shape} does not reach position {top - 1}")
