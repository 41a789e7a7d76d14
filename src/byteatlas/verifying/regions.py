"""Which parts of an array are compared at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ArrayMeta

BLOCK = 64 << 20
"""Bytes of an array that are compared at a time."""


def regions(meta: ArrayMeta, sample: int | None) -> Iterator[tuple[slice, ...]]:
    """What to compare at a time: sampled chunks, or runs of whole chunk rows of bounded size."""
    total = math.prod(chunk_counts(meta.shape, meta.grid))
    if sample is not None and total > sample:
        for chunk in np.sort(np.random.default_rng(0).choice(total, sample, replace=False)).tolist():
            yield region_of(meta, chunk)
        return
    if not meta.shape or 0 in meta.shape:
        yield tuple(slice(0, n) for n in meta.shape)
        return
    starts = boundaries(meta.shape[0], meta.grid, 0).tolist()
    row = math.prod(meta.shape[1:]) * max(meta.data_type.numpy.itemsize, 1)
    begin = 0
    for end in starts[1:]:
        if (end - begin) * row >= BLOCK or end == meta.shape[0]:
            if end > begin:
                yield (slice(begin, end), *(slice(0, n) for n in meta.shape[1:]))
            begin = end


def region_of(meta: ArrayMeta, chunk: int) -> tuple[slice, ...]:
    """The part of the array that a chunk covers."""
    counts = chunk_counts(meta.shape, meta.grid)
    index = np.unravel_index(chunk, counts) if counts else ()
    out = []
    for axis, (i, n) in enumerate(zip(index, meta.shape, strict=True)):
        starts = boundaries(n, meta.grid, axis)
        out.append(slice(int(starts[int(i)]), int(starts[int(i) + 1])))
    return tuple(out)


def where(part: tuple[slice, ...]) -> str:
    return f"in [{', '.join(f'{s.start}:{s.stop}' for s in part)}] " if part else ""
