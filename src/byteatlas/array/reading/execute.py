"""Execute a plan: locate the chunks, fetch their bytes, decode them, put the parts into the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.batch import SMALL, BlockView, block_view, gather
from byteatlas.array.reading.fetch import Wanted, fetch
from byteatlas.array.reading.locate import INLINE, MISSING, Located, Locator, sizes
from byteatlas.array.reading.pipelines import ChunkPipelines, check_encodings, check_extent
from byteatlas.array.reading.plan import Plan
from byteatlas.array.reading.pool import Scratch
from byteatlas.array.reading.raw import Part, PartSink, parts_of
from byteatlas.codecs import Pipeline
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer, ByteRange, Shape

Ints = NDArray[np.int64]
PREFILL = 32
"""From this many missing chunks on, the whole result is filled at once."""
MOST_CHUNKS = 1 << 20
"""Chunks planned at once; larger selections are read in parts, so that the columns stay small."""
MOST_PARTS = 1 << 15
"""Partial reads of raw chunks prepared at once."""
DEAR_LOCAL, DEAR_REMOTE = 64 << 10, 4 << 10
"""Bytes that could be read in the time that preparing one partial read for index arrays takes."""
PARTIAL_KEY = 256 << 10
"""Raw chunks under keys of their own are read in part from this size on; smaller ones as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkContext:
    """What errors about a chunk must say, and how to find its pipeline."""

    path: str
    grid_shape: Shape
    locator: Locator
    pipelines: ChunkPipelines
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
    target = _flipped(plan, target)
    for part in plan.parts(MOST_CHUNKS):
        _read_part(part, target, context, options)


def _read_part(plan: Plan, target: NDArray[Any], context: ChunkContext, options: ReadOptions) -> None:
    chunks = plan.flat_chunks()
    found = context.locator.locate(chunks)
    check_encodings(found.encoding, context.pipelines.single)
    sink = PlanSink(plan, target, chunks, found, context)
    missing = np.flatnonzero(found.source == MISSING)
    if len(missing) == len(chunks):
        put(target, plan.bounds(), context.fill)
        return
    if len(missing) >= PREFILL:
        put(target, plan.bounds(), context.fill)
    else:
        sink.missing(missing)
    scratch = Scratch(options.result_limit())
    for item in np.flatnonzero(found.source == INLINE).tolist():
        data = memoryview(context.locator.inline(int(chunks[item])))
        sink.accept(np.array([item]), np.zeros(1, np.int64), np.array([len(data)]), data, scratch)
    stored = read_raw(sink, np.flatnonzero(found.source >= 0), options)
    if len(stored):
        wanted = Wanted(found.source[stored], found.offset[stored], found.length[stored])
        subset: PlanSink | _Renumbered = sink if len(stored) == len(chunks) else _Renumbered(sink, stored)
        fetch(wanted, found.sources, subset, options, context.pipelines.typical_nbytes)


def read_raw(sink: PlanSink, items: Ints, options: ReadOptions) -> Ints:
    """Read those chunks whose bytes are the array's bytes and of which a part is enough; returns the other items."""
    raw, done = sink.raw_items(items, options)
    if not len(raw):
        return items
    found = sink.found
    near = bool(found.sources.local(np.unique(found.source[raw])).all())
    gap, block = (options.local_gap, options.local_block) if near else (options.gap, options.block)
    dear = DEAR_LOCAL if near else DEAR_REMOTE
    pending: list[Part] = []
    rows: list[int] = []
    whole: list[int] = []
    for item in raw.tolist():
        parts = sink.parts(item, gap, block, dear)
        if parts is None:
            whole.append(item)
            continue
        for part in parts:
            pending.append(part)
            rows.append(item)
            if len(pending) >= MOST_PARTS:
                _fetch_parts(pending, rows, sink, options)
                pending, rows = [], []
    if pending:
        _fetch_parts(pending, rows, sink, options)
    return np.setdiff1d(items, np.setdiff1d(done, np.array(whole, np.int64)), assume_unique=True)


def _fetch_parts(parts: list[Part], rows: list[int], sink: PlanSink, options: ReadOptions) -> None:
    found = sink.found
    offset = found.offset[rows] + np.array([p.offset for p in parts], np.int64)
    wanted = Wanted(found.source[rows], offset, np.array([p.length for p in parts], np.int64))
    raw = sink.pipeline(rows[0]).raw
    assert raw is not None
    fetch(wanted, found.sources, PartSink(parts, raw.dtype), options)


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

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        self.sink.accept_each(self.items[items], values, scratch)

    def missing(self, items: Ints) -> None:
        self.sink.missing(self.items[items])

    def direct(self, item: int) -> memoryview | None:
        return self.sink.direct(int(self.items[item]))


