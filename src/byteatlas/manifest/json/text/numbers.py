"""Numbers inside text, parsed for a whole column at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ZERO, SPACE, BACKSLASH = (ord(c) for c in "0 \\")
_MOST_DIGITS = 19  # 10**19 - 1 still fits 64 bits without a sign


def two_numbers(
    view: NDArray[np.uint8], begin: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.bool_]]:
    """``,12,345`` (optionally one space after each comma) as two columns, and which rows are exactly that."""
    n = len(begin)
    width = end - begin
    good = (width >= 4) & (width <= 2 * _MOST_DIGITS + 4)
    first, second = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    good &= view[np.minimum(begin, len(view) - 1)] == ord(",")
    if not good.any():
        return first, second, good
    value, digits = np.zeros(n, np.uint64), np.zeros(n, np.int64)
    commas = np.zeros(n, np.int8)
    last = np.full(n, ord(","), np.uint8)
    limit = len(view) - 1
    for column in range(1, int(width[good].max())):
        inside = width > column
        char = view[np.minimum(begin + column, limit)]
        digit = char - np.uint8(ZERO)
        is_digit = (digit < 10) & inside
        value = np.where(is_digit, value * np.uint64(10) + digit, value)
        digits += is_digit
        rest = inside & ~is_digit
        if rest.any():
            rows = np.flatnonzero(rest)
            comma = char[rows] == ord(",")
            space = (char[rows] == SPACE) & (last[rows] == ord(","))
            good[rows] &= comma | space
            cut = rows[comma]
            good[cut] &= (digits[cut] > 0) & (digits[cut] <= _MOST_DIGITS)
            commas[cut] += 1
            first[cut] = value[cut]
            value[cut] = 0
            digits[cut] = 0
        last = char
    good &= (commas == 1) & (digits > 0) & (digits <= _MOST_DIGITS)
    return first, value, good


def grid_positions(
    view: NDArray[np.uint8],
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    counts: tuple[int, ...],
    separator: int,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Chunk positions such as ``3.14`` as flat indices (C order over ``counts``), and which rows are valid.

    A backslash before a separator ``/`` is JSON's optional escape and is passed over. Leading zeros, too few or too
    many fields, and positions outside the grid are invalid.
    """
    n, width, limit = len(begin), end - begin, len(view) - 1
    flat, value = np.zeros(n, np.int64), np.zeros(n, np.int64)
    digits, field = np.zeros(n, np.int64), np.zeros(n, np.int64)
    sizes = np.array([*counts, 1], np.int64)
    good = (width > 0) & (width <= 21 * max(len(counts), 1))
    for column in range(int(width[good].max()) if good.any() else 0):
        inside = width > column
        char = view[np.minimum(begin + column, limit)]
        digit = char - np.uint8(ZERO)
        is_digit = (digit < 10) & inside
        good &= ~(is_digit & (value == 0) & (digits > 0))
        value = np.where(is_digit, value * 10 + digit, value)
        digits += is_digit
        rest = inside & ~is_digit
        if rest.any():
            rows = np.flatnonzero(rest & ((char != BACKSLASH) | (separator != ord("/"))))
            good[rows] &= (char[rows] == separator) & (digits[rows] > 0) & (field[rows] < len(counts) - 1)
            size = sizes[np.minimum(field[rows], len(counts))]
            good[rows] &= (value[rows] < size) & (digits[rows] < 19)
            flat[rows] = flat[rows] * size + value[rows]
            value[rows] = 0
            digits[rows] = 0
            field[rows] += 1
    last = counts[-1] if counts else 1
    good &= (digits > 0) & (digits < 19) & (field == max(len(counts), 1) - 1) & (value < last)
    return flat * last + value, good
