"""What a selection needs of a chunk whose bytes are the array's bytes: runs of positions along each axis."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.planning.axes import AxisIndex
from byteatlas.array.reading.planning.strides import Segment, cut, strides_of
from byteatlas.array.spaces import Ints
from byteatlas.codecs import RawLayout
from byteatlas.types import Shape
from byteatlas.values import dataclass

LOCAL_REQUEST, REMOTE_REQUEST = 64 << 10, 4 << 10
"""Bytes that could be read in the time that preparing one partial read for index arrays takes."""


@dataclass(frozen=True, slots=True)
class RequestCosts:
    """When requests are merged, in bytes: ``gap`` between them, ``block`` at most; ``one``: what one costs."""

    gap: int
    block: int
    one: int

    @staticmethod
    def of(options: ReadOptions, local: bool) -> RequestCosts:
        if local:
            return RequestCosts(options.local_gap, options.local_block, LOCAL_REQUEST)
        return RequestCosts(options.gap, options.block, REMOTE_REQUEST)


class AxisRun(NamedTuple):
    """Positions along one axis of a chunk that are fetched together.

    Attributes:
        offset: bytes from the chunk's beginning to the first of them.
        extent: positions covered.
        to: where they go along the axis of the result's part for this chunk.
        pick, place: of an index array: which of the positions covered are wanted, and where each goes.
    """

    offset: int
    extent: int
    to: slice
    pick: Ints | None = None
    place: Ints | None = None


class RawRequest(NamedTuple):
    """One request within a chunk: where it begins, how long it is, and the strided array that it holds.

    ``picks``: only some of the positions covered are wanted. (Named tuples are made in half the time that frozen
    dataclasses take; a read may make a hundred thousand.)
    """

    offset: int
    length: int
    shape: Shape
    strides: Shape
    runs: tuple[AxisRun, ...]
    picks: bool


def plan_raw(
    shape: Shape, raw: RawLayout, inside: Sequence[AxisIndex], target: Sequence[AxisIndex], costs: RequestCosts
) -> Iterator[RawRequest] | None:
    """The requests for the part ``inside`` of a raw chunk, which goes to ``target`` in the result.

    Each is a slice with a positive step, or an index array that works on its axis by itself. None when index arrays
    take so many requests that the whole chunk is cheaper, and they would fetch most of it anyway.
    """
    itemsize = raw.dtype.itemsize
    strides = strides_of(shape, itemsize, raw.order)
    axes = [_RawAxis.of(i, w, s) for i, w, s in zip(inside, target, strides, strict=True)]
    count, stride = [a.count for a in axes], tuple(a.stride for a in axes)
    taken = any(a.at is not None for a in axes)
    segments = cut(count, stride, itemsize, costs.gap, costs.block, [a.at for a in axes] if taken else None)
    total, nbytes = math.prod(len(s) for s in segments), math.prod(shape) * itemsize
    if taken and total * costs.one > nbytes and 2 * _covered(axes, segments, itemsize) > nbytes:
        return None
    each = [[axis.run(k, n) for k, n in some] for axis, some in zip(axes, segments, strict=True)]
    return (_request(runs, stride, itemsize) for runs in itertools.product(*each))


def _request(runs: tuple[AxisRun, ...], strides: Shape, itemsize: int) -> RawRequest:
    offset, length, picks = 0, itemsize, False
    for run, stride in zip(runs, strides, strict=True):
        offset += run.offset
        length += (run.extent - 1) * stride
        picks = picks or run.pick is not None
    return RawRequest(offset, length, tuple([run.extent for run in runs]), strides, runs, picks)


@dataclass(frozen=True, slots=True, eq=False)
class _RawAxis:
    """What is selected along one axis: every position from the first on, or those of ``at`` in ascending order."""

    count: int
    stride: int
    first: int
    at: Ints | None = None
    place: Ints | None = None

    @staticmethod
    def of(inside: AxisIndex, target: AxisIndex, stride: int) -> _RawAxis:
        if isinstance(inside, slice):
            step = inside.step or 1
            return _RawAxis(len(range(inside.start, inside.stop, step)), stride * step, inside.start * stride)
        order = np.argsort(inside, kind="stable")
        place = np.arange(target.start, target.stop) if isinstance(target, slice) else target
        return _RawAxis(len(inside), stride, 0, inside[order], place[order])

    def extent(self, k: int, n: int) -> int:
        """Positions covered by a segment."""
        return n if self.at is None else int(self.at[k + n - 1] - self.at[k]) + 1

    def run(self, k: int, n: int) -> AxisRun:
        """A segment as what is fetched for it."""
        if self.at is None or self.place is None:
            return AxisRun(self.first + k * self.stride, n, slice(k, k + n))
        at, place, extent = self.at[k : k + n], self.place[k : k + n], self.extent(k, n)
        offset = int(at[0]) * self.stride
        lo = int(place[0])
        if extent == n and _ascends(at) and _ascends(place):  # a slice after all
            return AxisRun(offset, n, slice(lo, lo + n))
        return AxisRun(offset, extent, slice(None), at - at[0], place)


def _covered(axes: Sequence[_RawAxis], segments: list[list[Segment]], itemsize: int) -> int:
    """About how many bytes the requests are in all."""
    spans = [
        sum(a.extent(k, n) - 1 for k, n in s) * a.stride / len(s) for a, s in zip(axes, segments, strict=True) if s
    ]
    return int((sum(spans) + itemsize) * math.prod(len(s) for s in segments))


def _ascends(positions: Ints) -> bool:
    """Whether each is the one before plus one."""
    return len(positions) == 1 or bool((np.diff(positions) == 1).all())
