"""Numbers of any width out of big-endian streams of bits, without a loop over numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer

WIDEST = 64
BLOCK = 1 << 15
"""Values that are decoded at a time, so that all intermediate arrays stay in the cache."""


def stream(data: Buffer, name: str, start: int, nbits: int) -> None:
    """There are ``nbits`` bits from bit ``start`` on. Raises `CorruptChunk`."""
    if start + nbits > 8 * len(data):
        raise CorruptChunk(f"{name}: {nbits} bits from bit {start} on in {len(data)} bytes")


def aligned(nbits: int) -> int:
    """The next multiple of 8."""
    return -(-nbits // 8) * 8


def numbers(data: Buffer, start: int, width: int, count: int, name: str = "grib") -> NDArray[Any]:
    """``count`` unsigned numbers of ``width`` bits each (0 to 64) from bit ``start`` of ``data`` on.

    The result has shape (count,) and an unsigned dtype of 4 or 8 bytes, or is a big-endian view of ``data``. Raises
    `CorruptChunk` when the bits are not all there, before anything is allocated.
    """
    if width > WIDEST:
        raise CorruptChunk(f"{name}: numbers of {width} bits")
    stream(data, name, start, width * count)
    if not width or not count:
        return np.zeros(count, np.uint32)
    if width in (8, 16, 32, 64) and not start % 8:
        return np.frombuffer(data, f">u{width // 8}", count, start // 8)
    rows = -(-count // 8)
    found = np.empty((rows, 8), np.uint32 if width <= 25 else np.uint64)
    first = start // 8
    # The window of a number reaches up to 8 bytes beyond its own: the last rows are read from a padded copy.
    inside = max(0, min(rows, (len(data) - first - 16) // width - 1))
    _columns(found[:inside], data, start, width)
    tail = bytes(data[first + inside * width :])
    tail += bytes((rows - inside) * width + 16)
    _columns(found[inside:], tail, start % 8, width)
    return found.reshape(-1)[:count]


def _columns(out: NDArray[Any], data: Buffer, start: int, width: int) -> None:
    """Eight numbers take ``width`` bytes: the numbers of a column lie at the same bit of a byte."""
    rows = len(out)
    if not rows:
        return
    if width > 57:
        high, low = np.empty((rows, 8), np.uint64), np.empty((rows, 8), np.uint64)
        _windows(high, data, start, width - 32, width)
        _windows(low, data, start + width - 32, 32, width)
        np.left_shift(high, np.uint64(32), out=out)
        out |= low
    else:
        _windows(out, data, start, width, width)


def _windows(out: NDArray[Any], data: Buffer, start: int, width: int, step: int) -> None:
    size = out.dtype.itemsize
    for column in range(8):
        byte, bit = divmod(start + column * step, 8)
        window: NDArray[Any] = np.ndarray((len(out),), f">u{size}", data, byte, (step,))
        np.right_shift(window, out.dtype.type(8 * size - width - bit), out=out[:, column])
    out &= out.dtype.type((1 << width) - 1)


def groups(
    data: Buffer, start: int, widths: NDArray[np.int64], lengths: NDArray[np.int64], name: str
) -> NDArray[np.int64]:
    """Numbers of groups that lie one after another: ``lengths[i]`` numbers of ``widths[i]`` bits for each.

    Shape (sum of lengths,). The caller has bounded this sum. Raises `CorruptChunk`.
    """
    if len(widths) and int(widths.max()) > 56:
        raise CorruptChunk(f"{name}: groups of numbers of {int(widths.max())} bits")
    ends = np.cumsum(widths * lengths)
    stream(data, name, start, int(ends[-1]) if len(ends) else 0)
    total = int(lengths.sum())
    found = np.empty(total, np.int64)
    size = 4 if not len(widths) or int(widths.max()) <= 25 else 8
    padded = bytes(data) + bytes(size)
    windows: NDArray[Any] = np.ndarray((len(data) + 1,), f">u{size}", padded, 0, (1,))
    last = np.cumsum(lengths)
    group = done = 0
    while group < len(lengths):
        after = max(group + 1, int(np.searchsorted(last, done + BLOCK, "right")))
        bit = start + (int(ends[group - 1]) if group else 0)
        stop = int(last[after - 1])
        _gather(found[done:stop], windows, bit, widths[group:after], lengths[group:after])
        group, done = after, stop
    return found


def _gather(
    out: NDArray[np.int64], windows: NDArray[Any], bit: int, widths: NDArray[np.int64], lengths: NDArray[np.int64]
) -> None:
    """Each number is in the window at its first byte: taken out by a shift to the left and one to the right."""
    if not len(out):
        return
    kind = windows.dtype.newbyteorder("=")
    width = np.repeat(widths, lengths)
    place = np.cumsum(width)
    place -= width
    place += bit
    words = windows[place >> 3].astype(kind)
    place &= 7
    np.left_shift(words, place.astype(kind), out=words)
    np.subtract(8 * kind.itemsize, width, out=width)
    np.right_shift(words, width.astype(kind), out=words)  # by all bits for a width of 0: that gives 0
    out[:] = words
