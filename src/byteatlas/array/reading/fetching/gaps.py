"""Which ranges of a remote file become one request, by what is known of its server.

What lies between two ranges is fetched with them where that takes less time than a further request: with many requests
under way at a time, latency divided by their number, times bandwidth. Over a slow line that is a few kilobytes, over a
fast one more than `ReadOptions.gap`, which is the most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetching.receivers import Ranges
from byteatlas.array.reading.fetching.requests import requests_for
from byteatlas.array.reading.fetching.sources import Sources
from byteatlas.io.ranges import Requests, merge
from byteatlas.types import Ints
from byteatlas.values import replace

if TYPE_CHECKING:
    from byteatlas.io.traffic.traffic import Meter

PROBE = 256 << 10
"""Bytes of the request that shows how fast a server is of which nothing is known: 0.2 s at 10 Mbit/s."""
MUCH = 1 << 20
"""Bytes between ranges that are worth knowing first whether they are cheap."""
SLOW, SPARE = 8, 0.25
"""A line is slow where an eighth of the usual gap costs as much as a request (65 Mbit/s at 30 ms): what is fetched
besides is then a quarter of what is wanted at most, for the few requests that this takes more."""
UNKNOWN = 16 << 10
"""Bytes between parts of one chunk that are planned as one request before anything is known; they are merged again."""


def meter_for(sources: Sources, numbers: Ints) -> Meter | None:
    """What measures the server of these sources: that of the first one, since files of one array have one as a rule."""
    from byteatlas.io.traffic.traffic import meter_of  # not for local files

    return meter_of(sources.open(int(numbers[0]))) if len(numbers) else None


def measured(options: ReadOptions, meter: Meter | None, unknown: int | None = None) -> ReadOptions:
    """The options with the gap that the server's speed says.

    ``unknown``: the gap as long as it says nothing; None = that of the options.
    """
    if meter is None:
        return options
    gap = meter.gap(options.gap, options.concurrency)
    gap = options.gap if gap is None and unknown is None else unknown if gap is None else gap
    return options if gap is None or gap >= options.gap else replace(options, gap=gap)


def sparing(ranges: Ranges, options: ReadOptions, most: int) -> Requests:
    """The merged requests for ranges. Over a slow line (see `SLOW`) no more than `SPARE` of what is wanted is added."""
    requests = requests_for(ranges, options.gap, options.block, len(ranges))
    if options.gap >= most // SLOW:
        return requests
    gap, wanted = options.gap, int(ranges.length.sum())
    while gap and int(requests.length.sum()) > wanted + int(wanted * SPARE):
        gap //= 4
        requests = requests_for(ranges, gap, options.block, len(ranges))
    return requests


def probe(requests: Requests, source: Ints, offset: Ints, length: Ints, options: ReadOptions) -> Ints | None:
    """The ranges to fetch first, as one request, where most of what would be fetched lies between ranges.

    None where nothing is to be gained: little lies between them.
    """
    wanted, total = int(length.sum()), int(requests.length.sum())
    if total - wanted < max(MUCH, wanted // 4):
        return None
    pieces = merge(source, offset, length, options.gap, PROBE)
    sizes = np.where(pieces.length <= PROBE, pieces.length, 0)
    return pieces.covers(int(np.argmax(sizes))) if int(sizes.max()) >= PROBE // 4 else None
