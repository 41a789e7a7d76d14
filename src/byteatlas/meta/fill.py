"""Fill values to and from JSON (v2, "Fill value encoding"; v3 core and the registered data types).

In memory a fill value is a NumPy scalar of the array's type (``str``, ``bytes`` or any value for variable-length
types), or None for a version 2 ``null``.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np

from byteatlas.errors import InvalidMetadata
from byteatlas.meta import dtypes
from byteatlas.meta.model import DataType
from byteatlas.types import JSON

NAT = np.iinfo(np.int64).min
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def default(data_type: DataType) -> object:
    """What a chunk without a fill value reads as: zero, the empty string, no bytes."""
    if data_type.name == "string":
        return ""
    if data_type.name in ("bytes", "binary", "variable_length_bytes"):
        return b""
    if data_type.name == dtypes.VLEN_ARRAY:
        return np.empty(0, dtypes.inner_type(data_type).numpy)
    if data_type.numpy.hasobject:
        return None
    return np.zeros((), data_type.numpy)[()]


# ------------------------------------------------------------------------------------------------- from JSON, v3


def from_v3(value: JSON, data_type: DataType, where: str = "") -> object:
    """A version 3 ``fill_value``. ``null`` reads as the type's zero: some writers put it where no value was given.

    Raises `InvalidMetadata` for a value of the wrong kind or outside the type's range.
    """
    if value is None:
        return default(data_type)
    dtype = data_type.numpy
    if dtype.names is not None:
        return _struct(value, data_type, where)
    if dtype.hasobject:
        return _variable(value, data_type, where)
    if dtype.subdtype:
        base, shape = dtype.subdtype
        data = _octets(value, data_type, where)
        if base.hasobject or len(data) != dtype.itemsize:
            raise _wrong(value, data_type, where)
        return np.frombuffer(data, base.newbyteorder("<")).astype(base).reshape(shape)
    part = dtypes.complex_part(data_type)
    if part is not None:
        real, imaginary = (float(x) for x in _pair(value, part, data_type, where))
        return np.complex64(complex(real, imaginary))
    return _scalar(value, dtype, data_type, where)


def _wrong(value: JSON, data_type: DataType, where: str) -> InvalidMetadata:
    shown = repr(value)
    return InvalidMetadata(where, f"fill_value {shown[:80]} does not fit data type {data_type.name}")


def _scalar(value: JSON, dtype: np.dtype[Any], data_type: DataType, where: str) -> object:
    kind = dtype.kind
    if dtype.name in dtypes.NARROW:
        return _narrow(value, dtype, data_type, where)
    if kind == "b" and isinstance(value, bool):
        return np.bool_(value)
    if kind in "iu":
        return _integer(value, dtype, data_type, where)
    if kind == "f":
        return _float(value, dtype, data_type, where)
    if kind == "c":
        half = np.dtype(f"f{dtype.itemsize // 2}")
        pair = np.array(_pair(value, half, data_type, where), half)
        return pair.view(dtype)[0]
    if kind in "mM":
        return _time(value, dtype, data_type, where)
    if kind == "U" and isinstance(value, str):
        return _fits(value, dtype, data_type, where)
    if kind in "SV":
        data = _octets(value, data_type, where)
        if kind == "V" and len(data) != dtype.itemsize:
            raise _wrong(value, data_type, where)
        return _fits(data, dtype, data_type, where)
    raise _wrong(value, data_type, where)


def _integer(value: JSON, dtype: np.dtype[Any], data_type: DataType, where: str) -> object:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    info = np.iinfo(dtype)
    if isinstance(value, bool) or not isinstance(value, int) or not info.min <= value <= info.max:
        raise _wrong(value, data_type, where)
    return dtype.type(value)


def _float(value: JSON, dtype: np.dtype[Any], data_type: DataType, where: str) -> Any:
    if isinstance(value, str):
        if value.startswith(("0x", "0X")):
            return _hex(value, dtype, data_type, where)
        if value not in SPECIAL:
            raise _wrong(value, data_type, where)
        return dtype.type(SPECIAL[value])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(value, data_type, where)
    try:
        with np.errstate(over="ignore"):
            found = dtype.type(value)
    except OverflowError as error:
        raise _wrong(value, data_type, where) from error
    if not np.isfinite(found) and math.isfinite(value):
        raise _wrong(value, data_type, where)
    return found


def _hex(value: str, dtype: np.dtype[Any], data_type: DataType, where: str) -> Any:
    """The bits of a float, most significant first: the only way to keep a NaN's payload."""
    try:
        bits = int(value, 16)
        data = bits.to_bytes(dtype.itemsize, "big")
    except (ValueError, OverflowError) as error:
        raise _wrong(value, data_type, where) from error
    if len(value) != 2 + 2 * dtype.itemsize:
        raise _wrong(value, data_type, where)
    swapped = np.frombuffer(data[::-1], f"<u{dtype.itemsize}").astype(f"=u{dtype.itemsize}")
    return swapped.view(dtype)[0]


