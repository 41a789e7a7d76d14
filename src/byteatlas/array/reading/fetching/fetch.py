"""Fetch byte ranges, or whole sources: local ones by the threads that decode, remote ones all at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetching import local, remote
from byteatlas.array.reading.fetching.receivers import ChunkReceiver, Ranges, Receiver
from byteatlas.array.spaces import SourceNumbers
from byteatlas.errors import InvalidMetadata
from byteatlas.types import Ints


def fetch(ranges: Ranges, receiver: Receiver, options: ReadOptions, nbytes: int = 0) -> None:
    """Fetch ranges, none of them a whole source. ``nbytes``: what one decodes to, for balance (0: not known).

    Raises `FetchFailed` for a range that cannot be fetched in full, and whatever the receiver raises.
    """
    if not len(ranges):
        return
    _check(ranges)
    for is_local, some in _by_place(ranges):
        if is_local:
            local.read_ranges(some, receiver, options, nbytes)
        else:
            remote.request_ranges(some, receiver, options, nbytes)


def fetch_chunks(ranges: Ranges, receiver: ChunkReceiver, options: ReadOptions, nbytes: int) -> None:
    """Fetch chunks, which may be ranges or whole sources. Raises what `fetch` raises."""
    if not len(ranges):
        return
    whole = ranges.whole()
    if not whole.any():
        fetch(ranges, receiver, options, nbytes)
        return
    if not whole.all():
        fetch(ranges.only(~whole), receiver, options, nbytes)
        ranges = ranges.only(whole)
    for is_local, some in _by_place(ranges):
        if is_local:
            local.read_whole(some, receiver, options, nbytes)
        else:
            remote.request_whole(some, receiver, options, nbytes)


def _by_place(ranges: Ranges) -> Iterator[tuple[bool, Ranges]]:
    """Those in local sources, then those in remote ones."""
    numbers = _distinct(ranges.source)
    local_sources = ranges.sources.local(SourceNumbers(numbers))
    if local_sources.all() or not local_sources.any():
        yield bool(local_sources[0]), ranges
        return
    local_ones = np.isin(ranges.source, numbers[local_sources])
    yield True, ranges.only(local_ones)
    yield False, ranges.only(~local_ones)


def _distinct(numbers: Ints) -> Ints:
    """The different ones. Chunks under keys of their own are numbered upwards: then nothing needs to be sorted."""
    return numbers if bool((numbers[1:] > numbers[:-1]).all()) else np.unique(numbers)


def _check(ranges: Ranges) -> None:
    """No negative numbers and no wrap-around: columns come from untrusted maps."""
    if bool((ranges.offset < 0).any()) or bool((ranges.length < 0).any()):
        raise InvalidMetadata("", "a reference has an offset or length beyond 2**63")
    if bool((ranges.offset > np.iinfo(np.int64).max - ranges.length).any()):
        raise InvalidMetadata("", "a reference ends beyond 2**63")
