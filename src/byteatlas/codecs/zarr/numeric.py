"""What the codecs for numbers need to know of their types."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.meta import dtypes
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid


def numeric(data_type: DataType) -> None:
    """The type must be one of numbers. Raises `InvalidMetadata`."""
    dtype = data_type.numpy
    if dtype.kind not in "iuf" and dtype.name not in dtypes.NARROW:
        raise invalid(f"not for data type {data_type.name}")


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether a type holds integers."""
    return "int" in dtype.name


def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = dtypes.BITS.get(dtype.name, 8 * dtype.itemsize)
    if dtype.name.startswith("u"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1
