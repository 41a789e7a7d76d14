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


def _table(plus: tuple[int, ...], minus: tuple[int, ...] = ()) -> NDArray[np.int32]:
    """For each code of four bits a number: 1 for those in ``plus``, -1 for those in ``minus``."""
    found = np.zeros(16, np.int32)
    found[list(plus)] = 1
    found[list(minus)] = -1
    return found


CHANGES = _table((UP, UP_ONE), (DOWN, DOWN_ONE))
"""What instructions do to the level with their number."""
RUNS = _table((ZEROS, LEVEL, ZEROS_AND_ONE))
"""Those that make as many pixels as their number says."""
SINGLES = _table((UP_ONE, DOWN_ONE))
"""Those that make one pixel."""
FILLED = _table((LEVEL, UP_ONE, DOWN_ONE))
"""Those whose pixels have the level."""
SHORT = 24
"""Lists of so many instructions are done one by one."""


def decode_plio(data: Any, count: int) -> NDArray[np.int32]:
    """The ``count`` pixels of a line list of big-endian words; what it does not reach is zero.

    Raises `CorruptChunk` for a list that is damaged, or has more pixels than the tile.
    """
    codes = _instructions(np.frombuffer(data, ">u2", len(data) // 2).astype(np.int64))
    out = np.zeros(count, np.int32)
    if len(codes) <= SHORT:
        _one_by_one(codes.tolist(), out)
        return out
    operation, number = codes >> DATA_BITS & 15, codes & (1 << DATA_BITS) - 1
    if int(operation.max()) > DOWN_ONE:
        raise CorruptChunk("plio: an instruction that does not exist")
    level = np.cumsum(number * CHANGES[operation]) + 1
    sets = np.flatnonzero(operation == SET_HIGH)
    if len(sets):
        level = _with_sets(level, sets, codes)
    runs = number * RUNS[operation] + SINGLES[operation]
    ends = np.cumsum(runs)
    total = int(ends[-1])
    _check(total, count)
    out[:total] = np.repeat((level * FILLED[operation]).astype(np.int32), runs)
    single = np.flatnonzero((operation == ZEROS_AND_ONE) & (number > 0))
    out[ends[single] - 1] = level[single].astype(np.int32)
    return out


def _check(total: int, count: int) -> None:
    if total > count:
        raise CorruptChunk(f"plio: {total} pixels in a tile of {count}")


def _one_by_one(codes: list[int], out: NDArray[np.int32]) -> None:
    """The same for a few instructions."""
    level, at, count = 1, 0, len(out)
    for code in codes:
        operation, number, begin = code >> DATA_BITS & 15, code & (1 << DATA_BITS) - 1, at
        if operation in (ZEROS, LEVEL, ZEROS_AND_ONE):
            at += number
        elif operation == SET_HIGH:
            level = (code >> 16 << DATA_BITS) + number
        elif operation in (UP, UP_ONE):
            level += number
        elif operation in (DOWN, DOWN_ONE):
            level -= number
        else:
            raise CorruptChunk("plio: an instruction that does not exist")
        if operation in (UP_ONE, DOWN_ONE):
            at += 1
        _check(at, count)
        if operation in (LEVEL, UP_ONE, DOWN_ONE):
            out[begin:at] = level
        elif operation == ZEROS_AND_ONE and number:
            out[at - 1] = level


def _with_sets(level: NDArray[np.int64], sets: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The level after each instruction, where some set it; ``level``: as if these did nothing."""
    value = (codes[sets] >> 16 << DATA_BITS) + (codes[sets] & (1 << DATA_BITS) - 1)
    moved = np.zeros(len(level), np.int64)
    moved[sets] = np.diff(value - level[sets], prepend=0)
    return level + np.cumsum(moved)


def _instructions(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """The instructions: one word each, SET_HIGH with the word after it in the upper bits."""
    if len(words) < 3:
        raise CorruptChunk("plio: a list without a header")
    if 0 < words[2] < 1 << 15:
        length, first = int(words[2]), 3
    else:
        if len(words) < 5:
            raise CorruptChunk("plio: a list without a header")
        length, first = (int(words[4]) << 15) + int(words[3]), int(words[1])
    if not 0 <= first <= length <= len(words):
        raise CorruptChunk(f"plio: a list of {length} words, of which there are {len(words)}")
    body = words[first:length]
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
