"""Put parts of raw chunks into the result as they are fetched, converting byte order where it differs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.planning.axes import AxisIndex
from byteatlas.array.reading.planning.raw import RawRequest
from byteatlas.array.reading.planning.strides import strides_of
from byteatlas.array.spaces import Items
from byteatlas.values import dataclass


def chunk_view(target: NDArray[Any], where: Sequence[AxisIndex], inside: Sequence[AxisIndex]) -> NDArray[Any]:
    """The part of the result that a chunk fills, as far as slices tell: along index arrays the whole axis."""
    both = zip(where, inside, strict=True)
    cut: list[Any] = [w if isinstance(w, slice) and isinstance(i, slice) else slice(None) for w, i in both]
    return target[(*cut, ...)]


class RawPart(NamedTuple):
    """A request within a raw chunk, and the part of the result that it fills (or fills some places of)."""

    request: RawRequest
    target: NDArray[Any]

    @staticmethod
    def of(request: RawRequest, view: NDArray[Any]) -> RawPart:
        """``view``: the part of the result that the chunk fills."""
        to: list[Any] = [run.to for run in request.runs]
        return RawPart(request, view[(*to, ...)])

    def put(self, values: NDArray[Any]) -> None:
        """Put what was fetched (of the request's shape) where it belongs."""
        if not self.request.picks:
            self.target[...] = values
            return
        for axis, run in enumerate(self.request.runs):
            if run.pick is not None:
                values = np.take(values, run.pick, axis)
        places = [run.place for run in self.request.runs]
        if sum(p is not None for p in places) == 1:
            self.target[tuple(slice(None) if p is None else p for p in places)] = values
            return
        every = zip(places, self.target.shape, strict=True)
        self.target[np.ix_(*(np.arange(n) if p is None else p for p, n in every))] = values

    def memory(self, dtype: np.dtype[Any]) -> memoryview | None:
        """The result's memory, where the bytes can go there as they are."""
        request, target = self.request, self.target
        if request.picks or target.dtype != dtype:
            return None
        if target.nbytes != request.length or not target.flags.c_contiguous:
            return None
        dense = strides_of(request.shape, dtype.itemsize, "C")
        if any(n > 1 and a != b for n, a, b in zip(request.shape, request.strides, dense, strict=True)):
            return None
        return target.reshape(-1).view(np.uint8).data


@dataclass(frozen=True, slots=True, eq=False)
class RawScatter:
    """Receives parts of raw chunks; item k is ``parts[k]``. ``dtype``: as stored, byte order included."""

    parts: Sequence[RawPart]
    dtype: np.dtype[Any]

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        for item, data in zip(items.tolist(), fetched, strict=True):
            part = self.parts[item]
            part.put(np.ndarray(part.request.shape, self.dtype, data, 0, part.request.strides))

    def memory(self, item: int) -> memoryview | None:
        """The place in the result of bytes that go there as they are."""
        return self.parts[item].memory(self.dtype)
