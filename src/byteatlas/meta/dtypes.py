"""Data types: Zarr v3 names and configurations, v2 type strings, and the NumPy types that values have in memory.

Types that NumPy does not have come from ``ml_dtypes`` (an extra); complex numbers of narrow floats are held as
``complex64``, which keeps their values exactly. `stored_dtype` says what the bytes of one element look like where that
is not the type in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from byteatlas.errors import InvalidMetadata, MissingExtra, Unsupported
from byteatlas.meta.model import DataType
from byteatlas.types import JSON

STRING = DataType("string", np.dtype(object))
"""Text of any length; elements are ``str``."""
BYTES = DataType("bytes", np.dtype(object))
"""Byte strings of any length; elements are ``bytes``."""
OBJECT = DataType("byteatlas.object", np.dtype(object))
"""Whatever a version 2 object codec (JSON, MessagePack) holds."""

MOST_NESTING = 16
MOST_ITEMSIZE = 1 << 28
SUBARRAY = "byteatlas.subarray"
VLEN_ARRAY = "byteatlas.vlen-array"
OPTIONAL = "zarrs.optional"

NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
PLAIN: Mapping[np.dtype[Any], DataType] = {np.dtype(n): DataType(n, np.dtype(n)) for n in NUMBERS}
"""One object for each, so that the descriptions of thousands of arrays are seen to be equal at once."""
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
_TYPESTR = re.compile(r"[<>|=]?([biufcSUV])(\d+)")
_TIMESTR = r"[<>|=]?([mM])8(?:\[(\d*)(" + "|".join(UNITS) + r"|μs)\])?"


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


def stored_dtype(data_type: DataType) -> np.dtype[Any]:
    """What one element's bytes are, in native byte order (the codec ``bytes`` says which order they are in)."""
    part = complex_part(data_type)
    return data_type.numpy if part is None else np.dtype([("real", part), ("imag", part)])


# ---------------------------------------------------------------------------------------------------- from NumPy


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


# ---------------------------------------------------------------------------------------------------- version 2


def numpy_v2(document: JSON, where: str = "", depth: int = 0) -> np.dtype[Any]:
    """The NumPy dtype, byte order included, of a version 2 ``dtype`` that is not ``|O``.

    Raises `InvalidMetadata` for anything that is not a type string or a list of fields (v2, "Data type encoding").
    """
    if depth > MOST_NESTING:
        raise InvalidMetadata(where, "a dtype nested too deep")
    if isinstance(document, str):
        return _simple_v2(document, where)
    if isinstance(document, list) and document:
        return np.dtype([_field_v2(entry, where, depth) for entry in _unique(document, where)])
    raise InvalidMetadata(where, f"dtype {document!r}")


def _simple_v2(text: str, where: str) -> np.dtype[Any]:
    if text in NARROW:
        return narrow(text)
    match = _TYPESTR.fullmatch(text)
    if match is None and re.fullmatch(_TIMESTR, text) is None:
        raise InvalidMetadata(where, f"dtype {text!r}")
    if match is not None and (int(match[2]) > MOST_ITEMSIZE or (match[1] in "fc" and int(match[2]) > 16)):
        raise InvalidMetadata(where, f"dtype {text!r}")
    try:
        dtype = np.dtype(text.replace("μ", "u"))
    except (TypeError, ValueError) as error:
        raise InvalidMetadata(where, f"dtype {text!r}") from error
    if (dtype.kind == "f" and dtype.itemsize > 8) or (dtype.kind == "c" and dtype.itemsize > 16):
        raise Unsupported("datatype", f"{where}: dtype {text!r}: extended precision differs between machines")
    return dtype


def _unique(fields: list[JSON], where: str) -> list[JSON]:
    names = [f[0] for f in fields if isinstance(f, list) and f]
    if len(names) != len(fields) or len({str(n) for n in names}) != len(names):
        raise InvalidMetadata(where, "fields of a structured dtype need names, each its own")
    return fields


