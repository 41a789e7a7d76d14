"""PLIO_1: pixel lists of IRAF, run-length codes of masks (FITS 4.0, section 10.4.3).

A line list is a header and instructions of 16 bits: four bits say what to do, twelve with what number. They are
executed all at once: the level that each run has is a running sum, the pixels are the runs repeated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptChunk

ZEROS, SET_HIGH, UP, DOWN, LEVEL, ZEROS_AND_ONE, UP_ONE, DOWN_ONE = range(8)
DATA_BITS = 12


def decode_plio(data: Any, count: int) -> NDArray[np.int32]:
    """The ``count`` pixels of a line list of big-endian words; what it does not reach is zero.

    Raises `CorruptChunk` for a list that is damaged, or has more pixels than the tile.
    """
    words = np.frombuffer(data, ">i2", len(data) // 2).astype(np.int64)
    codes = _instructions(words)
    operation, number = (codes & 0xFFFF) >> DATA_BITS, codes & (1 << DATA_BITS) - 1
    if bool((operation > DOWN_ONE).any()):
        raise CorruptChunk("plio: an instruction that does not exist")
    sets = operation == SET_HIGH
    level = _levels(operation, number, sets, codes)
    runs = np.where(operation <= DOWN_ONE, number, 0)
    runs[sets | (operation == UP) | (operation == DOWN)] = 0
    runs[(operation == UP_ONE) | (operation == DOWN_ONE)] = 1
    total = int(runs.sum())
    if total > count:
        raise CorruptChunk(f"plio: {total} pixels in a tile of {count}")
    out = np.zeros(count, np.int32)
    high = (operation == LEVEL) | (operation == UP_ONE) | (operation == DOWN_ONE)
    out[:total] = np.repeat(np.where(high, level, 0), runs).astype(np.int32)
    ends = np.cumsum(runs)
    single = (operation == ZEROS_AND_ONE) & (runs > 0)
    out[ends[single] - 1] = level[single].astype(np.int32)
    return out


def _instructions(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The instructions: one word each, SET_HIGH with the word after it in the upper bits."""
    if len(words) < 3:
        raise CorruptChunk("plio: a list without a header")
    if words[2] > 0:
        length, first = int(words[2]), 3
    else:
        if len(words) < 5:
            raise CorruptChunk("plio: a list without a header")
        length, first = (int(words[4]) << 15) + int(words[3]), int(words[1])
    if not 0 <= first <= length <= len(words):
        raise CorruptChunk(f"plio: a list of {length} words, of which there are {len(words)}")
    body = words[first:length] & 0xFFFF
    pairs = np.flatnonzero(body >> DATA_BITS == SET_HIGH).tolist()
    if not pairs:
        return body
    keep, last = np.ones(len(body), np.bool_), -1
    for at in pairs:
        if at == last:
            continue  # the second word of a pair, which looks like an instruction
        last = at + 1
        if last >= len(body):
            raise CorruptChunk("plio: the list ends within an instruction")
        keep[last] = False
    seconds = np.flatnonzero(~keep)
    body[seconds - 1] |= body[seconds] << 16
    return body[keep]


def _levels(
    operation: NDArray[np.int64], number: NDArray[np.int64], sets: NDArray[np.bool_], codes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The level after each instruction. It begins at one."""
    change = np.zeros(len(operation), np.int64)
    up, down = (operation == UP) | (operation == UP_ONE), (operation == DOWN) | (operation == DOWN_ONE)
    change[up], change[down] = number[up], -number[down]
    level = 1 + np.cumsum(change)
    if bool(sets.any()):
        value = ((codes >> 16) << DATA_BITS) + number
        at = np.maximum.accumulate(np.where(sets, np.arange(len(sets)), -1))
        moved = np.where(at >= 0, value[at] - level[at], 0)
        level = level + moved
    return level
