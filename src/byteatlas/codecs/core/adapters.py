"""Codecs in a place that is not theirs: version 2 has compressors where version 3 has array -> bytes codecs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import (
    ArraySpec,
    ByteCodec,
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    Serializer,
    SerializerStep,
    encoded_limit,
)
from byteatlas.meta.model import DataType
from byteatlas.meta.place import invalid


class AsCompressor:
    """An array -> bytes codec that version 2 has as a compressor of bytes too."""

    __slots__ = ()

    def bind_bytes(self: Serializer, spec: ByteSpec, context: ChainContext) -> ByteStep:
        return array_as_bytes(self, spec, context)


class AsSerializer:
    """An image codec, which turns bytes into bytes in version 2, and arrays into bytes in version 3."""

    __slots__ = ()

    def bind_serializer(self: ByteCodec, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        return as_serializer(self, spec, context)


def array_as_bytes(codec: Serializer, spec: ByteSpec, context: ChainContext) -> ByteStep:
    """An array -> bytes codec in the place of a version 2 compressor: it gets the array that the bytes are."""
    if spec.dtype is None or spec.shape is None:
        raise invalid("it follows a codec that hides the elements")
    dtype, shape = spec.dtype, spec.shape
    native = dtype.newbyteorder("=")
    step = codec.bind_serializer(ArraySpec(shape, DataType(native.name, native)), context)

    def decode(data: Bytes) -> Bytes:
        found = np.ascontiguousarray(step.decode(data)).astype(dtype, copy=False)
        return found.reshape(-1).view(np.uint8)

    def encode(data: Bytes) -> Bytes:
        return step.encode(np.frombuffer(data, dtype).astype(native).reshape(shape))

    return ByteStep(None, encoded_limit(spec.limit), decode, encode)


def as_serializer(codec: ByteCodec, spec: ArraySpec, context: ChainContext) -> SerializerStep:
    """An image codec in the place of an array -> bytes codec, which is what it is in imagecodecs' Zarr v3 classes."""
    dtype = spec.dtype
    if dtype.hasobject:
        raise invalid(f"not for the variable-length data type {spec.data_type.name}")
    nbytes = spec.size * dtype.itemsize
    step = codec.bind_bytes(ByteSpec(nbytes, nbytes, dtype.itemsize, dtype, spec.shape), context)

    def decode(data: Bytes) -> NDArray[Any]:
        return np.frombuffer(step.decode(data), dtype).reshape(spec.shape)

    def encode(array: NDArray[Any]) -> Bytes:
        return step.encode(np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8))

    return SerializerStep(None, encoded_limit(nbytes), decode, encode, dtype.itemsize)
