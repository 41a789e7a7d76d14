"""From many byte ranges to few large requests, with NumPy: the one planner for everything that reads by ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import ByteRange, Ints
from byteatlas.values import dataclass

MOST_ITEMS = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Merged ranges. Request k is ``length[k]`` bytes of ``source[k]`` from ``offset[k]`` on.

    It covers the ranges with the numbers ``order[edges[k]:edges[k + 1]]``.
    """

    source: Ints
    offset: Ints
    length: Ints
    order: Ints
    edges: Ints

    @property
    def total(self) -> int:
        return len(self.source)

    def range(self, number: int) -> ByteRange:
        return ByteRange(int(self.offset[number]), int(self.length[number]))

    def covers(self, number: int) -> Ints:
        """The numbers of the ranges that a request covers."""
        return self.order[int(self.edges[number]) : int(self.edges[number + 1])]


def merge(source: Ints, offset: Ints, length: Ints, gap: int, block: int, most_items: int = MOST_ITEMS) -> Requests:
    """Merge ranges of the same source that lie within ``gap`` bytes, into requests of about ``block`` bytes.

    Requests are sorted by source and offset. A range that is larger than ``block`` stays one request.

    Args:
        source, offset, length: columns with a number of the source, and bytes, for each range; int64.
        most_items: the most ranges that one request covers.

    >>> r = merge(np.array([0, 0, 1]), np.array([10, 0, 0]), np.array([5, 8, 8]), gap=4, block=100)
    >>> r.offset.tolist(), r.length.tolist(), r.order.tolist(), r.edges.tolist()
    ([0, 0], [15, 8], [1, 0, 2], [0, 2, 3])
    """
    n = len(source)
    if n == 0:
        none = np.empty(0, np.int64)
        return Requests(none, none, none, none, np.zeros(1, np.int64))
    order = _sorted(source, offset)
    s, o = source[order], offset[order]
    end = o + length[order]
    reach = _reach(s, o, end)
    first_of_request = np.empty(n, bool)
    first_of_request[0] = True
    np.not_equal(s[1:], s[:-1], out=first_of_request[1:])
    first_of_request[1:] |= o[1:] > reach[:-1] + gap
    _split(first_of_request, o, reach, block, most_items)
    first = np.flatnonzero(first_of_request)
    stop = np.maximum.reduceat(end, first)
    return Requests(s[first], o[first], stop - o[first], order, np.append(first, n))


def _sorted(source: Ints, offset: Ints) -> Ints:
    if bool(((source[1:] > source[:-1]) | ((source[1:] == source[:-1]) & (offset[1:] >= offset[:-1]))).all()):
        return np.arange(len(source), dtype=np.int64)
    return np.lexsort((offset, source))


def _reach(source: Ints, offset: Ints, end: Ints) -> Ints:
    """The furthest end so far among the ranges of each source."""
    same = source[1:] == source[:-1]
    if not bool((same & (end[1:] < end[:-1])).any()):
        return end
    reach = end.copy()
    edges = np.append(np.flatnonzero(np.concatenate([[True], ~same])), len(end))
    for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        np.maximum.accumulate(end[a:b], out=reach[a:b])
    return reach


def _split(first_of_request: NDArray[np.bool_], offset: Ints, reach: Ints, block: int, most_items: int) -> None:
    """Split requests that are too long into parts of even size (in place)."""
    first = np.flatnonzero(first_of_request)
    counts = np.diff(np.append(first, len(first_of_request)))
    size = np.maximum.reduceat(reach, first) - offset[first]
    if int(size.max()) > block:
        part = np.maximum(-(-size // np.maximum(-(-size // block), 1)), 1)
        number = (offset - np.repeat(offset[first], counts)) // np.repeat(part, counts)
        first_of_request[1:] |= number[1:] != number[:-1]
    if int(counts.max()) > most_items:
        rank = np.arange(len(first_of_request)) - np.repeat(first, counts)
        first_of_request |= rank % most_items == 0
