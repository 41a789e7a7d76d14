"""``zfp`` (Zarr extensions registry, no header in the stream) and ``numcodecs.zfpy`` (with one).

The header is written here from the configuration, or checked against the array when the stream has its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, integer, number
from byteatlas.codecs.streams.zfp import (
    MAGIC,
    META_BITS,
    SIZE_BITS,
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
    """``numcodecs.zfpy``: the stream's own header says the mode; type and shape must be the array's.

    ``configuration`` is what encoding uses.
    """

    configuration: Configuration

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        kind = _carrier(spec.dtype)
        if kind != spec.dtype:
            raise invalid(f"not for data type {spec.data_type.name}")
        shapes = _layouts(spec.shape)
        metas = {meta_bits(kind, shape): shape for shape in shapes}

        def decode(data: Bytes) -> NDArray[Any]:
            stream = bytes(data)
            shape = metas.get(int.from_bytes(stream[4:12], "little") & ((1 << META_BITS) - 1))
            if stream[:4] != MAGIC or len(stream) < 12 or shape is None:
                raise CorruptChunk("zfpy: the header does not describe this chunk")
            return decompress(stream, kind, shape).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            return compress(np.asarray(array, kind).reshape(shapes[0]), _zfpy_mode(self.configuration), header=True)

        return SerializerStep(None, 2 * max(most_bytes(kind, shape) for shape in shapes), decode, encode)


def _layouts(shape: Shape) -> list[Shape]:
    """The shapes that a chunk may be compressed in: its own, where zfp has such, or flat.

    numcodecs flattens arrays whose order in memory is not C; some releases flattened all.
    """
    own = shape or (1,)
    fits = len(own) in SIZE_BITS and all(0 < n <= 1 << SIZE_BITS[len(own)] for n in own)
    return list(dict.fromkeys([own] * fits + [(max(1, math.prod(shape)),)]))


def make_zfpy(configuration: Configuration) -> Zfpy:
    """``numcodecs.zfpy``."""
    return Zfpy(configuration)


def _zfpy_mode(configuration: Configuration) -> Mode:
    """Modes by number, unused parameters -1."""
    numbered = {2: "fixed_rate", 3: "fixed_precision", 4: "fixed_accuracy"}
    name = numbered.get(integer(configuration, "mode", 4))
    value = None if name is None else configuration.get(MODES[name][0], -1)
    if name is None or value is None or value == -1:
        raise Unsupported("codec", "zfpy cannot compress without a mode")
    return _mode(name, configuration, MODES[name])


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
