"""``scale_offset`` and ``cast_value`` (Zarr extensions registry): linear packing, and conversion with rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, Context
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.meta import dtypes, fill
from byteatlas.meta.model import DataType
from byteatlas.types import JSON

ROUNDINGS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    "nearest-away": lambda x: np.trunc(x + np.copysign(0.5, x)),
}


def _numeric(data_type: DataType, what: str) -> None:
    dtype = data_type.numpy
    if dtype.kind not in "iuf" and dtype.name not in dtypes.NARROW:
        raise InvalidMetadata("", f"{what} for data type {data_type.name}")


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether a type holds integers."""
    return "int" in dtype.name


def bounds(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Least and greatest value of an integer type."""
    bits = dtypes.BITS.get(dtype.name, 8 * dtype.itemsize)
    if dtype.name.startswith("u"):
        return 0, (1 << bits) - 1
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


# ------------------------------------------------------------------------------------------------------ scale_offset


@dataclass(frozen=True, slots=True)
class ScaleOffset:
    """stored = (value - offset) * scale, in the arithmetic of the array's type."""

    scale: JSON
    offset: JSON

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        _numeric(spec.data_type, "scale_offset")
        dtype = spec.dtype
        scale = 1 if self.scale is None else self._scalar(self.scale, spec.data_type)
        offset = 0 if self.offset is None else self._scalar(self.offset, spec.data_type)
        if scale == 0:
            raise InvalidMetadata("", "scale_offset: scale 0")
        if is_integer(dtype):
            decode, encode = _integer_linear(dtype, int(scale), int(offset))
        else:
            one, zero = np.asarray(scale).astype(dtype), np.asarray(offset).astype(dtype)

            def decode(array: NDArray[Any]) -> NDArray[Any]:
                return _finite(array, (array / one + zero).astype(dtype, copy=False))

            def encode(array: NDArray[Any]) -> NDArray[Any]:
                return _finite(array, ((array - zero) * one).astype(dtype, copy=False))

        filled = None if spec.fill is None else encode(np.array([spec.fill], dtype))[0]
        return ArrayStep(replace(spec, fill=filled), decode, encode)

    @staticmethod
    def _scalar(value: JSON, data_type: DataType) -> Any:
        return fill.from_v3(value, data_type, "scale_offset")


def _finite(before: NDArray[Any], after: NDArray[Any]) -> NDArray[Any]:
    """Results of finite numbers must be finite: the type cannot represent them otherwise."""
    lost = ~np.isfinite(after.astype(np.float64)) & np.isfinite(before.astype(np.float64))
    if lost.any():
        raise CorruptChunk("scale_offset: a value is outside of the data type's range")
    return after


Pair = tuple[Callable[[NDArray[Any]], NDArray[Any]], Callable[[NDArray[Any]], NDArray[Any]]]


def _integer_linear(dtype: np.dtype[Any], scale: int, offset: int) -> Pair:
    low, high = bounds(dtype)

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


def make_scale_offset(configuration: Mapping[str, JSON]) -> ScaleOffset:
    """``scale_offset``."""
    _known(configuration, ("scale", "offset"), "scale_offset")
    return ScaleOffset(configuration.get("scale"), configuration.get("offset"))


def _known(configuration: Mapping[str, JSON], keys: tuple[str, ...], what: str) -> None:
    extra = sorted(set(configuration) - set(keys))
    if extra:
        raise InvalidMetadata("", f"{what}: unknown members {extra}")


# ------------------------------------------------------------------------------------------------------ cast_value


@dataclass(frozen=True, slots=True)
class CastValue:
    """Conversion to another numeric type; nothing is lost silently unless the configuration says how."""

    data_type: JSON
    rounding: str
    out_of_range: str | None
    encode_map: tuple[tuple[JSON, JSON], ...]
    decode_map: tuple[tuple[JSON, JSON], ...]

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        target = dtypes.from_v3(self.data_type, "cast_value")
        _numeric(spec.data_type, "cast_value")
        _numeric(target, "cast_value")
        if self.out_of_range == "wrap" and not is_integer(target.numpy):
            raise InvalidMetadata("", f"cast_value: wrap to {target.name}")
        encode = self._function(spec.data_type, target, self.encode_map)
        decode = self._function(target, spec.data_type, self.decode_map)
        filled = None
        if spec.fill is not None:
            try:
                filled = encode(np.array([spec.fill], spec.dtype))[0]
            except CorruptChunk as error:
                raise InvalidMetadata("", f"cast_value: the fill value cannot be cast: {error.why}") from error
        return ArrayStep(replace(spec, data_type=target, fill=filled), decode, encode)

    def _function(
        self, source: DataType, target: DataType, pairs: tuple[tuple[JSON, JSON], ...]
    ) -> Callable[[NDArray[Any]], NDArray[Any]]:
        mapped = [(fill.from_v3(a, source, "scalar_map"), fill.from_v3(b, target, "scalar_map")) for a, b in pairs]
        wrap = self.out_of_range if is_integer(target.numpy) or self.out_of_range != "wrap" else None

        def convert(array: NDArray[Any]) -> NDArray[Any]:
            special = np.zeros(array.shape, bool)
            places = []
            for key, value in mapped:
                hit = _equal(array, key) & ~special
                special |= hit
                places.append((hit, value))
            plain = array
            if special.any():
                plain = array.copy()
                plain[special] = np.zeros((), array.dtype)
            out = convert_values(plain, target.numpy, self.rounding, wrap)
            for hit, value in places:
                out[hit] = value
            return out

        return convert


def _equal(array: NDArray[Any], key: Any) -> NDArray[np.bool_]:
    if key != key:  # NaN
        return np.asarray(array != array, bool)
    return np.asarray(array == key, bool)


def convert_values(array: NDArray[Any], target: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    """Convert by the rules of ``cast_value``. Raises `CorruptChunk` for a value that no rule covers."""
    if array.dtype == target:
        return array.copy()
    return (
        _to_integer(array, target, rounding, out_of_range)
        if is_integer(target)
        else _to_float(array, target, rounding, out_of_range)
    )


def _to_integer(array: NDArray[Any], target: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    low, high = bounds(target)
    bits = dtypes.BITS.get(target.name, 8 * target.itemsize)
    if not is_integer(array.dtype):
        wide = array.astype(np.float64)
        if not np.isfinite(wide).all() and not (out_of_range == "clamp" and not np.isnan(wide).any()):
            raise CorruptChunk("cast_value: NaN or infinity has no integer")
        rounded = ROUNDINGS[rounding](wide)
        inside = (rounded >= low) & (rounded < float(high) + 1)
        if inside.all():
            return rounded.astype(np.int64 if low < 0 else np.uint64).astype(target)
        values = [low if x == -np.inf else high if x == np.inf else int(x) for x in rounded.reshape(-1).tolist()]
    else:
        least, most = bounds(array.dtype)
        if low <= least and most <= high:
            return array.astype(np.uint64 if least >= 0 else np.int64).astype(target)
        values = [int(x) for x in array.reshape(-1).tolist()]
        if not values or (low <= min(values) and max(values) <= high):
            return array.astype(np.int64 if least < 0 else np.uint64).astype(target)
    if out_of_range is None:
        raise CorruptChunk(f"cast_value: a value is outside of the range of {target}")
    if out_of_range == "clamp":
        values = [min(max(x, low), high) for x in values]
    else:
        values = [(x - low) % (1 << bits) + low for x in values]
    return np.array(values, np.int64 if low < 0 else np.uint64).reshape(array.shape).astype(target)


def _to_float(array: NDArray[Any], target: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        found = array.astype(target)
    exact = array.astype(object) if is_integer(array.dtype) else array.astype(np.float64)
    back = found.astype(np.float64)
    finite = np.ones(array.shape, bool) if is_integer(array.dtype) else np.isfinite(exact.astype(np.float64))
    if (np.isnan(back) & finite).any() or (~finite & ~_alike(back, exact)).any():
        raise CorruptChunk(f"cast_value: {target} cannot hold a value")
    if out_of_range is None and (np.isinf(back) & finite).any():
        raise CorruptChunk(f"cast_value: a value is outside of the range of {target}")
    return found if rounding == "nearest-even" else _rounded(found, exact, target, rounding)


def _alike(back: NDArray[Any], exact: NDArray[Any]) -> NDArray[np.bool_]:
    if exact.dtype == object:
        return np.ones(back.shape, bool)
    return np.asarray((back == exact) | (np.isnan(back) & np.isnan(exact)), bool)


def _rounded(found: NDArray[Any], exact: NDArray[Any], target: np.dtype[Any], rounding: str) -> NDArray[Any]:
    """Move results of rounding to nearest by one step where another direction is asked for."""
    if target.name in dtypes.NARROW or target.itemsize > 8 or rounding == "nearest-away":
        back = found.astype(np.float64)
        differs = np.array([float(b) != e and b == b for b, e in zip(back.flat, exact.flat, strict=True)], bool)
        if differs.any():
            raise CorruptChunk(f"cast_value: rounding {rounding} to {target} is not supported")
        return found
    up, down = target.type(np.inf), target.type(-np.inf)
    out = found.copy()
    for at, value in np.ndenumerate(exact):
        have = out[at]
        number = value if isinstance(value, int) else float(value)
        if have != have or number in (np.inf, -np.inf):
            continue
        comparable = int(have) if isinstance(number, int) and np.isfinite(have) else float(have)
        towards = {"towards-positive": 1, "towards-negative": -1, "towards-zero": -1 if number > 0 else 1}[rounding]
        if towards > 0 and comparable < number:
            out[at] = np.nextafter(have, up)
        elif towards < 0 and comparable > number:
            out[at] = np.nextafter(have, down)
    return out


def make_cast_value(configuration: Mapping[str, JSON]) -> CastValue:
    """``cast_value``."""
    _known(configuration, ("data_type", "rounding", "out_of_range", "scalar_map"), "cast_value")
    rounding = configuration.get("rounding", "nearest-even")
    out_of_range = configuration.get("out_of_range")
    if rounding not in ROUNDINGS or out_of_range not in (None, "clamp", "wrap"):
        raise InvalidMetadata("", f"cast_value: rounding {rounding!r}, out_of_range {out_of_range!r}")
    maps = configuration.get("scalar_map") or {}
    if not isinstance(maps, dict):
        raise InvalidMetadata("", f"cast_value: scalar_map {maps!r}")
    _known(maps, ("encode", "decode"), "cast_value: scalar_map")
    return CastValue(
        configuration.get("data_type"), rounding, out_of_range, _pairs(maps.get("encode")), _pairs(maps.get("decode"))
    )


def _pairs(value: JSON) -> tuple[tuple[JSON, JSON], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise InvalidMetadata("", f"cast_value: scalar_map {value!r}")
    # Some writers put a sign in front of infinity.
    return tuple(("Infinity" if a == "+Infinity" else a, "Infinity" if b == "+Infinity" else b) for a, b in value)
