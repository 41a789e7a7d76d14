"""Spatial differencing, of orders 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class Differences:
    """Makes integers from their differences, block after block, in place; they wrap around as 64-bit integers do.

    >>> values = np.array([0, 0, 1, 2])
    >>> Differences([10, 12], -1).undo(values)
    >>> values.tolist()
    [10, 12, 14, 17]
    """

    __slots__ = ("_bias", "_first", "_last", "_seen")

    def __init__(self, first: Sequence[int], bias: int) -> None:
        """
        Args:
            first: the first integers themselves, as many as the order.
            bias: what has been subtracted from all differences.
        """
        self._first = np.array([v % (1 << 64) for v in first], np.uint64).astype(np.int64)
        self._bias = np.int64(bias)
        known = [self._first]
        while len(known) < len(first):
            known.append(np.diff(known[-1]))
        self._last = [row[-1:].copy() for row in known]
        self._seen = 0

    def undo(self, block: NDArray[np.int64]) -> None:
        """The next differences. What the first ones of all are, as many as the order, is not used."""
        given = min(len(self._first) - self._seen, len(block))
        block[:given] = self._first[self._seen : self._seen + given]
        self._seen += given
        rest = block[given:]
        if not len(rest):
            return
        rest += self._bias
        for last in reversed(self._last):
            rest[:1] += last
            np.cumsum(rest, out=rest)
            last[:] = rest[-1]
