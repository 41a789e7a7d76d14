"""A selection of a chunk whose bytes are the array's bytes, cut into runs that are worth one request each.

Such a chunk is an array in a file, with strides. A selection of it is a strided array too; it is fetched as one span
where the bytes between its runs are few, else run by run, and never more than a block at a time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byteatlas.array.spaces import Ints
from byteatlas.types import Shape

Segment = tuple[int, int]
"""First index and number of indices along one axis."""


def strides_of(shape: Shape, itemsize: int, order: str) -> Shape:
    """Bytes from one element to the next along each axis.

    >>> strides_of((2, 3), 4, "C"), strides_of((2, 3), 4, "F")
    ((12, 4), (4, 8))
    """
    out, step = [], itemsize
    for n in reversed(shape) if order == "C" else shape:
        out.append(step)
        step *= max(n, 1)
    return tuple(reversed(out)) if order == "C" else tuple(out)


def cut(
    count: Sequence[int],
    stride: Sequence[int],
    itemsize: int,
    gap: int,
    block: int,
    positions: Sequence[Ints | None] | None = None,
) -> list[list[Segment]]:
    """Cut a strided array into parts that are worth one request each: segments along each axis.

    Axes are merged from the innermost on while the bytes skipped between neighbours are at most ``gap`` and the span
    at most ``block``; the axes beyond are taken index by index. ``positions``: along axes where not every index is
    wanted, the wanted ones in ascending order; segments count these.

    >>> cut((2, 10), (4096, 4), 4, gap=64, block=1 << 20)
    [[(0, 1), (1, 1)], [(0, 10)]]
    >>> cut((4,), (4,), 4, gap=64, block=1 << 20, positions=[np.array([3, 5, 90, 91])])
    [[(0, 2), (2, 2)]]
    """
    segments: list[list[Segment]] = [[(0, n)] for n in count]
    span, open_ = itemsize, True
    for axis in sorted(range(len(count)), key=lambda a: stride[a]):
        n, some = count[axis], None if positions is None else positions[axis]
        if n == 1:
            continue
        if some is not None:
            segments[axis] = _clusters(some, stride[axis], span, gap, block) if open_ else _clusters(some, 1, 0, 0, 0)
            if open_ and len(segments[axis]) == 1:
                span += int(some[-1] - some[0]) * stride[axis]
                continue
            open_ = False
            continue
        if open_ and stride[axis] - span <= gap:
            if (n - 1) * stride[axis] + span <= block:
                span += (n - 1) * stride[axis]
                continue
            at_once = max(1, (block - span) // stride[axis] + 1)
        else:
            at_once = 1
        open_ = False
        segments[axis] = [(k, min(at_once, n - k)) for k in range(0, n, at_once)]
    return segments


def _clusters(positions: Ints, stride: int, span: int, gap: int, block: int) -> list[Segment]:
    """Runs of positions with at most ``gap`` bytes between what two of them cover, and ``block`` bytes in all.

    >>> _clusters(np.array([0, 0, 1, 7, 9]), 10, 10, 20, 30)
    [(0, 3), (3, 2)]
    """
    edge = np.concatenate([[True], np.diff(positions) * stride - span > gap])
    first = np.flatnonzero(edge)
    begin = np.repeat(positions[first], np.diff(np.append(first, len(positions))))
    number = (positions - begin) * stride // max(block - span + 1, 1)
    edge[1:] |= number[1:] != number[:-1]
    first = np.flatnonzero(edge)
    return list(zip(first.tolist(), np.diff(np.append(first, len(positions))).tolist(), strict=True))