def _field_v2(entry: list[JSON], where: str, depth: int) -> tuple[Any, ...]:
    if len(entry) not in (2, 3) or not isinstance(entry[0], str) or not entry[0]:
        raise InvalidMetadata(where, f"field {entry!r}")
    base = numpy_v2(entry[1], where, depth + 1)
    if len(entry) == 2:
        return entry[0], base
    dims = entry[2] if isinstance(entry[2], list) else [entry[2]]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 < n <= MOST_ITEMSIZE for n in dims):
        raise InvalidMetadata(where, f"field {entry!r}")
    return entry[0], base, tuple(dims)


def from_v2(document: JSON, where: str = "") -> DataType:
    """The data type of a version 2 ``dtype``; ``|O`` gives `OBJECT` (the object codec says what it holds)."""
    if isinstance(document, str) and document.lstrip("|<>=") in ("O", "O8", "object"):
        return OBJECT
    return from_numpy(numpy_v2(document, where))


def to_v2(data_type: DataType, order: str = "<") -> JSON:
    """The version 2 ``dtype`` with this byte order. Raises `Unsupported` where version 2 has none."""
    if data_type.numpy.hasobject:
        if data_type.numpy.names:
            raise Unsupported("datatype", "Zarr v2 has no structured types with variable-length fields")
        return "|O"
    if complex_part(data_type) is not None:
        raise Unsupported("datatype", f"Zarr v2 has no data type {data_type.name}")
    return descr(data_type.numpy.newbyteorder(order))  # type: ignore[arg-type]


def descr(dtype: np.dtype[Any]) -> JSON:
    """A NumPy dtype as version 2 writes it. Raises `Unsupported` for one with gaps."""
    if dtype.names is None:
        return dtype.name if dtype.name in NARROW else dtype.str
    out: list[JSON] = []
    at = 0
    for name in dtype.names:
        assert dtype.fields is not None
        field, offset = dtype.fields[name][:2]
        if offset != at:
            raise Unsupported("datatype", "Zarr v2 has no structured types with gaps between the fields")
        at += field.itemsize
        base, dims = field.subdtype or (field, ())
        out.append([name, descr(base), list(dims)] if dims else [name, descr(base)])
    if at != dtype.itemsize:
        raise Unsupported("datatype", "Zarr v2 has no structured types with gaps after the fields")
    return out


# ---------------------------------------------------------------------------------------------------- version 3


def from_v3(document: JSON, where: str = "", depth: int = 0) -> DataType:
    """The data type of a version 3 ``data_type``: a name, or an object with ``name`` and ``configuration``.

    Raises `InvalidMetadata`, `Unsupported` for a name that is not known, `MissingExtra` for one of ``ml_dtypes``.
    """
    if depth > MOST_NESTING:
        raise InvalidMetadata(where, "a data type nested too deep")
    name: JSON = document
    configuration: JSON = {}
    if isinstance(document, dict):
        name, configuration = document.get("name"), document.get("configuration") or {}
        if document.get("must_understand", True) is not True or not isinstance(configuration, dict):
            raise InvalidMetadata(where, f"data_type {document!r}")
    if not isinstance(name, str):
        raise InvalidMetadata(where, f"data_type {document!r}")
    if name in NUMBERS:
        return DataType(name, np.dtype(name))
    if name in NARROW:
        return DataType(name, narrow(name))
    if name.startswith("complex_"):
        return _complex_v3(name)
    if re.fullmatch(r"r[1-9]\d*", name):
        return _raw_v3(name, where)
    made = _V3.get(name)
    if made is None:
        raise Unsupported("datatype", f"{where + ': ' if where else ''}unknown data type {name!r}")
    return made(name, configuration, where, depth)


def _complex_v3(name: str) -> DataType:
    if name in COMPLEX_ALIASES:
        return DataType(name, np.dtype(COMPLEX_ALIASES[name]))
    part = name[len("complex_") :]
    if part != "float16" and (part not in NARROW or "int" in part):
        raise Unsupported("datatype", f"unknown data type {name!r}")
    if part != "float16":
        narrow(part)
    return DataType(name, np.dtype(np.complex64))


def _raw_v3(name: str, where: str) -> DataType:
    bits = int(name[1:])
    if bits % 8 or bits > 8 * MOST_ITEMSIZE:
        raise InvalidMetadata(where, f"data type {name!r}: bits must be a multiple of 8")
    return DataType(name, np.dtype(f"V{bits // 8}"))


