"""Sources around a source: coalescing, block caching, counting."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from byteatlas.errors import FetchFailed
from byteatlas.io.ranges import merge
from byteatlas.io.retry import Retrying
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass, field

if TYPE_CHECKING:
    from byteatlas.io.traffic.traffic import Meter


LEAST_BLOCK = 16 << 10
"""Smaller blocks are not divided into pages."""
FEW_BLOCKS = 16
"""Up to so many missing blocks are fetched whole; a batch that misses more of them reads leaves."""
MOST_GAP, MOST_AT_ONCE = 128 << 10, 8 << 20
"""Bytes between pages that are fetched with them, at most; bytes of one request, about."""
ROUNDS_SAVED = 4
"""Round trips that reading ahead saves, about."""
AT_ONCE = 64
"""Requests of one batch that are under way at a time."""


def coalesce(ranges: Sequence[ByteRange], gap: int, block: int) -> tuple[list[ByteRange], list[int]]:
    """The requests for ranges of one source (`byteatlas.io.ranges.merge`), and for each range the number of its own.

    >>> coalesce([ByteRange(10, 5), ByteRange(0, 8), ByteRange(99, 1)], gap=4, block=100)
    ([ByteRange(offset=0, length=15), ByteRange(offset=99, length=1)], [0, 0, 1])
    """
    offset = np.array([r.offset for r in ranges], np.int64)
    length = np.array([r.length for r in ranges], np.int64)
    requests = merge(np.zeros(len(ranges), np.int64), offset, length, gap, block)
    owner = np.empty(len(ranges), np.int64)
    owner[requests.order] = np.repeat(np.arange(requests.total), np.diff(requests.edges))
    return [requests.range(k) for k in range(requests.total)], owner.tolist()


@dataclass(frozen=True, slots=True)
class Coalescing:
    """Few large requests for many small ranges."""

    inner: Source
    gap: int = 64 << 10
    block: int = 8 << 20

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        return self.inner.size()

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        if len(ranges) < 2:
            return self.inner.read(ranges)
        merged, owner = coalesce(ranges, self.gap, self.block)
        blocks = [memoryview(b) for b in self.inner.read(merged)]
        starts = [m.offset for m in merged]
        return [blocks[k][r.offset - starts[k] : r.end - starts[k]] for r, k in zip(ranges, owner, strict=True)]

    def read_all(self) -> Buffer:
        return self.inner.read_all()


class BlockCache:
    """Pages kept in memory, least recently used ones dropped: for parsers that ask for many small ranges.

    One call fetches all that it misses with one ``read`` of the inner source. A few structures bring the whole blocks
    that they lie in, since what they lead to is often near. Many at once (the leaves of an index) bring their pages
    alone; and what lies between them, where that is fetched sooner than it is left out.

    Args:
        block: bytes; a fourth of it is a page.
    """

    def __init__(self, inner: Source, block: int = 64 << 10, capacity: int = 64 << 20) -> None:
        self._inner, self._block = inner, block
        self._page = block // 4 if block >= LEAST_BLOCK else block
        self._most = max(1, capacity // self._page)
        self._pages: OrderedDict[int, memoryview] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return self._inner.url

    @property
    def inner(self) -> Source:
        return self._inner

    def size(self) -> int:
        return self._inner.size()

    def read_all(self) -> Buffer:
        return self._inner.read_all()

    def warm(self) -> None:
        """Ask for the size and the first block in one round trip, and where the source can do that in one request.

        Raises `FetchFailed` when the file is not there or cannot be reached.
        """
        first = self._beginning()
        if first is not None:
            size = self._inner.size()
            self.unwanted(len(first))
            self._keep(self._paged(ByteRange(0, len(first)), first, size))

    def _beginning(self) -> Buffer | None:
        """The first block, or less of it in a smaller file; None where there is none, or it takes a second request."""
        if isinstance(self._inner, Retrying):
            try:
                found = self._inner.first(self._block)
            except FetchFailed as error:
                if error.transient or error.absent or error.denied:
                    raise
                return None  # an empty file above all, which has no first byte
            if found is not None:
                return found
        from concurrent.futures import ThreadPoolExecutor  # not for local files

        with ThreadPoolExecutor(1) as pool:
            size = pool.submit(self._inner.size)
            try:
                first = self._inner.read([ByteRange(0, self._block)])
            except FetchFailed:
                first = []
            size.result()
        return first[0] if first else None

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        size, step = self.size(), self._page
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > size:
                raise FetchFailed(self.url, f"the file has only {size} bytes", where)
        large = [r for r in ranges if r.length > 4 * self._block]
        wanted = {
            p
            for r in ranges
            if 0 < r.length <= 4 * self._block
            for p in range(r.offset // step, (r.end - 1) // step + 1)
        }
        with self._lock:
            have = {p: self._pages[p] for p in wanted if p in self._pages}
        runs = self._requests(wanted - have.keys(), size)
        asks = runs + large
        found = self._inner.read(asks) if asks else []
        for run, data in zip(runs, found, strict=False):
            have.update(self._paged(run, data, size))
        bulk = iter(found[len(runs) :])
        out = [next(bulk) if r.length > 4 * self._block else _cut(have, r, step) for r in ranges]
        self._keep(have)
        self._reckon(ranges, asks)
        return out

    def _requests(self, missing: set[int], size: int) -> list[ByteRange]:
        """The ranges that bring some pages."""
        if not missing:
            return []
        step, each = self._page, max(self._block // self._page, 1)
        meter = self._meter()
        gap = None if meter is None else meter.gap(MOST_GAP, AT_ONCE)
        blocks = {p // each for p in missing}
        if size <= FEW_BLOCKS * self._block and self._is_soon_here(size):  # there sooner than what it leads to
            blocks = set(range(-(-size // self._block)))
        if len(blocks) <= FEW_BLOCKS:
            with self._lock:
                missing = {p for b in blocks for p in range(b * each, (b + 1) * each) if p not in self._pages}
            missing = {p for p in missing if p * step < size}
            gap = 0
        pages = [ByteRange(p * step, min(step, size - p * step)) for p in sorted(missing)]
        return coalesce(pages, self._block if gap is None else gap, MOST_AT_ONCE)[0]

    def _paged(self, where: ByteRange, data: Buffer, size: int) -> dict[int, memoryview]:
        """The whole pages of a range that begins with one."""
        view, step = memoryview(data), self._page
        first = where.offset // step
        count = -(-where.length // step) if where.end == size else where.length // step
        return {first + k: view[k * step : (k + 1) * step] for k in range(count)}

    def _reckon(self, ranges: Sequence[ByteRange], asks: Sequence[ByteRange]) -> None:
        """What was asked for, in place of what that takes to fetch."""
        meter = self._meter()
        if meter is not None:
            meter.wanted(sum(r.length for r in ranges) - sum(r.length for r in asks))

    def _meter(self) -> Meter | None:
        from byteatlas.io.traffic.traffic import meter_of  # not for local files, which no cache stands before

        return meter_of(self._inner)

    def unwanted(self, nbytes: int) -> None:
        """So many bytes were read ahead: no reader has asked for them yet."""
        meter = self._meter()
        if meter is not None:
            meter.wanted(-nbytes)

    def ahead(self, most: int) -> int:
        """Bytes, ``most`` at the most, that are better fetched before it is known whether they are needed: those that
        come in the time of a few round trips. Some blocks at least."""
        meter = self._meter()
        speed = None if meter is None else meter.speed()
        if speed is None:
            return most
        return min(most, max(FEW_BLOCKS * self._block, int(ROUNDS_SAVED * speed.latency * speed.bandwidth)))

    def _is_soon_here(self, size: int) -> bool:
        """Whether a whole file of this size comes in the time of a few round trips."""
        meter = self._meter()
        speed = None if meter is None else meter.speed()
        return speed is None or size <= ROUNDS_SAVED * speed.latency * speed.bandwidth

    def apart(self) -> Source:
        """The same file for ranges that stand alone: fetched as they are, unless their pages are here already."""
        return _Apart(self)

    def held(self, where: ByteRange) -> Buffer | None:
        """The bytes of a range whose pages are all here, else None."""
        step = self._page
        with self._lock:
            have = {p: self._pages.get(p) for p in range(where.offset // step, (where.end - 1) // step + 1)}
        whole = {p: view for p, view in have.items() if view is not None}
        return _cut(whole, where, step) if len(whole) == len(have) else None

    def _keep(self, pages: dict[int, memoryview]) -> None:
        with self._lock:
            for number, data in pages.items():
                self._pages[number] = data
                self._pages.move_to_end(number)
            while len(self._pages) > self._most:
                self._pages.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Apart:
    """Ranges that stand alone, of a file behind a `BlockCache`."""

    cache: BlockCache

    @property
    def url(self) -> str:
        return self.cache.url

    def size(self) -> int:
        return self.cache.size()

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        found = [self.cache.held(where) for where in ranges]
        wanted = [where for where, data in zip(ranges, found, strict=True) if data is None]
        fetched = iter(self.cache.inner.read(wanted) if wanted else ())
        return [next(fetched) if data is None else data for data in found]

    def read_all(self) -> Buffer:
        return self.cache.read_all()


def _cut(blocks: dict[int, memoryview], where: ByteRange, step: int) -> Buffer:
    if not where.length:
        return b""
    first, last = where.offset // step, (where.end - 1) // step
    if first == last:
        return blocks[first][where.offset - first * step : where.end - first * step]
    joined = b"".join(blocks[k] for k in range(first, last + 1))
    return joined[where.offset - first * step : where.end - first * step]


@dataclass(slots=True)
class Counts:
    """What went through a `Counting` source: calls (round trips), requests (ranges) and bytes."""

    calls: int = 0
    requests: int = 0
    bytes: int = 0
    ranges: list[ByteRange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Counting:
    """Count requests; for tests and for ``stats``."""

    inner: Source
    counts: Counts = field(default_factory=Counts)

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        return self.inner.size()

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.counts.calls += 1
        self.counts.requests += len(ranges)
        self.counts.bytes += sum(r.length for r in ranges)
        self.counts.ranges.extend(ranges)
        return self.inner.read(ranges)

    def read_all(self) -> Buffer:
        self.counts.calls += 1
        self.counts.requests += 1
        data = self.inner.read_all()
        self.counts.bytes += len(data)
        return data
