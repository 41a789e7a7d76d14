"""Local sources: read by the threads that decode, into memory that each of them uses again."""

from __future__ import annotations

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetching.deliver import deliver
from byteatlas.array.reading.fetching.fetched import Separate
from byteatlas.array.reading.fetching.pool import ReadScratch, run_tasks
from byteatlas.array.reading.fetching.receivers import ChunkReceiver, LendsMemory, Ranges, Receiver, lends_memory
from byteatlas.array.reading.fetching.requests import parts_of, read_request, requests_for
from byteatlas.array.reading.fetching.sources import get_into
from byteatlas.array.spaces import Items
from byteatlas.errors import FetchFailed
from byteatlas.io.ranges import Requests
from byteatlas.io.source import reads_into
from byteatlas.values import dataclass

MOST_ITEMS = 1 << 15
"""Most ranges handled as one task."""
TASK_BYTES = 4 << 20
"""Most bytes that one task decodes to, about."""
SMALL_BLOCK = 64 << 10
"""Smaller blocks are not worth a thread of their own."""
FEW_BYTES = 128 << 10
"""So many bytes are read before a second thread has begun."""
MOST_FILES = 1 << 10
"""Most whole files read as one task."""
LARGE = 64 << 20
"""Blocks of more bytes are looked for in the file before memory is taken for them."""
SMALL_FILE = 64 << 10
"""Whole files that decode to at most this many bytes are read in bulk."""
TINY_FILE = 8 << 10
"""Whole files that decode to at most this many bytes are read by one thread."""


def read_ranges(ranges: Ranges, receiver: Receiver, options: ReadOptions, nbytes: int) -> None:
    """Read ranges of local files, merged into blocks that are small enough for the caches."""
    workers = options.decoders(nbytes)
    size = int(ranges.length.sum())
    block = max(min(options.local_block, size // (2 * workers)), SMALL_BLOCK)
    most = MOST_ITEMS if not nbytes else max(1, min(MOST_ITEMS, TASK_BYTES // nbytes))
    requests = requests_for(ranges, options.local_gap, block, most)
    task = _ReadBlock(ranges, requests, receiver, receiver if lends_memory(receiver) else None)
    run_tasks(requests.total, task, 1 if size <= FEW_BYTES else workers, options.result_limit())


@dataclass(frozen=True, slots=True, eq=False)
class _ReadBlock:
    """Task k: read one merged request and have decoded what it holds."""

    ranges: Ranges
    requests: Requests
    receiver: Receiver
    lender: LendsMemory | None

    def __call__(self, number: int, scratch: ReadScratch) -> None:
        covered, where = self.requests.covers(number), self.requests.range(number)
        source = self.ranges.sources.open(int(self.requests.source[number]))
        items = Items(self.ranges.item[covered])
        if reads_into(source):
            if self.lender is not None and len(items) == 1:
                lent = self.lender.memory(int(items[0]))
                if lent is not None and len(lent) == where.length:
                    source.read_into(where.offset, lent)
                    return
            if where.length > LARGE and where.end > source.size():
                read_request(source, self.ranges, covered, where)  # raises before memory is taken for what is not there
            data = scratch.block(where.length)
            try:
                source.read_into(where.offset, data)
            except FetchFailed:
                read_request(source, self.ranges, covered, where)  # says which range is at fault
                raise
        else:
            data = read_request(source, self.ranges, covered, where)
        self.receiver.accept(items, parts_of(data, self.ranges, covered, where), scratch)


def read_whole(ranges: Ranges, receiver: ChunkReceiver, options: ReadOptions, nbytes: int) -> None:
    """Read whole local files."""
    small = 0 < nbytes <= SMALL_FILE
    at_once = max(1, min(MOST_FILES, TASK_BYTES // nbytes)) if nbytes else 16
    total = -(-len(ranges) // at_once)
    lender = receiver if lends_memory(receiver) else None

    def task(number: int, scratch: ReadScratch) -> None:
        some = slice(number * at_once, (number + 1) * at_once)
        if small:
            deliver(ranges, some, receiver, scratch)
        else:
            _read_files(ranges, range(len(ranges))[some], receiver, lender, scratch)

    # Opening, reading and closing tiny files gives up the interpreter's lock three times each: threads only get in
    # each other's way. Benchmark: ``reading``, "read 100000 chunks of 256 bytes", native store.
    alone = 0 < nbytes <= TINY_FILE or len(ranges) * SMALL_FILE <= FEW_BYTES
    run_tasks(total, task, 1 if alone else options.decoders(nbytes), options.result_limit())


def _read_files(
    ranges: Ranges, numbers: range, receiver: ChunkReceiver, lender: LendsMemory | None, scratch: ReadScratch
) -> None:
    """Read files one by one, into the receiver's memory where it has some."""
    for number in numbers:
        items = Items(ranges.item[number : number + 1])
        lent = None if lender is None else lender.memory(int(items[0]))

        def memory(size: int, lent: memoryview | None = lent) -> memoryview:
            return lent if lent is not None and len(lent) == size else scratch.block(size)

        data = get_into(ranges.sources, int(ranges.source[number]), memory)
        if data is None:
            receiver.absent(items)
        elif data is not lent:
            receiver.accept(items, Separate([data]), scratch)