def _pair(value: JSON, part: np.dtype[Any], data_type: DataType, where: str) -> list[Any]:
    if not isinstance(value, list) or len(value) != 2:
        raise _wrong(value, data_type, where)
    return [_scalar(x, part, data_type, where) for x in value]


def _narrow(value: JSON, dtype: np.dtype[Any], data_type: DataType, where: str) -> object:
    if "int" in dtype.name:
        bits = dtypes.BITS[dtype.name]
        low, high = (0, (1 << bits) - 1) if dtype.name.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _wrong(value, data_type, where)
        return np.array(value).astype(dtype)[()]
    if isinstance(value, str) and value.startswith(("0x", "0X")):
        return _hex(value, dtype, data_type, where)
    number = SPECIAL.get(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise _wrong(value, data_type, where)
    return np.array(float(number)).astype(dtype)[()]


def _time(value: JSON, dtype: np.dtype[Any], data_type: DataType, where: str) -> object:
    count = NAT if value == "NaT" else value
    if isinstance(count, bool) or not isinstance(count, int) or not NAT <= count < 1 << 63:
        raise _wrong(value, data_type, where)
    return np.array(count, np.int64).view(dtype)[()]


def _octets(value: JSON, data_type: DataType, where: str) -> bytes:
    """Bytes as a list of numbers (the registered form), or as base64 (zarr-python's)."""
    try:
        if isinstance(value, list):
            if any(isinstance(n, bool) for n in value):
                raise _wrong(value, data_type, where)
            return bytes(value)
        if isinstance(value, str):
            return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise _wrong(value, data_type, where) from error
    raise _wrong(value, data_type, where)


def _fits(value: str | bytes, dtype: np.dtype[Any], data_type: DataType, where: str) -> object:
    size = dtype.itemsize // 4 if dtype.kind == "U" else dtype.itemsize
    if len(value) > size:
        raise _wrong(value, data_type, where)
    return np.array(value, dtype)[()]


def _struct(value: JSON, data_type: DataType, where: str) -> object:
    if isinstance(value, str):  # the legacy name "structured": base64 of the packed little-endian bytes
        data = _octets(value, data_type, where)
        little = data_type.numpy.newbyteorder("<")
        if len(data) != little.itemsize:
            raise _wrong(value, data_type, where)
        return np.frombuffer(data, little).astype(data_type.numpy)[0]
    if not isinstance(value, dict):
        raise _wrong(value, data_type, where)
    out = np.zeros((), data_type.numpy)
    for field in data_type.configuration["fields"]:
        if field["name"] not in value:
            raise _wrong(value, data_type, where)
        member = dtypes.from_v3(field["data_type"])
        out[field["name"]] = from_v3(value[field["name"]], member, where)
    return out[()]


def _subarray(value: JSON, data_type: DataType, where: str) -> object:
    """A field that is a small array: its elements as one list, in C order."""
    base, dims = data_type.numpy.subdtype or (data_type.numpy, ())
    if not isinstance(value, list) or len(value) != math.prod(dims):
        raise _wrong(value, data_type, where)
    inner = dtypes.inner_type(data_type)
    out = np.zeros(len(value), base)
    for i, item in enumerate(value):
        out[i] = from_v3(item, inner, where)
    return out.reshape(dims)


def _variable(value: JSON, data_type: DataType, where: str) -> object:
    if data_type.name == "string":
        if isinstance(value, str):
            return value
    elif data_type.name in ("bytes", "binary", "variable_length_bytes"):
        return _octets(value, data_type, where)
    elif data_type.name == dtypes.OPTIONAL:
        if isinstance(value, list) and len(value) == 1:
            return from_v3(value[0], dtypes.inner_type(data_type), where)
    elif data_type.name == dtypes.VLEN_ARRAY:
        if isinstance(value, list):
            inner = dtypes.inner_type(data_type)
            return np.array([from_v3(x, inner, where) for x in value], inner.numpy)
    elif data_type.name == dtypes.OBJECT.name:
        return value
    raise _wrong(value, data_type, where)


# ------------------------------------------------------------------------------------------------- from JSON, v2


def from_v2(value: JSON, data_type: DataType, stored: np.dtype[Any], where: str = "") -> object:
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
        return _object_v2(value, data_type, where)
    if kind == "V":
        if value == 0 or value == "":
            return default(data_type)
        data = _octets(value, data_type, where)
        if len(data) != stored.itemsize:
            raise _wrong(value, data_type, where)
        return np.frombuffer(data, stored).astype(data_type.numpy)[0]
    if kind == "S":
        return _text_v2(value, data_type, where)
    if kind == "U" and value == 0 and not isinstance(value, str):
        return np.str_("")
    if kind == "b" and value in (0, 1):
        return np.bool_(value)
    if kind in "iufc" and isinstance(value, bool):
        value = int(value)
    if kind == "c" and not isinstance(value, list):
        value = [value, 0]
    return _scalar(value, data_type.numpy, data_type, where)


def _object_v2(value: JSON, data_type: DataType, where: str) -> object:
    if data_type.name in ("string", "bytes", dtypes.VLEN_ARRAY) and value == 0 and not isinstance(value, str):
        return default(data_type)
    if data_type.name == dtypes.VLEN_ARRAY and not isinstance(value, list):
        return default(data_type)
    if data_type.name == "bytes" and isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except binascii.Error:
            return value.encode()
    return _variable(value, data_type, where)


def _text_v2(value: JSON, data_type: DataType, where: str) -> object:
    """Base64 as the specification says, or else the text itself, which some writers put there."""
    size = data_type.numpy.itemsize
    if value == 0 and not isinstance(value, str):
        return np.bytes_(b"")
    if not isinstance(value, str):
        raise _wrong(value, data_type, where)
    try:
        data = base64.b64decode(value, validate=True)
        if len(data) <= size:
            return np.bytes_(data)
    except binascii.Error:
        pass
    plain = value.encode("latin-1", "replace")
    if len(plain) > size:
        raise _wrong(value, data_type, where)
    return np.bytes_(plain)


# ------------------------------------------------------------------------------------------------- to JSON


def to_v3(value: object, data_type: DataType) -> JSON:
    """A fill value as version 3 writes it; None becomes the type's zero."""
    if value is None:
        value = default(data_type)
        if value is None:
            return None
    if data_type.numpy.names is not None:
        record = np.asarray(value, data_type.numpy)[()]
        if data_type.name == "structured":  # zarr-python's own name: base64 of the packed little-endian bytes
            little = data_type.numpy.newbyteorder("<")
            return base64.b64encode(np.asarray(record).astype(little).tobytes()).decode()
        members = {f["name"]: dtypes.from_v3(f["data_type"]) for f in data_type.configuration["fields"]}
        return {name: to_v3(record[name], member) for name, member in members.items()}
    if data_type.numpy.hasobject:
        return _variable_json(value, data_type)
    if data_type.numpy.subdtype:  # an array as a member of a record: its packed little-endian bytes
        base = data_type.numpy.subdtype[0]
        return base64.b64encode(np.asarray(value, base).astype(base.newbyteorder("<")).tobytes()).decode()
    part = dtypes.complex_part(data_type)
    if part is not None:
        number = complex(value)  # type: ignore[call-overload]
        return [_float_json(np.float32(number.real)), _float_json(np.float32(number.imag))]
    return _scalar_json(value, data_type)


def _scalar_json(value: Any, data_type: DataType) -> JSON:
    dtype = data_type.numpy
    kind = dtype.kind
    if dtype.name in dtypes.NARROW:
        return int(value) if "int" in dtype.name else _float_json(value)
    if kind == "b":
        return bool(value)
    if kind in "iu":
        return int(value)
    if kind == "f":
        return _float_json(np.asarray(value, dtype)[()])
    if kind == "c":
        half = np.asarray([value], dtype).view(f"f{dtype.itemsize // 2}")
        return [_float_json(half[0]), _float_json(half[1])]
    if kind in "mM":
        count = int(np.asarray(value, dtype).view(np.int64))
        return "NaT" if count == NAT else count
    if kind == "U":
        return str(value)
    data = np.asarray(value, dtype).tobytes()
    if data_type.name.startswith("r") and data_type.name != "raw_bytes":
        return list(data)
    if kind == "S":
        data = data.rstrip(b"\0")
    return base64.b64encode(data).decode()


def _float_json(value: Any) -> JSON:
    number = float(value)
    if math.isnan(number):
        dtype = np.asarray(value).dtype
        if dtype.name in dtypes.NARROW:
            return "NaN"
        bits = int(np.asarray(value).view(f"u{dtype.itemsize}"))
        plain = int(np.asarray(np.nan, dtype).view(f"u{dtype.itemsize}"))
        return "NaN" if bits == plain else f"0x{bits:0{2 * dtype.itemsize}x}"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def _variable_json(value: Any, data_type: DataType) -> JSON:
    if data_type.name in ("bytes", "binary", "variable_length_bytes"):  # a list of numbers is what zarr-python refuses
        return base64.b64encode(value).decode()
    if data_type.name == dtypes.OPTIONAL:
        return [to_v3(value, dtypes.inner_type(data_type))]
    if data_type.name == dtypes.VLEN_ARRAY:
        inner = dtypes.inner_type(data_type)
        return [to_v3(x, inner) for x in value]
    return value


def to_v2(value: object, data_type: DataType, stored: np.dtype[Any]) -> JSON:
    """A fill value as version 2 writes it; None stays ``null``."""
    if value is None:
        return None
    kind = stored.kind
    if data_type.name == "bytes" and isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if data_type.numpy.hasobject:
        return 0 if data_type.name == dtypes.VLEN_ARRAY else value
    if kind == "V":
        data = np.asarray(value, data_type.numpy).astype(stored).tobytes()
        return base64.b64encode(data).decode()
    if kind in "mM":
        return int(np.asarray(value, data_type.numpy).view(np.int64))
    found = to_v3(value, data_type)
    # Version 2 has no form for a NaN with a payload.
    return "NaN" if isinstance(found, str) and kind == "f" and found.startswith("0x") else found


def same(a: object, b: object, data_type: DataType) -> bool:
    """Whether two fill values are the same bits (NaN equals NaN)."""
    return bool(to_v3(a, data_type) == to_v3(b, data_type))


__all__ = ["default", "from_v2", "from_v3", "same", "to_v2", "to_v3"]
