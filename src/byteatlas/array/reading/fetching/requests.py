"""One merged request: read it, and hand out what it holds."""

from __future__ import annotations

from byteatlas.array.reading.fetching.fetched import BlockParts, Fetched, Separate
from byteatlas.array.reading.fetching.receivers import Ranges
from byteatlas.errors import FetchFailed
from byteatlas.io.ranges import Requests, merge
from byteatlas.io.source import Source
from byteatlas.types import ByteRange, Ints

MOST_TRIED = 64
"""Ranges of a failed request that are asked for by themselves."""


def requests_for(ranges: Ranges, gap: int, block: int, most_items: int) -> Requests:
    """The requests for these ranges; what they cover are places in the columns of ``ranges``."""
    return merge(ranges.source, ranges.offset, ranges.length, gap, block, most_items)


def read_request(source: Source, ranges: Ranges, covered: Ints, where: ByteRange) -> memoryview:
    """The bytes of a request. Raises `FetchFailed`, for the range at fault rather than for the whole request."""
    try:
        return memoryview(source.read([where])[0])
    except FetchFailed:
        if len(covered) > 1:
            for number in covered[:MOST_TRIED].tolist():
                source.read([ranges.at(number)])
        raise


def parts_of(block: memoryview, ranges: Ranges, covered: Ints, where: ByteRange) -> Fetched:
    """The ranges that a request covers, as parts of its bytes."""
    if len(covered) == 1 and int(ranges.length[covered[0]]) == where.length:
        return Separate([block])
    return BlockParts(block, ranges.offset[covered] - where.offset, ranges.length[covered])
