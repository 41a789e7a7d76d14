"""``shuffle``: byte i of all elements, then byte i+1 of all elements (HDF5's filter; numcodecs' ``shuffle``).

Blosc undoes a shuffle with SIMD instructions and without the GIL. A chunk is wrapped as a Blosc buffer of one stored
block: 24 bytes of header in front of the shuffled bytes, which are inflated straight to their place behind it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, Writable
from byteatlas.codecs.core.many import same_rows
from byteatlas.codecs.core.options import integer
from byteatlas.codecs.core.scratch import SCRATCH
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON

HEADER = 24
SIMD = (2, 4, 8, 16)
MOST = (1 << 31) - 256
"""Bytes that a Blosc buffer can hold."""
SMALL = 1024
"""Bytes below which a NumPy transposition costs less than the call into Blosc."""
LARGE = 8 << 20
"""Bytes above which it is not used: it takes two more buffers of a block's size, and a block is a whole chunk here."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``elementsize`` 0 stands for the size of the array's elements (netCDF-C 4.10 writes it so)."""

    elementsize: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        size, nbytes = self.elementsize or spec.itemsize, spec.nbytes
        if size < 1:
            raise InvalidMetadata("", f"shuffle: element size {size}")
        if size == 1:
            return _identity(spec)

        def decode(data: Bytes) -> Bytes:
            if len(data) > spec.limit or (nbytes is not None and len(data) != nbytes):
                raise CorruptChunk(f"shuffle: {len(data)} bytes where there should be {nbytes}")
            return unshuffle(data, size)

        def encode(data: Bytes) -> Bytes:
            return shuffle(data, size)

        staged = _staged(nbytes, size) if nbytes is not None and nbytes <= MOST else None
        into = None if staged is None or nbytes is None else _into(staged, nbytes)
        many = None if nbytes is None or nbytes % size else _many(nbytes, size)
        return ByteStep(nbytes, spec.limit, decode, encode, into, staged, spec.itemsize, many)


def _many(nbytes: int, size: int) -> Callable[[Sequence[Bytes]], Sequence[Bytes]]:
    def many(values: Sequence[Bytes]) -> Any:
        rows = same_rows(values, nbytes)
        if rows is None:
            raise CorruptChunk(f"shuffle: a chunk has not {nbytes} bytes")
        planes = rows.reshape(len(rows), size, nbytes // size)
        return np.ascontiguousarray(planes.transpose(0, 2, 1)).reshape(len(rows), nbytes)

    return many


def _identity(spec: ByteSpec) -> ByteStep:
    def same(data: Bytes) -> Bytes:
        return data

    return ByteStep(spec.nbytes, spec.limit, same, same, None, None, spec.itemsize, lambda values: values)


def _box(nbytes: int, size: int) -> NDArray[np.uint8]:
    """A Blosc buffer of one stored block: version 2, flags shuffle and "do not split"."""
    box = np.empty(HEADER + nbytes, np.uint8)
    head = struct.pack("<BBBBIIIII", 2, 1, 0x11, size, nbytes, nbytes, HEADER + nbytes, 20, nbytes)
    box[:HEADER] = np.frombuffer(head, np.uint8)
    return box


Fill = Callable[[Writable], None]


def _staged(nbytes: int, size: int) -> Callable[[Fill, Writable], None]:
    if size not in SIMD or nbytes % size or not SMALL <= nbytes <= LARGE:
        return _staged_plain(nbytes, size)
    key = (nbytes, size)
    blosc_decode: Any = imagecodecs.blosc_decode

    def staged(fill: Fill, out: Writable) -> None:
        box = SCRATCH.take(key)
        if box is None:
            box = _box(nbytes, size)
        fill(box[HEADER:])
        blosc_decode(box, out=out, numthreads=1)
        SCRATCH.keep(key, box)

    return staged


def _staged_plain(nbytes: int, size: int) -> Callable[[Fill, Writable], None]:
    key = (nbytes, 0)

    def staged(fill: Fill, out: Writable) -> None:
        body = SCRATCH.take(key)
        if body is None:
            body = np.empty(nbytes, np.uint8)
        fill(body)
        _put(body, size, np.frombuffer(out, np.uint8))
        SCRATCH.keep(key, body)

    return staged


def _put(body: NDArray[np.uint8], size: int, out: NDArray[np.uint8]) -> None:
    """Undo the shuffle with NumPy; bytes after the last whole element are as they are."""
    count = len(body) // size
    whole = count * size
    if len(body) >= SMALL:
        import numcodecs  # 15 ms, and most chunks take the way through Blosc

        numcodecs.Shuffle(size).decode(body[:whole], out=out[:whole])
    else:
        out[:whole].reshape(count, size)[...] = body[:whole].reshape(size, count).T
    out[whole:] = body[whole:]


def _into(staged: Callable[[Fill, Writable], None], nbytes: int) -> Callable[[Bytes, Writable], None]:
    def into(data: Bytes, out: Writable) -> None:
        if len(data) != nbytes:
            raise CorruptChunk(f"shuffle: {len(data)} bytes where there should be {nbytes}")

        def fill(body: Writable) -> None:
            body[:] = np.frombuffer(data, np.uint8)

        staged(fill, out)

    return into


def unshuffle(data: Bytes, size: int) -> bytes:
    """The bytes with the shuffle undone."""
    body = np.frombuffer(data, np.uint8)
    out = np.empty(len(body), np.uint8)
    _put(body, size, out)
    return out.tobytes()


def shuffle(data: Bytes, size: int) -> bytes:
    """The shuffled bytes."""
    body = np.frombuffer(data, np.uint8)
    whole = len(body) // size * size
    head = np.ascontiguousarray(body[:whole].reshape(-1, size).T).tobytes()
    return head + body[whole:].tobytes()


def make(configuration: Mapping[str, JSON]) -> Shuffle:
    """``numcodecs.shuffle``."""
    size = integer(configuration, "elementsize", 4)
    if not 0 <= size <= 1 << 20:
        raise InvalidMetadata("", f"shuffle: element size {size}")
    return Shuffle(size)
