"""Read a virtual array chunk by chunk, without the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import INLINE, MISSING, VirtualArray
from byteatlas.meta.grid import chunk_counts, chunk_shape_at
from byteatlas.meta.model import Encoding

Decode: TypeAlias = Callable[[Encoding, tuple[int, ...], Any], NDArray[Any]]
"""An encoding, the chunk's shape in the grid, its bytes: gives the chunk, which may be larger than the grid's."""


def read_chunks(array: VirtualArray, data: bytes, decode: Decode) -> NDArray[Any]:
    """All values of an array whose chunks lie in one file, or in the map."""
    meta = array.meta
    out = np.zeros(meta.shape, meta.data_type.numpy)
    if meta.fill_value is not None:
        out[...] = meta.fill_value
    counts = chunk_counts(meta.shape, meta.grid)
    total = int(np.prod(counts, dtype=np.int64))
    rows = array.manifest.rows(np.arange(total, dtype=np.int64))
    for k in np.flatnonzero(rows.source != MISSING).tolist():
        index = tuple(int(i) for i in np.unravel_index(k, counts)) if counts else ()
        encoding = meta.encodings[0 if rows.encoding is None else int(rows.encoding[k])]
        shape = chunk_shape_at(meta.grid, index)
        offset, length = int(rows.offset[k]), int(rows.length[k])
        raw = array.manifest.inline(k) if rows.source[k] == INLINE else data[offset : offset + length]
        chunk = decode(encoding, shape, raw)
        where = tuple(slice(i * n, min((i + 1) * n, m)) for i, n, m in zip(index, shape, meta.shape, strict=True))
        out[where] = chunk[tuple(slice(0, s.stop - s.start) for s in where)]
    return out
