"""Execute a plan: locate the chunks, fetch their bytes, decode them, put the parts into the result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.fetch import Wanted, fetch
from byteatlas.array.locate import INLINE, MISSING, Located, Locator
from byteatlas.array.options import ReadOptions
from byteatlas.array.pipelines import Pipelines
from byteatlas.array.plan import Plan
from byteatlas.array.pool import Scratch
from byteatlas.codecs import Pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer, ByteRange, Shape

Ints = NDArray[np.int64]
PREFILL = 32
"""From this many missing chunks on, the whole result is filled at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkContext:
    """What errors about a chunk must say, and how to find its pipeline."""

    path: str
    grid_shape: Shape
    locator: Locator
    pipelines: Pipelines
    fill: object

    def located(self, error: CorruptChunk, chunk: int, found: Located, row: int) -> CorruptChunk:
        """The same error with the array, the chunk and its place filled in."""
        index = tuple(int(i) for i in np.unravel_index(chunk, self.grid_shape)) if self.grid_shape else ()
        length = int(found.length[row])
        where = ByteRange(int(found.offset[row]), length) if length >= 0 and int(found.source[row]) >= 0 else None
        return CorruptChunk(
            error.why, array=self.path, chunk=index, url=self.locator.url(found, row), range=error.range or where
        )


def read_plan(plan: Plan, target: NDArray[Any], context: ChunkContext, options: ReadOptions) -> None:
    """Fill ``target`` (of the plan's full shape) with the selection."""
    if not target.size:
        return
    chunks = plan.flat_chunks()
    found = context.locator.locate(chunks)
    sink = PlanSink(plan, _flipped(plan, target), chunks, found, context)
    missing = np.flatnonzero(found.source == MISSING)
    if len(missing) >= PREFILL or len(missing) == len(chunks):
        target[...] = context.fill
    else:
        for item in missing.tolist():
            sink.missing(item)
    if len(missing) == len(chunks):
        return
    scratch = Scratch()
    for item in np.flatnonzero(found.source == INLINE).tolist():
        data = memoryview(context.locator.inline(int(chunks[item])))
        sink.accept(np.array([item]), np.zeros(1, np.int64), np.array([len(data)]), data, scratch)
    stored = np.flatnonzero(found.source >= 0)
    if len(stored):
        wanted = Wanted(found.source[stored], found.offset[stored], found.length[stored])
        subset: PlanSink | _Renumbered = sink if len(stored) == len(chunks) else _Renumbered(sink, stored)
        fetch(wanted, found.sources, subset, options, context.pipelines.typical_nbytes)


def _flipped(plan: Plan, target: NDArray[Any]) -> NDArray[Any]:
    """The target with the axes that run backwards turned round, so that pieces go in ascending order."""
    if not any(a.flip for a in plan.axes):
        return target
    return target[tuple(slice(None, None, -1) if a.flip else slice(None) for a in plan.axes)]


@dataclass(frozen=True, slots=True, eq=False)
class _Renumbered:
    """A sink for some of another sink's items."""

    sink: PlanSink
    items: Ints

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        self.sink.accept(self.items[items], starts, lengths, block, scratch)

    def missing(self, item: int) -> None:
        self.sink.missing(int(self.items[item]))

    def direct(self, item: int) -> memoryview | None:
        return self.sink.direct(int(self.items[item]))


class PlanSink:
    """Decodes chunks of an orthogonal plan and puts the selected parts into the target."""

    __slots__ = ("_chunks", "_context", "_found", "_plan", "_simple", "_target", "_whole")

    def __init__(self, plan: Plan, target: NDArray[Any], chunks: Ints, found: Located, context: ChunkContext) -> None:
        self._plan, self._target, self._chunks, self._found, self._context = plan, target, chunks, found, context
        self._whole = plan.whole()
        self._simple = plan.simple

    def pipeline(self, item: int) -> Pipeline:
        encoding = 0 if self._found.encoding is None else int(self._found.encoding[item])
        return self._context.pipelines.at(encoding, int(self._chunks[item]))

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        for item, start, length in zip(items.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            self._one(item, block[start : start + length], scratch)

    def _one(self, item: int, data: Buffer, scratch: Scratch) -> None:
        pipeline = self.pipeline(item)
        pieces = self._pieces(item)
        inside = tuple(a.inside(p) for a, p in zip(self._plan.axes, pieces, strict=True))
        where = tuple(a.target(p) for a, p in zip(self._plan.axes, pieces, strict=True))
        try:
            if self._simple:
                view = self._target[(*where, ...)]
                if self._whole[item] and _fits(view, pipeline):
                    pipeline.decode(data, view)
                    return
            decoded = decode_scratch(pipeline, data, scratch)
        except CorruptChunk as error:
            raise self._context.located(error, int(self._chunks[item]), self._found, item) from error
        self._context.pipelines.check_extent(pipeline, inside)
        put(self._target, where, take(decoded, inside))

    def _pieces(self, item: int) -> Shape:
        pieces: list[int] = []
        for n in reversed(self._plan.pieces):
            item, last = divmod(item, n)
            pieces.append(last)
        return tuple(reversed(pieces))

    def missing(self, item: int) -> None:
        where = tuple(a.target(p) for a, p in zip(self._plan.axes, self._pieces(item), strict=True))
        put(self._target, where, self._context.fill)

    def direct(self, item: int) -> memoryview | None:
        raw = self.pipeline(item).raw
        if raw is None or raw.order != "C" or not self._simple or not self._whole[item]:
            return None
        where = tuple(a.target(p) for a, p in zip(self._plan.axes, self._pieces(item), strict=True))
        view = self._target[(*where, ...)]
        if raw.dtype != view.dtype or view.dtype.hasobject or not _fits(view, self.pipeline(item)):
            return None
        return memoryview(view.reshape(-1).view(np.uint8))


def _fits(view: NDArray[Any], pipeline: Pipeline) -> bool:
    """Whether a chunk can be decoded straight into this part of the result."""
    return view.shape == pipeline.shape and view.dtype == pipeline.dtype and view.flags.c_contiguous


def decode_scratch(pipeline: Pipeline, data: Buffer, scratch: Scratch) -> NDArray[Any]:
    """Decode into a buffer that is used again for the next chunk (a new array for variable-length types)."""
    if pipeline.dtype.hasobject:
        return pipeline.decode(data)
    return pipeline.decode(data, scratch.array(pipeline.shape, pipeline.dtype))


def take(decoded: NDArray[Any], inside: tuple[slice | Ints, ...]) -> NDArray[Any]:
    """The selected part of a chunk; index arrays work on each axis by itself."""
    part = decoded[tuple(i if isinstance(i, slice) else slice(None) for i in inside)]
    for axis, index in enumerate(inside):
        if not isinstance(index, slice):
            part = np.take(part, index, axis)
    return part


def put(target: NDArray[Any], where: tuple[slice | Ints, ...], values: Any) -> None:
    """Assign to part of the result; index arrays work on each axis by itself."""
    if all(isinstance(w, slice) for w in where):
        target[where] = values
        return
    indices = [np.arange(w.start, w.stop) if isinstance(w, slice) else w for w in where]
    target[np.ix_(*indices)] = values


def allocate(
    shape: Shape, dtype: np.dtype[Any], options: ReadOptions, refuse: Callable[[str], Exception]
) -> NDArray[Any]:
    """An uninitialised result, refused when it is larger than this machine can hold."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > options.result_limit():
        raise refuse(f"the selection {shape} of {dtype} takes {nbytes} bytes; read it in parts")
    return np.empty(shape, dtype)
