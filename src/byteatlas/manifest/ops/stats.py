"""What a map holds, and what a slice of it would cost to read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import all_arrays, blocks
from byteatlas.meta.grid import boundaries


@dataclass(frozen=True, slots=True)
class ArrayStats:
    """Figures of one array; sizes in bytes.

    Attributes:
        chunks, present, missing, inline, whole: chunks of the grid; with bytes anywhere; without; in the map; that are
            whole files.
        stored: bytes in files and in the map (whole files not counted).
        logical: bytes of the decoded array; None for variable-length types.
        smallest, largest: stored chunk sizes.
        histogram: chunks by size: key ``k`` counts those of 2**k <= size < 2**(k+1) bytes.
        sources: how many distinct files.
    """

    path: str
    chunks: int
    present: int
    missing: int
    inline: int
    whole: int
    stored: int
    logical: int | None
    smallest: int | None
    largest: int | None
    histogram: Mapping[int, int] = field(default_factory=dict)
    sources: int = 0

    @property
    def ratio(self) -> float | None:
        """Decoded bytes per stored byte."""
        return None if self.logical is None or not self.stored else self.logical / self.stored


def stats(node: VirtualNode) -> list[ArrayStats]:
    """Figures of every array of a map."""
    return [array_stats(path or "/", array) for path, array in all_arrays(node)]


def array_stats(path: str, array: VirtualArray) -> ArrayStats:
    """Figures of one array."""
    missing = inline = whole = stored = 0
    smallest: int | None = None
    largest: int | None = None
    histogram = np.zeros(65, np.int64)
    used: set[str] = set()
    for chunks, rows in blocks(array.manifest):
        missing += int((rows.source == MISSING).sum())
        inside = np.flatnonzero(rows.source == INLINE)
        inline += len(inside)
        remote = rows.source >= 0
        entire = remote & (rows.length == WHOLE)
        whole += int(entire.sum())
        sizes = rows.length[remote & ~entire]
        if len(inside):
            held = [len(array.manifest.inline(int(chunks[i]))) for i in inside.tolist()]
            sizes = np.concatenate([sizes, np.array(held, np.uint64)])
        if len(sizes):
            stored += int(sizes.sum())
            low, high = int(sizes.min()), int(sizes.max())
            smallest = low if smallest is None else min(smallest, low)
            largest = high if largest is None else max(largest, high)
            histogram += np.bincount(_log2(sizes), minlength=65)
        sources = array.manifest.sources
        used.update(sources[i].url for i in np.unique(rows.source[remote]).tolist())
    total = math.prod(array.manifest.grid_shape)
    item = array.meta.data_type.numpy
    logical = None if item.hasobject else math.prod(array.meta.shape) * item.itemsize
    bins = {k: int(n) for k, n in enumerate(histogram) if n}
    return ArrayStats(
        path, total, total - missing, missing, inline, whole, stored, logical, smallest, largest, bins, len(used)
    )


def _log2(sizes: NDArray[np.uint64]) -> NDArray[np.int64]:
    exponents = np.frexp(np.maximum(sizes, np.uint64(1)).astype(np.float64))[1]
    return exponents.astype(np.int64) - 1


@dataclass(frozen=True, slots=True)
class Cost:
    """What reading a selection takes: chunks touched, requests after neighbours are merged, and bytes moved."""

    chunks: int
    missing: int
    inline: int
    requests: int
    stored: int
    fetched: int
    sources: int


def cost(array: VirtualArray, selection: Sequence[slice], *, gap: int = 64 << 10, block: int = 8 << 20) -> Cost:
    """The cost of reading a slice (step 1) of an array.

    Args:
        selection: one slice for each leading axis; the others are whole.
        gap: bytes between two chunks that are fetched along rather than costing a request of their own.
        block: bytes; requests are not merged beyond this.
    """
    meta = array.meta
    if len(selection) > meta.ndim:
        raise BadRequest(f"{len(selection)} slices for an array of {meta.ndim} axes")
    spans = []
    for axis in range(meta.ndim):
        start, stop, _ = (selection[axis] if axis < len(selection) else slice(None)).indices(meta.shape[axis])
        edges = boundaries(meta.shape[axis], meta.grid, axis)
        if stop <= start:
            return Cost(0, 0, 0, 0, 0, 0, 0)
        first = int(np.searchsorted(edges, start, side="right")) - 1
        last = int(np.searchsorted(edges, stop, side="left"))
        spans.append(np.arange(first, last, dtype=np.int64))
    flat = np.zeros(1, np.int64)
    for span, count in zip(spans, array.manifest.grid_shape, strict=True):
        flat = (flat[:, None] * count + span).ravel()
    return _requests(array, flat, gap, block)


def _requests(array: VirtualArray, flat: NDArray[np.int64], gap: int, block: int) -> Cost:
    rows = array.manifest.rows(flat)
    remote = rows.source >= 0
    entire = remote & (rows.length == WHOLE)
    ranged = np.flatnonzero(remote & ~entire)
    source, offset = rows.source[ranged], rows.offset[ranged].astype(np.int64)
    end = offset + rows.length[ranged].astype(np.int64)
    order = np.lexsort((offset, source))
    requests = fetched = 0
    at: tuple[int, int, int] | None = None
    for which, begin, stop in zip(source[order].tolist(), offset[order].tolist(), end[order].tolist(), strict=True):
        if at is not None and at[0] == which and begin - at[2] <= gap and max(stop, at[2]) - at[1] <= block:
            at = (which, at[1], max(stop, at[2]))
            continue
        fetched += at[2] - at[1] if at else 0
        requests += 1
        at = (which, begin, stop)
    fetched += at[2] - at[1] if at else 0
    return Cost(
        len(flat),
        int((rows.source == MISSING).sum()),
        int((rows.source == INLINE).sum()),
        requests + int(entire.sum()),
        int((end - offset).sum()),
        fetched,
        len(np.unique(rows.source[remote])),
    )
