"""What a map holds, and what a slice of it would cost to read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, BadSelection
from byteatlas.io.ranges import merge
from byteatlas.manifest.facts import chunk_facts
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, VirtualArray, VirtualNode
from byteatlas.manifest.ops.common import all_arrays
from byteatlas.meta.grid import boundaries
from byteatlas.values import dataclass, field


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
    facts = chunk_facts(array.manifest)
    item = array.meta.data_type.numpy
    return ArrayStats(
        path,
        facts.chunks,
        facts.present,
        facts.missing,
        facts.inline,
        facts.whole,
        facts.stored,
        None if item.hasobject else math.prod(array.meta.shape) * item.itemsize,
        facts.smallest,
        facts.largest,
        {k: n for k, n in enumerate(facts.histogram.tolist()) if n},
        len({s.info.url for s in facts.sources}),
    )


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
        wanted = selection[axis] if axis < len(selection) else slice(None)
        check_bounds(wanted, axis, meta.shape[axis])
        start, stop, _ = wanted.indices(meta.shape[axis])
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


def check_bounds(wanted: slice, axis: int, length: int) -> None:
    """Raise `BadSelection` for a slice that begins or ends outside of an axis."""
    for bound in (wanted.start, wanted.stop):
        if bound is not None and not -length <= bound <= length:
            raise BadSelection(f"{bound} is outside of axis {axis}, which has a length of {length}")


def _requests(array: VirtualArray, flat: NDArray[np.int64], gap: int, block: int) -> Cost:
    rows = array.manifest.rows(flat)
    remote = rows.source >= 0
    entire = remote & (rows.length == WHOLE)
    ranged = np.flatnonzero(remote & ~entire)
    length = rows.length[ranged].astype(np.int64)
    requests = merge(rows.source[ranged].astype(np.int64), rows.offset[ranged].astype(np.int64), length, gap, block)
    return Cost(
        len(flat),
        int((rows.source == MISSING).sum()),
        int((rows.source == INLINE).sum()),
        requests.total + int(entire.sum()),
        int(length.sum()),
        int(requests.length.sum()),
        len(np.unique(rows.source[remote])),
    )
