"""``byteatlas.encodings`` for zarr-python: arrays whose chunks are stored in several ways.

Which encoding a chunk has depends on where it lies in the grid. zarr-python shows a codec that can decode parts what a
chunk's bytes are read through, and that knows the key, which ends in the grid position.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin
from zarr.core.array_spec import ArraySpec as ZarrSpec
from zarr.core.buffer import Buffer as ZarrBuffer
from zarr.core.buffer import NDBuffer

from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta import encodings
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import Encoding, EncodingColumn
from byteatlas.meta.parts import grid_of
from byteatlas.types import JSON, Shape
from byteatlas.zarr_codecs.base import Configured, refuse_encoding
from byteatlas.zarr_codecs.specs import array_of, bytes_of, data_type_of

MOST_PIPELINES = 4096
"""Kept for one array; beyond this they are built anew."""


class Encodings(Configured, ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin):  # type: ignore[misc]  # an extra
    """The codec of an array with several encodings. zarr-python tells it the array's grid when it validates it."""

    name = encodings.NAME

    def __init__(self, configuration: Mapping[str, JSON] | None = None) -> None:
        self._counts: Shape | None = None
        super().__init__(configuration)

    def check(self) -> None:
        """The encodings; the map needs the grid, which is not known yet."""
        if not isinstance(self.configuration.get("encodings"), list):
            raise InvalidMetadata("", f"codec {self.name!r}: encodings are missing")

    def validate(self, *, shape: tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        """Called with the array's metadata: the map of encodings has to fit its grid."""
        grid = grid_of(_plain(chunk_grid.to_dict()), tuple(shape))
        self._counts = chunk_counts(tuple(shape), grid)
        self.__dict__.pop("_parsed", None)
        self.__dict__.pop("_pipelines", None)
        _ = self._parsed

    @cached_property
    def _parsed(self) -> tuple[tuple[Encoding, ...], EncodingColumn | None]:
        if self._counts is None:
            raise Unsupported("codec", f"codec {self.name!r} was not told the array's grid: it must be the only codec")
        return encodings.parse(self.configuration, self._counts)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made anew: pipelines are functions."""
        return {"configuration": self.configuration, "_counts": self._counts}

    @cached_property
    def _pipelines(self) -> dict[tuple[int, tuple[int, ...]], Pipeline]:
        """Pipelines that were built, by encoding and chunk shape: building one takes as long as decoding a chunk."""
        return {}

    def _pipeline(self, number: int, chunk_spec: ZarrSpec) -> Pipeline:
        place = (number, tuple(chunk_spec.shape))
        found = self._pipelines.get(place)
        if found is None:
            encoding = self._parsed[0][number]
            shape = place[1] if encoding.chunk_shape is None else encoding.chunk_shape
            found = build_pipeline(encoding, data_type_of(chunk_spec.dtype), shape, chunk_spec.fill_value)
            if len(self._pipelines) < MOST_PIPELINES:
                self._pipelines[place] = found
        return found

    def _number(self, path: str) -> int:
        """The encoding of the chunk under a key."""
        column = self._parsed[1]
        return 0 if column is None else int(column[flat_index(path, self._counts or ())])

    async def _decode_partial_single(self, byte_getter: Any, selection: Any, chunk_spec: ZarrSpec) -> NDBuffer | None:
        number = self._number(str(byte_getter.path))
        data: ZarrBuffer | None = await byte_getter.get(prototype=chunk_spec.prototype)
        if data is None:
            return None
        found = await asyncio.to_thread(self._pipeline(number, chunk_spec).decode, bytes_of(data))
        return array_of(selected(found, selection), chunk_spec)

    async def _decode_single(self, chunk_data: ZarrBuffer, chunk_spec: ZarrSpec) -> NDBuffer:
        """Without the key: possible where all chunks have one encoding."""
        column = self._parsed[1]
        if column is not None and bool(column.any()):
            raise Unsupported("codec", f"codec {self.name!r} needs the chunk's key, which this reader does not tell it")
        found = await asyncio.to_thread(self._pipeline(0, chunk_spec).decode, bytes_of(chunk_data))
        return array_of(selected(found, tuple(slice(0, n) for n in chunk_spec.shape)), chunk_spec)

    async def _encode_single(self, chunk_data: NDBuffer, chunk_spec: ZarrSpec) -> ZarrBuffer | None:
        raise refuse_encoding(self.name)


def flat_index(path: str, counts: Shape) -> int:
    """The number of the chunk under a key, in C order. Raises `InvalidMetadata` for a key outside of the grid.

    >>> flat_index("x/c/1/2", (4, 5)), flat_index("c", ())
    (7, 0)
    """
    if not counts:
        return 0
    parts = re.split(r"[/.]", path)[-len(counts) :]
    position = tuple(int(p) if p.isascii() and p.isdigit() else -1 for p in parts)
    if len(parts) != len(counts) or not all(0 <= i < n for i, n in zip(position, counts, strict=True)):
        raise InvalidMetadata(path, f"no chunk of a grid of {counts}")
    return sum(i * math.prod(counts[axis + 1 :]) for axis, i in enumerate(position))


def _plain(document: Any) -> JSON:
    """A document with lists where zarr-python has tuples."""
    if isinstance(document, Mapping):
        return {name: _plain(value) for name, value in document.items()}
    return [_plain(value) for value in document] if isinstance(document, (list, tuple)) else document


def selected(values: NDArray[Any], selection: Any) -> NDArray[Any]:
    """Part of a decoded chunk. A chunk that is smaller than what is asked of it raises `InvalidMetadata`.

    A decoded chunk may be larger than its place in the grid, never smaller than what the array has of it.
    """
    items = selection if isinstance(selection, tuple) else (selection,)
    for item, n in zip((i for i in items if i is not Ellipsis), values.shape, strict=False):
        top = _top(item)
        if top > n:
            raise InvalidMetadata("", f"an encoded chunk of shape {values.shape} does not reach position {top - 1}")
    found: NDArray[Any] = np.asarray(values[selection])
    return found


def _top(item: Any) -> int:
    """The position behind the last one that a selection along an axis takes."""
    if isinstance(item, slice):
        return int(item.stop or 0)
    places = np.asarray(item)
    if places.dtype == np.bool_:
        return int(places.size)
    return int(places.max()) + 1 if places.size else 0
