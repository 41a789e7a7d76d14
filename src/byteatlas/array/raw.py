"""Partial reads of chunks whose bytes are the array's bytes: only what a selection needs is fetched.

Such a chunk is an array in a file, with strides. A selection of it is a strided array too; it is fetched as one span
where the bytes between its runs are few, else run by run, and never more than a block at a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.pool import Scratch
from byteatlas.types import Buffer, Shape

Ints = NDArray[np.int64]
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


def cut(count: Sequence[int], stride: Sequence[int], itemsize: int, gap: int, block: int) -> list[list[Segment]]:
    """Cut a strided array into parts that are worth one request each: segments along each axis.

    Axes are merged from the innermost on while the bytes skipped between neighbours are at most ``gap`` and the span
    at most ``block``; the axes beyond are taken index by index.

    >>> cut((2, 10), (4096, 4), 4, gap=64, block=1 << 20)
    [[(0, 1), (1, 1)], [(0, 10)]]
    """
    parts: list[list[Segment]] = [[(0, n)] for n in count]
    span, open_ = itemsize, True
    for axis in sorted(range(len(count)), key=lambda a: stride[a]):
        n = count[axis]
        if n == 1:
            continue
        if open_ and stride[axis] - span <= gap:
            if (n - 1) * stride[axis] + span <= block:
                span += (n - 1) * stride[axis]
                continue
            at_once = max(1, (block - span) // stride[axis] + 1)
        else:
            at_once = 1
        open_ = False
        parts[axis] = [(k, min(at_once, n - k)) for k in range(0, n, at_once)]
    return parts


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One request within a chunk: where in the chunk it begins, how long it is, and the strided array it holds."""

    offset: int
    length: int
    shape: Shape
    strides: Shape
    target: NDArray[Any]


def parts_of(
    shape: Shape,
    dtype: np.dtype[Any],
    order: str,
    inside: Sequence[slice],
    target: NDArray[Any],
    gap: int,
    block: int,
) -> Iterator[Part]:
    """The requests for ``inside`` (slices with positive steps) of a raw chunk; ``target`` has the selection's shape."""
    full = strides_of(shape, dtype.itemsize, order)
    count = [len(range(s.start, s.stop, s.step or 1)) for s in inside]
    stride = [f * (s.step or 1) for f, s in zip(full, inside, strict=True)]
    first = sum(f * s.start for f, s in zip(full, inside, strict=True))
    for segments in itertools.product(*cut(count, stride, dtype.itemsize, gap, block)):
        here = tuple(n for _, n in segments)
        offset = first + sum(k * s for (k, _), s in zip(segments, stride, strict=True))
        length = sum((n - 1) * s for n, s in zip(here, stride, strict=True)) + dtype.itemsize
        where: tuple[Any, ...] = (*(slice(k, k + n) for k, n in segments), ...)
        yield Part(offset, length, here, tuple(stride), target[where])


class PartSink:
    """Copies fetched parts of raw chunks into the result, converting byte order where it differs."""

    __slots__ = ("_dtype", "_parts")

    def __init__(self, parts: Sequence[Part], dtype: np.dtype[Any]) -> None:
        self._parts, self._dtype = parts, dtype

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start in zip(items.tolist(), starts.tolist(), strict=True):
            part = self._parts[item]
            part.target[...] = np.ndarray(part.shape, self._dtype, block, start, part.strides)

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        raise AssertionError("parts are ranges")

    def missing(self, items: Ints) -> None:
        raise AssertionError("parts of a chunk are asked for only where the chunk exists")

    def direct(self, item: int) -> memoryview | None:
        part = self._parts[item]
        if part.target.dtype != self._dtype or part.target.nbytes != part.length or not part.target.flags.c_contiguous:
            return None
        dense = strides_of(part.shape, self._dtype.itemsize, "C")
        if any(n > 1 and a != b for n, a, b in zip(part.shape, part.strides, dense, strict=True)):
            return None
        return part.target.reshape(-1).view(np.uint8).data
