"""Names of data types, and the NumPy types that their values have in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byteatlas.errors import MissingExtra, Unsupported
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid
from byteatlas.types import Shape

STRING = DataType("string", np.dtype(object))
"""Text of any length; elements are ``str``."""
BYTES = DataType("bytes", np.dtype(object))
"""Byte strings of any length; elements are ``bytes``."""
OBJECT = DataType("byteatlas.object", np.dtype(object))
"""Whatever a version 2 object codec (JSON, MessagePack) holds."""

MOST_NESTING = 16
MOST_ITEMSIZE = 1 << 28
"""Bytes of one element."""
MOST_AXES = 64
"""Axes that NumPy gives an array, those of its elements among them."""
SUBARRAY = "byteatlas.subarray"
VLEN_ARRAY = "byteatlas.vlen-array"
OPTIONAL = "zarrs.optional"

NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
NUMBER_TYPES: Mapping[str, DataType] = {n: DataType(n, np.dtype(n)) for n in NUMBERS}
"""One object for each, so that the descriptions of thousands of arrays are seen to be equal at once."""
PLAIN: Mapping[np.dtype[Any], DataType] = {found.numpy: found for found in NUMBER_TYPES.values()}
NARROW = (
    "int2", "int4", "uint2", "uint4", "bfloat16", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4",
    "float8_e4m3", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu",
)  # fmt: skip
"""Types of ``ml_dtypes``; each element is stored in whole bytes."""
BITS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6}
"""Bits that matter in one element, where they are fewer than it is stored in."""
COMPLEX_ALIASES = {"complex_float32": "complex64", "complex_float64": "complex128"}
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic")


def narrow(name: str) -> np.dtype[Any]:
    """A type of ``ml_dtypes``. Raises `MissingExtra` when it is not installed, `Unsupported` when it is too old."""
    try:
        import ml_dtypes
    except ImportError as error:
        raise MissingExtra("dtypes", f"data type {name}") from error
    if not hasattr(ml_dtypes, name):
        raise Unsupported("datatype", f"data type {name} needs a newer ml_dtypes")
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def complex_part(data_type: DataType) -> np.dtype[Any] | None:
    """The type of the real and of the imaginary part of a narrow complex type (None for any other type)."""
    if not data_type.name.startswith("complex_") or data_type.name in COMPLEX_ALIASES:
        return None
    part = data_type.name[len("complex_") :]
    return np.dtype(np.float16) if part == "float16" else narrow(part)


def axes_of(dtype: np.dtype[Any]) -> int:
    """Axes that elements of a type, or the deepest of their fields, have of their own."""
    if dtype.subdtype is not None:
        base, dims = dtype.subdtype
        return len(dims) + axes_of(base)
    return max((axes_of(dtype[name]) for name in dtype.names or ()), default=0)


def with_axes(base: np.dtype[Any], dims: Shape) -> np.dtype[Any]:
    """The type of arrays of this shape as elements. Raises `InvalidMetadata` for one that is too large."""
    size = max(1, base.itemsize) * math.prod(dims)
    if len(dims) + axes_of(base) > MOST_AXES or size > MOST_ITEMSIZE:
        raise invalid(f"elements of {len(dims) + axes_of(base)} axes and {size} bytes")
    return np.dtype((base, dims))


def of_fields(fields: Sequence[tuple[str, np.dtype[Any]]]) -> np.dtype[Any]:
    """A structured type, packed. Raises `InvalidMetadata` for one that is too large."""
    size = sum(field.itemsize for _, field in fields)
    if size > MOST_ITEMSIZE:
        raise invalid(f"elements of {size} bytes")
    return np.dtype(list(fields))


def stored_dtype(data_type: DataType) -> np.dtype[Any]:
    """What one element's bytes are, in native byte order (the codec ``bytes`` says which order they are in)."""
    part = complex_part(data_type)
    return data_type.numpy if part is None else np.dtype([("real", part), ("imag", part)])


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether a type holds integers."""
    return "int" in dtype.name


def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = BITS.get(dtype.name, 8 * dtype.itemsize)
    if dtype.name.startswith("u"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def is_number(data_type: DataType) -> bool:
    """Whether a type holds integers or real numbers."""
    return data_type.numpy.kind in "iuf" or data_type.numpy.name in NARROW
