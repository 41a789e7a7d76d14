"""Fill values of version 3 documents (v3 core, and the registered data types)."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

import numpy as np

from byteatlas.meta import dtypes
from byteatlas.meta.fill.basic import NAT, SPECIAL, default, wrong
from byteatlas.meta.model import DataType
from byteatlas.types import JSON


def from_v3(value: JSON, data_type: DataType) -> object:
    """A version 3 ``fill_value``. ``null`` reads as the type's zero: some writers put it where no value was given.

    Raises `InvalidMetadata` for a value of the wrong kind or outside the type's range.
    """
    if value is None:
        return default(data_type)
    dtype = data_type.numpy
    if dtype.names is not None:
        return _struct(value, data_type)
    if dtype.hasobject:
        return variable(value, data_type)
    if dtype.subdtype:
        base, shape = dtype.subdtype
        data = octets(value, data_type)
        if base.hasobject or len(data) != dtype.itemsize:
            raise wrong(value, data_type)
        return np.frombuffer(data, base.newbyteorder("<")).astype(base).reshape(shape)
    part = dtypes.complex_part(data_type)
    if part is not None:
        real, imaginary = (float(x) for x in _pair(value, part, data_type))
        return np.complex64(complex(real, imaginary))
    return scalar(value, dtype, data_type)


def scalar(value: JSON, dtype: np.dtype[Any], data_type: DataType) -> object:
    kind = dtype.kind
    if dtype.name in dtypes.NARROW:
        return _narrow(value, dtype, data_type)
    if kind == "b" and (isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1))):
        return np.bool_(value)
    if kind in "iu":
        return _integer(value, dtype, data_type)
    if kind == "f":
        return _float(value, dtype, data_type)
    if kind == "c":
        half = np.dtype(f"f{dtype.itemsize // 2}")
        pair = np.array(_pair(value, half, data_type), half)
        return pair.view(dtype)[0]
    if kind in "mM":
        return _time(value, dtype, data_type)
    if kind == "U" and isinstance(value, str):
        return _fits(value, dtype, data_type)
    if kind in "SV":
        data = octets(value, data_type)
        if kind == "V" and len(data) != dtype.itemsize:
            raise wrong(value, data_type)
        return _fits(data, dtype, data_type)
    raise wrong(value, data_type)


NUMBER = re.compile(r"[+-]?\d{1,400}(\.\d{0,400})?([eE][+-]?\d{1,4})?")
"""A number in a string, as some writers put it."""


def _spoken(value: JSON) -> JSON:
    """The number that a string holds; anything else as it is."""
    if not isinstance(value, str) or NUMBER.fullmatch(value) is None:
        return value
    if value.lstrip("+-").isdigit() and value != "-0":
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else value


def _integer(value: JSON, dtype: np.dtype[Any], data_type: DataType) -> object:
    value = _spoken(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    info = np.iinfo(dtype)
    if isinstance(value, bool) or not isinstance(value, int) or not info.min <= value <= info.max:
        raise wrong(value, data_type)
    return dtype.type(value)


def _float(value: JSON, dtype: np.dtype[Any], data_type: DataType) -> Any:
    value = _spoken(value)
    if isinstance(value, str):
        if value.startswith(("0x", "0X")):
            return _hex(value, dtype, data_type)
        if value not in SPECIAL:
            raise wrong(value, data_type)
        return dtype.type(SPECIAL[value])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(value, data_type)
    try:
        with np.errstate(over="ignore"):
            found = dtype.type(value)
    except OverflowError as error:
        raise wrong(value, data_type) from error
    if not np.isfinite(found) and math.isfinite(value):
        raise wrong(value, data_type)
    return found


def _hex(value: str, dtype: np.dtype[Any], data_type: DataType) -> Any:
    """The bits of a float, most significant first: the only way to keep a NaN's payload."""
    try:
        bits = int(value, 16)
        data = bits.to_bytes(dtype.itemsize, "big")
    except (ValueError, OverflowError) as error:
        raise wrong(value, data_type) from error
    if len(value) != 2 + 2 * dtype.itemsize:
        raise wrong(value, data_type)
    swapped = np.frombuffer(data[::-1], f"<u{dtype.itemsize}").astype(f"=u{dtype.itemsize}")
    return swapped.view(dtype)[0]