class PlanSink:
    """Decodes chunks of an orthogonal plan and puts the selected parts into the target."""

    __slots__ = ("_chunks", "_context", "_plan", "_simple", "_target", "_view", "_whole", "found")

    def __init__(self, plan: Plan, target: NDArray[Any], chunks: Ints, found: Located, context: ChunkContext) -> None:
        self._plan, self._target, self._chunks, self.found, self._context = plan, target, chunks, found, context
        self._whole = plan.whole()
        self._simple = plan.simple
        first = context.pipelines.first
        small = context.pipelines.single and first is not None and 0 < (first.nbytes or 0) <= SMALL
        self._view = block_view(plan, target, first.shape) if small and first is not None and len(chunks) > 3 else None

    def pipeline(self, item: int) -> Pipeline:
        encoding = 0 if self.found.encoding is None else int(self.found.encoding[item])
        return self._context.pipelines.at(encoding, int(self._chunks[item]))

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        if self._view is not None and len(items) > 3:
            pieces = self._plan.unravel(items)
            whole = self._view.whole(pieces)
            inner = tuple(p[whole] for p in pieces)
            self._many(self._view, items[whole], inner, starts[whole], lengths[whole], block, scratch)
            items, starts, lengths = items[~whole], starts[~whole], lengths[~whole]
        for item, start, length in zip(items.tolist(), starts.tolist(), lengths.tolist(), strict=True):
            self._one(item, block[start : start + length], scratch)

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        if self._view is not None and len(items) > 3:
            pieces = self._plan.unravel(items)
            whole = self._view.whole(pieces)
            if whole.all():
                self._decode_rows(self._view, items, pieces, values, scratch)
                return
            inner = tuple(p[whole] for p in pieces)
            self._decode_rows(self._view, items[whole], inner, list(compress(values, whole)), scratch)
            items, values = items[~whole], list(compress(values, ~whole))
        for item, data in zip(items.tolist(), values, strict=True):
            self._one(item, data, scratch)

    def _many(
        self,
        view: BlockView,
        items: Ints,
        pieces: tuple[Ints, ...],
        starts: Ints,
        lengths: Ints,
        block: memoryview,
        scratch: Scratch,
    ) -> None:
        """Whole small chunks of one pipeline that lie in one block."""
        pipeline = self._context.pipelines.first
        assert pipeline is not None
        raw, nbytes = pipeline.raw, pipeline.nbytes or 0
        if not len(items):
            return
        if raw is not None and bool((lengths == nbytes).all()):
            view.put(pieces, as_chunks(gather(block, starts, nbytes), raw.dtype, raw.order, pipeline.shape))
            return
        buffers = [block[a:b] for a, b in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
        self._decode_rows(view, items, pieces, buffers, scratch)

    def _decode_rows(
        self, view: BlockView, items: Ints, pieces: tuple[Ints, ...], values: Sequence[Buffer], scratch: Scratch
    ) -> None:
        """Whole small chunks of one pipeline: decoded into rows, then put in place together."""
        pipeline = self._context.pipelines.first
        assert pipeline is not None
        together = pipeline.decode_many(values) if values else None
        if together is not None:
            view.put(pieces, together)
            return
        rows: Any = view.rows(pieces)
        straight = rows is not None and self._target.dtype == pipeline.dtype
        if not straight:
            rows = scratch.array((len(items), *pipeline.shape), pipeline.dtype)
        decode, done = pipeline.decode, 0
        try:
            for data, row in zip(values, rows, strict=True):
                decode(data, row)
                done += 1
        except CorruptChunk as error:
            item = int(items[done])
            raise self._context.located(error, int(self._chunks[item]), self.found, item) from error
        if not straight:
            view.put(pieces, rows)

    def raw_items(self, items: Ints, options: ReadOptions) -> tuple[Ints, Ints]:
        """Those of the items to read in parts, and those of them done with (read in parts, or found to be missing)."""
        first = self._context.pipelines.first
        if not self._context.pipelines.single or first is None or first.raw is None:
            return items[:0], items[:0]
        nbytes = first.nbytes or 0
        if first.raw.dtype.hasobject or nbytes == 0:
            return items[:0], items[:0]
        wanted = items if nbytes > options.local_block else items[~self._whole[items]]
        unsized = wanted[self.found.length[wanted] < 0]
        if not len(unsized):
            done = wanted[self.found.length[wanted] == nbytes]
            return done, done
        if nbytes < PARTIAL_KEY:
            return items[:0], items[:0]
        return self._sized(wanted, nbytes, options)

    def _sized(self, wanted: Ints, nbytes: int, options: ReadOptions) -> tuple[Ints, Ints]:
        """The same where chunks are whole files or keys: ask each for its size."""
        size = sizes(self.found, wanted, options)
        self.missing(wanted[size < 0])
        return wanted[size == nbytes], wanted[(size < 0) | (size == nbytes)]

    def parts(self, item: int, gap: int, block: int, dear: int) -> Iterator[Part] | None:
        """The requests for what the plan selects of a raw chunk; None to read all of it."""
        pipeline = self.pipeline(item)
        raw = pipeline.raw
        assert raw is not None
        inside, where = self._inside(item)
        check_extent(pipeline, inside)
        return parts_of(pipeline.shape, raw.dtype, raw.order, inside, where, self._target, gap, block, dear)

    def _inside(self, item: int) -> tuple[tuple[slice | Ints, ...], tuple[slice | Ints, ...]]:
        """What is selected of a chunk, and where it goes."""
        pieces = self._pieces(item)
        inside = tuple(a.inside(p) for a, p in zip(self._plan.axes, pieces, strict=True))
        return inside, tuple(a.target(p) for a, p in zip(self._plan.axes, pieces, strict=True))

    def _one(self, item: int, data: Buffer, scratch: Scratch) -> None:
        pipeline = self.pipeline(item)
        inside, where = self._inside(item)
        try:
            if self._simple:
                view = self._target[(*where, ...)]
                if self._whole[item] and _fits(view, pipeline):
                    pipeline.decode(data, view)
                    return
            decoded = decode_scratch(pipeline, data, scratch)
        except CorruptChunk as error:
            raise self._context.located(error, int(self._chunks[item]), self.found, item) from error
        check_extent(pipeline, inside)
        put(self._target, where, take(decoded, inside))

    def _pieces(self, item: int) -> Shape:
        pieces: list[int] = []
        for n in reversed(self._plan.pieces):
            item, last = divmod(item, n)
            pieces.append(last)
        return tuple(reversed(pieces))

    def missing(self, items: Ints) -> None:
        if self._view is not None and len(items) > 3:
            pieces = self._plan.unravel(items)
            whole = self._view.whole(pieces)
            self._view.put(tuple(p[whole] for p in pieces), self._context.fill)
            items = items[~whole]
        for item in items.tolist():
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
        return view.reshape(-1).view(np.uint8).data


def _fits(view: NDArray[Any], pipeline: Pipeline) -> bool:
    """Whether a chunk can be decoded straight into this part of the result."""
    return view.shape == pipeline.shape and view.dtype == pipeline.dtype and view.flags.c_contiguous


def decode_scratch(pipeline: Pipeline, data: Buffer, scratch: Scratch) -> NDArray[Any]:
    """Decode into a buffer that is used again for the next chunk, unless there is nothing to decode into one."""
    if pipeline.dtype.hasobject or pipeline.raw is not None:
        return pipeline.decode(data)
    return pipeline.decode(data, scratch.array(pipeline.shape, pipeline.dtype))


def take(decoded: NDArray[Any], inside: tuple[slice | Ints, ...]) -> NDArray[Any]:
    """The selected part of a chunk; index arrays work on each axis by itself."""
    where: tuple[Any, ...] = (*(i if isinstance(i, slice) else slice(None) for i in inside), ...)
    part: NDArray[Any] = decoded[where]
    for axis, index in enumerate(inside):
        if not isinstance(index, slice):
            part = np.take(part, index, axis)
    return part


def as_chunks(rows: NDArray[np.uint8], dtype: np.dtype[Any], order: str, shape: Shape) -> NDArray[Any]:
    """Rows of bytes as raw chunks: shape (rows, chunk shape...)."""
    values = rows.view(dtype)
    if order == "C":
        return values.reshape((len(rows), *shape))
    return values.reshape((len(rows), *reversed(shape))).transpose(0, *range(len(shape), 0, -1))


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
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise refuse(f"the selection {shape} of {dtype} takes {nbytes} bytes: {error}") from error
