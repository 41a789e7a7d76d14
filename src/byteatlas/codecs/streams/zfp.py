"""ZFP streams: their header, and their decoding within bounds (zfp's documentation, "Header", and zfp.c).

The decoder wants a header and trusts it. It also reads on when a stream is cut short: streams are padded with zeros to
the most that the chunk can take.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.types import Shape
from byteatlas.values import dataclass

MAGIC = b"zfp\x05"
TYPES = {"int32": 0, "int64": 1, "float32": 2, "float64": 3}
SIZE_BITS = {1: 48, 2: 24, 3: 16, 4: 12}
META_BITS, SHORT_BITS, LONG_BITS = 52, 12, 64
MIN_EXP = -1074
# zfp.c, zfp_stream_mode: codes of the short form.
PRECISION_CODE, REVERSIBLE_CODE, ACCURACY_CODE = 2048, 2048 + 128, 2048 + 128 + 1


def meta_bits(kind: np.dtype[Any], shape: Shape) -> int:
    """The 52 bits that say type and size; the last axis is x."""
    width = SIZE_BITS[len(shape)]
    sizes = 0
    for at, n in enumerate(reversed(shape)):
        if n > 1 << width or n < 1:
            raise Unsupported("too-large", f"zfp for a chunk of shape {shape}")
        sizes |= (n - 1) << (at * width)
    return int((sizes << 2 | len(shape) - 1) << 2 | TYPES[kind.name])


def header_array(header: int) -> tuple[np.dtype[Any], Shape]:
    """Type and shape of the array that a header (as a number, lowest bit first) describes."""
    meta = header >> 32 & (1 << META_BITS) - 1
    kinds, dims = {number: name for name, number in TYPES.items()}, (meta >> 2 & 3) + 1
    width = SIZE_BITS[dims]
    sizes = [(meta >> 4 + at * width & (1 << width) - 1) + 1 for at in range(dims)]
    return np.dtype(kinds[meta & 3]), tuple(reversed(sizes))


def most_bytes(kind: np.dtype[Any], shape: Shape) -> int:
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
        value = int.from_bytes(MAGIC, "little") | meta_bits(kind, shape) << 32 | mode << (32 + META_BITS)
        return value, 32 + META_BITS + width


def with_header(value: int, width: int, data: bytes) -> bytes:
    """Header bits, then the stream's bits."""
    if width % 8 == 0:
        return value.to_bytes(width // 8, "little") + data
    whole = int.from_bytes(data, "little") << width | value
    return whole.to_bytes(-(-(width + 8 * len(data)) // 8), "little")


def decompress(data: bytes, kind: np.dtype[Any], shape: Shape) -> NDArray[Any]:
    """Decode a stream whose header is known to be right."""
    padded = data + bytes(max(0, most_bytes(kind, shape) - len(data)) + 64)
    with DamageGuard("zfp"):
        found = np.asarray(imagecodecs_function("zfp_decode")(padded))
    if found.shape != shape or found.dtype != kind:
        raise CorruptChunk(f"zfp: {found.dtype}{list(found.shape)} decoded where there should be {kind}{list(shape)}")
    return found


def compress(array: NDArray[Any], mode: Mode, *, header: bool) -> bytes:
    """A stream, with zfp's full header or without."""
    import imagecodecs

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
