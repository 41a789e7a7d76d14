"""``cast_value`` (Zarr extensions registry): conversion to another numeric type, with rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, only
from byteatlas.errors import CorruptChunk
from byteatlas.meta import dtypes, fill
from byteatlas.meta.model import DataType
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace

ROUNDINGS: Mapping[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "nearest-even": np.rint,
    "towards-zero": np.trunc,
    "towards-positive": np.ceil,
    "towards-negative": np.floor,
    "nearest-away": lambda x: np.trunc(x + np.copysign(0.5, x)),
}


@dataclass(frozen=True, slots=True)
class CastValue:
    """Conversion to another numeric type; nothing is lost silently unless the configuration says how."""

    data_type: JSON
    rounding: str
    out_of_range: str | None
    encode_map: tuple[tuple[JSON, JSON], ...]
    decode_map: tuple[tuple[JSON, JSON], ...]

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        with InMember("data_type"):
            target = dtypes.from_v3(self.data_type)
        if not dtypes.is_number(spec.data_type):
            raise invalid(f"not for data type {spec.data_type.name}")
        if not dtypes.is_number(target):
            raise invalid(f"not for data type {target.name}")
        if self.out_of_range == "wrap" and not dtypes.is_integer(target.numpy):
            raise invalid(f"out_of_range: wrap to {target.name}")
        encode = self._function(spec.data_type, target, self.encode_map)
        decode = self._function(target, spec.data_type, self.decode_map)
        filled = None
        if spec.fill is not None:
            try:
                filled = encode(np.array([spec.fill], spec.dtype))[0]
            except CorruptChunk as error:
                raise invalid(f"the fill value cannot be cast: {error.why}") from error
        return ArrayStep(replace(spec, data_type=target, fill=filled), decode, encode)

    def _function(
        self, source: DataType, target: DataType, pairs: tuple[tuple[JSON, JSON], ...]
    ) -> Callable[[NDArray[Any]], NDArray[Any]]:
        with InMember("scalar_map"):
            mapped = [(fill.from_v3(a, source), fill.from_v3(b, target)) for a, b in pairs]
        wrap = self.out_of_range if dtypes.is_integer(target.numpy) or self.out_of_range != "wrap" else None

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
        if dtypes.is_integer(target)
        else _to_float(array, target, rounding, out_of_range)
    )


def _to_integer(array: NDArray[Any], target: np.dtype[Any], rounding: str, out_of_range: str | None) -> NDArray[Any]:
    low, high = dtypes.bounds(target)
    bits = dtypes.BITS.get(target.name, 8 * target.itemsize)
    if not dtypes.is_integer(array.dtype):
        wide = array.astype(np.float64)
        if not np.isfinite(wide).all() and not (out_of_range == "clamp" and not np.isnan(wide).any()):
            raise CorruptChunk("cast_value: NaN or infinity has no integer")
        rounded = ROUNDINGS[rounding](wide)
        inside = (rounded >= low) & (rounded < float(high) + 1)
        if inside.all():
            return rounded.astype(np.int64 if low < 0 else np.uint64).astype(target)
        values = [low if x == -np.inf else high if x == np.inf else int(x) for x in rounded.reshape(-1).tolist()]
    else:
        least, most = dtypes.bounds(array.dtype)
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
    exact = array.astype(object) if dtypes.is_integer(array.dtype) else array.astype(np.float64)
    back = found.astype(np.float64)
    finite = np.ones(array.shape, bool) if dtypes.is_integer(array.dtype) else np.isfinite(exact.astype(np.float64))
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


def make(configuration: Configuration) -> CastValue:
    """``cast_value``."""
    only(configuration, "data_type", "rounding", "out_of_range", "scalar_map")
    rounding = choice(configuration, "rounding", ROUNDINGS, "nearest-even")
    out_of_range = choice(configuration, "out_of_range", (None, "clamp", "wrap"))
    maps = configuration.get("scalar_map") or {}
    if not isinstance(maps, dict):
        raise invalid(f"scalar_map: {maps!r} is not an object")
    with InMember("scalar_map"):
        only(maps, "encode", "decode")
    return CastValue(
        configuration.get("data_type"), rounding, out_of_range, _pairs(maps.get("encode")), _pairs(maps.get("decode"))
    )


def _pairs(value: JSON) -> tuple[tuple[JSON, JSON], ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(p, list) and len(p) == 2 for p in value):
        raise invalid(f"scalar_map: {value!r} is not a list of pairs")
    # Some writers put a sign in front of infinity.
    return tuple(("Infinity" if a == "+Infinity" else a, "Infinity" if b == "+Infinity" else b) for a, b in value)
