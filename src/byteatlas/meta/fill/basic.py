"""What reading and writing of fill values share."""

from __future__ import annotations

import math

import numpy as np

from byteatlas.errors import InvalidMetadata
from byteatlas.meta import dtypes
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid
from byteatlas.types import JSON

NAT = np.iinfo(np.int64).min
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def default(data_type: DataType) -> object:
    """What a chunk without a fill value reads as: zero, no time (NaT), the empty string, no bytes.

    Times are NaT, as zarr-python and NumPy have it: a zero would be a date, 1 January 1970.
    """
    if data_type.numpy.kind in "mM":
        return np.array(NAT, np.int64).view(data_type.numpy)[()]
    if data_type.name == "string":
        return ""
    if data_type.name in ("bytes", "binary", "variable_length_bytes"):
        return b""
    if data_type.name == dtypes.VLEN_ARRAY:
        return np.empty(0, dtypes.inner_type(data_type).numpy)
    if data_type.numpy.hasobject:
        return None
    return np.zeros((), data_type.numpy)[()]


def wrong(value: JSON, data_type: DataType) -> InvalidMetadata:
    """A fill value that its type cannot have."""
    shown = repr(value)
    return invalid(f"{shown[:80]} does not fit data type {data_type.name}")