def _pair(value: JSON, part: np.dtype[Any], data_type: DataType) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise wrong(value, data_type)
    return [scalar(x, part, data_type) for x in value]


def _narrow(value: JSON, dtype: np.dtype[Any], data_type: DataType) -> object:
    if "int" in dtype.name:
        low, high = dtypes.bounds(dtype)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise wrong(value, data_type)
        return np.array(value).astype(dtype)[()]
    if isinstance(value, str) and value.startswith(("0x", "0X")):
        return _hex(value, dtype, data_type)
    number = SPECIAL.get(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise wrong(value, data_type)
    import ml_dtypes

    if math.inf > abs(number) > float(ml_dtypes.finfo(dtype).max):
        raise wrong(value, data_type)
    found = np.array(float(number)).astype(dtype)[()]
    kept = float(found)
    if not math.isfinite(number) and kept != number and not (math.isnan(kept) and math.isnan(number)):
        raise wrong(value, data_type)  # some types have no infinity, or no NaN
    return found


def _time(value: JSON, dtype: np.dtype[Any], data_type: DataType) -> object:
    count = NAT if value == "NaT" else value
    if isinstance(count, bool) or not isinstance(count, int) or not NAT <= count < 1 << 63:
        raise wrong(value, data_type)
    return np.array(count, np.int64).view(dtype)[()]


def octets(value: JSON, data_type: DataType) -> bytes:
    """Bytes as a list of numbers (the registered form), or as base64 (zarr-python's)."""
    try:
        if isinstance(value, list):
            if any(isinstance(n, bool) for n in value):
                raise wrong(value, data_type)
            return bytes(value)
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise wrong(value, data_type) from error
    raise wrong(value, data_type)


def _fits(value: str | bytes, dtype: np.dtype[Any], data_type: DataType) -> object:
    size = dtype.itemsize // 4 if dtype.kind == "U" else dtype.itemsize
    if len(value) > size:
        raise wrong(value, data_type)
    return np.array(value, dtype)[()]


def _struct(value: JSON, data_type: DataType) -> object:
    if isinstance(value, str):  # the legacy name "structured": base64 of the packed little-endian bytes
        data = octets(value, data_type)
        little = data_type.numpy.newbyteorder("<")
        if len(data) != little.itemsize:
            raise wrong(value, data_type)
        return np.frombuffer(data, little).astype(data_type.numpy)[0]
    if not isinstance(value, dict):
        raise wrong(value, data_type)
    out = np.zeros((), data_type.numpy)
    for field in data_type.configuration["fields"]:
        if field["name"] not in value:
            raise wrong(value, data_type)
        member = dtypes.from_v3(field["data_type"])
        out[field["name"]] = from_v3(value[field["name"]], member)
    return out[()]


def variable(value: JSON, data_type: DataType) -> object:
    if data_type.name == "string":
        if isinstance(value, str):
            return value
    elif data_type.name in ("bytes", "binary", "variable_length_bytes"):
        return octets(value, data_type)
    elif data_type.name == dtypes.OPTIONAL:
        if isinstance(value, list) and len(value) == 1:
            return from_v3(value[0], dtypes.inner_type(data_type))
    elif data_type.name == dtypes.VLEN_ARRAY:
        if isinstance(value, list):
            inner = dtypes.inner_type(data_type)
            return np.array([from_v3(x, inner) for x in value], inner.numpy)
    elif data_type.name == dtypes.OBJECT.name:
        return value
    raise wrong(value, data_type)
