"""Spatial differencing, of orders 1 to 3."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def undo_differences(integers: NDArray[np.int64], first: Sequence[int], bias: int) -> None:
    """Integers from their differences, in place; they wrap around as 64-bit integers do.

    Args:
        integers: differences of order ``len(first)``, less ``bias``; what the first ``len(first)`` are is not used.
        first: the first integers themselves, as many as the order.

    >>> values = np.array([0, 0, 1, 2])
    >>> undo_differences(values, [10, 12], -1)
    >>> values.tolist()
    [10, 12, 14, 17]
    """
    order = len(first)
    start = np.array([v % (1 << 64) for v in first], np.uint64).astype(np.int64)
    if len(integers) > order:
        with np.errstate(over="ignore"):
            integers[order:] += np.int64(bias)
            known = [start]
            while len(known) < order:
                known.append(np.diff(known[-1]))
            tail = integers[order - 1 :]
            for differences in reversed(known):
                tail[0] = differences[-1]
                np.cumsum(tail, out=tail)
    integers[:order] = start[: len(integers)]
