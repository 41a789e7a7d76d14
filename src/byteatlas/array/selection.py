"""Selections as plain values: what the caller wrote in brackets, normalised against the array's shape.

Rules and errors are NumPy's for basic indexing (integers, slices, ellipsis) and zarr-python's for orthogonal,
coordinate and block indexing. New axes and out-of-range integers are refused with `BadSelection`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadSelection
from byteatlas.types import Ints, Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Pick:
    """One position; the axis disappears from the result."""

    at: int


@dataclass(frozen=True, slots=True)
class Stepped:
    """``count`` positions from ``start`` on, ``step`` (> 0) apart; ``flip``: the result runs backwards."""

    start: int
    step: int
    count: int
    flip: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Take:
    """Any positions in any order."""

    at: Ints


AxisSelection: TypeAlias = Pick | Stepped | Take


def split_fields(selection: Any) -> tuple[Any, tuple[str, ...]]:
    """Field names taken out of a selection: ``a["x", 1:3]`` or ``a[["x", "y"]]``."""
    if isinstance(selection, str):
        return ..., (selection,)
    if isinstance(selection, list) and selection and all(isinstance(s, str) for s in selection):
        return ..., tuple(selection)
    if isinstance(selection, tuple):
        names = tuple(s for s in selection if isinstance(s, str))
        rest = tuple(s for s in selection if not isinstance(s, str))
        if names:
            return rest or ..., names
    return selection, ()


def basic(selection: Any, shape: Shape) -> tuple[AxisSelection, ...]:
    """Integers, slices and one ellipsis.

    >>> basic((..., -1), (4, 3))
    (Stepped(start=0, step=1, count=4, flip=False), Pick(at=2))
    """
    return tuple(
        _basic_axis(item, n, axis) for axis, (item, n) in enumerate(zip(_expand(selection, shape), shape, strict=True))
    )


def orthogonal(selection: Any, shape: Shape) -> tuple[AxisSelection, ...]:
    """Each axis by itself: integers, slices, integer arrays, boolean arrays (of the axis' length)."""
    whole = _mask(selection)
    if whole is not None and len(shape) != 1:
        raise BadSelection("a boolean array for several axes selects points: use .vindex")
    return tuple(
        _orthogonal_axis(item, n, axis)
        for axis, (item, n) in enumerate(zip(_expand(selection, shape), shape, strict=True))
    )


def coordinates(selection: Any, shape: Shape) -> tuple[list[Ints], Shape]:
    """Points: one integer array per axis (broadcast against each other), or one boolean array of the array's shape.

    Returns the flat coordinates along each axis, and the result's shape.
    """
    mask = _mask(selection)
    if mask is not None:
        if mask.shape != shape:
            raise BadSelection(f"a mask of shape {mask.shape} does not fit an array of shape {shape}")
        found = [np.asarray(i, np.int64) for i in np.nonzero(mask)]
        return found, (len(found[0]) if found else int(mask),)
    items = selection if isinstance(selection, tuple) else (selection,)
    if len(items) != len(shape):
        raise BadSelection(f"coordinate selection of an array of {len(shape)} axes needs one index array for each")
    arrays = [_integers(item, axis) for axis, item in enumerate(items)]
    try:
        together = np.broadcast_arrays(*arrays) if arrays else []
    except ValueError as error:
        raise BadSelection(f"index arrays of shapes {[a.shape for a in arrays]} do not broadcast") from error
    flat = [
        _wrapped(np.ascontiguousarray(a).reshape(-1), n, axis)
        for axis, (a, n) in enumerate(zip(together, shape, strict=True))
    ]
    return flat, tuple(together[0].shape) if together else ()


def blocks(selection: Any, starts: Sequence[Ints], shape: Shape) -> tuple[AxisSelection, ...]:
    """Whole chunks by their grid position: integers and slices with step 1. ``starts`` are the chunk boundaries."""
    counts = tuple(len(s) - 1 for s in starts)
    out: list[AxisSelection] = []
    for axis, item in enumerate(_expand(selection, counts)):
        bounds, n = starts[axis], counts[axis]
        if isinstance(item, slice):
            try:
                lo, hi, step = item.indices(n)
            except (TypeError, ValueError) as error:
                raise BadSelection(f"{item}: {error}") from error
            if step != 1:
                raise BadSelection("block selection takes slices with step 1 only")
            hi = max(lo, hi)
        else:
            lo = _integer(item, n, axis)
            hi = lo + 1
        out.append(Stepped(int(bounds[lo]), 1, int(bounds[hi] - bounds[lo])))
    return tuple(out)


def result_shape(selection: Sequence[AxisSelection]) -> Shape:
    """The shape of what an orthogonal selection gives.

    >>> result_shape((Pick(3), Stepped(0, 2, 5)))
    (5,)
    """
    return tuple(s.count if isinstance(s, Stepped) else len(s.at) for s in selection if not isinstance(s, Pick))


def _expand(selection: Any, shape: Shape) -> tuple[Any, ...]:
    """One item per axis: the ellipsis filled in, missing trailing axes taken whole."""
    items = selection if isinstance(selection, tuple) else (selection,)
    if any(item is None for item in items):
        raise BadSelection("a selection cannot add axes (None, newaxis): index the result instead")
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise BadSelection("a selection may have one ellipsis ('...') only")
    given = len(items) - len(dots)
    if given > len(shape):
        raise BadSelection(f"too many indices: the array has {len(shape)} axes, {given} were indexed")
    fill = (slice(None),) * (len(shape) - given)
    return items[: dots[0]] + fill + items[dots[0] + 1 :] if dots else items + fill


def _basic_axis(item: Any, n: int, axis: int) -> AxisSelection:
    if isinstance(item, slice):
        return _run(item, n)
    if isinstance(item, (bool, np.bool_)):
        raise BadSelection("a boolean is no index here")
    if isinstance(item, (list, np.ndarray)) and _array(item).ndim:
        raise BadSelection("an index array: use .oindex (each axis by itself) or .vindex (points)")
    return Pick(_integer(item, n, axis))


def _orthogonal_axis(item: Any, n: int, axis: int) -> AxisSelection:
    if isinstance(item, slice):
        return _run(item, n)
    array = _array(item)
    if array.ndim == 0:
        return _basic_axis(item, n, axis)
    if array.dtype == bool:
        if array.shape != (n,):
            raise BadSelection(f"a mask of shape {array.shape} does not fit axis {axis} of length {n}")
        return Take(np.nonzero(array)[0].astype(np.int64))
    if array.ndim != 1:
        raise BadSelection(f"an index array for axis {axis} must have one axis, not {array.ndim}")
    return Take(_wrapped(_integers(array, axis), n, axis))


def _run(item: slice, n: int) -> Stepped:
    try:
        start, stop, step = item.indices(n)
    except (TypeError, ValueError) as error:
        raise BadSelection(f"{item}: {error}") from error
    count = len(range(start, stop, step))
    if step < 0:
        return Stepped(start + (count - 1) * step if count else 0, -step, count, flip=True)
    return Stepped(start, step, count)


def _integer(item: Any, n: int, axis: int) -> int:
    try:
        at = operator.index(item)
    except TypeError as error:
        raise BadSelection(f"{type(item).__name__} is no index for axis {axis}") from error
    if not -n <= at < n:
        raise BadSelection(f"index {at} is out of bounds for axis {axis} with size {n}")
    return at + n if at < 0 else at


def _integers(item: Any, axis: int) -> Ints:
    array = _array(item)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise BadSelection(f"an index array for axis {axis} must hold integers, not {array.dtype}")
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise BadSelection(f"index {array.max()} is out of bounds for axis {axis}")
    return array.astype(np.int64)


def _array(item: Any) -> NDArray[Any]:
    try:
        return np.asarray(item)
    except (ValueError, TypeError, OverflowError) as error:
        raise BadSelection("an index array has rows of one length, and numbers in them") from error


def _wrapped(at: Ints, n: int, axis: int) -> Ints:
    if not at.size:
        return at
    low, high = int(at.min()), int(at.max())
    if low < -n or high >= n:
        raise BadSelection(f"index {low if low < -n else high} is out of bounds for axis {axis} with size {n}")
    return np.where(at < 0, at + n, at) if low < 0 else at


def _mask(selection: Any) -> NDArray[np.bool_] | None:
    if isinstance(selection, tuple) and len(selection) == 1:
        selection = selection[0]
    if isinstance(selection, (np.ndarray, list)):
        array = _array(selection)
        if array.dtype == bool and array.ndim:
            return array
    return None
