"""Packed values: scale_factor, add_offset, values that mean "no data" (CF conventions 1.11, sections 2.5 and 8.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.attributes import meant_unsigned
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import dataclass

PACKING_ATTRIBUTES = ("scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
PACKED_RANGE_ATTRIBUTES = ("valid_range", "valid_min", "valid_max")
"""These are in packed units, so they mean nothing any more for unpacked values."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How stored numbers become values: ``stored * scale + offset``, ``mask`` becomes NaN.

    Attributes:
        mask: stored values that mean no data (``_FillValue``, ``missing_value``); NaN needs no entry.
        unsigned: read signed integers as unsigned ones (``_Unsigned``: "true"), or the other way round (False).
    """

    scale: float = 1.0
    offset: float = 0.0
    mask: tuple[float | int | str, ...] = ()
    unsigned: bool | None = None

    @property
    def scaled(self) -> bool:
        return self.scale != 1.0 or self.offset != 0.0


def packing_of(meta: ArrayMeta) -> Packing:
    """What an array's attributes say of its packing. Attributes that are not numbers are not packing."""
    a = meta.attributes
    mask: list[float | int | str] = []
    for name in ("_FillValue", "missing_value"):
        for value in scalars(a.get(name)):
            if value == value and value not in mask:
                mask.append(value)
    return Packing(
        number(a.get("scale_factor"), 1.0),
        number(a.get("add_offset"), 0.0),
        tuple(sorted(mask, key=str)),
        meant_unsigned(a),
    )


def scalars(value: JSON) -> list[float | int | str]:
    """A number, text or a list of them, as a list."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [v for v in items if isinstance(v, (int, float, str)) and not isinstance(v, bool)]


def number(value: JSON, default: float) -> float:
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default


def unpacked(values: NDArray[Any], packing: Packing, dtype: np.dtype[Any] | None = None) -> NDArray[Any]:
    """Values as floating point numbers (float64 unless said otherwise); no data become NaN."""
    stored = values
    if packing.unsigned is not None and stored.dtype.kind in "iu":
        stored = stored.view(f"{'u' if packing.unsigned else 'i'}{stored.dtype.itemsize}")
    result: NDArray[Any] = stored.astype(dtype or np.float64)
    hidden = masked(stored, packing.mask)
    if packing.scale != 1.0:
        result *= packing.scale
    if packing.offset != 0.0:
        result += packing.offset
    if hidden is not None:
        result[hidden] = np.nan
    return result


def masked(stored: NDArray[Any], mask: tuple[float | int | str, ...]) -> NDArray[np.bool_] | None:
    """Where stored values are one of those that mean no data."""
    hidden: NDArray[np.bool_] | None = None
    for value in mask:
        if isinstance(value, str):
            continue
        target = as_stored(value, stored.dtype)
        if target is None:
            continue
        same = stored == target
        hidden = same if hidden is None else hidden | same
    return hidden


def as_stored(value: float | int, dtype: np.dtype[Any]) -> Any:
    """A mask value in the stored type: float32 rounding, and two's complement for unsigned readings."""
    if dtype.kind == "f":
        return np.array(value).astype(dtype)[()]
    if dtype.kind in "iu" and float(value).is_integer():
        bits = 8 * dtype.itemsize
        wrapped = int(value) % (1 << bits)
        signed = wrapped - (1 << bits) if dtype.kind == "i" and wrapped >> (bits - 1) else wrapped
        in_range = -(1 << (bits - 1)) <= int(value) < (1 << bits)
        return np.array(signed, dtype)[()] if in_range else None
    return None
