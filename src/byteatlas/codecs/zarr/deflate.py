"""Deflate in its three wrappings: zlib, gzip, and none.

Where the decoded size is known, libdeflate (through imagecodecs) inflates straight into the target; it stops at the
target's size. Streams that it does not take (several gzip members, streams that end early) go to the standard library,
which is told the most bytes that it may give.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import imagecodecs

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, Writable, encoded_limit
from byteatlas.codecs.core.options import integer
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON

TINY_IN, TINY_OUT = 4096, 4096
"""Below these sizes the standard library is faster than setting up libdeflate. Deflate expands at most 1032-fold."""
WBITS = {"zlib": 15, "gzip": 31, "raw": -15}


@dataclass(frozen=True, slots=True)
class Deflate:
    """``wrapping`` is ``zlib``, ``gzip`` or ``raw``."""

    wrapping: str
    level: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        wbits, limit, nbytes = WBITS[self.wrapping], spec.limit, spec.nbytes

        def decode(data: Bytes) -> Bytes:
            found = inflate(data, wbits, limit)
            if nbytes is not None and len(found) != nbytes:
                raise CorruptChunk(f"deflate: {len(found)} bytes decoded where there should be {nbytes}")
            return found

        def encode(data: Bytes) -> Bytes:
            packer = zlib.compressobj(self.level, zlib.DEFLATED, wbits)
            return packer.compress(data) + packer.flush()

        into = None if nbytes is None else self._into(nbytes)
        many = None if nbytes is None else self._many(nbytes)
        return ByteStep(None, encoded_limit(limit), decode, encode, into, many=many)

    def _many(self, nbytes: int) -> Callable[[Sequence[Bytes]], Sequence[Bytes]]:
        wbits, decompress = WBITS[self.wrapping], zlib.decompress

        def many(values: Sequence[Bytes]) -> Sequence[Bytes]:
            if max(map(len, values), default=0) > TINY_IN:
                raise CorruptChunk("deflate: chunks that may expand too far")
            try:
                return [decompress(data, wbits, nbytes) for data in values]
            except (zlib.error, ValueError, TypeError) as error:
                raise CorruptChunk(f"deflate: {error}") from error

        return many

    def _into(self, nbytes: int) -> Callable[[Bytes, Writable], None]:
        wbits = WBITS[self.wrapping]
        fast = {"zlib": _fast_zlib, "gzip": _fast_gzip, "raw": _fast_raw}[self.wrapping]
        tiny = nbytes <= TINY_OUT
        decompress, error = zlib.decompress, zlib.error

        def into(data: Bytes, out: Writable) -> None:
            if tiny and len(data) <= TINY_IN:
                try:
                    found = decompress(data, wbits, nbytes)
                    if len(found) == nbytes:
                        out[:] = memoryview(found)
                        return
                except (error, ValueError, TypeError):
                    pass  # memory of another type, or a stream that the slow way explains better
            elif fast(data, out, nbytes):
                return
            found = inflate(data, wbits, nbytes)
            if len(found) != nbytes:
                raise CorruptChunk(f"deflate: {len(found)} bytes decoded where there should be {nbytes}")
            out[:] = memoryview(found)

        return into


def _fast_zlib(data: Bytes, out: Writable, nbytes: int) -> bool:
    try:
        return len(imagecodecs.deflate_decode(data, out=out)) == nbytes
    except imagecodecs.DeflateError:
        return False


def _fast_raw(data: Bytes, out: Writable, nbytes: int) -> bool:
    try:
        return len(imagecodecs.deflate_decode(data, out=out, raw=True)) == nbytes
    except imagecodecs.DeflateError:
        return False


def _fast_gzip(data: Bytes, out: Writable, nbytes: int) -> bool:
    # The last four bytes are the size of the last member: with one member that is the whole.
    if bytes(data[-4:]) != (nbytes & 0xFFFFFFFF).to_bytes(4, "little"):
        return False
    try:
        return len(imagecodecs.gzip_decode(data, out=out)) == nbytes
    except imagecodecs.GzipError:
        return False


def inflate(data: Bytes, wbits: int, limit: int) -> bytes:
    """All members of a stream, at most ``limit`` bytes. Raises `CorruptChunk`."""
    out: list[bytes] = []
    left = limit
    view = memoryview(data)
    while True:
        unpacker = zlib.decompressobj(wbits)
        try:
            found = unpacker.decompress(view, left + 1)
        except zlib.error as error:
            raise CorruptChunk(f"deflate: {error}") from error
        if len(found) > left:
            raise CorruptChunk(f"deflate: more than the {limit} bytes that the chunk has")
        if not unpacker.eof:
            raise CorruptChunk("deflate: the stream ends too early")
        out.append(found)
        left -= len(found)
        rest = unpacker.unused_data
        # Several members are gzip's (RFC 1952 2.2); what follows a zlib stream is padding.
        if wbits != 31 or not rest or not rest.startswith(b"\x1f\x8b"):
            return out[0] if len(out) == 1 else b"".join(out)
        view = memoryview(rest)


def make_zlib(configuration: Mapping[str, JSON]) -> Deflate:
    """``numcodecs.zlib``; kerchunk's codec of the same name has no level."""
    return Deflate("zlib", _level(configuration, 1))


def make_gzip(configuration: Mapping[str, JSON]) -> Deflate:
    """``gzip`` and ``numcodecs.gzip``."""
    return Deflate("gzip", _level(configuration, 1))


def _level(configuration: Mapping[str, JSON], default: int) -> int:
    level = integer(configuration, "level", default)
    if not -1 <= level <= 9:
        raise InvalidMetadata("", f"deflate level {level}")
    return level
