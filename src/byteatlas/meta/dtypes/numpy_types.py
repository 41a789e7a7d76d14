"""Data types of NumPy dtypes, and how Zarr v3 writes a data type."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes.names import NARROW, PLAIN, STRING, SUBARRAY
from byteatlas.meta.model import DataType
from byteatlas.types import JSON


def from_numpy(dtype: np.dtype[Any]) -> DataType:
    """The data type of a NumPy dtype; byte order does not matter. Raises `Unsupported` (reason ``datatype``)."""
    native = dtype.newbyteorder("=")
    if native.subdtype:
        base, dims = native.subdtype
        return DataType(SUBARRAY, native, {"data_type": to_v3(from_numpy(base)), "shape": list(dims)})
    if native.names is not None:
        return _struct_of(native)
    kind = native.kind
    if (plain := PLAIN.get(native)) is not None:
        return plain
    if native.name in NARROW:
        return DataType(native.name, native)
    if kind in "mM":
        unit, count = np.datetime_data(native)
        name = "numpy.datetime64" if kind == "M" else "numpy.timedelta64"
        return DataType(name, native, {"unit": unit, "scale_factor": count})
    if kind == "S":
        return DataType("null_terminated_bytes", native, {"length_bytes": native.itemsize})
    if kind == "U":
        return DataType("fixed_length_utf32", native, {"length_bytes": native.itemsize})
    if kind == "V":
        return DataType(f"r{8 * native.itemsize}", native)
    if kind == "T":
        return STRING
    raise Unsupported("datatype", f"NumPy type {dtype} has no Zarr data type")


def _struct_of(native: np.dtype[Any]) -> DataType:
    names = native.names or ()
    fields = [from_numpy(native[name]) for name in names]
    packed = np.dtype([(name, f.numpy) for name, f in zip(names, fields, strict=True)])
    members = [{"name": name, "data_type": to_v3(f)} for name, f in zip(names, fields, strict=True)]
    return DataType("struct", packed, {"fields": members})


def to_v3(data_type: DataType) -> JSON:
    """The version 3 ``data_type``: the name, or an object when there is a configuration."""
    if data_type.name == "structured":
        pairs = [[f["name"], f["data_type"]] for f in data_type.configuration["fields"]]
        return {"name": "structured", "configuration": {"fields": pairs}}
    if not data_type.configuration:
        return data_type.name
    return {"name": data_type.name, "configuration": dict(data_type.configuration)}


def byte_orders(stored: np.dtype[Any]) -> list[str]:
    """The byte orders that occur in a dtype, ``<`` or ``>`` for each number of more than one byte."""
    if stored.subdtype:
        return byte_orders(stored.subdtype[0])
    if stored.names:
        return [o for name in stored.names for o in byte_orders(stored[name])]
    if stored.itemsize == 1:
        return []
    if stored.name in NARROW:
        return ["<"]
    return [] if stored.kind in "SV" else [stored.str[0]]
