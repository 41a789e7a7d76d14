"""``blosc`` (v3 core; numcodecs' ``blosc``): Blosc 1 buffers with any of its compressors, Snappy included."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import imagecodecs
import numcodecs.blosc
import numpy as np

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, Writable, encoded_limit
from byteatlas.codecs.core.options import integer, text
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.types import JSON

COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2, "auto": -1, "NONE": 0, "BYTE": 1, "BIT": 2}
HEADER = struct.Struct("<BBBBIII")


@dataclass(frozen=True, slots=True)
class Blosc:
    """``typesize`` None: the array's item size."""

    cname: str
    clevel: int
    shuffle: int
    blocksize: int
    typesize: int | None

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        limit, nbytes = spec.limit, spec.nbytes
        typesize = self.typesize or spec.itemsize

        def decode(data: Bytes) -> Bytes:
            size = _size(data, limit)
            if nbytes is not None and size != nbytes:
                raise CorruptChunk(f"blosc: {size} bytes where there should be {nbytes}")
            out = np.empty(size, np.uint8)
            _decode(data, out, size)
            return out

        def encode(data: Bytes) -> Bytes:
            return self._encode(data, typesize)

        into = None if nbytes is None else _bound(nbytes)
        return ByteStep(None, encoded_limit(limit), decode, encode, into)

    def _encode(self, data: Bytes, typesize: int) -> Bytes:
        if self.cname not in (*numcodecs.blosc.list_compressors(), "snappy"):
            raise Unsupported("codec", f"blosc cannot compress with {self.cname!r} here")
        if not 0 < typesize < 256:
            typesize = 1
        shuffle = self.shuffle
        if shuffle == -1:
            shuffle = 2 if typesize == 1 else 1
        if self.cname == "snappy":  # numcodecs is built without it
            options = {"shuffle": shuffle, "typesize": typesize, "blocksize": self.blocksize or None, "numthreads": 1}
            return bytes(imagecodecs.blosc_encode(bytes(data), self.clevel, compressor="snappy", **options))
        items = np.frombuffer(data, f"V{typesize}") if len(data) % typesize == 0 else np.frombuffer(data, np.uint8)
        packed = numcodecs.blosc.compress(items, self.cname.encode(), self.clevel, shuffle, self.blocksize)
        return bytes(packed)


def _size(data: Bytes, limit: int) -> int:
    """The decoded size that the header claims, checked against the limit and the bytes at hand."""
    if len(data) < HEADER.size:
        raise CorruptChunk(f"blosc: {len(data)} bytes are no buffer")
    _, _, _, _, nbytes, _, cbytes = HEADER.unpack_from(data)
    if nbytes > limit:
        raise CorruptChunk(f"blosc: {nbytes} bytes where the chunk has at most {limit}")
    if cbytes > len(data):
        raise CorruptChunk(f"blosc: the buffer has {cbytes} bytes, {len(data)} are there")
    return int(nbytes)


def _bound(nbytes: int) -> Callable[[Bytes, Writable], None]:
    def into(data: Bytes, out: Writable) -> None:
        size = _size(data, nbytes)
        if size != nbytes:
            raise CorruptChunk(f"blosc: {size} bytes where there should be {nbytes}")
        _decode(data, out, nbytes)

    return into


def _decode(data: Bytes, out: Writable, nbytes: int) -> None:
    if not nbytes:
        return
    try:
        found = imagecodecs.blosc_decode(data, out=out, numthreads=1)
    except (imagecodecs.BloscError, ValueError) as error:
        raise CorruptChunk(f"blosc: {error}") from error
    if len(found) != nbytes:
        raise CorruptChunk(f"blosc: {len(found)} bytes decoded where there should be {nbytes}")


def make(configuration: Mapping[str, JSON]) -> Blosc:
    """``blosc`` (shuffle by name, typesize) and ``numcodecs.blosc`` (shuffle by number, -1 automatic)."""
    cname = text(configuration, "cname", "lz4")
    if cname not in COMPRESSORS:
        raise InvalidMetadata("", f"blosc: compressor {cname!r}")
    shuffle = configuration.get("shuffle", 1)
    if isinstance(shuffle, str):
        if shuffle not in SHUFFLES:
            raise InvalidMetadata("", f"blosc: shuffle {shuffle!r}")
        shuffle = SHUFFLES[shuffle]
    if shuffle not in (-1, 0, 1, 2):
        raise InvalidMetadata("", f"blosc: shuffle {shuffle!r}")
    clevel, blocksize = integer(configuration, "clevel", 5), integer(configuration, "blocksize", 0)
    if not 0 <= clevel <= 9 or blocksize < 0:
        raise InvalidMetadata("", f"blosc: clevel {clevel}, blocksize {blocksize}")
    typesize = None if configuration.get("typesize") is None else integer(configuration, "typesize")
    if typesize is not None and typesize < 1:
        raise InvalidMetadata("", f"blosc: typesize {typesize}")
    return Blosc(cname, clevel, int(shuffle), blocksize, typesize)
