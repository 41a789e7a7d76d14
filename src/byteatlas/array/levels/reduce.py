"""Blocks of values as one value each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.levels.options import Resampling
from byteatlas.errors import BadRequest

MEANS = "iuf"
"""Kinds of elements that have a mean here."""


def check_kind(resampling: Resampling, dtype: np.dtype[Any], path: str) -> None:
    """Raise `BadRequest` for values that cannot be reduced so."""
    if resampling == "mean" and (dtype.kind not in MEANS or dtype.itemsize > 8):
        raise BadRequest(f"{path}: {dtype} has no mean; take resampling='nearest' or 'mode'")
    if dtype.hasobject:
        raise BadRequest(f"{path}: values of variable length have no levels")


def reduced(values: NDArray[Any], factor: int, resampling: Resampling, missing: NDArray[Any]) -> NDArray[Any]:
    """Blocks of ``factor`` x ``factor`` elements of the last two axes as one each; blocks at the ends may be smaller.

    Args:
        values: (..., height, width).
        missing: values that count as none, of the same type; NaN always does.

    Returns: (..., ceil(height / factor), ceil(width / factor)), of the same type. A block without values is the first
    of ``missing``, or NaN.
    """
    if resampling == "nearest":
        rows, columns = (_middles(n, factor) for n in values.shape[-2:])
        picked: NDArray[Any] = values[..., rows, :][..., columns]
        return picked
    there = np.ones(values.shape, bool) if values.dtype.kind not in "fcmM" else values == values
    for value in missing:
        there &= values != value
    blocks, valid = _blocks(values, factor), _blocks(there, factor)
    found = _means(blocks, valid) if resampling == "mean" else _modes(blocks, valid)
    empty = ~valid.any(axis=-1)
    if empty.any():
        found[empty] = _nothing(values.dtype, missing)
    return found


def _middles(length: int, factor: int) -> NDArray[np.intp]:
    """The element in the middle of each block; the last one of a short block that has none."""
    return np.minimum(np.arange(-(-length // factor)) * factor + factor // 2, length - 1)


def _blocks(values: NDArray[Any], factor: int) -> NDArray[Any]:
    """(..., height, width) -> (..., rows, columns, factor * factor), zeros (false) beyond the ends."""
    height, width = values.shape[-2:]
    rows, columns = -(-height // factor), -(-width // factor)
    padded = np.zeros((*values.shape[:-2], rows * factor, columns * factor), values.dtype)
    padded[..., :height, :width] = values
    apart = padded.reshape(*values.shape[:-2], rows, factor, columns, factor)
    return np.moveaxis(apart, -3, -2).reshape(*values.shape[:-2], rows, columns, factor * factor)


def _means(blocks: NDArray[Any], valid: NDArray[Any]) -> NDArray[Any]:
    count = np.maximum(valid.sum(axis=-1), 1)
    kind = blocks.dtype
    if kind.kind == "f":
        total = np.where(valid, blocks, 0).sum(axis=-1, dtype=np.float64)
        means: NDArray[Any] = (total / count).astype(kind)
        return means
    if kind.itemsize < 8:
        total = np.where(valid, blocks, 0).sum(axis=-1, dtype=np.int64)
        rounded: NDArray[Any] = np.rint(total / count).astype(kind)
        return rounded
    return _exact_means(blocks, valid, count)


def _exact_means(blocks: NDArray[Any], valid: NDArray[Any], count: NDArray[Any]) -> NDArray[Any]:
    """Means of 64-bit whole numbers, which neither a sum of 64 bits nor a float64 holds."""
    whole = np.where(valid, blocks // count[..., None].astype(blocks.dtype), 0).sum(axis=-1, dtype=blocks.dtype)
    rest = np.where(valid, blocks % count[..., None].astype(blocks.dtype), 0).sum(axis=-1, dtype=np.int64)
    whole = whole + (rest // count).astype(blocks.dtype)
    left = 2 * (rest % count)
    up = (left > count) | ((left == count) & (whole % 2 == 1))
    found: NDArray[Any] = whole + up.astype(blocks.dtype)
    return found


def _modes(blocks: NDArray[Any], valid: NDArray[Any]) -> NDArray[Any]:
    """The most frequent value of each block, the smallest of several."""
    known, codes = np.unique(blocks, return_inverse=True, equal_nan=False)
    codes = np.sort(np.where(valid, codes.reshape(blocks.shape), len(known)), axis=-1)
    begins = np.ones(codes.shape, bool)
    begins[..., 1:] = codes[..., 1:] != codes[..., :-1]
    place = np.arange(codes.shape[-1])
    run = place - np.maximum.accumulate(np.where(begins, place, 0), axis=-1) + 1
    run[codes == len(known)] = 0
    best = np.take_along_axis(codes, run.argmax(axis=-1)[..., None], axis=-1)[..., 0]
    found: NDArray[Any] = known[np.minimum(best, len(known) - 1)]
    return found


def _nothing(dtype: np.dtype[Any], missing: NDArray[Any]) -> Any:
    if len(missing):
        return missing[0]
    return np.array("NaT", dtype) if dtype.kind in "mM" else np.nan
