"""``zfp`` (Zarr extensions registry, no header in the stream) and ``numcodecs.zfpy`` (with one).

The header is written here from the configuration, or checked against the array when the stream has its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, integer, number
from byteatlas.codecs.streams.zfp import (
    MAGIC,
    META_BITS,
    TYPES,
    Mode,
    compress,
    decompress,
    meta_bits,
    most_bytes,
    with_header,
)
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.meta.place import invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass

PROMOTED = ("int8", "uint8", "int16", "uint16")
MODES = {
    "reversible": (),
    "fixed_rate": ("rate",),
    "fixed_precision": ("precision",),
    "fixed_accuracy": ("tolerance",),
    "expert": ("minbits", "maxbits", "maxprec", "minexp"),
}


def _carrier(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that zfp compresses elements of this type as."""
    name = dtype.name
    if name in ("float16", "bfloat16"):
        return np.dtype(np.float32)
    if name in PROMOTED:
        return np.dtype(np.int32)
    if name in ("uint32", "uint64"):
        return np.dtype(f"i{dtype.itemsize}")
    if dtype.kind in "mM":
        return np.dtype(np.int64)
    if name in TYPES:
        return dtype
    raise invalid(f"not for data type {dtype}")


def _shape(shape: Shape) -> Shape:
    if len(shape) > 4:
        raise invalid(f"chunks of {len(shape)} dimensions")
    return shape or (1,)


@dataclass(frozen=True, slots=True)
class Zfp:
    """``zfp``."""

    mode: Mode

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        kind, shape = _carrier(spec.dtype), _shape(spec.shape)
        value, width = self.mode.header(kind, shape)

        def decode(data: Bytes) -> NDArray[Any]:
            whole = with_header(value, width, bytes(data))
            return _demoted(decompress(whole, kind, shape), spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            return compress(_promoted(array, kind).reshape(shape), self.mode, header=False)

        return SerializerStep(None, 2 * most_bytes(kind, shape), decode, encode)


def _demoted(found: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Back to the array's type (zfp, ``zfp_demote_*``)."""
    name = dtype.name
    if name in PROMOTED:
        bits = 8 * dtype.itemsize
        low = 1 << (bits - 1)
        wide = found >> np.int32(31 - bits)
        if dtype.kind == "u":
            wide, low = wide + low, 0
        limits = np.iinfo(dtype)
        bounded: NDArray[Any] = np.clip(wide, limits.min, limits.max).astype(dtype)
        return bounded
    if dtype.kind in "mMu":
        return found.view(dtype)
    return found.astype(dtype, copy=False)


def _promoted(array: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
    dtype = array.dtype
    packed = np.ascontiguousarray(array)
    if dtype.name in PROMOTED:
        bits = 8 * dtype.itemsize
        wide = packed.astype(np.int32) - (1 << (bits - 1) if dtype.kind == "u" else 0)
        return wide << np.int32(31 - bits)
    return packed.view(kind) if dtype.kind in "mMu" else packed.astype(kind, copy=False)


def make(configuration: Configuration) -> Zfp:
    """``zfp``."""
    name = configuration.get("mode")
    if not isinstance(name, str) or name not in MODES:
        raise invalid(f"zfp: mode {name!r}")
    return Zfp(_mode(name, configuration, MODES[name]))


@dataclass(frozen=True, slots=True)
class Zfpy(AsCompressor):
    """``numcodecs.zfpy``: the stream's own header says the mode; type and shape must be the array's."""

    mode: Mode | None

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        kind, shape = _carrier(spec.dtype), _shape(spec.shape)
        if kind != spec.dtype:
            raise invalid(f"not for data type {spec.data_type.name}")
        meta = meta_bits(kind, shape)

        def decode(data: Bytes) -> NDArray[Any]:
            stream = bytes(data)
            head = int.from_bytes(stream[4:12], "little")
            if stream[:4] != MAGIC or len(stream) < 12 or head & ((1 << META_BITS) - 1) != meta:
                raise CorruptChunk("zfpy: the header does not describe this chunk")
            return decompress(stream, kind, shape).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            if self.mode is None:
                raise Unsupported("codec", "zfpy cannot compress without a mode")
            return compress(np.asarray(array, kind).reshape(shape), self.mode, header=True)

        return SerializerStep(None, 2 * most_bytes(kind, shape), decode, encode)


def make_zfpy(configuration: Configuration) -> Zfpy:
    """``numcodecs.zfpy``: modes by number, unused parameters -1."""
    numbered = {2: "fixed_rate", 3: "fixed_precision", 4: "fixed_accuracy"}
    number_of = integer(configuration, "mode", 4)
    if number_of not in numbered:
        return Zfpy(None)
    name = numbered[number_of]
    key = MODES[name][0]
    value = configuration.get(key, -1)
    return Zfpy(None if value is None or value == -1 else _mode(name, configuration, MODES[name]))


def _mode(name: str, configuration: Configuration, keys: tuple[str, ...]) -> Mode:
    values = tuple(float(number(configuration, key)) for key in keys)
    limits = {
        "rate": (1e-9, 2048.0), "precision": (1, 128), "tolerance": (0.0, 2.0**843), "minbits": (1, 1 << 15),
        "maxbits": (1, 1 << 15), "maxprec": (1, 64), "minexp": (-16495, 16272),
    }  # fmt: skip
    for key, value in zip(keys, values, strict=True):
        low, high = limits[key]
        if not low <= value <= high:
            raise invalid(f"{key}: {value} is not between {low} and {high}")
    return Mode(name, values)
