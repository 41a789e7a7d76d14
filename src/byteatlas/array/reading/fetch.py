"""From columns of byte ranges to few large requests, and their bytes to a sink.

Ranges are sorted and merged per source with NumPy. Local files are read by the threads that decode; remote requests
all run at once (as many as allowed) while earlier ones are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.pool import Budget, Decoders, Scratch, run_tasks
from byteatlas.errors import FetchFailed, InvalidMetadata
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange

Ints = NDArray[np.int64]

WHOLE = -1
"""As a length: the whole file."""
MOST_ITEMS = 1 << 15
"""Most chunks handled as one task."""
MOST_FILES = 1 << 10
"""Most whole files read as one task."""
SMALL_FILE = 64 << 10
"""Whole files that decode to at most this many bytes are read in bulk."""
TINY = 8 << 10
"""Whole files that decode to at most this many bytes are read by one thread."""


class Sources(Protocol):
    """What fetches need to know of the sources that a column of numbers speaks of."""

    def open(self, source: int) -> Source: ...

    def local(self, numbers: Ints) -> NDArray[np.bool_]:
        """For each of these sources, whether reading costs no more than a system call."""
        ...

    def size(self, source: int) -> int | None:
        """Its size in bytes; None when it does not exist and that means a missing chunk."""
        ...

    @property
    def at_once(self) -> int:
        """How many whole remote sources are best asked for together: 1, unless they are parts of one file."""
        ...

    def whole(self, numbers: Ints) -> list[Buffer | None]:
        """All bytes of sources; None for one that does not exist, where that means a missing chunk."""
        ...

    def whole_into(self, number: int, memory: Callable[[int], memoryview]) -> Buffer | None:
        """All bytes of a local source, in memory that is given for its size where that saves a copy."""
        ...


class Sink(Protocol):
    """Takes fetched bytes. Called from several threads; each item is delivered exactly once."""

    def accept(self, items: Ints, starts: Ints, lengths: Ints, block: memoryview, scratch: Scratch) -> None:
        """Items whose bytes are ``block[start:start + length]``. ``block`` is reused after the call."""
        ...

    def accept_each(self, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
        """Items with a buffer for each."""
        ...

    def missing(self, items: Ints) -> None: ...

    def direct(self, item: int) -> memoryview | None:
        """Memory to fetch this item's bytes into, when they need no decoding."""
        ...


def each_alone(sink: Sink, items: Ints, values: Sequence[Buffer], scratch: Scratch) -> None:
    """`Sink.accept_each` as one `Sink.accept` for every item."""
    for k, data in enumerate(values):
        view = memoryview(data)
        sink.accept(items[k : k + 1], np.zeros(1, np.int64), np.array([len(view)]), view, scratch)


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Byte ranges as columns. ``length`` WHOLE: the whole source."""

    source: Ints
    offset: Ints
    length: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Merged requests. Request k is ``length[k]`` bytes of ``source[k]`` from ``offset[k]`` on.

    It serves the items ``order[edges[k]:edges[k + 1]]``.
    """

    source: Ints
    offset: Ints
    length: Ints
    order: Ints
    edges: Ints

    @property
    def total(self) -> int:
        return len(self.source)


def merge(source: Ints, offset: Ints, length: Ints, gap: int, block: int, most_items: int = MOST_ITEMS) -> Blocks:
    """Merge ranges of the same source that lie within ``gap`` bytes, into requests of about ``block`` bytes.

    >>> b = merge(np.array([0, 0, 1]), np.array([10, 0, 0]), np.array([5, 8, 8]), gap=4, block=100)
    >>> b.offset.tolist(), b.length.tolist(), b.order.tolist(), b.edges.tolist()
    ([0, 0], [15, 8], [1, 0, 2], [0, 2, 3])
    """
    n = len(source)
    if n == 0:
        none = np.empty(0, np.int64)
        return Blocks(none, none, none, none, np.zeros(1, np.int64))
    order = _sorted(source, offset)
    s, o = source[order], offset[order]
    end = o + length[order]
    reach = _reach(s, o, end)
    cut = np.empty(n, bool)
    cut[0] = True
    np.not_equal(s[1:], s[:-1], out=cut[1:])
    cut[1:] |= o[1:] > reach[:-1] + gap
    _split(cut, o, reach, block, most_items)
    first = np.flatnonzero(cut)
    stop = np.maximum.reduceat(end, first)
    return Blocks(s[first], o[first], stop - o[first], order, np.append(first, n))


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


