"""Remote sources: as many requests at once as allowed, while what has come is decoded by threads of its own."""

from __future__ import annotations

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetching.deliver import hand_over
from byteatlas.array.reading.fetching.gaps import measured, meter_for, probe, sparing
from byteatlas.array.reading.fetching.pool import Budget, Decoders, ReadScratch, run_tasks
from byteatlas.array.reading.fetching.receivers import ChunkReceiver, Ranges, Receiver
from byteatlas.array.reading.fetching.requests import parts_of, read_request, requests_for
from byteatlas.array.reading.fetching.sources import get_many, may_say_absent
from byteatlas.array.spaces import Items, SourceNumbers
from byteatlas.io.ranges import Requests

GUESS = 1 << 20
"""What a whole object has, as long as none has come."""


def request_ranges(ranges: Ranges, receiver: Receiver, options: ReadOptions, nbytes: int) -> None:
    """Request ranges, merged as the server's speed says; at most `ReadOptions.fetched` bytes wait for being decoded."""
    meter = meter_for(ranges.sources, ranges.source)
    if meter is not None and meter.gap(options.gap, options.concurrency) is None:
        requests = requests_for(ranges, options.gap, options.block, len(ranges))
        first = probe(requests, ranges.source, ranges.offset, ranges.length, options)
        if first is not None:
            chosen = np.zeros(len(ranges), bool)
            chosen[first] = True
            some = ranges.only(chosen)
            _request(some, requests_for(some, options.gap, options.block, len(some)), receiver, options, nbytes)
            ranges = ranges.only(~chosen)
    if len(ranges):
        requests = sparing(ranges, measured(options, meter), options.gap)
        _request(ranges, requests, receiver, options, nbytes)


def _request(ranges: Ranges, requests: Requests, receiver: Receiver, options: ReadOptions, nbytes: int) -> None:
    meter = meter_for(ranges.sources, ranges.source)
    if meter is not None:
        meter.wanted(int(ranges.length.sum()) - int(requests.length.sum()))
    if requests.total == 1 and len(ranges) > 1:
        _one_request(ranges, requests, receiver, options, nbytes)
        return
    decoding = Decoders(options.decoders(nbytes), options.result_limit())

    def task(number: int, _: ReadScratch) -> None:
        covered, where = requests.covers(number), requests.range(number)
        source = ranges.sources.open(int(requests.source[number]))
        data = read_request(source, ranges, covered, where)
        parts = parts_of(data, ranges, covered, where)
        decoding.run(lambda scratch: receiver.accept(Items(ranges.item[covered]), parts, scratch))

    threads = _requests_at_once(options, int(requests.length.max()))
    run_tasks(requests.total, task, threads, options.result_limit())


def _requests_at_once(options: ReadOptions, largest: int) -> int:
    return max(2, min(options.concurrency, options.fetched() // max(largest, 1)))


def _one_request(ranges: Ranges, requests: Requests, receiver: Receiver, options: ReadOptions, nbytes: int) -> None:
    """A single request for several chunks: the threads share its decoding.

    Benchmark: ``remote``, "data[0], 16 chunks".
    """
    covered, where = requests.covers(0), requests.range(0)
    data = read_request(ranges.sources.open(int(requests.source[0])), ranges, covered, where)
    shares = np.array_split(covered, min(len(covered), 4 * options.workers()))

    def task(number: int, scratch: ReadScratch) -> None:
        share = shares[number]
        receiver.accept(Items(ranges.item[share]), parts_of(data, ranges, share, where), scratch)

    run_tasks(len(shares), task, options.decoders(nbytes), options.result_limit())


def request_whole(ranges: Ranges, receiver: ChunkReceiver, options: ReadOptions, nbytes: int) -> None:
    """Request whole objects. How large they are is known when they have come."""
    sources = ranges.sources
    at_once = sources.at_once() if may_say_absent(sources) else 1
    decoding = Decoders(options.decoders(nbytes), options.result_limit())
    budget = Budget(options.fetched(), max(nbytes, 1) * at_once)

    def task(number: int, _: ReadScratch) -> None:
        some = slice(number * at_once, (number + 1) * at_once)
        with budget.fetched() as known:
            found = get_many(sources, SourceNumbers(ranges.source[some]))
            known(sum(len(memoryview(data)) for data in found if data is not None))
            decoding.run(lambda scratch: hand_over(Items(ranges.item[some]), found, receiver, scratch))

    run_tasks(-(-len(ranges) // at_once), task, _requests_at_once(options, GUESS), options.result_limit())
