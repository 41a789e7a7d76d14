"""A read from end to end: plan -> locate -> fetch -> decode -> scatter, each in a room (package) of its own.

``planning`` said which chunks a selection touches. Here they are located, and each goes one way (`strategies`): missing
ones become the fill value, inline ones are decoded, and the bytes of the others are fetched and handed, block by block,
to a receiver that decodes them and puts the values in their places.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.decoding.decoder import ChunkDecoder
from byteatlas.array.reading.fetching.fetch import fetch_chunks
from byteatlas.array.reading.fetching.fetched import Separate
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.fetching.receivers import ChunkReceiver
from byteatlas.array.reading.locating.places import ChunkPlaces
from byteatlas.array.reading.opening import ArrayChunks
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.reading.planning.points import PointPlan
from byteatlas.array.reading.scattering.assign import put
from byteatlas.array.reading.scattering.chunks import ChunkScatter
from byteatlas.array.reading.scattering.points import PointScatter, flat_places
from byteatlas.array.reading.strategies import choose, choose_for_points
from byteatlas.array.spaces import Items, PlanRows
from byteatlas.errors import ByteatlasError

MANY_MISSING = 32
"""From this many missing chunks on, the whole result is filled at once. Benchmark: ``selections``, "sparse"."""
MOST_CHUNKS = 1 << 20
"""Chunks planned at once; larger selections are read in batches, so that the columns stay small."""


def read_orthogonal(plan: ReadPlan, result: NDArray[Any], array: ArrayChunks, options: ReadOptions) -> None:
    """Fill ``result`` (of the plan's shape) with the selection.

    Raises `FetchFailed`, `CorruptChunk`, `InvalidMetadata`, `Unsupported`, with the array, chunk, URL and range.
    """
    target = plan.laid_out(result)
    for batch in plan.batches(MOST_CHUNKS):
        places = array.locate(batch.chunks())
        try:
            _read_batch(batch, target, array, places, options)
        except ByteatlasError as error:
            places.raise_named(error)


def _read_batch(
    plan: ReadPlan, target: NDArray[Any], array: ArrayChunks, places: ChunkPlaces, options: ReadOptions
) -> None:
    found = places.located
    missing, stored = found.missing(), found.stored()
    if len(missing) >= MANY_MISSING or len(missing) == plan.total:
        put(target, plan.bounds(), array.fill)
        missing = PlanRows(missing[:0])
    strategies = choose(plan, target, found, array)
    decoder = ChunkDecoder(array.pipelines, places, array.exact)
    scatter = ChunkScatter(plan, target, decoder, array.fill, strategies.tiles, strategies.direct)
    scatter.absent(Items(missing))
    _inline(places, scatter, options)
    if strategies.raw_parts is not None:
        stored = strategies.raw_parts.read(stored, scatter, options)
    fetch_chunks(found.take(stored), scatter, options, array.pipelines.typical_nbytes)


def read_points(plan: PointPlan, result: NDArray[Any], array: ArrayChunks, options: ReadOptions) -> None:
    """Fill ``result`` (one axis) with the points' values. Raises what `read_orthogonal` raises."""
    places = array.locate(plan.chunk)
    try:
        _read_points(plan, result, array, places, options)
    except ByteatlasError as error:
        places.raise_named(error)


def _read_points(
    plan: PointPlan, target: NDArray[Any], array: ArrayChunks, places: ChunkPlaces, options: ReadOptions
) -> None:
    found = places.located
    scatter = PointScatter(plan, target, ChunkDecoder(array.pipelines, places), array.fill, flat_places(plan, array))
    scatter.absent(Items(found.missing()))
    _inline(places, scatter, options)
    stored = found.stored()
    elements = choose_for_points(plan, target, found, array)
    if elements is not None:
        stored = elements.read(stored, scatter, options)
    fetch_chunks(found.take(stored), scatter, options, array.pipelines.typical_nbytes)


def _inline(places: ChunkPlaces, receiver: ChunkReceiver, options: ReadOptions) -> None:
    """Chunks whose bytes are in the manifest, one by one."""
    rows = places.located.inline()
    if not len(rows):
        return
    scratch = ReadScratch(options.result_limit())
    for row in rows.tolist():
        data = memoryview(places.locator.inline(int(places.chunks[row])))
        receiver.accept(Items(np.array([row])), Separate([data]), scratch)
