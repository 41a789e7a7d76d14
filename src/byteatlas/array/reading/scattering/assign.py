"""Selections of chunks, and assignments to parts of the result; index arrays work on each axis by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.planning.axes import AxisIndex
from byteatlas.types import Shape


def take(decoded: NDArray[Any], inside: tuple[AxisIndex, ...]) -> NDArray[Any]:
    """The selected part of a chunk."""
    where: tuple[Any, ...] = (*[i if isinstance(i, slice) else _ALL for i in inside], ...)
    part: NDArray[Any] = decoded[where]
    for axis, index in enumerate(inside):
        if not isinstance(index, slice):
            part = part.take(index, axis)
    return part


_ALL = slice(None)


def put(target: NDArray[Any], where: tuple[AxisIndex, ...], values: Any) -> None:
    """Assign to part of the result."""
    indices = [w if isinstance(w, slice) else None for w in where]
    if None not in indices:
        target[(*where, ...)] = values  # "...": an object array without axes takes the element, not the array of it
        return
    target[_crossed([np.arange(w.start, w.stop) if isinstance(w, slice) else w for w in where])] = values


def _crossed(indices: list[NDArray[np.int64]]) -> tuple[NDArray[np.int64], ...]:
    """As `numpy.ix_`, which checks more than it does."""
    last = len(indices) - 1
    return tuple([index.reshape(-1, *[1] * (last - axis)) for axis, index in enumerate(indices)])


def allocate(
    shape: Shape, dtype: np.dtype[Any], options: ReadOptions, refuse: Callable[[str], Exception]
) -> NDArray[Any]:
    """An uninitialised result, refused when it is larger than this machine can hold."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > options.result_limit():
        raise refuse(f"the selection {shape} of {dtype} takes {nbytes} bytes; read it in parts")
    try:
        return np.empty(shape, dtype)
    except (MemoryError, ValueError) as error:
        raise refuse(f"the selection {shape} of {dtype} takes {nbytes} bytes: {error}") from error
