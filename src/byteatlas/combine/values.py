"""Reading the small arrays that combining has to look at: many at once, through as few reads as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combine.columns import stacked
from byteatlas.combine.model import ReadArray
from byteatlas.combine.same import alike
from byteatlas.manifest.model import INLINE, ChunkManifest, VirtualArray
from byteatlas.meta.model import RegularGrid

BATCH = 64 << 20
"""Bytes read at once."""
NONE: frozenset[int] = frozenset()


def nbytes(array: VirtualArray) -> int:
    """Decoded size; variable-length elements count as 64 bytes."""
    dtype = array.meta.data_type.numpy
    return math.prod(array.meta.shape) * (64 if dtype.hasobject else dtype.itemsize)


def read_all(arrays: Sequence[VirtualArray], read: ReadArray) -> list[NDArray[Any]]:
    """All values of many arrays, in order.

    Inline uncompressed arrays are views of the bytes in the map. Neighbours with equal metadata are stacked into one
    virtual array, so that the reader fetches and decodes them together.
    """
    result: list[NDArray[Any] | None] = [raw_inline(a) for a in arrays]
    todo = [i for i, values in enumerate(result) if values is None]
    at = 0
    while at < len(todo):
        first = arrays[todo[at]]
        limit = max(1, BATCH // max(1, nbytes(first)))
        end = at + 1
        while end < len(todo) and end - at < limit and alike(arrays[todo[end]].meta, first.meta, NONE):
            end += 1
        run = todo[at:end]
        both = stacked([arrays[i] for i in run]) if len(run) > 1 else None
        if both is None:
            for i in run:
                result[i] = np.asarray(read(arrays[i]))
        else:
            for i, values in zip(run, np.asarray(read(both)), strict=True):
                result[i] = np.asarray(values)
        at = end
    return [r for r in result if r is not None]


def raw_inline(array: VirtualArray) -> NDArray[Any] | None:
    """The values when they are one inline chunk of plain bytes, else None."""
    meta, manifest = array.meta, array.manifest
    if len(meta.encodings) != 1 or not isinstance(manifest, ChunkManifest) or len(manifest.source) != 1:
        return None
    codecs = meta.encodings[0].codecs
    if len(codecs) != 1 or codecs[0].name != "bytes" or manifest.source[0] != INLINE:
        return None
    dtype, encoding = meta.data_type.numpy, meta.encodings[0]
    if dtype.kind not in "biufcmM" or not isinstance(meta.grid, RegularGrid) or meta.grid.chunk_shape != meta.shape:
        return None
    if encoding.data_type is not None or encoding.chunk_shape is not None or encoding.cast:
        return None
    data = manifest.inlined[0]
    count = math.prod(meta.shape)
    if len(data) != count * dtype.itemsize:
        return None
    stored = dtype.newbyteorder(">") if codecs[0].configuration.get("endian") == "big" else dtype.newbyteorder("<")
    values: NDArray[Any] = np.frombuffer(data, stored).reshape(meta.shape)
    return values if stored.isnative else values.astype(dtype)
