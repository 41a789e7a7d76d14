"""Fill values of version 2 documents (v2, "Fill value encoding")."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import numpy as np

from byteatlas.meta import dtypes
from byteatlas.meta.fill.basic import default, wrong
from byteatlas.meta.fill.read_v3 import octets, scalar, variable
from byteatlas.meta.model import DataType
from byteatlas.types import JSON


def from_v2(value: JSON, data_type: DataType, stored: np.dtype[Any]) -> object:
    """A version 2 ``fill_value``; None for ``null``.

    ``stored`` is the dtype with its byte order: the base64 of a structured fill value is in that order. Accepted beyond
    the specification: a list of one value (NCZarr 4.8), numbers for Booleans and the other way round, 0 for text.
    """
    if isinstance(value, list) and len(value) == 1 and stored.kind not in "cV":
        value = value[0]
    if value is None:
        return None
    kind = stored.kind
    if data_type.numpy.hasobject:
        return _object_v2(value, data_type)
    if kind == "V":
        if value == 0 or value == "":
            return default(data_type)
        data = octets(value, data_type)
        if len(data) != stored.itemsize:
            raise wrong(value, data_type)
        return np.frombuffer(data, stored).astype(data_type.numpy)[0]
    if kind == "S":
        return _text_v2(value, data_type)
    if kind == "U" and value == 0 and not isinstance(value, str):
        return np.str_("")
    if kind == "b" and value in (0, 1):
        return np.bool_(value)
    if kind in "iufc" and isinstance(value, bool):
        value = int(value)
    if kind == "c" and not isinstance(value, list):
        value = [value, 0]
    return scalar(value, data_type.numpy, data_type)


def _object_v2(value: JSON, data_type: DataType) -> object:
    if data_type.name in ("string", "bytes", dtypes.VLEN_ARRAY) and value == 0 and not isinstance(value, str):
        return default(data_type)
    if data_type.name == dtypes.VLEN_ARRAY and not isinstance(value, list):
        return default(data_type)
    if data_type.name == "bytes" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            return value.encode()
    return variable(value, data_type)


def _text_v2(value: JSON, data_type: DataType) -> object:
    """Base64 as the specification says, or else the text itself, which some writers put there."""
    size = data_type.numpy.itemsize
    if value == 0 and not isinstance(value, str):
        return np.bytes_(b"")
    if not isinstance(value, str):
        raise wrong(value, data_type)
    try:
        data = base64.b64decode(value, validate=True)
        if len(data) <= size:
            return np.bytes_(data)
    except binascii.Error:
        pass
    plain = value.encode("latin-1", "replace")
    if len(plain) > size:
        raise wrong(value, data_type)
    return np.bytes_(plain)
