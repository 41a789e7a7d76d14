"""Number types as NumPy dtypes (HDF 4.2 specification, DFTAG_NT; hntdefs.h of the library)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason

CHAR8 = 4
TYPES: Mapping[int, str] = {
    3: "u1", CHAR8: "S1", 5: "f4", 6: "f8", 20: "i1", 21: "u1", 22: "i2", 23: "u2", 24: "i4", 25: "u4", 26: "i8",
    27: "u8",
}  # fmt: skip
NATIVE, LITTLE = 0x1000, 0x4000
"""Bits of a number type: as on the machine that wrote it, which is taken for a small-endian one; little endian."""
BASE = 0xFFF
VERSION = 1
UNSET, BIG, PC = 0, 1, 4
"""Classes of a number type's record: PC is little endian; others are those of VAXes, Crays and their like."""

DEFAULT_FILLS: Mapping[str, Any] = {
    "S1": b"\0", "i1": -127, "u1": 129, "i2": -32767, "u2": 32769, "i4": -2147483647, "u4": 2147483649,
    "f4": np.float32(9.9692099683868690e36), "f8": 9.9692099683868690e36,
}  # fmt: skip
"""What data that nobody wrote read as, where no attribute says it (mfhdf.h)."""


def number_type(code: int) -> np.dtype[Any]:
    """The dtype of stored values, byte order included. Raises `Unsupported` (reason ``datatype``)."""
    kind = TYPES.get(code & BASE)
    if kind is None:
        raise Unsupported(Reason.DATATYPE, f"number type {code & BASE}")
    return np.dtype(kind).newbyteorder("<" if code & (LITTLE | NATIVE) else ">")


def type_of_record(raw: bytes, base: int) -> np.dtype[Any]:
    """The dtype that a number type's record describes: version, type, bits, class. Raises `CorruptFile`."""
    if len(raw) < 4:
        raise CorruptFile(base, "no record of the number type")
    version, code, _, kind = raw[:4]
    if kind == PC:
        return number_type(code | LITTLE)
    if version != VERSION or kind not in (UNSET, BIG):
        raise Unsupported(Reason.DATATYPE, f"number type {code} of class {kind}, version {version}")
    return number_type(code)


def default_fill(dtype: np.dtype[Any]) -> Any:
    """None for types of which the library has no data."""
    value = DEFAULT_FILLS.get(dtype.str[1:])
    return None if value is None else dtype.newbyteorder("=").type(value)
