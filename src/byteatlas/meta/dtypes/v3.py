"""Data types of Zarr v3: names and configurations (v3 core, and the Zarr extensions registry)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes.names import (
    BITS,
    BYTES,
    COMPLEX_ALIASES,
    MOST_ITEMSIZE,
    MOST_NESTING,
    NARROW,
    NUMBER_TYPES,
    NUMBERS,
    OBJECT,
    OPTIONAL,
    STRING,
    SUBARRAY,
    UNITS,
    VLEN_ARRAY,
    complex_part,
    narrow,
    of_fields,
    with_axes,
)
from byteatlas.meta.dtypes.numpy_types import to_v3
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid
from byteatlas.types import JSON


def from_v3(document: JSON, depth: int = 0) -> DataType:
    """The data type of a version 3 ``data_type``: a name, or an object with ``name`` and ``configuration``.

    Raises `InvalidMetadata`, `Unsupported` for a name that is not known, `MissingExtra` for one of ``ml_dtypes``.
    """
    if depth > MOST_NESTING:
        raise invalid("a data type nested too deep")
    name: JSON = document
    configuration: JSON = {}
    if isinstance(document, dict):
        name, configuration = document.get("name"), document.get("configuration") or {}
        if document.get("must_understand", True) is not True or not isinstance(configuration, dict):
            raise invalid(f"{document!r} is no data type")
    if not isinstance(name, str):
        raise invalid(f"{document!r} is no data type")
    if name in NUMBER_TYPES:
        return NUMBER_TYPES[name]
    if name in NARROW:
        return DataType(name, narrow(name))
    if name.startswith("complex_"):
        return _complex_v3(name)
    if re.fullmatch(r"r[1-9]\d*", name):
        return _raw_v3(name)
    made = _V3.get(name)
    if made is None:
        raise Unsupported("datatype", f"unknown data type {name!r}")
    return made(name, configuration, depth)


def _complex_v3(name: str) -> DataType:
    if name in COMPLEX_ALIASES:
        return DataType(name, np.dtype(COMPLEX_ALIASES[name]))
    part = name[len("complex_") :]
    if part != "float16" and (part not in NARROW or "int" in part):
        raise Unsupported("datatype", f"unknown data type {name!r}")
    if part != "float16":
        narrow(part)
    return DataType(name, np.dtype(np.complex64))


def _raw_v3(name: str) -> DataType:
    bits = int(name[1:])
    if bits % 8 or bits > 8 * MOST_ITEMSIZE:
        raise invalid(f"data type {name!r}: bits must be a multiple of 8")
    return DataType(name, np.dtype(f"V{bits // 8}"))


Maker = Callable[[str, Mapping[str, JSON], int], DataType]


def _length(configuration: Mapping[str, JSON], unit: int) -> int:
    length = configuration.get("length_bytes")
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length <= MOST_ITEMSIZE or length % unit:
        raise invalid(f"length_bytes {length!r}")
    return length


def _null_terminated(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    length = _length(configuration, 1)
    return DataType("null_terminated_bytes", np.dtype(f"S{length}"), {"length_bytes": length})


def _raw_bytes(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    length = _length(configuration, 1)
    return DataType("raw_bytes", np.dtype(f"V{length}"), {"length_bytes": length})


def _utf32(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    length = _length(configuration, 4)
    return DataType("fixed_length_utf32", np.dtype(f"U{length // 4}"), {"length_bytes": length})


def _time(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    unit, factor = configuration.get("unit", "generic"), configuration.get("scale_factor", 1)
    unit = "us" if unit == "μs" else unit
    if unit not in UNITS or not isinstance(factor, int) or isinstance(factor, bool) or not 0 < factor < 1 << 31:
        raise invalid(f"{name} of unit {unit!r}, scale_factor {factor!r}")
    kind = "M" if name.endswith("datetime64") else "m"
    dtype = np.dtype(f"{kind}8") if unit == "generic" else np.dtype(f"{kind}8[{factor}{unit}]")
    return DataType(name, dtype, {"unit": unit, "scale_factor": factor})


def _string(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    return STRING


def _bytes(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    return BYTES if name == "bytes" else DataType(name, np.dtype(object))


def _struct(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    fields = configuration.get("fields")
    if not isinstance(fields, list) or not fields:
        raise invalid(f"{name} without fields")
    members: list[tuple[str, DataType]] = []
    for entry in fields:
        match entry:
            case [str(label), kind]:
                members.append((label, from_v3(kind, depth + 1)))
            case {"name": str(label), "data_type": kind}:
                members.append((label, from_v3(kind, depth + 1)))
            case _:
                raise invalid(f"{name}: field {entry!r}")
    if len({label for label, _ in members}) != len(members) or any(not label for label, _ in members):
        raise invalid(f"{name}: fields need names, each its own")
    for label, member in members:
        if member.numpy.hasobject or complex_part(member) is not None or member.name in BITS:
            raise Unsupported("datatype", f"{name} with a field {label!r} of {member.name}")
    dtype = of_fields([(label, member.numpy) for label, member in members])
    return DataType(name, dtype, {"fields": [{"name": n, "data_type": to_v3(m)} for n, m in members]})


def _subarray(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    dims = configuration.get("shape")
    if not isinstance(dims, list) or not all(type(n) is int and 0 < n <= MOST_ITEMSIZE for n in dims):
        raise invalid(f"{name} of shape {dims!r}")
    base = from_v3(configuration.get("data_type"), depth + 1)
    if base.numpy.hasobject or complex_part(base) is not None or base.name in BITS:
        raise Unsupported("datatype", f"{name} of {base.name}")
    return DataType(name, with_axes(base.numpy, tuple(dims)), dict(configuration))


def _wrapping(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    if name == OPTIONAL:
        inner = from_v3(configuration, depth + 1) if "name" in configuration else None
    else:
        inner = from_v3(configuration.get("data_type"), depth + 1)
    if inner is None:
        raise invalid(f"{name} without an inner data type")
    return DataType(name, np.dtype(object), dict(configuration))


def _object(name: str, configuration: Mapping[str, JSON], depth: int) -> DataType:
    return OBJECT


def inner_type(data_type: DataType) -> DataType:
    """What an optional or a variable-length array type is made of."""
    document = data_type.configuration if data_type.name == OPTIONAL else data_type.configuration.get("data_type")
    return from_v3(dict(document) if isinstance(document, Mapping) else document)


_V3: Mapping[str, Maker] = {
    "string": _string,
    "bytes": _bytes,
    "binary": _bytes,
    "variable_length_bytes": _bytes,
    "null_terminated_bytes": _null_terminated,
    "raw_bytes": _raw_bytes,
    "fixed_length_utf32": _utf32,
    "fixed_length_ucs4": _utf32,
    "numpy.datetime64": _time,
    "numpy.timedelta64": _time,
    "struct": _struct,
    "structured": _struct,
    SUBARRAY: _subarray,
    VLEN_ARRAY: _wrapping,
    OPTIONAL: _wrapping,
    OBJECT.name: _object,
}

KNOWN: tuple[str, ...] = (*NUMBERS, *NARROW, *COMPLEX_ALIASES, "complex_float16", "complex_bfloat16", "r*", *_V3)
