"""Attributes with the types that CF decoding depends on, which JSON does not keep."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.array import Array
from byteatlas.meta.attributes import MASKS, number_of

PACKING = ("scale_factor", "add_offset")


def cf_attributes(array: Array) -> dict[str, Any]:
    """Attributes with the types that CF decoding depends on, which JSON does not keep.

    ``_FillValue`` and ``missing_value`` get the array's type. ``scale_factor`` and ``add_offset`` become 32-bit floats
    when they are surely such (numbers like 0.009999999776482582): netCDF then unpacks to 32 bits.
    """
    attributes = dict(array.attrs)
    for name in MASKS:
        if name in attributes:
            attributes[name] = _as_value(attributes[name], array.dtype)
    numbers = [attributes[name] for name in PACKING if isinstance(attributes.get(name), float)]
    fits = all(float(np.float32(n)) == n for n in numbers)
    if fits and any(str(np.float32(n)) != str(np.float64(n)) for n in numbers):
        attributes.update({name: np.float32(attributes[name]) for name in PACKING if name in attributes})
    return attributes


def _as_value(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and dtype.kind == "f":
        value = number_of(value)
    if isinstance(value, str) and dtype.kind == "S":
        return np.bytes_(value.encode("utf-8", "surrogateescape"))
    if dtype.kind in "iufb" and isinstance(value, (bool, int, float)):
        if dtype.kind in "iu" and not (
            float(value).is_integer() and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
        ):
            return value  # for example a float marker of packed integers: xarray decides what it means
        return dtype.type(value)
    return value
