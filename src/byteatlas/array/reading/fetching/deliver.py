"""Whole sources, handed to a receiver: their bytes, or that they are absent."""

from __future__ import annotations

import numpy as np

from byteatlas.array.reading.fetching.fetched import Separate
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.fetching.receivers import ChunkReceiver, Ranges
from byteatlas.array.reading.fetching.sources import get_many
from byteatlas.array.spaces import Items, SourceNumbers
from byteatlas.types import Buffer


def deliver(ranges: Ranges, some: slice, receiver: ChunkReceiver, scratch: ReadScratch) -> None:
    """Read some of the sources in bulk and hand them over."""
    found = get_many(ranges.sources, SourceNumbers(ranges.source[some]))
    hand_over(Items(ranges.item[some]), found, receiver, scratch)


def hand_over(items: Items, found: list[Buffer | None], receiver: ChunkReceiver, scratch: ReadScratch) -> None:
    """Hand over what was found; None: absent."""
    values = [data for data in found if data is not None]
    if len(values) < len(found):
        absent = np.fromiter((data is None for data in found), bool, len(found))
        receiver.absent(Items(items[absent]))
        items = Items(items[~absent])
    if len(items):
        receiver.accept(items, Separate(values), scratch)