Maker = Callable[[str, Mapping[str, JSON], str, int], DataType]


def _length(configuration: Mapping[str, JSON], where: str, unit: int) -> int:
    length = configuration.get("length_bytes")
    good = isinstance(length, int) and not isinstance(length, bool) and 0 < length <= MOST_ITEMSIZE
    if not good or length % unit:  # type: ignore[operator]
        raise InvalidMetadata(where, f"length_bytes {length!r}")
    return int(length)  # type: ignore[arg-type]


def _null_terminated(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    length = _length(configuration, where, 1)
    return DataType("null_terminated_bytes", np.dtype(f"S{length}"), {"length_bytes": length})


def _raw_bytes(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    length = _length(configuration, where, 1)
    return DataType("raw_bytes", np.dtype(f"V{length}"), {"length_bytes": length})


def _utf32(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    length = _length(configuration, where, 4)
    return DataType("fixed_length_utf32", np.dtype(f"U{length // 4}"), {"length_bytes": length})


def _time(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    unit, factor = configuration.get("unit", "generic"), configuration.get("scale_factor", 1)
    unit = "us" if unit == "μs" else unit
    if unit not in UNITS or not isinstance(factor, int) or isinstance(factor, bool) or not 0 < factor < 1 << 31:
        raise InvalidMetadata(where, f"{name} of unit {unit!r}, scale_factor {factor!r}")
    kind = "M" if name.endswith("datetime64") else "m"
    dtype = np.dtype(f"{kind}8") if unit == "generic" else np.dtype(f"{kind}8[{factor}{unit}]")
    return DataType(name, dtype, {"unit": unit, "scale_factor": factor})


def _string(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    return STRING


def _bytes(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    return BYTES if name == "bytes" else DataType(name, np.dtype(object))


def _struct(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    fields = configuration.get("fields")
    if not isinstance(fields, list) or not fields:
        raise InvalidMetadata(where, f"{name} without fields")
    members: list[tuple[str, DataType]] = []
    for entry in fields:
        match entry:
            case [str(label), kind]:
                members.append((label, from_v3(kind, where, depth + 1)))
            case {"name": str(label), "data_type": kind}:
                members.append((label, from_v3(kind, where, depth + 1)))
            case _:
                raise InvalidMetadata(where, f"{name}: field {entry!r}")
    if len({label for label, _ in members}) != len(members) or any(not label for label, _ in members):
        raise InvalidMetadata(where, f"{name}: fields need names, each its own")
    for label, member in members:
        if member.numpy.hasobject or complex_part(member) is not None or member.name in BITS:
            raise Unsupported("datatype", f"{where}: {name} with a field {label!r} of {member.name}")
    dtype = np.dtype([(label, member.numpy) for label, member in members])
    return DataType(name, dtype, {"fields": [{"name": n, "data_type": to_v3(m)} for n, m in members]})


def _subarray(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    dims = configuration.get("shape")
    if not isinstance(dims, list) or not all(isinstance(n, int) and 0 < n <= MOST_ITEMSIZE for n in dims):
        raise InvalidMetadata(where, f"{name} of shape {dims!r}")
    base = from_v3(configuration.get("data_type"), where, depth + 1)
    return DataType(name, np.dtype((base.numpy, tuple(dims))), dict(configuration))


def _wrapping(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
    if name == OPTIONAL:
        inner = from_v3(configuration, where, depth + 1) if "name" in configuration else None
    else:
        inner = from_v3(configuration.get("data_type"), where, depth + 1)
    if inner is None:
        raise InvalidMetadata(where, f"{name} without an inner data type")
    return DataType(name, np.dtype(object), dict(configuration))


def _object(name: str, configuration: Mapping[str, JSON], where: str, depth: int) -> DataType:
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


def to_v3(data_type: DataType) -> JSON:
    """The version 3 ``data_type``: the name, or an object when there is a configuration."""
    if data_type.name == "structured":
        pairs = [[f["name"], f["data_type"]] for f in data_type.configuration["fields"]]
        return {"name": "structured", "configuration": {"fields": pairs}}
    if not data_type.configuration:
        return data_type.name
    return {"name": data_type.name, "configuration": dict(data_type.configuration)}
