"""Partial reads of chunks whose bytes are the array's bytes: only what a selection needs is fetched.

Such a chunk is an array in a file, with strides. A selection of it is a strided array too; it is fetched as one span
where the bytes between its runs are few, else run by run, and never more than a block at a time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.pool import Scratch
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
    parts: list[list[Segment]] = [[(0, n)] for n in count]
    span, open_ = itemsize, True
    for axis in sorted(range(len(count)), key=lambda a: stride[a]):
        n, some = count[axis], None if positions is None else positions[axis]
        if n == 1:
            continue
        if some is not None:
            parts[axis] = _clusters(some, stride[axis], span, gap, block) if open_ else _clusters(some, 1, 0, 0, 0)
            if open_ and len(parts[axis]) == 1:
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
        parts[axis] = [(k, min(at_once, n - k)) for k in range(0, n, at_once)]
    return parts


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


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One request within a chunk: where in the chunk it begins, how long it is, and the strided array it holds.

    ``pick`` and ``place``: along axes with index arrays, which positions of that array are wanted and where they go
    along the target's axis; None along the others, of which all goes to all.
    """

    offset: int
    length: int
    shape: Shape
    strides: Shape
    target: NDArray[Any]
    pick: tuple[Ints | None, ...] = ()
    place: tuple[Ints | None, ...] = ()

    def put(self, values: NDArray[Any]) -> None:
        """Put what was fetched (of this part's shape) where it belongs."""
        if not self.pick:
            self.target[...] = values
            return
        for axis, wanted in enumerate(self.pick):
            if wanted is not None:
                values = np.take(values, wanted, axis)
        if sum(p is not None for p in self.place) == 1:
            self.target[tuple(slice(None) if p is None else p for p in self.place)] = values
            return
        every = zip(self.place, self.target.shape, strict=True)
        self.target[np.ix_(*(np.arange(n) if p is None else p for p, n in every))] = values


def parts_of(
    shape: Shape,
    dtype: np.dtype[Any],
    order: str,
    inside: Sequence[slice | Ints],
    where: Sequence[slice | Ints],
    target: NDArray[Any],
    gap: int,
    block: int,
    dear: int = 0,
) -> Iterator[Part] | None:
    """The requests for ``inside`` of a raw chunk, which goes to ``where`` in the target.

    Each is a slice with a positive step, or an index array that works on its axis by itself. None when index arrays
    take so many requests that the whole chunk is cheaper, one request being worth ``dear`` bytes, and they would fetch
    most of it anyway.
    """
    full = strides_of(shape, dtype.itemsize, order)
    axes = [_Axis.of(i, w, f) for i, w, f in zip(inside, where, full, strict=True)]
    count, stride = [a.count for a in axes], [a.stride for a in axes]
    taken = any(a.at is not None for a in axes)
    segments = cut(count, stride, dtype.itemsize, gap, block, [a.at for a in axes] if taken else None)
    nbytes = math.prod(shape) * dtype.itemsize
    if taken and math.prod(len(s) for s in segments) * dear > nbytes and 2 * _covered(axes, segments, dtype) > nbytes:
        return None
    whole: list[Any] = [
        w if isinstance(w, slice) and a.at is None else slice(None) for w, a in zip(where, axes, strict=True)
    ]
    return _parts(axes, segments, target[(*whole, ...)], dtype)


def _covered(axes: Sequence[_Axis], segments: list[list[Segment]], dtype: np.dtype[Any]) -> int:
    """About how many bytes the requests are in all."""
    spans = [
        sum(a.extent(k, n) - 1 for k, n in s) * a.stride / len(s) for a, s in zip(axes, segments, strict=True) if s
    ]
    return int((sum(spans) + dtype.itemsize) * math.prod(len(s) for s in segments))


def _parts(
    axes: Sequence[_Axis], segments: list[list[Segment]], view: NDArray[Any], dtype: np.dtype[Any]
) -> Iterator[Part]:
    stride = tuple(a.stride for a in axes)
    each = [[a.piece(k, n) for k, n in s] for a, s in zip(axes, segments, strict=True)]
    for pieces in itertools.product(*each):
        offset = sum(p.offset for p in pieces)
        here = tuple(p.extent for p in pieces)
        length = sum((n - 1) * s for n, s in zip(here, stride, strict=True)) + dtype.itemsize
        to: tuple[Any, ...] = (*(p.to for p in pieces), ...)
        if all(p.pick is None for p in pieces):
            yield Part(offset, length, here, stride, view[to])
        else:
            yield Part(
                offset, length, here, stride, view[to], tuple(p.pick for p in pieces), tuple(p.place for p in pieces)
            )


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """One segment of an axis: bytes from the chunk's begin, positions covered, where in the view it goes."""

    offset: int
    extent: int
    to: slice
    pick: Ints | None = None
    place: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """What is selected along one axis of a raw chunk: every position from the first on, or those of ``at``."""

    count: int
    stride: int
    first: int
    at: Ints | None = None
    place: Ints | None = None

    @staticmethod
    def of(inside: slice | Ints, where: slice | Ints, stride: int) -> _Axis:
        if isinstance(inside, slice):
            step = inside.step or 1
            return _Axis(len(range(inside.start, inside.stop, step)), stride * step, inside.start * stride)
        order = np.argsort(inside, kind="stable")
        place = np.arange(where.start, where.stop) if isinstance(where, slice) else where
        return _Axis(len(inside), stride, 0, inside[order], place[order])

    def extent(self, k: int, n: int) -> int:
        return n if self.at is None else int(self.at[k + n - 1] - self.at[k]) + 1

    def piece(self, k: int, n: int) -> _Piece:
        if self.at is None or self.place is None:
            return _Piece(self.first + k * self.stride, n, slice(k, k + n))
        at, place, extent = self.at[k : k + n], self.place[k : k + n], self.extent(k, n)
        offset = int(at[0]) * self.stride
        lo = int(place[0])
        if extent == n and _ascends(at) and _ascends(place):  # a run after all
            return _Piece(offset, n, slice(lo, lo + n))
        return _Piece(offset, extent, slice(None), at - at[0], place)


def _ascends(positions: Ints) -> bool:
    """Whether each is the one before plus one."""
    return len(positions) == 1 or bool((np.diff(positions) == 1).all())


class PartSink:
    """Copies fetched parts of raw chunks into the result, converting byte order where it differs."""

    __slots__ = ("_dtype", "_parts")

    def __init__(self, parts: Sequence[Part], dtype: np.dtype[Any]) -> None:
        self._parts, self._dtype = parts, dtype

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start in zip(items.tolist(), starts.tolist(), strict=True):
            part = self._parts[item]
            part.put(np.ndarray(part.shape, self._dtype, block, start, part.strides))

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        raise AssertionError("parts are ranges")

    def missing(self, items: Ints) -> None:
        raise AssertionError("parts of a chunk are asked for only where the chunk exists")

    def direct(self, item: int) -> memoryview | None:
        part = self._parts[item]
        if part.pick:
            return None
        if part.target.dtype != self._dtype or part.target.nbytes != part.length or not part.target.flags.c_contiguous:
            return None
        dense = strides_of(part.shape, self._dtype.itemsize, "C")
        if any(n > 1 and a != b for n, a, b in zip(part.shape, part.strides, dense, strict=True)):
            return None
        return part.target.reshape(-1).view(np.uint8).data
