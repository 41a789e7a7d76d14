"""Block-wise compressed HDF5 filters: bitshuffle with LZ4 or Zstandard, Blosc2 frames, ZFP streams.

Framings: bitshuffle's ``bshuf_h5filter.c``; c-blosc2's ``README_CFRAME_FORMAT.rst`` and
``README_B2ND_METALAYER.rst``; H5Z-ZFP's documentation ("HDF5 chunk and the ZFP header").
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import imagecodecs
import numpy as np

from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer

_BITSHUFFLE = struct.Struct(">QI")
MOST_BLOCKS = 1 << 24


def bitshuffle(data: Buffer, itemsize: int, compressor: str, most: int) -> bytes:
    """Undo bitshuffle + LZ4 or Zstandard: at most ``most`` bytes. Raises `CorruptChunk`.

    After the sizes, in big-endian, come blocks of equal decoded size, each with its length; the rest, fewer than
    eight elements, is stored as it is.
    """
    if len(data) < 12:
        raise CorruptChunk("a bitshuffle chunk without its header")
    total, block = _BITSHUFFLE.unpack_from(data)
    group = 8 * itemsize
    if total > most or not block or block % group:
        raise CorruptChunk(f"a bitshuffle chunk of {total} bytes in blocks of {block}, where {most} are expected")
    packed = total // group * group
    view = memoryview(data)
    unpacked, at = _decompress(view, 12, packed, block, compressor)
    rest = total - packed
    if at + rest > len(data):
        raise CorruptChunk("a bitshuffle chunk is cut off")
    if not packed:
        return bytes(view[at : at + rest])
    try:
        out = imagecodecs.bitshuffle_decode(unpacked, itemsize=itemsize, blocksize=block // itemsize)
    except (imagecodecs.BitshuffleError, ValueError) as error:
        raise CorruptChunk(f"bitshuffle: {error}") from error
    return bytes(out) + bytes(view[at : at + rest]) if rest else bytes(out)


def _decompress(view: memoryview, at: int, packed: int, block: int, compressor: str) -> tuple[bytes, int]:
    """The decompressed blocks, joined, and where the bytes after them begin."""
    sizes: list[int] = []
    begin = at
    count = -(-packed // block)
    if count > MOST_BLOCKS:
        raise CorruptChunk(f"{count} blocks in one chunk")
    for _ in range(count):
        if at + 4 > len(view):
            raise CorruptChunk("a bitshuffle chunk is cut off")
        size = int.from_bytes(view[at : at + 4], "big")
        sizes.append(size)
        at += 4 + size
    if at > len(view):
        raise CorruptChunk("a bitshuffle chunk is cut off")
    last = packed - (count - 1) * block
    try:
        if compressor == "lz4" and block not in sizes[:-1] and (not sizes or sizes[-1] != last):
            # The HDF5 LZ4 filter frames its blocks alike (but stores a block as it is when that is its size).
            return bytes(imagecodecs.lz4h5_decode(_BITSHUFFLE.pack(packed, block) + view[begin:at], out=packed)), at
        decode = imagecodecs.lz4_decode if compressor == "lz4" else imagecodecs.zstd_decode
        parts, place = [], begin
        for i, size in enumerate(sizes):
            part = decode(view[place + 4 : place + 4 + size], out=last if i == count - 1 else block)
            if len(part) != (last if i == count - 1 else block):
                raise CorruptChunk(f"a block decodes to {len(part)} bytes")
            parts.append(part)
            place += 4 + size
        return b"".join(parts), at
    except (imagecodecs.Lz4Error, imagecodecs.Lz4h5Error, imagecodecs.ZstdError, ValueError) as error:
        raise CorruptChunk(f"bitshuffle: {error}") from error


ZFP_SLACK = 64
"""Zero bytes per block of values after a stream: the decoder does not stop at its end."""


def zfp(data: Buffer, header: bytes, bits: int, size: int) -> bytes:
    """Undo ZFP. The filter keeps the stream's header, ``bits`` long, apart from the chunk. Raises `CorruptChunk`."""
    if bits == 96:
        stream = header[:12] + bytes(data)
    else:  # a long header ends in the middle of a byte
        head = np.frombuffer(header[:19].ljust(19, b"\0"), np.uint8).astype(np.uint16)
        body = np.frombuffer(data, np.uint8).astype(np.uint16)
        joined = np.zeros(19 + len(body), np.uint16)
        joined[:19] = head
        joined[18] &= 0x0F
        joined[18:-1] |= body << 4 & 0xF0
        joined[19:] |= body >> 4
        stream = joined.astype(np.uint8).tobytes()
    words = struct.unpack_from("<Q", header[4:12])[0]
    kind = (words & 3, words >> 2 & 3)
    itemsize = {0: 4, 1: 8, 2: 4, 3: 8}[kind[0]]
    rank = kind[1] + 1
    width = 48 // rank
    lengths = [(words >> 4 >> (i * width) & (1 << width) - 1) + 1 for i in range(rank)]
    if math.prod(lengths) * itemsize != size:
        raise CorruptChunk(f"a ZFP stream of {lengths} values of {itemsize} bytes where {size} bytes are expected")
    blocks = math.prod(-(-n // 4) for n in lengths)
    slack = blocks * (4**rank * (itemsize + 1) + ZFP_SLACK)
    try:
        out = imagecodecs.zfp_decode(stream + bytes(max(0, slack - len(stream)) + 64))
    except (imagecodecs.ZfpError, ValueError) as error:
        raise CorruptChunk(f"ZFP: {error}") from error
    return np.asarray(out).tobytes()


_MAGIC = b"\x9e\xa8b2frame\0"


@dataclass(frozen=True, slots=True)
class _B2nd:
    """The ``b2nd`` metalayer: the array's shape, and the blocks that its values are arranged in."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    block: tuple[int, ...]


def blosc2(data: Buffer, most: int) -> bytes:
    """Undo the Blosc2 filter: a contiguous frame, which may hold an n-dimensional array. Raises `CorruptChunk`."""
    view = memoryview(data)
    if bytes(view[:10]) != _MAGIC:
        return _chunk(view, most)
    try:
        header, total = struct.unpack_from(">I", view, 11)[0], struct.unpack_from(">Q", view, 16)[0]
        nbytes, stored, itemsize = struct.unpack_from(">q x q x i", view, 30)
        chunksize = struct.unpack_from(">i", view, 58)[0]
        grid = _b2nd(view[:header])
    except (struct.error, IndexError) as error:
        raise CorruptChunk("a Blosc2 frame is cut off") from error
    limit = most if grid is None else _padded(grid) * itemsize
    if total > len(view) or not 0 <= nbytes <= limit or itemsize < 1 or limit > 64 * most + (1 << 20):
        raise CorruptChunk(f"a Blosc2 frame of {total} bytes, {nbytes} decoded, where {most} are expected")
    if not 0 <= stored <= total or not chunksize > 0:
        raise CorruptChunk("a Blosc2 frame of impossible sizes, or of variable chunks")
    joined = _chunks(view[:total], header, header + stored, nbytes, chunksize)
    if grid is None:
        return joined
    return _arrange(joined, grid, itemsize)


def _chunks(view: memoryview, header: int, index: int, nbytes: int, chunksize: int) -> bytes:
    """All chunks of a frame: their places are in one more chunk, behind them (or say that one is of zeros)."""
    count = -(-nbytes // chunksize)
    offsets = np.frombuffer(_chunk(view[index:], 8 * count), "<i8")
    if len(offsets) != count:
        raise CorruptChunk(f"a Blosc2 frame of {count} chunks with {len(offsets)} places")
    parts = []
    for number, place in enumerate(offsets.tolist()):
        size = min(chunksize, nbytes - number * chunksize)
        if place >= 0:
            parts.append(_chunk(view[header + place :], size))
        elif place >> 56 & 0x7F == _ZEROS:
            parts.append(bytes(size))
        else:
            raise CorruptChunk("a Blosc2 chunk of an unknown special value")
        if len(parts[-1]) != size:
            raise CorruptChunk(f"a Blosc2 chunk decodes to {len(parts[-1])} bytes instead of {size}")
    return parts[0] if count == 1 else b"".join(parts)


_ZEROS = 1


def _chunk(view: memoryview, most: int) -> bytes:
    if len(view) < 16:
        raise CorruptChunk("a Blosc2 chunk is cut off")
    nbytes, _, stored = struct.unpack_from("<iii", view, 4)
    if not 0 <= nbytes <= most or not 16 <= stored <= len(view):
        raise CorruptChunk(f"a Blosc2 chunk of {stored} bytes, {nbytes} decoded, where {most} are expected")
    try:
        return bytes(imagecodecs.blosc2_decode(view[:stored], numthreads=1, out=nbytes))
    except (imagecodecs.Blosc2Error, ValueError) as error:
        raise CorruptChunk(f"Blosc2: {error}") from error


def _b2nd(header: memoryview) -> _B2nd | None:
    """The array metalayer of a frame, if it has one: MessagePack integers of fixed width."""
    at = bytes(header).find(b"\xa4b2nd\xd2")
    if at < 0:
        return None
    place = struct.unpack_from(">i", header, at + 6)[0]
    # bin 32 with its length; then an array of version, rank, shape (int64), chunk and block (int32), ...
    if header[place] != 0xC6:
        raise CorruptChunk("a Blosc2 metalayer of an unknown form")
    at = place + 5 + 1
    rank = header[at + 1]
    at += 2
    if not 1 <= rank <= 16:
        raise CorruptChunk(f"a Blosc2 array of {rank} dimensions")
    shape = struct.unpack_from(">" + "xq" * rank, header, at + 1)
    at += 1 + 9 * rank
    chunk = struct.unpack_from(">" + "xi" * rank, header, at + 1)
    at += 1 + 5 * rank
    block = struct.unpack_from(">" + "xi" * rank, header, at + 1)
    if any(not 0 < b <= c for b, c in zip(block, chunk, strict=True)) or any(n < 1 for n in shape):
        raise CorruptChunk(f"a Blosc2 array of shape {shape}, chunks {chunk}, blocks {block}")
    return _B2nd(shape, chunk, block)


def _padded(grid: _B2nd) -> int:
    """Elements of a chunk, filled up to whole blocks."""
    return math.prod(-(-c // b) * b for c, b in zip(grid.chunk, grid.block, strict=True))


def _arrange(data: bytes, grid: _B2nd, itemsize: int) -> bytes:
    """A chunk's elements from the order of its blocks to C order."""
    counts = [-(-c // b) for c, b in zip(grid.chunk, grid.block, strict=True)]
    rank = len(counts)
    if len(data) != _padded(grid) * itemsize or any(c < n for c, n in zip(grid.chunk, grid.shape, strict=True)):
        raise CorruptChunk("a Blosc2 array that is not one chunk")
    blocks = np.frombuffer(data, f"V{itemsize}").reshape(*counts, *grid.block)
    axes = [axis for i in range(rank) for axis in (i, rank + i)]
    whole = blocks.transpose(axes).reshape([n * b for n, b in zip(counts, grid.block, strict=True)])
    return whole[tuple(slice(0, n) for n in grid.shape)].tobytes()
