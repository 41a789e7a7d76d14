"""Deflate in its three wrappings: zlib, gzip, and none.

Where the decoded size is known, libdeflate (through imagecodecs) inflates straight into the target; it stops at the
target's size. Streams that it does not take (several gzip members, streams that end early) go to the standard library,
which is told the most bytes that it may give. ``tests.bench reading`` pays for the first way (1 MiB chunks), and for
the standard library where chunks are tiny.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from byteatlas.codecs.core.checks import exactly, fits
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, Writable, encoded_limit
from byteatlas.codecs.core.options import Configuration, EncoderSetting, setting
from byteatlas.codecs.streams.members import inflate
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

TINY_IN, TINY_OUT = 4096, 4096
"""Below these sizes the standard library is faster than setting up libdeflate. Deflate expands at most 1032-fold."""
WBITS = {"zlib": 15, "gzip": 31, "raw": -15}


@dataclass(frozen=True, slots=True)
class Deflate:
    """``wrapping`` is ``zlib``, ``gzip`` or ``raw``."""

    wrapping: str
    level: EncoderSetting

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        wbits, limit, nbytes = WBITS[self.wrapping], spec.limit, spec.nbytes

        def decode(data: Bytes) -> Bytes:
            found = inflate(data, wbits, limit)
            fits("deflate", len(found), spec)
            return found

        def encode(data: Bytes) -> Bytes:
            packer = zlib.compressobj(self.level.value(), zlib.DEFLATED, wbits)
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
        fast = FAST[self.wrapping]
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
            exactly("deflate", len(found), nbytes)
            out[:] = memoryview(found)

        return into


def _fast_deflate(data: Bytes, out: Writable, nbytes: int, raw: bool = False) -> bool:
    import imagecodecs

    try:
        return len(imagecodecs.deflate_decode(data, out=out, raw=raw)) == nbytes
    except (imagecodecs.DeflateError, ValueError):
        return False


def _fast_gzip(data: Bytes, out: Writable, nbytes: int) -> bool:
    # The last four bytes are the size of the last member: with one member that is the whole.
    if bytes(data[-4:]) != (nbytes & 0xFFFFFFFF).to_bytes(4, "little"):
        return False
    import imagecodecs

    try:
        return len(imagecodecs.gzip_decode(data, out=out)) == nbytes
    except (imagecodecs.GzipError, ValueError):  # its wrapper checks the header itself
        return False


FAST: Mapping[str, Callable[[Bytes, Writable, int], bool]] = {
    "zlib": _fast_deflate,
    "gzip": _fast_gzip,
    "raw": partial(_fast_deflate, raw=True),
}
"""libdeflate's decoders, which say whether they could."""


def make_zlib(configuration: Configuration) -> Deflate:
    """``numcodecs.zlib``; kerchunk's codec of the same name has no level."""
    return Deflate("zlib", _level(configuration, 1))


def make_gzip(configuration: Configuration) -> Deflate:
    """``gzip`` and ``numcodecs.gzip``."""
    return Deflate("gzip", _level(configuration, 1))


def _level(configuration: Configuration, default: int) -> EncoderSetting:
    return setting(configuration, "level", default, least=-1, most=9)
