"""Chunk keys: from a grid position to the last part of a key and back (v3 core, "Chunk key encoding"; v2, "Chunks")."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.model import ChunkKeys
from byteatlas.types import Shape


def chunk_key(keys: ChunkKeys, index: Sequence[int]) -> str:
    """The key of one chunk, below its array.

    >>> chunk_key(ChunkKeys("default", "/"), (0, 1)), chunk_key(ChunkKeys("v2", "."), ())
    ('c/0/1', '0')
    """
    if keys.kind == "v2":
        return (keys.separator.join(map(str, index)) or "0") + keys.suffix
    return keys.separator.join(["c", *map(str, index)]) + keys.suffix


def chunk_keys(keys: ChunkKeys, grid_shape: Shape, chunks: NDArray[np.int64]) -> list[str]:
    """The keys of many chunks, given by flat index in the grid (C order)."""
    if not grid_shape:
        return [chunk_key(keys, ())] * len(chunks)
    separator, head = keys.separator, "c" + keys.separator if keys.kind == "default" else ""
    columns = [axis.tolist() for axis in np.unravel_index(chunks, grid_shape)]
    if len(columns) == 1:
        return [f"{head}{i}{keys.suffix}" for i in columns[0]]
    return [head + separator.join(map(str, index)) + keys.suffix for index in zip(*columns, strict=True)]


def parse_key(keys: ChunkKeys, key: str, ndim: int) -> Shape | None:
    """The grid position of a key, or None when it is not a chunk's key (leading zeros and signs are not).

    >>> parse_key(ChunkKeys("v2", "."), "0.11", 2), parse_key(ChunkKeys("v2", "."), "0.01", 2)
    ((0, 11), None)
    """
    if keys.suffix:
        if not key.endswith(keys.suffix):
            return None
        key = key[: -len(keys.suffix)]
    if not ndim:
        return () if key == ("c" if keys.kind == "default" else "0") else None
    parts = key.split(keys.separator)
    if keys.kind == "default" and parts.pop(0) != "c":
        return None
    if len(parts) != ndim or not all(_is_index(p) for p in parts):
        return None
    return tuple(map(int, parts))


def _is_index(text: str) -> bool:
    return len(text) < 19 and text.isascii() and text.isdigit() and (text[0] != "0" or text == "0")


def parse_keys(keys: ChunkKeys, found: Iterable[str], grid_shape: Shape) -> dict[int, str]:
    """Flat chunk index -> key, for those keys that belong to a chunk inside the grid."""
    out: dict[int, str] = {}
    weights = [math.prod(grid_shape[i + 1 :]) for i in range(len(grid_shape))]
    for key in found:
        index = parse_key(keys, key, len(grid_shape))
        if index is not None and all(i < n for i, n in zip(index, grid_shape, strict=True)):
            out[sum(i * w for i, w in zip(index, weights, strict=True))] = key
    return out