def _split(cut: NDArray[np.bool_], offset: Ints, reach: Ints, block: int, most_items: int) -> None:
    """Cut runs that are too long into parts of even size (in place)."""
    first = np.flatnonzero(cut)
    counts = np.diff(np.append(first, len(cut)))
    size = np.maximum.reduceat(reach, first) - offset[first]
    if int(size.max()) > block:
        part = np.maximum(-(-size // np.maximum(-(-size // block), 1)), 1)
        number = (offset - np.repeat(offset[first], counts)) // np.repeat(part, counts)
        cut[1:] |= number[1:] != number[:-1]
    if int(counts.max()) > most_items:
        rank = np.arange(len(cut)) - np.repeat(first, counts)
        cut |= rank % most_items == 0


def fetch(wanted: Wanted, sources: Sources, sink: Sink, options: ReadOptions, item_bytes: int = 0) -> None:
    """Fetch all ranges and hand them to the sink. ``item_bytes``: what one item decodes to, for balance.

    Raises `FetchFailed` for a range that cannot be fetched in full, and whatever the sink raises.
    """
    if not len(wanted.source):
        return
    _check(wanted)
    whole = wanted.length == WHOLE
    numbers = _distinct(wanted.source)
    near = sources.local(numbers)
    local = np.full(len(whole), near[0]) if near.all() or not near.any() else np.isin(wanted.source, numbers[near])
    for mask, runner in ((local, _fetch_local), (~local, _fetch_remote)):
        if mask.any():
            runner(
                wanted, np.flatnonzero(mask & ~whole), np.flatnonzero(mask & whole), sources, sink, options, item_bytes
            )


def _distinct(numbers: Ints) -> Ints:
    """The different ones. Chunks under keys of their own are numbered upwards: then nothing needs to be sorted."""
    return numbers if bool((numbers[1:] > numbers[:-1]).all()) else np.unique(numbers)


def _check(wanted: Wanted) -> None:
    """No negative numbers and no wrap-around: columns come from untrusted maps."""
    ranged = wanted.length != WHOLE
    if bool((wanted.offset < 0).any()) or bool((wanted.length[ranged] < 0).any()):
        raise InvalidMetadata("", "a reference has an offset or length beyond 2**63")
    if bool((wanted.offset > np.iinfo(np.int64).max - np.maximum(wanted.length, 0)).any()):
        raise InvalidMetadata("", "a reference ends beyond 2**63")


def _blocks_of(wanted: Wanted, items: Ints, gap: int, block: int, most_items: int) -> Blocks:
    found = merge(wanted.source[items], wanted.offset[items], wanted.length[items], gap, block, most_items)
    return Blocks(found.source, found.offset, found.length, items[found.order], found.edges)


def _fetch_local(
    wanted: Wanted, ranged: Ints, whole: Ints, sources: Sources, sink: Sink, options: ReadOptions, item_bytes: int
) -> None:
    workers = options.decoders(item_bytes)
    # Small enough for the caches, and for every thread to get its share.
    size = int(wanted.length[ranged].sum()) if len(ranged) else 0
    block = max(min(options.local_block, size // (2 * workers)), 64 << 10)
    most = MOST_ITEMS if not item_bytes else max(1, min(MOST_ITEMS, (4 << 20) // item_bytes))
    blocks = _blocks_of(wanted, ranged, options.local_gap, block, most)
    groups = _groups(whole, min(most, MOST_FILES) if item_bytes else 16)
    task = _Local(wanted, blocks, groups, sources, sink, item_bytes)
    # Opening, reading and closing tiny files gives up the interpreter's lock three times each: threads only get in
    # each other's way.
    tiny = not blocks.total and item_bytes and item_bytes <= TINY
    threads = 1 if tiny or size + len(whole) * (64 << 10) <= (128 << 10) else workers
    run_tasks(blocks.total + len(groups), task, threads, options.result_limit())


def _groups(items: Ints, size: int) -> list[Ints]:
    return [items[k : k + size] for k in range(0, len(items), size)]


@dataclass(frozen=True, slots=True, eq=False)
class _Local:
    """Task k: read one merged range (or one whole file) and decode what it holds."""

    wanted: Wanted
    blocks: Blocks
    whole: list[Ints]
    sources: Sources
    sink: Sink
    item_bytes: int

    def __call__(self, number: int, scratch: Scratch) -> None:
        if number >= self.blocks.total:
            self._files(self.whole[number - self.blocks.total], scratch)
            return
        items, where = _request(self.blocks, number)
        source = self.sources.open(int(self.blocks.source[number]))
        read_into = getattr(source, "read_into", None)
        if len(items) == 1 and read_into is not None:
            target = self.sink.direct(int(items[0]))
            if target is not None and len(target) == where.length:
                read_into(where.offset, target)
                return
        try:
            if read_into is not None:
                data = scratch.block(where.length)
                read_into(where.offset, data)
            else:
                data = memoryview(source.read([where])[0])
        except FetchFailed:
            _blame(source, self.wanted, items)
            raise
        self.sink.accept(items, self.wanted.offset[items] - where.offset, self.wanted.length[items], data, scratch)

    def _files(self, items: Ints, scratch: Scratch) -> None:
        if self.item_bytes and self.item_bytes <= SMALL_FILE:
            _deliver_whole(self.wanted, items, self.sources, self.sink, scratch)
            return
        for k, item in enumerate(items.tolist()):
            target = self.sink.direct(item)

            def memory(size: int, target: memoryview | None = target) -> memoryview:
                return target if target is not None and len(target) == size else scratch.block(size)

            data = self.sources.whole_into(int(self.wanted.source[item]), memory)
            if data is None:
                self.sink.missing(items[k : k + 1])
            elif data is not target:
                self.sink.accept_each(items[k : k + 1], [data], scratch)


def _fetch_remote(
    wanted: Wanted, ranged: Ints, whole: Ints, sources: Sources, sink: Sink, options: ReadOptions, item_bytes: int
) -> None:
    blocks = _blocks_of(wanted, ranged, options.gap, options.block, len(wanted.source))
    groups = _groups(whole, sources.at_once)
    total = blocks.total + len(groups)
    largest = int(blocks.length.max()) if blocks.total else 1 << 20
    threads = max(2, min(options.concurrency, options.fetched() // max(largest, 1)))
    decoding = Decoders(options.decoders(item_bytes), options.result_limit())
    budget = Budget(options.fetched(), max(item_bytes, 1) * sources.at_once)

    def task(number: int, _: Scratch) -> None:
        if number >= blocks.total:
            chosen = groups[number - blocks.total]
            with budget.fetched() as known:
                found = sources.whole(wanted.source[chosen])
                known(sum(len(memoryview(data)) for data in found if data is not None))
                decoding.run(lambda scratch: _deliver(chosen, found, sink, scratch))
            return
        items, where = _request(blocks, number)
        source = sources.open(int(blocks.source[number]))
        try:
            data = memoryview(source.read([where])[0])
        except FetchFailed:
            _blame(source, wanted, items)
            raise
        decoding.run(lambda scratch: _in_parts(wanted, items, where, data, sink, scratch))

    if total == 1 and len(ranged) > 1:
        _one_request(wanted, blocks, sources, sink, options, item_bytes)
    else:
        run_tasks(total, task, threads, options.result_limit())


def _one_request(
    wanted: Wanted, blocks: Blocks, sources: Sources, sink: Sink, options: ReadOptions, item_bytes: int
) -> None:
    """A single request for several chunks: the threads share its decoding."""
    items, where = _request(blocks, 0)
    source = sources.open(int(blocks.source[0]))
    try:
        data = memoryview(source.read([where])[0])
    except FetchFailed:
        _blame(source, wanted, items)
        raise
    parts = np.array_split(items, min(len(items), 4 * options.workers()))

    def task(number: int, scratch: Scratch) -> None:
        _in_parts(wanted, parts[number], where, data, sink, scratch)

    run_tasks(len(parts), task, options.decoders(item_bytes), options.result_limit())


def _in_parts(wanted: Wanted, items: Ints, where: ByteRange, data: memoryview, sink: Sink, scratch: Scratch) -> None:
    sink.accept(items, wanted.offset[items] - where.offset, wanted.length[items], data, scratch)


def _request(blocks: Blocks, number: int) -> tuple[Ints, ByteRange]:
    items = blocks.order[int(blocks.edges[number]) : int(blocks.edges[number + 1])]
    return items, ByteRange(int(blocks.offset[number]), int(blocks.length[number]))


def _deliver_whole(wanted: Wanted, items: Ints, sources: Sources, sink: Sink, scratch: Scratch) -> None:
    _deliver(items, sources.whole(wanted.source[items]), sink, scratch)


def _deliver(items: Ints, found: list[Buffer | None], sink: Sink, scratch: Scratch) -> None:
    values = [data for data in found if data is not None]
    if len(values) < len(found):
        absent = np.fromiter((data is None for data in found), bool, len(found))
        sink.missing(items[absent])
        items = items[~absent]
    if len(items):
        sink.accept_each(items, values, scratch)


def _blame(source: Source, wanted: Wanted, items: Ints) -> None:
    """A merged request failed: find the range at fault, so that the error names it and not the merged one."""
    if len(items) < 2:
        return
    for item in items[:64].tolist():
        source.read([ByteRange(int(wanted.offset[item]), int(wanted.length[item]))])
