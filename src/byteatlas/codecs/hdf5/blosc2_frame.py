"""Blosc2 frames and chunks, as the HDF5 filter 32026 writes them.

Framing: c-blosc2's ``README_CFRAME_FORMAT.rst`` and ``README_B2ND_METALAYER.rst``.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from byteatlas.codecs.core.checks import DamageGuard, at_least, exactly
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer
from byteatlas.values import dataclass

NAME = "byteatlas.hdf5-blosc2"
MAGIC = b"\x9e\xa8b2frame\0"


@dataclass(frozen=True, slots=True)
class _B2nd:
    """The ``b2nd`` metalayer: the array's shape, and the blocks that its values are arranged in."""

    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    block: tuple[int, ...]


def blosc2(data: Buffer, most: int) -> bytes:
    """Undo the Blosc2 filter: a contiguous frame, which may hold an n-dimensional array. Raises `CorruptChunk`."""
    view = memoryview(data)
    if bytes(view[:10]) != MAGIC:
        return _chunk(view, most)
    try:
        header, total = struct.unpack_from(">I", view, 11)[0], struct.unpack_from(">Q", view, 16)[0]
        nbytes, stored, itemsize = struct.unpack_from(">q x q x i", view, 30)
        chunksize = struct.unpack_from(">i", view, 58)[0]
        grid = _b2nd(view[:header])
    except (struct.error, IndexError) as error:
        raise CorruptChunk(f"{NAME}: a frame is cut off") from error
    limit = most if grid is None else _padded(grid) * itemsize
    if total > len(view) or not 0 <= nbytes <= limit or itemsize < 1 or limit > 64 * most + (1 << 20):
        raise CorruptChunk(f"{NAME}: a frame of {total} bytes, {nbytes} decoded, where {most} are expected")
    if not 0 <= stored <= total or not chunksize > 0:
        raise CorruptChunk(f"{NAME}: a frame of impossible sizes, or of variable chunks")
    joined = _chunks(view[:total], header, header + stored, nbytes, chunksize)
    if grid is None:
        return joined
    return _arrange(joined, grid, itemsize)


def _chunks(view: memoryview, header: int, index: int, nbytes: int, chunksize: int) -> bytes:
    """All chunks of a frame: their places are in one more chunk, behind them (or say that one is of zeros)."""
    count = -(-nbytes // chunksize)
    offsets = np.frombuffer(_chunk(view[index:], 8 * count), "<i8")
    if len(offsets) != count:
        raise CorruptChunk(f"{NAME}: a frame of {count} chunks with {len(offsets)} places")
    parts = []
    for number, place in enumerate(offsets.tolist()):
        size = min(chunksize, nbytes - number * chunksize)
        if place >= 0:
            parts.append(_chunk(view[header + place :], size))
        elif place >> 56 & 0x7F == _ZEROS:
            parts.append(bytes(size))
        else:
            raise CorruptChunk(f"{NAME}: a chunk of an unknown special value")
        exactly(NAME, len(parts[-1]), size)
    return parts[0] if count == 1 else b"".join(parts)


_ZEROS = 1


def _chunk(view: memoryview, most: int) -> bytes:
    at_least(NAME, len(view), 16)
    nbytes, _, stored = struct.unpack_from("<iii", view, 4)
    if not 0 <= nbytes <= most or not 16 <= stored <= len(view):
        raise CorruptChunk(f"{NAME}: a chunk of {stored} bytes, {nbytes} decoded, where {most} are expected")
    with DamageGuard(NAME):
        return bytes(imagecodecs_function("blosc2_decode")(view[:stored], numthreads=1, out=nbytes))


def _b2nd(header: memoryview) -> _B2nd | None:
    """The array metalayer of a frame, if it has one: MessagePack integers of fixed width."""
    at = bytes(header).find(b"\xa4b2nd\xd2")
    if at < 0:
        return None
    place = struct.unpack_from(">i", header, at + 6)[0]
    # bin 32 with its length; then an array of version, rank, shape (int64), chunk and block (int32), ...
    if header[place] != 0xC6:
        raise CorruptChunk(f"{NAME}: a metalayer of an unknown form")
    at = place + 5 + 1
    rank = header[at + 1]
    at += 2
    if not 1 <= rank <= 16:
        raise CorruptChunk(f"{NAME}: a array of {rank} dimensions")
    shape = struct.unpack_from(">" + "xq" * rank, header, at + 1)
    at += 1 + 9 * rank
    chunk = struct.unpack_from(">" + "xi" * rank, header, at + 1)
    at += 1 + 5 * rank
    block = struct.unpack_from(">" + "xi" * rank, header, at + 1)
    if any(not 0 < b <= c for b, c in zip(block, chunk, strict=True)) or any(n < 1 for n in shape):
        raise CorruptChunk(f"{NAME}: a array of shape {shape}, chunks {chunk}, blocks {block}")
    return _B2nd(shape, chunk, block)


def _padded(grid: _B2nd) -> int:
    """Elements of a chunk, filled up to whole blocks."""
    return math.prod(-(-c // b) * b for c, b in zip(grid.chunk, grid.block, strict=True))


def _arrange(data: bytes, grid: _B2nd, itemsize: int) -> bytes:
    """A chunk's elements from the order of its blocks to C order."""
    counts = [-(-c // b) for c, b in zip(grid.chunk, grid.block, strict=True)]
    rank = len(counts)
    if len(data) != _padded(grid) * itemsize or any(c < n for c, n in zip(grid.chunk, grid.shape, strict=True)):
        raise CorruptChunk(f"{NAME}: a array that is not one chunk")
    blocks = np.frombuffer(data, f"V{itemsize}").reshape(*counts, *grid.block)
    axes = [axis for i in range(rank) for axis in (i, rank + i)]
    whole = blocks.transpose(axes).reshape([n * b for n, b in zip(counts, grid.block, strict=True)])
    return whole[tuple(slice(0, n) for n in grid.shape)].tobytes()
