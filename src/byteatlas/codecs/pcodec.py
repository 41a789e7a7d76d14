"""``numcodecs.pcodec`` (pco), through imagecodecs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.contract import ArraySpec, Bytes, ByteSpec, ByteStep, Context, SerializerStep, encoded_limit
from byteatlas.codecs.options import integer
from byteatlas.codecs.zfp import array_as_bytes
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON

TYPES = ("uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")


@dataclass(frozen=True, slots=True)
class Pcodec:
    level: int

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        dtype, count = spec.dtype, spec.size
        if dtype.kind == "c":  # pairs, one after the other
            dtype, count = np.dtype(f"f{dtype.itemsize // 2}"), 2 * count
        if dtype.kind in "mM":
            dtype = np.dtype(np.int64)
        if dtype.name not in TYPES:
            raise InvalidMetadata("", f"pcodec for data type {spec.data_type.name}")

        def decode(data: Bytes) -> NDArray[Any]:
            try:
                found = np.asarray(imagecodecs.pcodec_decode(bytes(data), (count,), dtype))
            except (imagecodecs.PcodecError, ValueError) as error:
                raise CorruptChunk(f"pcodec: {error}") from error
            if found.shape != (count,):
                raise CorruptChunk(f"pcodec: {found.size} elements where the chunk has {count}")
            return found.view(spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            flat = np.ascontiguousarray(array, spec.dtype).reshape(-1).view(dtype)
            return bytes(imagecodecs.pcodec_encode(flat, self.level))

        return SerializerStep(None, encoded_limit(count * dtype.itemsize), decode, encode)

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        return array_as_bytes(self, spec, context, "pcodec")


def make(configuration: Mapping[str, JSON]) -> Pcodec:
    """``numcodecs.pcodec``; only the level matters, and only when encoding."""
    return Pcodec(integer(configuration, "level", 8))
