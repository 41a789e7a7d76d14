"""numcodecs' numeric filters, which work on the bytes of an array in version 2 and on the array in version 3.

Each is two functions on flat arrays, and the types on its two sides: ``dtype`` (decoded) and ``astype`` (encoded).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import fits
from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, EncoderSetting, integer, number, setting, type_string
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass, replace

Function = Callable[[NDArray[Any]], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class NumericFilter:
    """``dtype`` and ``astype`` None: whatever the array has (a filter that only loses precision)."""

    name: str
    dtype: np.dtype[Any] | None
    astype: np.dtype[Any] | None
    undo: Function
    apply: Function

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        if spec.dtype.hasobject:
            raise invalid(f"not for data type {spec.data_type.name}")
        dtype, astype = self.dtype or spec.dtype, self.astype or self.dtype or spec.dtype
        if dtype.newbyteorder("=") != spec.dtype:
            raise invalid(f"{dtype} in an array of {spec.dtype}")
        # A filter that keeps the type must not turn a narrow complex type into the one that holds it in memory.
        kind = spec.data_type if astype.newbyteorder("=") == spec.dtype else from_numpy(astype)

        def decode(array: NDArray[Any]) -> NDArray[Any]:
            flat = np.ascontiguousarray(array).reshape(-1).astype(astype, copy=False)
            return self.undo(flat).astype(spec.dtype, copy=False).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> NDArray[Any]:
            flat = np.ascontiguousarray(array).reshape(-1).astype(dtype, copy=False)
            return self.apply(flat).astype(kind.numpy, copy=False).reshape(array.shape)

        fill = None if spec.fill is None else encode(np.array([spec.fill], spec.dtype))[0]
        return ArrayStep(replace(spec, data_type=kind, fill=fill), decode, encode)

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        dtype = self.dtype or spec.dtype
        if dtype is None:
            raise invalid("it follows a codec that hides the elements")
        astype = self.astype or dtype
        nbytes, limit = spec.nbytes, spec.limit
        if nbytes is not None and nbytes % dtype.itemsize:
            raise invalid(f"{nbytes} bytes are no whole elements of {dtype}")

        def decode(data: Bytes) -> Bytes:
            if len(data) % astype.itemsize or len(data) // astype.itemsize * dtype.itemsize > limit:
                raise CorruptChunk(f"{self.name}: {len(data)} bytes are no {astype} of this chunk")
            flat = np.frombuffer(data, astype)
            found = self.undo(flat).astype(dtype, copy=False)
            fits(self.name, found.nbytes, spec)
            return np.ascontiguousarray(found).view(np.uint8)

        def encode(data: Bytes) -> Bytes:
            return self.apply(np.frombuffer(data, dtype)).astype(astype, copy=False).tobytes()

        ratio = astype.itemsize / dtype.itemsize
        encoded = None if nbytes is None else nbytes // dtype.itemsize * astype.itemsize
        return ByteStep(encoded, math.ceil(limit * ratio), decode, encode, itemsize=astype.itemsize)


def _types(configuration: Configuration) -> tuple[np.dtype[Any], np.dtype[Any]]:
    dtype = type_string(configuration, "dtype")
    return dtype, type_string(configuration, "astype", dtype.str)


def _optional_types(configuration: Configuration) -> tuple[np.dtype[Any] | None, np.dtype[Any] | None]:
    """The types of a filter that takes the array's own where none is given (numcodecs' codecs of version 3)."""
    astype = None if configuration.get("astype") is None else type_string(configuration, "astype")
    return (None if configuration.get("dtype") is None else type_string(configuration, "dtype")), astype


def make_delta(configuration: Configuration) -> NumericFilter:
    """``numcodecs.delta``: the first element, then differences; sums wrap round like the type does."""
    dtype, astype = _types(configuration)

    def undo(flat: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(flat, dtype=dtype.newbyteorder("="))

    def apply(flat: NDArray[Any]) -> NDArray[Any]:
        out = np.empty(flat.shape, astype.newbyteorder("="))
        out[:1] = flat[:1]
        out[1:] = np.diff(flat)
        return out

    if dtype.kind == "b":
        raise invalid("dtype: Booleans have no differences")
    return NumericFilter("delta", dtype, astype, undo, apply)


def make_fixedscaleoffset(configuration: Configuration) -> NumericFilter:
    """``numcodecs.fixedscaleoffset``: stored = round((value - offset) * scale)."""
    dtype, astype = _optional_types(configuration)
    offset, scale = number(configuration, "offset"), number(configuration, "scale")
    if scale == 0:
        raise invalid("scale: 0")

    def undo(flat: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(flat / scale + offset)

    def apply(flat: NDArray[Any]) -> NDArray[Any]:
        return np.around((flat - offset) * scale)

    return NumericFilter("fixedscaleoffset", dtype, astype, undo, apply)


def make_quantize(configuration: Configuration) -> NumericFilter:
    """``numcodecs.quantize``: rounded to a number of decimal digits; decoding is a cast."""
    dtype, astype = _optional_types(configuration)
    digits = setting(configuration, "digits", 0, least=-299, most=299)
    if any(kind is not None and kind.kind != "f" for kind in (dtype, astype)):
        raise invalid(f"{dtype} as {astype} is not floating point")

    def apply(flat: NDArray[Any]) -> NDArray[Any]:
        exponent = math.log10(10.0 ** -digits.value())
        exponent = math.floor(exponent) if exponent < 0 else math.ceil(exponent)
        scale = 2.0 ** math.ceil(math.log2(10.0**-exponent))
        return np.around(scale * flat) / scale

    return NumericFilter("quantize", dtype, astype, lambda flat: flat, apply)


def make_astype(configuration: Configuration) -> NumericFilter:
    """``numcodecs.astype``: a cast when encoding, the cast back when decoding."""
    encoded = type_string(configuration, "encode_dtype")
    given = configuration.get("decode_dtype") is not None
    decoded = type_string(configuration, "decode_dtype") if given else None

    def apply(flat: NDArray[Any]) -> NDArray[Any]:
        return flat.astype(encoded)

    return NumericFilter("astype", decoded, encoded, lambda flat: flat, apply)


def make_bitround(configuration: Configuration) -> NumericFilter:
    """``bitround`` and ``numcodecs.bitround``: low bits rounded away; decoding changes nothing."""
    bits = EncoderSetting("keepbits", integer(configuration, "keepbits"), least=1, most=64)
    return NumericFilter("bitround", None, None, lambda flat: flat, lambda flat: round_bits(flat, bits.value()))


def round_bits(flat: NDArray[Any], keep: int) -> NDArray[Any]:
    """Round to ``keep`` bits: of the mantissa (to even), or of an integer from its highest set bit on."""
    dtype = flat.dtype
    if dtype.kind == "c":
        half = np.dtype(f"{dtype.byteorder}f{dtype.itemsize // 2}")
        return round_bits(flat.view(half), keep).view(dtype)
    if dtype.kind in "mM":
        return round_bits(flat.view(np.int64), keep).view(dtype)
    if dtype.kind in "iu":
        return _round_integers(flat, keep)
    mantissa = {"bfloat16": 7, "float16": 10, "float32": 23, "float64": 52}.get(dtype.name)
    if mantissa is None:
        raise invalid(f"not for data type {dtype}")
    drop = mantissa - keep
    if drop <= 0:
        return flat
    native = flat.astype(dtype.newbyteorder("="))
    bits = native.view(f"u{dtype.itemsize}")
    one = bits.dtype.type(1)
    shift = bits.dtype.type(drop)
    half_less_one = bits.dtype.type((1 << (drop - 1)) - 1)
    rounded = (bits + ((bits >> shift & one) + half_less_one)) >> shift << shift
    # The carry must not run from infinity or NaN into the sign.
    found = np.where(np.isfinite(native.astype(np.float64)), rounded, bits).astype(bits.dtype)
    return found.view(native.dtype)


def _round_integers(flat: NDArray[Any], keep: int) -> NDArray[Any]:
    wide = flat.astype(np.uint64 if flat.dtype.kind == "u" else np.int64)
    size = np.abs(wide.astype(object))  # exact for every 64-bit value
    out = [0 if not n else _rounded(int(n), keep) for n in size]
    info = np.iinfo(flat.dtype)
    signed = [min(n, info.max) if v >= 0 else max(-n, info.min) for n, v in zip(out, flat.tolist(), strict=True)]
    return np.array(signed, flat.dtype.newbyteorder("="))


def _rounded(value: int, keep: int) -> int:
    drop = value.bit_length() - keep
    if drop <= 0:
        return value
    half = (1 << (drop - 1)) - 1 + (value >> drop & 1)
    return (value + half) >> drop << drop


@dataclass(frozen=True, slots=True)
class PackedBooleans:
    """numcodecs' packbits: Booleans, eight to a byte, the first in the highest bit; a byte in front: the padding."""

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        if spec.dtype != np.bool_:
            raise invalid(f"not for data type {spec.data_type.name}")
        encoded = replace(spec, shape=(1 + -(-spec.size // 8),), data_type=from_numpy(np.dtype(np.uint8)), fill=None)

        def decode(array: NDArray[Any]) -> NDArray[Any]:
            return _unpack(array.reshape(-1), spec.size).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> NDArray[Any]:
            return np.frombuffer(_pack(np.ascontiguousarray(array).reshape(-1)), np.uint8)

        return ArrayStep(encoded, decode, encode)

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        nbytes = spec.nbytes
        if nbytes is None:
            raise invalid("the number of elements varies")

        def decode(data: Bytes) -> Bytes:
            return _unpack(np.frombuffer(data, np.uint8), nbytes).view(np.uint8)

        def encode(data: Bytes) -> Bytes:
            return _pack(np.frombuffer(data, np.bool_))

        packed = 1 + -(-nbytes // 8)
        return ByteStep(packed, packed, decode, encode)


def _unpack(octets: NDArray[np.uint8], count: int) -> NDArray[np.bool_]:
    padding = int(octets[0]) if len(octets) else -1
    if padding > 7 or (len(octets) - 1) * 8 - padding != count:
        raise CorruptChunk(f"packbits: {len(octets)} bytes with padding {padding} for {count} elements")
    return np.unpackbits(octets[1:], count=count).view(np.bool_)


def _pack(flat: NDArray[np.bool_]) -> bytes:
    return bytes([-len(flat) % 8]) + np.packbits(flat).tobytes()


def make_packbits(configuration: Configuration) -> PackedBooleans:
    """``numcodecs.packbits``."""
    return PackedBooleans()
