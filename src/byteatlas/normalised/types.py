"""Data types that every reader of Zarr knows, for those that only some do."""

from __future__ import annotations

from typing import Literal

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes
from byteatlas.meta.dtypes.names import BITS, BYTES, NUMBER_TYPES, PLAIN, STRING
from byteatlas.meta.model import CodecSpec, DataType


def standard_type(data_type: DataType, zarr_format: Literal[2, 3]) -> DataType:
    """The type that an array is served as; it holds every value of ``data_type`` exactly.

    Raises `Unsupported` (reason ``datatype``) for types that plain Zarr does not have.
    """
    name, dtype = data_type.name, data_type.numpy
    if dtype.hasobject:
        if name in (STRING.name, BYTES.name, "binary", "variable_length_bytes"):
            bytes_name = BYTES.name if zarr_format == 2 else "variable_length_bytes"
            return STRING if name == STRING.name else DataType(bytes_name, np.dtype(object))
        raise Unsupported("datatype", f"plain Zarr has no type for elements of {name}")
    if dtype.name in dtypes.NARROW or dtype.name in BITS:
        wider = "float32" if "float" in dtype.name else "uint8" if dtype.name.startswith("u") else "int8"
        return NUMBER_TYPES[wider]
    if dtype in PLAIN:
        return PLAIN[dtype]
    if dtype.names is not None:
        return _record(data_type, zarr_format)
    if dtype.subdtype is not None:
        raise Unsupported("datatype", "plain Zarr has no type for elements that are arrays")
    if dtype.kind == "V":
        return DataType("raw_bytes", dtype, {"length_bytes": dtype.itemsize})
    return data_type


def _record(data_type: DataType, zarr_format: Literal[2, 3]) -> DataType:
    dtype = data_type.numpy
    for name in dtype.names or ():
        if dtype[name].subdtype is not None or dtype[name].name in dtypes.NARROW:
            raise Unsupported("datatype", f"plain Zarr has no type for the field {name!r}")
    return data_type if zarr_format == 2 else DataType("struct", dtype, data_type.configuration)


def serializer(data_type: DataType) -> CodecSpec:
    """The codec that makes bytes of a served array."""
    if data_type.name == STRING.name:
        return CodecSpec("vlen-utf8")
    if data_type.numpy.hasobject:
        return CodecSpec("vlen-bytes")
    return CodecSpec("bytes", {"endian": "little"})
