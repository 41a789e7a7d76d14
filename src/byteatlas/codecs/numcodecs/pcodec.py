"""``numcodecs.pcodec`` (pco), through imagecodecs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsCompressor
from byteatlas.codecs.core.checks import DamageGuard
from byteatlas.codecs.core.contract import (
    ArraySpec,
    Bytes,
    ChainContext,
    SerializerStep,
    encoded_limit,
)
from byteatlas.codecs.core.options import Configuration, EncoderSetting, setting
from byteatlas.errors import CorruptChunk
from byteatlas.meta.dtypes import complex_part
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

TYPES = ("uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64")


def check_count(head: bytes, count: int) -> None:
    """Refuse a stream that announces more numbers than the chunk has.

    The decoder allocates what the header announces and ends the whole process when that fails. The header of the
    standalone format: ``pco!``, version, from version 3 on a number type, from version 2 on the count as a power (six
    bits, less one) and that many bits.
    """
    if head[:4] != b"pco!" or len(head) < 5:
        raise CorruptChunk("pcodec: not a standalone stream")
    version = head[4]
    if version < 2:
        return
    bits = int.from_bytes(head[6 if version >= 3 else 5 :], "little")
    announced = bits >> 6 & ((1 << ((bits & 63) + 1)) - 1)
    if announced > count:
        raise CorruptChunk(f"pcodec: {announced} numbers announced where the chunk has {count}")


@dataclass(frozen=True, slots=True)
class Pcodec(AsCompressor):
    level: EncoderSetting

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        dtype, count = spec.dtype, spec.size
        if dtype.kind == "c":  # pairs, one after the other; of a narrow type as that stores them
            dtype, count = complex_part(spec.data_type) or np.dtype(f"f{dtype.itemsize // 2}"), 2 * count
        if dtype.kind in "mM":
            dtype = np.dtype(np.int64)
        if dtype.name not in TYPES:
            raise invalid(f"not for data type {spec.data_type.name}")

        wide = np.dtype(f"f{spec.dtype.itemsize // 2}") if spec.dtype.kind == "c" else dtype

        def decode(data: Bytes) -> NDArray[Any]:
            check_count(bytes(data[:16]), count)
            import imagecodecs

            with DamageGuard("pcodec"):
                found = np.asarray(imagecodecs.pcodec_decode(bytes(data), (count,), dtype))
            if found.shape != (count,):
                raise CorruptChunk(f"pcodec: {found.size} elements where the chunk has {count}")
            return found.astype(wide, copy=False).view(spec.dtype).reshape(spec.shape)

        def encode(array: NDArray[Any]) -> Bytes:
            import imagecodecs

            flat = np.ascontiguousarray(array, spec.dtype).reshape(-1).view(wide)
            return bytes(imagecodecs.pcodec_encode(flat.astype(dtype, copy=False), self.level.value()))

        return SerializerStep(None, encoded_limit(count * dtype.itemsize), decode, encode)


def make(configuration: Configuration) -> Pcodec:
    """``numcodecs.pcodec``; only the level matters, and only when encoding."""
    return Pcodec(setting(configuration, "level", 8))
