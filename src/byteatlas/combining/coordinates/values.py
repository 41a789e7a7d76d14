"""Reading the small arrays that combining has to look at: many at once, through as few reads as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.stacking import stacked
from byteatlas.combining.compare.classify import MetadataClass, alike, classify
from byteatlas.combining.model import ReadArray
from byteatlas.manifest.model import ChunkManifest, VirtualArray
from byteatlas.meta.model import ArrayMeta, RegularGrid

BATCH = 64 << 20
"""Bytes read at once."""
SMALL = 4096
"""Bytes; inline values up to this are worth copying together."""
NONE: frozenset[int] = frozenset()


def nbytes(array: VirtualArray) -> int:
    """Decoded size; variable-length elements count as 64 bytes."""
    dtype = array.meta.data_type.numpy
    return math.prod(array.meta.shape) * (64 if dtype.hasobject else dtype.itemsize)


def read_all(
    arrays: Sequence[VirtualArray], read: ReadArray, classes: Sequence[MetadataClass] | None = None
) -> list[NDArray[Any]]:
    """All values of many arrays, in order. ``classes``: the arrays by metadata, when that is known.

    Inline uncompressed arrays are views of the bytes in the map. Neighbours with equal metadata are stacked into one
    virtual array, so that the reader fetches and decodes them together.
    """
    result: list[NDArray[Any] | None] = inline_values(arrays, classes)
    todo = [i for i, values in enumerate(result) if values is None]
    if not todo:
        return [r for r in result if r is not None]
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


def inline_values(
    arrays: Sequence[VirtualArray], classes: Sequence[MetadataClass] | None = None
) -> list[NDArray[Any] | None]:
    """The values of arrays that are one inline chunk of plain bytes; None for the others."""
    result: list[NDArray[Any] | None] = [None] * len(arrays)
    if classes is None or not all(c.even or not c.meta.ndim or one_shape(arrays, c) for c in classes):
        classes = classify([a.meta for a in arrays], range(len(arrays)), NONE)
    for cls in classes:
        stored = plain_type(cls.meta)
        if stored is None:
            continue
        shape, size = cls.meta.shape, math.prod(cls.meta.shape) * stored.itemsize
        found: list[tuple[int, bytes]] = []
        for member in cls.members:
            manifest = arrays[member].manifest
            data = manifest.inlined.get(0) if isinstance(manifest, ChunkManifest) else None
            if data is not None and len(data) == size:
                found.append((member, data))
        if found and size <= SMALL and shape:  # one array for all: half of the time of one for each
            blocks = np.frombuffer(b"".join([data for _, data in found]), stored).reshape(len(found), *shape)
            for (i, _), values in zip(found, blocks.astype(stored.newbyteorder("="), copy=False), strict=True):
                result[i] = values
            continue
        for i, data in found:
            values = np.frombuffer(data, stored).reshape(shape)
            result[i] = values if stored.isnative else values.astype(stored.newbyteorder("="))
    return result


def one_shape(arrays: Sequence[VirtualArray], cls: MetadataClass) -> bool:
    return len({arrays[i].meta.shape for i in cls.members}) == 1


def plain_type(meta: ArrayMeta) -> np.dtype[Any] | None:
    """The stored type of an array that is a single chunk of plain bytes; None for any other array."""
    encoding, dtype = meta.encodings[0], meta.data_type.numpy
    if len(meta.encodings) != 1 or len(encoding.codecs) != 1 or encoding.codecs[0].name != "bytes":
        return None
    if dtype.kind not in "biufcmM" or not isinstance(meta.grid, RegularGrid) or meta.grid.chunk_shape != meta.shape:
        return None
    if encoding.data_type is not None or encoding.chunk_shape is not None or encoding.cast:
        return None
    return dtype.newbyteorder(">" if encoding.codecs[0].configuration.get("endian") == "big" else "<")
