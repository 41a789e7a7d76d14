"""Values of coordinates as CF means them: unpacked, without missing ones (CF 1.11, sections 2.5.1 and 8.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array
from byteatlas.array.geo import MOST_COORDINATES


def numbers(array: Array) -> NDArray[np.float64] | None:
    """All finite values, flat; None for what is no coordinate of numbers, or too large a one to be read."""
    if array.dtype.kind not in "iuf" or array.size > MOST_COORDINATES:
        return None
    stored: NDArray[Any] = np.asarray(array[...]).reshape(-1)
    there = np.ones(len(stored), np.bool_)
    for name in ("_FillValue", "missing_value"):
        mark = array.attrs.get(name)
        if isinstance(mark, (int, float)):
            there &= stored != mark
    found: NDArray[np.float64] = stored[there].astype(np.float64)
    scale, offset = (array.attrs.get(name) for name in ("scale_factor", "add_offset"))
    if isinstance(scale, (int, float)):
        found = found * scale
    if isinstance(offset, (int, float)):
        found = found + offset
    return found[np.isfinite(found)]


def text_of(array: Array, name: str) -> str:
    """An attribute that is text, else nothing."""
    found = array.attrs.get(name)
    return found if isinstance(found, str) else ""
