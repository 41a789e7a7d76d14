"""``blosc`` (v3 core; numcodecs' ``blosc``): Blosc 1 buffers with any of its compressors, Snappy included."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from byteatlas.codecs.core.checks import at_least, at_most, exactly
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable, encoded_limit
from byteatlas.codecs.core.options import Configuration, choice, integer
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.values import dataclass

COMPRESSORS = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2, "auto": -1, "NONE": 0, "BYTE": 1, "BIT": 2}
HEADER = struct.Struct("<BBBBIII")


@dataclass(frozen=True, slots=True)
class Blosc:
    """``configuration``: what only encoding uses, all of it. Each buffer says itself how it is compressed."""

    configuration: Configuration

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        limit, nbytes = spec.limit, spec.nbytes

        def decode(data: Bytes) -> Bytes:
            size = buffer_size(data, limit)
            if nbytes is not None:
                exactly("blosc", size, nbytes)
            out = np.empty(size, np.uint8)
            _decode(data, out, size)
            return out

        def encode(data: Bytes) -> Bytes:
            return _encode(data, EncoderOptions.of(self.configuration, spec.itemsize))

        into = None if nbytes is None else _bound(nbytes)
        return ByteStep(None, encoded_limit(limit), decode, encode, into)


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """What a chunk is compressed with; ``shuffle`` 0 (not), 1 (bytes) or 2 (bits)."""

    cname: str
    clevel: int
    shuffle: int
    blocksize: int
    typesize: int

    @staticmethod
    def of(configuration: Configuration, itemsize: int) -> EncoderOptions:
        """From a codec's configuration, when something is encoded. Raises `InvalidMetadata`."""
        shuffle = SHUFFLES.get(str(configuration.get("shuffle")))
        if shuffle is None:
            shuffle = integer(configuration, "shuffle", 1, least=-1, most=2)
        typesize = integer(configuration, "typesize", itemsize, least=1)
        typesize = typesize if 0 < typesize < 256 else 1
        return EncoderOptions(
            choice(configuration, "cname", COMPRESSORS, "lz4"),
            integer(configuration, "clevel", 5, least=0, most=9),
            shuffle if shuffle != -1 else 2 if typesize == 1 else 1,
            integer(configuration, "blocksize", 0, least=0),
            typesize,
        )


def _encode(data: Bytes, how: EncoderOptions) -> Bytes:
    import imagecodecs
    import numcodecs.blosc

    if how.cname not in (*numcodecs.blosc.list_compressors(), "snappy"):
        raise Unsupported("codec", f"blosc cannot compress with {how.cname!r} here")
    if how.cname == "snappy":  # numcodecs is built without it
        options = {
            "shuffle": how.shuffle, "typesize": how.typesize, "blocksize": how.blocksize or None, "numthreads": 1,
        }  # fmt: skip
        return bytes(imagecodecs.blosc_encode(bytes(data), how.clevel, compressor="snappy", **options))
    items = np.frombuffer(data, f"V{how.typesize}") if len(data) % how.typesize == 0 else np.frombuffer(data, np.uint8)
    return bytes(numcodecs.blosc.compress(items, how.cname.encode(), how.clevel, how.shuffle, how.blocksize))


def buffer_size(data: Bytes, limit: int) -> int:
    """The decoded size that the header claims, checked against the limit and the bytes at hand.

    C-Blosc does not know how many bytes there are, and reads as many as the header says. Raises `CorruptChunk`.
    """
    size = len(data)
    if size < HEADER.size:
        at_least("blosc", size, HEADER.size)
    _, _, _, _, nbytes, _, cbytes = HEADER.unpack_from(data)
    if nbytes > limit or cbytes > size:
        at_most("blosc", nbytes, limit)
        at_least("blosc", size, cbytes)
    return int(nbytes)


def _bound(nbytes: int) -> Callable[[Bytes, Writable], None]:
    def into(data: Bytes, out: Writable) -> None:
        exactly("blosc", buffer_size(data, nbytes), nbytes)
        _decode(data, out, nbytes)

    return into


def _decode(data: Bytes, out: Writable, nbytes: int) -> None:
    if not nbytes:
        return
    import imagecodecs

    try:
        found = imagecodecs.blosc_decode(data, out=out, numthreads=1)
    except (imagecodecs.BloscError, ValueError) as error:
        raise CorruptChunk(f"blosc: {error}") from error
    exactly("blosc", len(found), nbytes)


def make(configuration: Configuration) -> Blosc:
    """``blosc`` (shuffle by name, typesize) and ``numcodecs.blosc`` (shuffle by number, -1 automatic)."""
    choice(configuration, "cname", COMPRESSORS, "lz4")
    for key in ("clevel", "blocksize", "typesize"):
        integer(configuration, key, 1)
    if str(configuration.get("shuffle")) not in SHUFFLES:
        integer(configuration, "shuffle", 1)
    return Blosc(configuration)
