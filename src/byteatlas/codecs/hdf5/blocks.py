"""HDF5 filters with framings of their own: bitshuffle with LZ4 or Zstandard, and ZFP.

Framings: bitshuffle's ``bshuf_h5filter.c``; H5Z-ZFP's documentation ("HDF5 chunk and the ZFP header").
"""

from __future__ import annotations

import math
import struct

from byteatlas.codecs.core.checks import DamageGuard, at_least, exactly
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.codecs.streams.zfp import decompress, header_array, with_header
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer

SIZES = struct.Struct(">QI")
"""Decoded bytes of a bitshuffle chunk, and of each of its blocks."""
NAME, ZFP = "byteatlas.hdf5-bitshuffle", "byteatlas.hdf5-zfp"
MOST_BLOCKS = 1 << 24


def bitshuffle(data: Buffer, itemsize: int, compressor: str, most: int) -> bytes:
    """Undo bitshuffle + LZ4 or Zstandard: at most ``most`` bytes. Raises `CorruptChunk`.

    After the sizes, in big-endian, come blocks of equal decoded size, each with its length; the rest, fewer than
    eight elements, is stored as it is.
    """
    at_least(NAME, len(data), SIZES.size)
    total, block = SIZES.unpack_from(data)
    group = 8 * itemsize
    if total > most or not block or block % group:
        raise CorruptChunk(f"{NAME}: a chunk of {total} bytes in blocks of {block}, where {most} are expected")
    packed = total // group * group
    view = memoryview(data)
    unpacked, at = _decompress(view, 12, packed, block, compressor)
    rest = total - packed
    at_least(NAME, len(data), at + rest)
    if not packed:
        return bytes(view[at : at + rest])
    with DamageGuard(NAME):
        out = imagecodecs_function("bitshuffle_decode")(unpacked, itemsize=itemsize, blocksize=block // itemsize)
    return bytes(out) + bytes(view[at : at + rest]) if rest else bytes(out)


def _decompress(view: memoryview, at: int, packed: int, block: int, compressor: str) -> tuple[bytes, int]:
    """The decompressed blocks, joined, and where the bytes after them begin."""
    count = -(-packed // block)
    if count > MOST_BLOCKS:
        raise CorruptChunk(f"{NAME}: {count} blocks in one chunk")
    places: list[tuple[int, int]] = []
    end = at
    for _ in range(count):
        size = int.from_bytes(view[end : end + 4], "big")
        places.append((end + 4, size))
        end += 4 + size
    at_least(NAME, len(view), end)
    sizes = [size for _, size in places]
    last = packed - (count - 1) * block
    if compressor == "lz4" and block not in sizes[:-1] and (not sizes or sizes[-1] != last):
        # The HDF5 LZ4 filter frames its blocks alike (but stores a block as it is when that is its size).
        with DamageGuard(NAME):
            return bytes(
                imagecodecs_function("lz4h5_decode")(SIZES.pack(packed, block) + view[at:end], out=packed)
            ), end
    decode = imagecodecs_function(f"{compressor}_decode")
    wanted = [block] * (count - 1) + [last] * (count > 0)
    with DamageGuard(NAME):
        parts = [decode(view[begin : begin + n], out=most) for (begin, n), most in zip(places, wanted, strict=True)]
    joined = b"".join(parts)
    exactly(NAME, len(joined), packed)  # no block gives more than it should
    return joined, end


def zfp(data: Buffer, header: bytes, bits: int, size: int) -> bytes:
    """Undo ZFP. The filter keeps the stream's header, ``bits`` long, apart from the chunk. Raises `CorruptChunk`."""
    value = int.from_bytes(header, "little") & (1 << bits) - 1
    kind, shape = header_array(value)
    exactly(ZFP, math.prod(shape) * kind.itemsize, size)
    return decompress(with_header(value, bits, bytes(data)), kind, shape).tobytes()
