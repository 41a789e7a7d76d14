"""``shuffle``: byte i of all elements, then byte i+1 of all elements (HDF5's filter; numcodecs' ``shuffle``).

Blosc undoes a shuffle with SIMD instructions and without the GIL. A chunk is wrapped as a Blosc buffer of one stored
block: 24 bytes of header in front of the shuffled bytes, which are inflated straight to their place behind it. NumPy
does the rest. ``tests.bench reading`` (shuffle + deflate, 1 MiB chunks) pays for having both.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import exactly, fits
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable
from byteatlas.codecs.core.many import same_rows
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.core.scratch import SCRATCH
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

HEADER = 24
SIMD = (2, 4, 8, 16)
MOST = (1 << 31) - 256
"""Bytes that a Blosc buffer can hold."""
SMALL = 1024
"""Bytes below which NumPy costs less than the call into Blosc."""
LARGE = 8 << 20
"""Bytes above which a chunk is not one block: Blosc takes two more buffers of a block's size."""
BLOCK = 1 << 18
"""Bytes that are undone at once then; they stay in the processor's cache."""
ROWS = 16
"""Bytes of an element up to which NumPy copies byte planes one by one faster than it transposes them."""


@dataclass(frozen=True, slots=True)
class Shuffle:
    """``elementsize`` None: that of the array's elements (numcodecs' codecs of version 3); 0 and 1: nothing is done."""

    elementsize: int | None

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        size, nbytes = spec.itemsize if self.elementsize is None else self.elementsize, spec.nbytes
        if size < 2:
            return _identity(spec)

        def decode(data: Bytes) -> Bytes:
            fits("shuffle", len(data), spec)
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


PutBytes = Callable[[Writable], None]


def _staged(nbytes: int, size: int) -> Callable[[PutBytes, Writable], None]:
    if size not in SIMD or nbytes % size or not SMALL <= nbytes <= LARGE:
        return _staged_plain(nbytes, size)
    key = (nbytes, size)

    def staged(fill: PutBytes, out: Writable) -> None:
        import imagecodecs

        box = SCRATCH.take(key)
        if box is None:
            box = _box(nbytes, size)
        fill(box[HEADER:])
        imagecodecs.blosc_decode(box, out=out, numthreads=1)
        SCRATCH.keep(key, box)

    return staged


def _staged_plain(nbytes: int, size: int) -> Callable[[PutBytes, Writable], None]:
    key = (nbytes, 0)

    def staged(fill: PutBytes, out: Writable) -> None:
        body = SCRATCH.take(key)
        if body is None:
            body = np.empty(nbytes, np.uint8)
        fill(body)
        _put(body, size, np.frombuffer(out, np.uint8))
        SCRATCH.keep(key, body)

    return staged


def _put(body: NDArray[np.uint8], size: int, out: NDArray[np.uint8]) -> None:
    """Undo the shuffle; bytes after the last whole element are as they are."""
    count = len(body) // size
    whole = count * size
    planes, elements = body[:whole].reshape(size, count), out[:whole].reshape(count, size)
    if size in SIMD and whole >= SMALL:
        _put_blocks(planes, size, out)
    elif size <= ROWS and whole >= SMALL:
        for i in range(size):
            elements[:, i] = planes[i]
    else:
        elements[...] = planes.T
    out[whole:] = body[whole:]


def _put_blocks(planes: NDArray[np.uint8], size: int, out: NDArray[np.uint8]) -> None:
    """Some elements at a time, each time as a Blosc buffer."""
    import imagecodecs

    count, step = planes.shape[1], BLOCK // size
    box = np.empty(0, np.uint8)
    for first in range(0, count, step):
        some = min(step, count - first)
        if len(box) != HEADER + some * size:
            box = _box(some * size, size)
        box[HEADER:].reshape(size, some)[...] = planes[:, first : first + some]
        imagecodecs.blosc_decode(box, out=out[first * size : (first + some) * size], numthreads=1)


def _into(staged: Callable[[PutBytes, Writable], None], nbytes: int) -> Callable[[Bytes, Writable], None]:
    def into(data: Bytes, out: Writable) -> None:
        exactly("shuffle", len(data), nbytes)

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


def make(configuration: Configuration) -> Shuffle:
    """``numcodecs.shuffle``."""
    if configuration.get("elementsize") is None:
        return Shuffle(None)
    return Shuffle(integer(configuration, "elementsize", least=0, most=1 << 20))
