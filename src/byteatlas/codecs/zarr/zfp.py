"""``zfp`` (Zarr extensions registry, no header in the stream) and ``numcodecs.zfpy`` (with one).

The decoder wants a header and trusts it: the header is written here from the configuration, or checked against the
array when the stream has its own. It also reads on when a stream is cut short: streams are padded with zeros to the
most that the chunk can take.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import ArraySpec, Bytes, ByteSpec, ByteStep, Context, SerializerStep, encoded_limit
from byteatlas.codecs.core.options import integer, number
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.meta.model import DataType
from byteatlas.types import JSON, Shape

MAGIC = b"zfp\x05"
TYPES = {"int32": 0, "int64": 1, "float32": 2, "float64": 3}
SIZE_BITS = {1: 48, 2: 24, 3: 16, 4: 12}
META_BITS, SHORT_BITS, LONG_BITS = 52, 12, 64
MIN_EXP = -1074
# zfp.c, zfp_stream_mode: codes of the short form.
PRECISION_CODE, REVERSIBLE_CODE, ACCURACY_CODE, SHORT_MAX = 2048, 2048 + 128, 2048 + 128 + 1, (1 << 12) - 2
PROMOTED = ("int8", "uint8", "int16", "uint16")


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
    raise InvalidMetadata("", f"zfp for {dtype}")


def _shape(shape: Shape) -> Shape:
    if len(shape) > 4:
        raise InvalidMetadata("", f"zfp for chunks of {len(shape)} dimensions")
    return shape or (1,)


def _meta(kind: np.dtype[Any], shape: Shape) -> int:
    """The 52 bits that say type and size; the last axis is x."""
    width = SIZE_BITS[len(shape)]
    sizes = 0
    for at, n in enumerate(reversed(shape)):
        if n > 1 << width or n < 1:
            raise Unsupported("too-large", f"zfp for a chunk of shape {shape}")
        sizes |= (n - 1) << (at * width)
    return int((sizes << 2 | len(shape) - 1) << 2 | TYPES[kind.name])


def _most(kind: np.dtype[Any], shape: Shape) -> int:
    """More bytes than any compressed chunk of this shape has (zfp.c, zfp_stream_maximum_size)."""
    blocks = math.prod(-(-n // 4) for n in shape)
    values: int = 4 ** len(shape)
    return blocks * (values * (kind.itemsize + 2) + 16) + 64


@dataclass(frozen=True, slots=True)
class Mode:
    """A compression mode as the configuration names it; ``bits(kind, dims)`` is its form in a header."""

    name: str
    values: tuple[float, ...] = ()

    def bits(self, kind: np.dtype[Any], dims: int) -> tuple[int, int]:
        """(value, number of bits)."""
        match self.name:
            case "reversible":
                return REVERSIBLE_CODE, SHORT_BITS
            case "fixed_precision":
                return PRECISION_CODE + int(self.values[0]) - 1, SHORT_BITS
            case "fixed_accuracy":
                tolerance = self.values[0]
                least = math.frexp(tolerance)[1] - 1 if tolerance > 0 else MIN_EXP
                return ACCURACY_CODE + max(least, MIN_EXP) - MIN_EXP, SHORT_BITS
            case "fixed_rate":
                bits = math.floor(4**dims * self.values[0] + 0.5)
                bits = max(bits, {"float32": 1 + 8, "float64": 1 + 11}.get(kind.name, 1))
                return (bits - 1, SHORT_BITS) if bits <= 2048 else self._long(bits, bits, 64, MIN_EXP)
        return self._long(*(int(v) for v in self.values))

    @staticmethod
    def _long(minbits: int, maxbits: int, maxprec: int, minexp: int) -> tuple[int, int]:
        high = (((minexp + 16495) << 7 | maxprec - 1) << 15 | maxbits - 1) << 15 | minbits - 1
        return high << SHORT_BITS | (1 << SHORT_BITS) - 1, LONG_BITS

    def header(self, kind: np.dtype[Any], shape: Shape) -> tuple[int, int]:
        """The whole header as (value, number of bits), lowest bit first."""
        mode, width = self.bits(kind, len(shape))
        value = int.from_bytes(MAGIC, "little") | _meta(kind, shape) << 32 | mode << (32 + META_BITS)
        return value, 32 + META_BITS + width


def with_header(value: int, width: int, data: bytes) -> bytes:
    """Header bits, then the stream's bits."""
    if width % 8 == 0:
        return value.to_bytes(width // 8, "little") + data
    whole = int.from_bytes(data, "little") << width | value
    return whole.to_bytes(-(-(width + 8 * len(data)) // 8), "little")


def decompress(data: bytes, kind: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Decode a stream whose header is known to be right."""
    padded = data + bytes(max(0, _most(kind, shape) - len(data)) + 64)
    try:
        found = np.asarray(imagecodecs.zfp_decode(padded))
    except (imagecodecs.ZfpError, ValueError) as error:
        raise CorruptChunk(f"zfp: {error}") from error
    if found.shape != shape or found.dtype != kind:
        raise CorruptChunk(f"zfp: {found.dtype}{list(found.shape)} decoded where there should be {kind}{list(shape)}")
    return found


@dataclass(frozen=True, slots=True)
class Zfp:
    """``zfp``."""

    mode: Mode

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        kind, shape = _carrier(spec.dtype), _shape(spec.shape)
        value, width = self.mode.header(kind, shape)

        def decode(data: Bytes) -> NDArray[Any]:
            whole = with_header(value, width, bytes(data))
            return _demoted(decompress(whole, kind, shape), spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            return compress(_promoted(array, kind).reshape(shape), self.mode, header=False)

        return SerializerStep(None, 2 * _most(kind, shape), decode, encode)


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


def compress(array: NDArray[Any], mode: Mode, *, header: bool) -> bytes:
    """A stream, with zfp's full header or without."""
    kinds = imagecodecs.ZFP.MODE
    names = {
        "reversible": kinds.REVERSIBLE, "fixed_rate": kinds.FIXED_RATE, "fixed_precision": kinds.FIXED_PRECISION,
        "fixed_accuracy": kinds.FIXED_ACCURACY, "expert": kinds.EXPERT,
    }  # fmt: skip
    level: Any = mode.values[0] if mode.values else None
    if mode.name == "expert":  # the least exponent goes through an unsigned number
        level = tuple(int(v) & 0xFFFFFFFF for v in mode.values)
    packed = bytes(imagecodecs.zfp_encode(np.ascontiguousarray(array), level, mode=names[mode.name], header=True))
    return packed if header else _without_header(packed, mode, array)


def _without_header(packed: bytes, mode: Mode, array: NDArray[Any]) -> bytes:
    value, width = mode.header(array.dtype, array.shape)
    whole = int.from_bytes(packed, "little")
    short = whole >> (32 + META_BITS) & (1 << SHORT_BITS) - 1
    if mode.name == "expert" and short != (1 << SHORT_BITS) - 1:  # what another mode stands for: the same stream
        width, value = 32 + META_BITS + SHORT_BITS, value & (1 << 32 + META_BITS) - 1 | short << (32 + META_BITS)
    if whole & ((1 << width) - 1) != value:
        raise Unsupported("codec", f"zfp wrote another mode than {mode.name} {mode.values}")
    rest = whole >> width
    return rest.to_bytes(-(-(8 * len(packed) - width) // 8), "little")


MODES = {
    "reversible": (),
    "fixed_rate": ("rate",),
    "fixed_precision": ("precision",),
    "fixed_accuracy": ("tolerance",),
    "expert": ("minbits", "maxbits", "maxprec", "minexp"),
}


def make(configuration: Mapping[str, JSON]) -> Zfp:
    """``zfp``."""
    name = configuration.get("mode")
    if not isinstance(name, str) or name not in MODES:
        raise InvalidMetadata("", f"zfp: mode {name!r}")
    return Zfp(_mode(name, configuration, MODES[name]))


def _mode(name: str, configuration: Mapping[str, JSON], keys: tuple[str, ...]) -> Mode:
    values = tuple(float(number(configuration, key)) for key in keys)
    limits = {
        "rate": (1e-9, 2048.0), "precision": (1, 128), "tolerance": (0.0, 2.0**843), "minbits": (1, 1 << 15),
        "maxbits": (1, 1 << 15), "maxprec": (1, 64), "minexp": (-16495, 16272),
    }  # fmt: skip
    for key, value in zip(keys, values, strict=True):
        low, high = limits[key]
        if not low <= value <= high:
            raise InvalidMetadata("", f"zfp: {key} {value}")
    return Mode(name, values)


@dataclass(frozen=True, slots=True)
class Zfpy:
    """``numcodecs.zfpy``: the stream's own header says the mode; type and shape must be the array's."""

    mode: Mode | None

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        kind, shape = _carrier(spec.dtype), _shape(spec.shape)
        if kind != spec.dtype:
            raise InvalidMetadata("", f"zfpy for data type {spec.data_type.name}")
        meta = _meta(kind, shape)

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

        return SerializerStep(None, 2 * _most(kind, shape), decode, encode)

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        return array_as_bytes(self, spec, context, "zfpy")


def array_as_bytes(codec: Any, spec: ByteSpec, context: Context, name: str) -> ByteStep:
    """An array -> bytes codec in the place of a version 2 compressor: it gets the array that the bytes are."""
    if spec.dtype is None or spec.shape is None:
        raise InvalidMetadata("", f"{name} after a codec that hides the elements")
    dtype, shape = spec.dtype, spec.shape
    native = dtype.newbyteorder("=")
    step: SerializerStep = codec.bind_serializer(ArraySpec(shape, DataType(native.name, native)), context)

    def decode(data: Bytes) -> Bytes:
        found = np.ascontiguousarray(step.decode(data)).astype(dtype, copy=False)
        return found.reshape(-1).view(np.uint8)

    def encode(data: Bytes) -> Bytes:
        return step.encode(np.frombuffer(data, dtype).astype(native).reshape(shape))

    return ByteStep(None, encoded_limit(spec.limit), decode, encode)


def make_zfpy(configuration: Mapping[str, JSON]) -> Zfpy:
    """``numcodecs.zfpy``: modes by number, unused parameters -1."""
    numbered = {2: "fixed_rate", 3: "fixed_precision", 4: "fixed_accuracy"}
    number_of = integer(configuration, "mode", 4)
    if number_of not in numbered:
        return Zfpy(None)
    name = numbered[number_of]
    key = MODES[name][0]
    value = configuration.get(key, -1)
    return Zfpy(None if value is None or value == -1 else _mode(name, configuration, MODES[name]))
