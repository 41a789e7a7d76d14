"""Undoing filters while scanning: fractal heaps that are filtered, chunks of variable-length records.

Dataset chunks are otherwise never decoded by a scanner. The set here is what such blocks carry in practice.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

import imagecodecs
import numpy as np

from byteatlas.checksums import fletcher32, fletcher32_older
from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.hdf5.filters.message import DEFLATE, FLETCHER32, SHUFFLE, Filter

LZF, BZIP2, ZSTD, LZ4 = 32000, 307, 32015, 32004


def undo_filters(filters: Sequence[Filter], data: bytes, size: int) -> bytes:
    """Undo filters, last first, to ``size`` bytes. Raises `CorruptFile` and `Unsupported`."""
    for item in reversed(filters):
        step = _UNDO.get(item.id)
        if step is None:
            raise Unsupported(Reason.FILTER, f"filter {item.id} ({item.name}) is not undone while scanning")
        data = step(item, data, size + 4 * len(filters))  # checksums inside compression make the data longer
    if len(data) != size:
        raise CorruptFile(0, f"a filtered block decodes to {len(data)} bytes instead of {size}")
    return data


def _inflate(item: Filter, data: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(data, most)
    except zlib.error as error:
        raise CorruptFile(0, f"a deflated block: {error}") from error
    if not stream.eof and stream.unconsumed_tail:
        raise CorruptFile(0, f"a deflated block decodes to more than {most} bytes")
    return out


def _unshuffle(item: Filter, data: bytes, most: int) -> bytes:
    width = item.values[0] if item.values else 1
    count = len(data) // width if width > 1 else 0
    if count <= 1:
        return data
    whole = np.frombuffer(data, np.uint8, count * width).reshape(width, count)
    return whole.T.tobytes() + data[count * width :]


def _check(item: Filter, data: bytes, most: int) -> bytes:
    body, stored = data[:-4], data[-4:]
    found = fletcher32(body)
    if len(data) < 4 or int.from_bytes(stored, "little") not in (found, fletcher32_older(found)):
        raise CorruptFile(0, "wrong Fletcher-32 checksum of a filtered block")
    return body


def _lzf(item: Filter, data: bytes, most: int) -> bytes:
    out = bytearray(most)
    try:
        return bytes(imagecodecs.lzf_decode(data, out=out))
    except (imagecodecs.LzfError, ValueError) as error:
        raise CorruptFile(0, f"an LZF block: {error}") from error


def _bzip2(item: Filter, data: bytes, most: int) -> bytes:
    try:
        return bytes(imagecodecs.bz2_decode(data, out=bytearray(most)))
    except (imagecodecs.Bz2Error, ValueError) as error:
        raise CorruptFile(0, f"a bzip2 block: {error}") from error


def _zstd(item: Filter, data: bytes, most: int) -> bytes:
    try:
        return bytes(imagecodecs.zstd_decode(data, out=bytearray(most)))
    except (imagecodecs.ZstdError, ValueError) as error:
        raise CorruptFile(0, f"a Zstandard block: {error}") from error


def _lz4(item: Filter, data: bytes, most: int) -> bytes:
    if len(data) < 12 or int.from_bytes(data[:8], "big") > most:
        raise CorruptFile(0, f"an LZ4 block of more than {most} bytes")
    try:
        return bytes(imagecodecs.lz4h5_decode(data))
    except (imagecodecs.Lz4h5Error, ValueError) as error:
        raise CorruptFile(0, f"an LZ4 block: {error}") from error


_UNDO: Mapping[int, Callable[[Filter, bytes, int], bytes]] = {
    DEFLATE: _inflate,
    SHUFFLE: _unshuffle,
    FLETCHER32: _check,
    LZF: _lzf,
    BZIP2: _bzip2,
    ZSTD: _zstd,
    LZ4: _lz4,
}
