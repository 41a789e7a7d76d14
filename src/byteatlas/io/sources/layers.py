"""Sources around a source: coalescing, block caching, counting."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from byteatlas.errors import FetchFailed
from byteatlas.io.ranges import merge
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass, field


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
    """Whole blocks kept in memory, least recently used ones dropped: for parsers that ask for many small ranges.

    One call fetches all of its missing blocks with one ``read`` of the inner source, neighbours as one range.
    """

    def __init__(self, inner: Source, block: int = 64 << 10, capacity: int = 64 << 20) -> None:
        self._inner, self._block = inner, block
        self._most = max(1, capacity // block)
        self._blocks: OrderedDict[int, memoryview] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return self._inner.url

    def size(self) -> int:
        return self._inner.size()

    def read_all(self) -> Buffer:
        return self._inner.read_all()

    def warm(self) -> None:
        """Ask for the size and the first block at the same time: one round trip instead of two.

        A file that is smaller than a block gives no block; what is wrong with a file is said by `size`.
        """
        from concurrent.futures import ThreadPoolExecutor  # not for local files

        with ThreadPoolExecutor(1) as pool:
            size = pool.submit(self._inner.size)
            try:
                first = self._inner.read([ByteRange(0, self._block)])
            except FetchFailed:
                first = []
            size.result()
        if first:
            self._keep({0: memoryview(first[0])})

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        size, step = self.size(), self._block
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > size:
                raise FetchFailed(self.url, f"the file has only {size} bytes", where)
        large = [r for r in ranges if r.length > 4 * step]
        wanted = {
            b for r in ranges if 0 < r.length <= 4 * step for b in range(r.offset // step, (r.end - 1) // step + 1)
        }
        with self._lock:
            have = {b: self._blocks[b] for b in wanted if b in self._blocks}
        runs = _runs(sorted(wanted - have.keys()))
        asks = [ByteRange(a * step, min(b * step, size) - a * step) for a, b in runs] + large
        found = self._inner.read(asks) if asks else []
        for (a, b), data in zip(runs, found, strict=False):
            view = memoryview(data)
            have.update({k: view[(k - a) * step : (k - a + 1) * step] for k in range(a, b)})
        bulk = iter(found[len(runs) :])
        out = [next(bulk) if r.length > 4 * step else _cut(have, r, step) for r in ranges]
        self._keep(have)
        return out

    def apart(self) -> Source:
        """The same file for ranges that stand alone: fetched as they are, unless their blocks are here already."""
        return _Apart(self)

    def held(self, where: ByteRange) -> Buffer | None:
        """The bytes of a range whose blocks are all here, else None."""
        step = self._block
        with self._lock:
            have = {b: self._blocks.get(b) for b in range(where.offset // step, (where.end - 1) // step + 1)}
        whole = {b: view for b, view in have.items() if view is not None}
        return _cut(whole, where, step) if len(whole) == len(have) else None

    @property
    def inner(self) -> Source:
        return self._inner

    def _keep(self, blocks: dict[int, memoryview]) -> None:
        with self._lock:
            for number, data in blocks.items():
                self._blocks[number] = data
                self._blocks.move_to_end(number)
            while len(self._blocks) > self._most:
                self._blocks.popitem(last=False)


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


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    """Consecutive numbers as half-open runs.

    >>> _runs([1, 2, 3, 7])
    [(1, 4), (7, 8)]
    """
    out: list[tuple[int, int]] = []
    for n in numbers:
        if out and out[-1][1] == n:
            out[-1] = (out[-1][0], n + 1)
        else:
            out.append((n, n + 1))
    return out


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
