"""Rows of a grid as they are stored: how many points each has, and which way they run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.errors import CorruptChunk

COLUMNS_FIRST, ALTERNATING = 0x20, 0x10
"""Flags of the scanning mode (flag table 3.4; the second one only in edition 2)."""
MISSING1 = 0xFFFF
SCANNING = {
    **dict.fromkeys((0, 1, 2, 3, 40, 41, 42, 43), 71),
    **dict.fromkeys((4, 5), 47),
    **dict.fromkeys((10, 12, 13), 59),
    **dict.fromkeys((20, 23, 30, 31, 33), 64),
    **dict.fromkeys((90, 140), 63),
    110: 56,
}
"""Where section 3 has the scanning mode, by grid definition template; the others have no rows."""


def sides(edition: int, grid: bytes) -> tuple[int, int]:
    """Points along the first and the second axis of the grid, as the grid section has them."""
    if edition == 1:
        return unsigned(grid, 6, 2), unsigned(grid, 8, 2)
    return unsigned(grid, 30, 4), unsigned(grid, 34, 4)


def scanning_mode(edition: int, grid: bytes) -> int:
    """Flags that say in which order points are stored; 0 for grids that have none."""
    if edition == 1:
        return unsigned(grid, 27, 1)
    place = SCANNING.get(unsigned(grid, 12, 2))
    return 0 if place is None else unsigned(grid, place, 1)


def row_lengths(edition: int, grid: bytes, points: int) -> NDArray[np.int64]:
    """Points of each stored row (of each column, where points are stored column by column). Raises `CorruptChunk`."""
    reduced = points_of_rows(edition, grid)
    if reduced is not None:
        found = reduced
    else:
        first, second = sides(edition, grid)
        if scanning_mode(edition, grid) & COLUMNS_FIRST:
            first, second = second, first
        if first * second != points:
            raise CorruptChunk(f"grib: {second} rows of {first} points where there are {points} points")
        found = np.full(second, first, np.int64)
    if int(found.sum()) != points:
        raise CorruptChunk(f"grib: rows of {int(found.sum())} points where there are {points}")
    return found


def points_of_rows(edition: int, grid: bytes) -> NDArray[np.int64] | None:
    """The list of points of each row of a reduced grid; None for a regular one. Raises `CorruptChunk`."""
    if edition == 2:
        size = unsigned(grid, 10, 1)
        rows = unsigned(grid, 34, 4)
        at = len(grid) - size * rows
        if not size:
            return None
        if size not in (1, 2, 4) or at < 14:
            raise CorruptChunk(f"grib: a list of {rows} numbers of {size} bytes in a section of {len(grid)}")
        return np.frombuffer(grid, f">u{size}", rows, at).astype(np.int64)
    rows, at = unsigned(grid, 8, 2), after_vertical(grid)
    if unsigned(grid, 6, 2) != MISSING1 or at + 2 * rows > len(grid):
        return None
    return np.frombuffer(grid, ">u2", rows, at).astype(np.int64)


def after_vertical(grid: bytes) -> int:
    """Where edition 1's vertical coordinates end, and the list of points of each row begins. Raises `CorruptChunk`."""
    count, place = unsigned(grid, 3, 1), unsigned(grid, 4, 1)
    at = (32 if place == 0xFF else max(place - 1, 0)) + 4 * count
    if count and at > len(grid):
        raise CorruptChunk(f"grib: {count} vertical coordinates in a grid section of {len(grid)} bytes")
    return at


def straightened(values: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Values of which every second row (the second, the fourth...) runs the other way, all in one direction."""
    if len(lengths) and (lengths == lengths[0]).all():
        rows = values.reshape(len(lengths), int(lengths[0])).copy()
        rows[1::2] = rows[1::2, ::-1].copy()
        return rows.reshape(-1)
    found = values.copy()
    ends = np.cumsum(lengths)
    for first, last in zip((ends - lengths)[1::2].tolist(), ends[1::2].tolist(), strict=True):
        found[first:last] = values[first:last][::-1]
    return found
