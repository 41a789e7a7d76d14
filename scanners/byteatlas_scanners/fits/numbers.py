"""Stored numbers: types by BITPIX, scaling as attributes, the convention for unsigned integers (section 5, 4.4.2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from byteatlas.types import JSON
from byteatlas_scanners.fits.header import FitsHeader

TYPES: Mapping[int, np.dtype[np.generic]] = {
    8: np.dtype("u1"),
    16: np.dtype(">i2"),
    32: np.dtype(">i4"),
    64: np.dtype(">i8"),
    -32: np.dtype(">f4"),
    -64: np.dtype(">f8"),
}
"""Types as stored, by BITPIX (table 8)."""


def other_sign(stored: np.dtype[np.generic], scale: float | None, zero: float | None) -> np.dtype[np.generic] | None:
    """The native type of integers with an offset of half their range (table 11); None: they have another offset.

    >>> other_sign(np.dtype(">i2"), 1.0, 32768)
    dtype('uint16')
    """
    if stored.kind not in "iu" or scale not in (None, 1) or zero is None:
        return None
    if stored.kind == "u":
        return np.dtype(np.int8) if zero == -128 else None
    return np.dtype(f"u{stored.itemsize}") if zero == 1 << (8 * stored.itemsize - 1) else None


def scaling(scale: float | None, zero: float | None) -> dict[str, JSON]:
    """``scale_factor`` and ``add_offset`` as the CF conventions have them; nothing where they change nothing."""
    if scale in (None, 1) and zero in (None, 0):
        return {}
    return {"scale_factor": float(1 if scale is None else scale), "add_offset": float(0 if zero is None else zero)}


def blank(header: FitsHeader, key: str, stored: np.dtype[np.generic], presented: np.dtype[np.generic]) -> int | None:
    """The integer that stands for "no value", as the array presents it; None where there is none or it cannot occur."""
    value = header.first.get(key)
    if stored.kind not in "iu" or isinstance(value, bool) or not isinstance(value, int):
        return None
    limits = np.iinfo(f"{stored.kind}{stored.itemsize}")
    if not limits.min <= value <= limits.max:
        return None
    if presented.kind == stored.kind:
        return value
    half = 1 << (8 * stored.itemsize - 1)
    return value + half if presented.kind == "u" else value - half
