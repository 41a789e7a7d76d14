"""Data types of Zarr v2: type strings and lists of fields (v2, "Data type encoding")."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes.names import (
    MOST_ITEMSIZE,
    MOST_NESTING,
    NARROW,
    OBJECT,
    UNITS,
    complex_part,
    narrow,
    of_fields,
    with_axes,
)
from byteatlas.meta.dtypes.numpy_types import from_numpy
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid
from byteatlas.types import JSON, ByteOrder

_TYPESTR = re.compile(r"[<>|=]?([biufcSUV])(\d+)")
_TIMESTR = r"[<>|=]?([mM])8(?:\[([1-9]\d*)?(" + "|".join(UNITS) + r"|μs)\])?"


def numpy_v2(document: JSON, depth: int = 0) -> np.dtype[Any]:
    """The NumPy dtype, byte order included, of a version 2 ``dtype`` that is not ``|O``.

    Raises `InvalidMetadata` for anything that is not a type string or a list of fields (v2, "Data type encoding").
    """
    if depth > MOST_NESTING:
        raise invalid("a dtype nested too deep")
    if isinstance(document, str):
        return _simple_v2(document)
    if isinstance(document, list) and document:
        return of_fields([_field_v2(entry, depth) for entry in _unique(document)])
    raise invalid(f"{document!r} is no data type")


@lru_cache(256)  # the arrays of a map have few types, and a type string costs as much as all other members
def _simple_v2(text: str) -> np.dtype[Any]:
    if text in NARROW:
        return narrow(text)
    match = _TYPESTR.fullmatch(text)
    if match is None and re.fullmatch(_TIMESTR, text) is None:
        raise invalid(f"{text!r} is no data type")
    if match is not None and (int(match[2]) > MOST_ITEMSIZE or (match[1] in "fc" and int(match[2]) > 16)):
        raise invalid(f"{text!r} is no data type")
    try:
        dtype = np.dtype(text.replace("μ", "u"))
    except (TypeError, ValueError) as error:
        raise invalid(f"{text!r} is no data type") from error
    if dtype.itemsize > MOST_ITEMSIZE:
        raise invalid(f"{text!r}: elements of {dtype.itemsize} bytes")
    if (dtype.kind == "f" and dtype.itemsize > 8) or (dtype.kind == "c" and dtype.itemsize > 16):
        raise Unsupported("datatype", f"dtype {text!r}: extended precision differs between machines")
    return dtype


def _unique(fields: list[JSON]) -> list[JSON]:
    names = [f[0] for f in fields if isinstance(f, list) and f]
    if len(names) != len(fields) or len({str(n) for n in names}) != len(names):
        raise invalid("fields of a structured dtype need names, each its own")
    return fields


def _field_v2(entry: list[JSON], depth: int) -> tuple[str, np.dtype[Any]]:
    if len(entry) not in (2, 3) or not isinstance(entry[0], str) or not entry[0]:
        raise invalid(f"field {entry!r}")
    base = numpy_v2(entry[1], depth + 1)
    if len(entry) == 2:
        return entry[0], base
    dims = entry[2] if isinstance(entry[2], list) else [entry[2]]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 < n <= MOST_ITEMSIZE for n in dims):
        raise invalid(f"field {entry!r}")
    return entry[0], with_axes(base, tuple(dims))


def is_object(document: JSON) -> bool:
    """Whether a version 2 ``dtype`` is that of Python objects."""
    return isinstance(document, str) and document.lstrip("|<>=") in ("O", "O8", "object")


def from_v2(document: JSON) -> DataType:
    """The data type of a version 2 ``dtype``; ``|O`` gives `OBJECT` (the object codec says what it holds)."""
    if is_object(document):
        return OBJECT
    return from_numpy(numpy_v2(document))


def to_v2(data_type: DataType, order: ByteOrder = "<") -> JSON:
    """The version 2 ``dtype`` with this byte order. Raises `Unsupported` where version 2 has none."""
    if data_type.numpy.hasobject:
        if data_type.numpy.names:
            raise Unsupported("datatype", "Zarr v2 has no structured types with variable-length fields")
        return "|O"
    if complex_part(data_type) is not None:
        raise Unsupported("datatype", f"Zarr v2 has no data type {data_type.name}")
    return descr(data_type.numpy.newbyteorder(order))


def descr(dtype: np.dtype[Any]) -> JSON:
    """A NumPy dtype as version 2 writes it. Raises `Unsupported` for one with gaps."""
    if dtype.names is None:
        own = dtype.type.__module__ == "numpy"  # whose names are made anew each time, and are none of those
        return dtype.name if not own and dtype.name in NARROW else dtype.str
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
