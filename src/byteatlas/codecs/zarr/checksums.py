"""Checksums beside the data: crc32c (v3 core), crc32, adler32, fletcher32 (HDF5's), jenkins_lookup3 (numcodecs)."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from byteatlas.checksums import crc32c, fletcher32, fletcher32_older, lookup3
from byteatlas.codecs.core.checks import at_least, at_most
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, base64_bytes, choice, integer
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Checksum:
    """Four bytes, little endian, before or after the data; ``older``: another form of it that is accepted."""

    name: str
    compute: Callable[[Bytes], int]
    at_start: bool = False
    older: Callable[[int], int] | None = None

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        limit = spec.limit + 4

        def decode(data: Bytes) -> Bytes:
            at_least(self.name, len(data), 4)
            view = memoryview(data)
            body, stored = (view[4:], view[:4]) if self.at_start else (view[:-4], view[-4:])
            at_most(self.name, len(body), spec.limit)
            found, noted = self.compute(body), int.from_bytes(stored, "little")
            if noted != found and (self.older is None or noted != self.older(found)):
                raise CorruptChunk(f"{self.name}: the checksum does not match")
            return body

        def encode(data: Bytes) -> Bytes:
            value = self.compute(data).to_bytes(4, "little")
            return value + bytes(data) if self.at_start else bytes(data) + value

        nbytes = None if spec.nbytes is None else spec.nbytes + 4
        return ByteStep(nbytes, limit, decode, encode, itemsize=spec.itemsize, many=self._many)

    def _many(self, values: Sequence[Bytes]) -> Sequence[Bytes]:
        compute, views = self.compute, [memoryview(data) for data in values]
        if min(map(len, views), default=4) < 4:
            raise CorruptChunk(f"{self.name}: a chunk has no checksum")
        bodies = [view[4:] for view in views] if self.at_start else [view[:-4] for view in views]
        ends = [view[:4] for view in views] if self.at_start else [view[-4:] for view in views]
        if [compute(body) for body in bodies] != np.frombuffer(b"".join(ends), "<u4").tolist():
            raise CorruptChunk(f"{self.name}: a checksum does not match")
        return bodies


def _crc32(data: Bytes) -> int:
    return zlib.crc32(data)


def _adler32(data: Bytes) -> int:
    return zlib.adler32(data)


def _location(configuration: Configuration, default: str) -> bool:
    return bool(choice(configuration, "location", ("start", "end"), default) == "start")


def make_crc32c(configuration: Configuration) -> Checksum:
    """``crc32c`` (always at the end) and ``numcodecs.crc32c`` (``location``)."""
    return Checksum("crc32c", crc32c, _location(configuration, "end"))


def make_crc32(configuration: Configuration) -> Checksum:
    """``numcodecs.crc32``."""
    return Checksum("crc32", _crc32, _location(configuration, "start"))


def make_adler32(configuration: Configuration) -> Checksum:
    """``numcodecs.adler32``."""
    return Checksum("adler32", _adler32, _location(configuration, "start"))


def make_fletcher32(configuration: Configuration) -> Checksum:
    """``numcodecs.fletcher32``."""
    return Checksum("fletcher32", fletcher32, older=fletcher32_older)


def make_jenkins(configuration: Configuration) -> Checksum:
    """``numcodecs.jenkins_lookup3``: over an optional prefix (base64) and the data."""
    start = integer(configuration, "initval", 0)
    prefix = base64_bytes(configuration, "prefix") or b""

    def compute(data: Bytes) -> int:
        whole: Bytes = b"".join([prefix, data]) if prefix else data
        return lookup3(whole, start)

    return Checksum("jenkins_lookup3", compute)
