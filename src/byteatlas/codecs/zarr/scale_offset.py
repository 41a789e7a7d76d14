"""``scale_offset`` (Zarr extensions registry): linear packing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, ChainContext
from byteatlas.codecs.core.options import Configuration, only
from byteatlas.errors import CorruptChunk
from byteatlas.meta import dtypes, fill
from byteatlas.meta.model import DataType
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class ScaleOffset:
    """stored = (value - offset) * scale, in the arithmetic of the array's type."""

    scale: JSON
    offset: JSON

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        if not dtypes.is_number(spec.data_type):
            raise invalid(f"not for data type {spec.data_type.name}")
        dtype = spec.dtype
        scale, offset = (
            _scalar("scale", self.scale, 1, spec.data_type),
            _scalar("offset", self.offset, 0, spec.data_type),
        )
        if scale == 0:
            raise invalid("scale: 0")
        if dtypes.is_integer(dtype):
            decode, encode = _integer_linear(dtype, int(scale), int(offset))
        else:
            one, zero = np.asarray(scale).astype(dtype), np.asarray(offset).astype(dtype)

            def decode(array: NDArray[Any]) -> NDArray[Any]:
                with np.errstate(all="ignore"):
                    return _finite(array, (array / one + zero).astype(dtype, copy=False))

            def encode(array: NDArray[Any]) -> NDArray[Any]:
                with np.errstate(all="ignore"):
                    return _finite(array, ((array - zero) * one).astype(dtype, copy=False))

        filled = None if spec.fill is None else encode(np.array([spec.fill], dtype))[0]
        return ArrayStep(replace(spec, fill=filled), decode, encode)


def _scalar(name: str, value: JSON, default: int, data_type: DataType) -> Any:
    with InMember(name):
        return default if value is None else fill.from_v3(value, data_type)


def _finite(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """Results of finite numbers must be finite: the type cannot represent them otherwise."""
    lost = ~np.isfinite(after.astype(np.float64)) & np.isfinite(before.astype(np.float64))
    if lost.any():
        raise CorruptChunk("scale_offset: a value is outside of the data type's range")
    return after


Functions: TypeAlias = tuple[Callable[[NDArray[Any]], NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]]


def _integer_linear(dtype: np.dtype[Any], scale: int, offset: int) -> Functions:
    low, high = dtypes.bounds(dtype)

    def checked(values: NDArray[Any]) -> NDArray[Any]:
        if values.size and not (low <= min(values.flat) and max(values.flat) <= high):
            raise CorruptChunk("scale_offset: a value is outside of the data type's range")
        return values

    def narrow(values: NDArray[Any]) -> NDArray[Any]:
        return np.array(values.tolist(), np.int64 if low < 0 else np.uint64).reshape(values.shape).astype(dtype)

    def decode(array: NDArray[Any]) -> NDArray[Any]:
        wide = _objects(array)
        if scale != 1:
            if any(int(x) % scale for x in wide.flat):
                raise CorruptChunk("scale_offset: a stored integer is no multiple of the scale")
            wide = wide // scale
        return narrow(checked(wide + offset))

    def encode(array: NDArray[Any]) -> NDArray[Any]:
        return narrow(checked(checked(_objects(array) - offset) * scale))

    return decode, encode


def _objects(array: NDArray[Any]) -> NDArray[Any]:
    """Python integers: exact beyond 64 bits."""
    wide = np.empty(array.shape, object)
    wide.reshape(-1)[:] = [int(x) for x in array.reshape(-1).tolist()]
    return wide


def make(configuration: Configuration) -> ScaleOffset:
    """``scale_offset``."""
    only(configuration, "scale", "offset")
    return ScaleOffset(configuration.get("scale"), configuration.get("offset"))
