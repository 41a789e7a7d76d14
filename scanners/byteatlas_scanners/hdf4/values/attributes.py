"""Attributes: Vdatas of one field, as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.types import JSON
from byteatlas_scanners.hdf4.format.vdata import Vdata
from byteatlas_scanners.hdf4.values.number_types import BASE, CHAR8, number_type

ATTRIBUTE = "Attr0.0"


def attribute_value(table: Vdata, raw: bytes) -> JSON:
    """Text as str, one number as a number, several as a list. Raises `CorruptFile`, `Unsupported`."""
    if len(table.fields) != 1:
        raise CorruptFile(0, f"an attribute of {len(table.fields)} fields")
    field = table.fields[0]
    return value_of(raw, field.type, table.count * max(field.order, 1))


def value_of(raw: bytes, code: int, count: int) -> JSON:
    """So many values of a number type."""
    dtype = number_type(code)
    if len(raw) < count * dtype.itemsize:
        raise CorruptFile(0, f"{len(raw)} bytes of an attribute of {count} values")
    if code & BASE == CHAR8:
        return char_text(raw[:count])
    return plain(np.frombuffer(raw, dtype, count))


def plain(values: np.ndarray[Any, np.dtype[Any]]) -> JSON:
    """Numbers as JSON: one by itself, several as a list."""
    found = values.tolist()
    return found[0] if len(found) == 1 else found


def char_text(raw: bytes) -> str:
    """Text without the NULs at its end; UTF-8 where it is, else Latin-1."""
    raw = raw.rstrip(b"\0")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
