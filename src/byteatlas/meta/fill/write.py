"""Fill values as documents of versions 2 and 3 write them."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from byteatlas.meta import dtypes
from byteatlas.meta.compare import identical
from byteatlas.meta.fill.basic import NAT, default
from byteatlas.meta.model import DataType
from byteatlas.types import JSON


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
    return identical(to_v3(a, data_type), to_v3(b, data_type))
