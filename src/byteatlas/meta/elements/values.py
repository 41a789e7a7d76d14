"""From the bytes of many elements to NumPy values, all at once."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.elements.layout import (
    NULLTERM,
    SPACEPAD,
    ElementLayout,
    Integer,
    Plain,
    Real,
    Record,
    Sub,
    Text,
    Truth,
    dtype,
)
from byteatlas.meta.place import invalid

Bytes2: TypeAlias = NDArray[np.uint8]
"""Elements as rows: shape (count, size)."""


def decode(layout: ElementLayout, rows: Bytes2) -> NDArray[Any]:
    """Values of elements given as rows of bytes; shape (count,), or (count, *dims) for a `Sub`."""
    if rows.ndim != 2 or rows.shape[1] != layout.size:
        raise invalid(f"elements of {rows.shape[1:]} bytes where the layout has {layout.size}")
    count = rows.shape[0]
    match layout:
        case Sub(dims, base):
            inner = decode(base, np.ascontiguousarray(rows).reshape(count * math.prod(dims), base.size))
            return inner.reshape(count, *dims, *inner.shape[1:])
        case Record(_, fields):
            out = np.empty(count, dtype(layout))
            for f in fields:
                out[f.name] = decode(f.layout, rows[:, f.offset : f.offset + f.layout.size])
            return out
        case Plain(kind):
            found: NDArray[Any] = np.ascontiguousarray(rows).view(kind).reshape(count)
            return found.astype(found.dtype.newbyteorder("="), copy=False)
        case Integer():
            return _integers(layout, rows)
        case Real():
            return _reals(layout, rows)
        case Truth():
            truth: NDArray[Any] = np.any(rows, axis=1)
            return truth
        case Text():
            return _texts(layout, rows)


def _words(size: int, order: str, rows: Bytes2) -> NDArray[np.uint64]:
    """The elements' bytes as unsigned integers of 64 bits."""
    wide = np.zeros((rows.shape[0], 8), np.uint8)
    wide[:, :size] = rows if order == "<" else rows[:, ::-1]
    return wide.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _integers(layout: Integer, rows: Bytes2) -> NDArray[Any]:
    words = _words(layout.size, layout.order, rows) >> np.uint64(layout.offset)
    spare = np.uint64(64 - layout.precision)
    words = words << spare
    values = words.view(np.int64) >> np.int64(spare) if layout.signed else words >> spare
    return values.astype(dtype(layout))


def _bits(words: NDArray[np.uint64], at: int, width: int) -> NDArray[np.uint64]:
    mask = np.uint64((1 << width) - 1)
    return (words >> np.uint64(at)) & mask


def _reals(layout: Real, rows: Bytes2) -> NDArray[Any]:
    words = _words(layout.size, layout.order, rows)
    mantissa = _bits(words, layout.mantissa_at, layout.mantissa)
    exponent = _bits(words, layout.exponent_at, layout.exponent).astype(np.int64)
    special = exponent == (1 << layout.exponent) - 1
    scale = np.where(exponent == 0, 1, exponent) if layout.implied else exponent
    whole = mantissa.astype(np.float64)  # at most 53 bits: exact
    fraction = layout.mantissa
    if layout.implied:
        whole += np.where(exponent == 0, 0.0, math.ldexp(1.0, layout.mantissa))
    else:
        fraction -= 1
    with np.errstate(over="ignore", under="ignore"):
        power = np.clip(scale - layout.bias - fraction, -4000, 4000).astype(np.int32)
        values = np.ldexp(whole, power)
    payload = mantissa if layout.implied else mantissa & np.uint64((1 << (layout.mantissa - 1)) - 1)
    values[special] = np.where(payload[special] == 0, np.inf, np.nan)
    negative = _bits(words, layout.sign, 1).astype(bool)
    out: NDArray[Any] = np.where(negative, -values, values).astype(dtype(layout))
    return out


def _texts(layout: Text, rows: Bytes2) -> NDArray[Any]:
    kept = np.array(rows, np.uint8, order="C")
    if layout.padding == NULLTERM:
        kept[np.logical_or.accumulate(kept == 0, axis=1)] = 0
    elif layout.padding == SPACEPAD:
        blank = np.logical_and.accumulate(kept[:, ::-1] == 0x20, axis=1)[:, ::-1]
        kept[blank] = 0
    return kept.view(f"S{layout.size}").reshape(-1)
