"""Columns of Arrow as columns of NumPy, straight from their buffers: `to_numpy` would import pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata


def single_chunk(column: Any) -> Any:
    import pyarrow as pa

    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.nulls(0, column.type) if not column.num_chunks else pa.concat_arrays(column.unify_dictionaries().chunks)


def valid_rows(column: Any) -> NDArray[np.bool_]:
    n = len(column)
    if not column.null_count or column.buffers()[0] is None:
        return np.ones(n, np.bool_)
    bits = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
    return bits[column.offset : column.offset + n].astype(np.bool_)


def integers(column: Any, where: str, nulls: int = 0) -> NDArray[np.int64]:
    """A column as 64-bit numbers (straight from its buffer: `to_numpy` would import pandas)."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise InvalidMetadata(where, f"a column of type {column.type} where numbers are expected")
    if not len(column):
        return np.zeros(0, np.int64)
    if pa.types.is_floating(column.type):
        column = column.cast(pa.int64())  # raises ArrowInvalid for fractions; takes an import of 30 ms
    own = np.dtype(str(column.type))
    values = np.frombuffer(column.buffers()[1], own, len(column) + column.offset)[column.offset :]
    if column.null_count:
        values = np.where(valid_rows(column), values, own.type(nulls))
    if own == np.uint64 and bool((values > np.uint64(2**63 - 1)).any()):
        raise InvalidMetadata(where, f"{values.max()} is too large for a place in a file")
    return values.astype(np.int64, copy=False)


def inline_values(column: Any, where: str) -> dict[int, bytes]:
    import pyarrow as pa

    if pa.types.is_null(column.type) or column.null_count == len(column):
        return {}
    shared = pa.types.is_dictionary(column.type)  # a value that stands in many rows is held once
    values = column.dictionary if shared else column
    kind = values.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (text or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
        raise InvalidMetadata(where, f"column raw has type {kind}")
    places = np.flatnonzero(valid_rows(column))
    if shared:
        known = [None if value is None else _as_bytes(value) for value in values.to_pylist()]
        codes = integers(column.indices, where)[places].tolist()
        pairs = zip(places.tolist(), (known[code] for code in codes), strict=True)
        return {place: value for place, value in pairs if value is not None}
    return {place: _as_bytes(values[place].as_py()) for place in places.tolist()}


def _as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
