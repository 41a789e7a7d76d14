"""The inverse of the H-transform, in integers, as HCOMPRESS has it (White 1992; FITS 4.0, section 10.4.4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def levels(length: int) -> int:
    """How often a length is halved, rounding up, until it is one.

    >>> levels(1), levels(5), levels(8)
    (0, 3, 3)
    """
    return max(0, length - 1).bit_length()


def inverse(found: NDArray[np.int64], scale: int) -> NDArray[np.int64]:
    """The image of these coefficients. ``scale``: of the digitisation, when the image is to be smoothed; else 0.

    Each step doubles the size of the block in the corner. Sums and differences of two by two numbers were rounded in
    such a way that their lowest bits can be told from each other's.
    """
    rows, columns = found.shape
    depth = levels(max(rows, columns))
    bit = 1 << (depth - 1)
    found[0, 0] = _rounded(found[:1, :1], bit << 2)[0, 0]
    for k in range(depth - 1, -1, -1):
        high, wide = -(-rows // (1 << k)), -(-columns // (1 << k))
        block = _interleaved(found[:high, :wide])
        if scale > 1:
            _smooth(block, scale >> 1)
        found[:high, :wide] = _unfolded(block, bit, 2 if k == 0 else 1)
        bit >>= 1
    return found


def _interleaved(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first half of the rows and columns at even places, the second half at odd ones."""
    high, wide = block.shape
    out = np.empty_like(block, order="C")
    x, y = (high + 1) // 2, (wide + 1) // 2
    out[0::2, 0::2], out[0::2, 1::2] = block[:x, :y], block[:x, y:]
    out[1::2, 0::2], out[1::2, 1::2] = block[x:, :y], block[x:, y:]
    return out


def _rounded(values: NDArray[np.int64], bit: int) -> NDArray[np.int64]:
    """To a multiple of ``bit`` (a power of two), halves away from zero."""
    half = bit >> 1
    below = half - 1 if half else 0
    found: NDArray[np.int64] = (values + np.where(values >= 0, half, below)) & -bit
    return found


def _unfolded(block: NDArray[np.int64], bit0: int, shift: int) -> NDArray[np.int64]:
    """Sums and differences to the numbers themselves; what is missing at an odd edge is zero."""
    high, wide = block.shape
    full = np.zeros((high + high % 2, wide + wide % 2), np.int64)
    full[:high, :wide] = block
    bit1 = bit0 << 1
    mean = full[0::2, 0::2]
    x, y = _rounded(full[1::2, 0::2], bit1), _rounded(full[0::2, 1::2], bit1)
    both = _rounded(full[1::2, 1::2], bit0)
    low0 = both & bit0
    x = np.where(x >= 0, x - low0, x + low0)
    y = np.where(y >= 0, y - low0, y + low0)
    low1 = (both ^ x ^ y) & bit1
    mean = np.where(mean >= 0, mean + low0 - low1, mean + np.where(low0 == 0, low1, low0 - low1))
    out = np.empty_like(full)
    out[1::2, 1::2] = mean + x + y + both >> shift
    out[1::2, 0::2] = mean + x - y - both >> shift
    out[0::2, 1::2] = mean - x + y - both >> shift
    out[0::2, 0::2] = mean - x - y + both >> shift
    return out[:high, :wide]


# --------------------------------------------------------------------------------------- smoothing


def _smooth(block: NDArray[np.int64], most: int) -> None:
    """Move differences towards what the neighbours' means suggest, by ``most`` at most; edges stay as they are."""
    high, wide = block.shape
    if high > 4:
        _slopes(block, most)
    if wide > 4:
        _slopes(block.T, most)
    if high > 4 and wide > 4:
        _curvature(block, most)


def _slopes(block: NDArray[np.int64], most: int) -> None:
    """Differences along the first axis."""
    inner = np.arange(2, block.shape[0] - 2, 2)
    before, here, after = block[inner - 2, 0::2], block[inner, 0::2], block[inner + 2, 0::2]
    up, down = after - here, here - before
    largest = np.maximum(np.minimum(up, down), 0) << 2
    least = np.minimum(np.maximum(up, down), 0) << 2
    wanted = np.maximum(np.minimum(after - before, largest), least)
    old = block[inner + 1, 0::2]
    block[inner + 1, 0::2] = old + np.where(least < largest, _limited(wanted - (old << 3), 3, most), 0)


def _curvature(block: NDArray[np.int64], most: int) -> None:
    """Differences of differences."""
    i = np.arange(2, block.shape[0] - 2, 2)[:, None]
    j = np.arange(2, block.shape[1] - 2, 2)[None, :]
    here = block[i, j]
    low_low, high_low = block[i - 2, j - 2], block[i + 2, j - 2]
    low_high, high_high = block[i - 2, j + 2], block[i + 2, j + 2]
    x, y = block[i + 1, j] << 1, block[i, j + 1] << 1
    up_up, up_down = high_high - here, here - high_low
    down_up, down_down = here - low_high, low_low - here
    largest = (
        np.minimum(
            np.minimum(np.maximum(up_up, 0) - x - y, np.maximum(up_down, 0) + x - y),
            np.minimum(np.maximum(down_up, 0) - x + y, np.maximum(down_down, 0) + x + y),
        )
        << 4
    )
    least = (
        np.maximum(
            np.maximum(np.minimum(up_up, 0) - x - y, np.minimum(up_down, 0) + x - y),
            np.maximum(np.minimum(down_up, 0) - x + y, np.minimum(down_down, 0) + x + y),
        )
        << 4
    )
    wanted = np.maximum(np.minimum(high_high + low_low - low_high - high_low, largest), least)
    old = block[i + 1, j + 1]
    block[i + 1, j + 1] = old + np.where(least < largest, _limited(wanted - (old << 6), 6, most), 0)


def _limited(change: NDArray[np.int64], bits: int, most: int) -> NDArray[np.int64]:
    """Divided by a power of two, rounding towards zero, and kept within bounds."""
    moved = np.where(change >= 0, change >> bits, change + ((1 << bits) - 1) >> bits)
    return np.clip(moved, -most, most)
