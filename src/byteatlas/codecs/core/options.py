"""Reading codec configurations: typed values or `InvalidMetadata`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from byteatlas.errors import InvalidMetadata
from byteatlas.meta import dtypes
from byteatlas.types import JSON


def integer(configuration: Mapping[str, JSON], key: str, default: int | None = None) -> int:
    """An integer; integral floats and (netCDF-C) decimal strings count. No default: required."""
    value = configuration.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, str) and value.lstrip("-").isdigit() and len(value) < 20:
        return int(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or value != value
        or not float(value).is_integer()
    ):
        raise InvalidMetadata("", f"{key} {value!r} is not an integer")
    return int(value)


def number(configuration: Mapping[str, JSON], key: str, default: float | None = None) -> float | int:
    """A number. No default: required."""
    value = configuration.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidMetadata("", f"{key} {value!r} is not a number")
    return value


def flag(configuration: Mapping[str, JSON], key: str, default: bool) -> bool:
    """A Boolean; 0 and 1 count."""
    value = configuration.get(key, default)
    if value not in (0, 1):
        raise InvalidMetadata("", f"{key} {value!r} is not true or false")
    return bool(value)


def text(configuration: Mapping[str, JSON], key: str, default: str) -> str:
    """A string."""
    value = configuration.get(key, default)
    if not isinstance(value, str):
        raise InvalidMetadata("", f"{key} {value!r} is not a string")
    return value


def type_string(configuration: Mapping[str, JSON], key: str, default: str | None = None) -> np.dtype[np.generic]:
    """A version 2 type string of plain elements."""
    value = configuration.get(key)
    if value is None:
        value = default
    if isinstance(value, str) and value in np.sctypeDict:
        value = np.dtype(value).str
    if not isinstance(value, str):
        raise InvalidMetadata("", f"{key} {value!r} is not a type string")
    return dtypes.numpy_v2(value)
