"""Checksums beside the data: crc32c (v3 core), crc32, adler32, fletcher32 (HDF5's), jenkins_lookup3 (numcodecs)."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import imagecodecs
import numpy as np

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context
from byteatlas.codecs.core.options import integer, text
from byteatlas.codecs.zarr.crc32c import crc32c
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON


@dataclass(frozen=True, slots=True)
class Checksum:
    """Four bytes, little endian, before or after the data; ``older``: another form of it that is accepted."""

    name: str
    compute: Callable[[Bytes], int]
    at_start: bool = False
    older: Callable[[int], int] | None = None

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        limit = spec.limit + 4

        def decode(data: Bytes) -> Bytes:
            if len(data) < 4:
                raise CorruptChunk(f"{self.name}: {len(data)} bytes have no checksum")
            view = memoryview(data)
            body, stored = (view[4:], view[:4]) if self.at_start else (view[:-4], view[-4:])
            if len(body) > spec.limit:
                raise CorruptChunk(f"{self.name}: {len(body)} bytes where the chunk has {spec.limit}")
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


def fletcher32(data: Bytes) -> int:
    """HDF5's Fletcher32 of any number of bytes."""
    return int(imagecodecs.h5checksum_fletcher32(data)) & 0xFFFFFFFF


def _location(configuration: Mapping[str, JSON], default: str) -> bool:
    location = text(configuration, "location", default)
    if location not in ("start", "end"):
        raise InvalidMetadata("", f"checksum location {location!r}")
    return location == "start"


def make_crc32c(configuration: Mapping[str, JSON]) -> Checksum:
    """``crc32c`` (always at the end) and ``numcodecs.crc32c`` (``location``)."""
    return Checksum("crc32c", crc32c, _location(configuration, "end"))


def make_crc32(configuration: Mapping[str, JSON]) -> Checksum:
    """``numcodecs.crc32``."""
    return Checksum("crc32", _crc32, _location(configuration, "start"))


def make_adler32(configuration: Mapping[str, JSON]) -> Checksum:
    """``numcodecs.adler32``."""
    return Checksum("adler32", _adler32, _location(configuration, "start"))


def make_fletcher32(configuration: Mapping[str, JSON]) -> Checksum:
    """``numcodecs.fletcher32``."""
    return Checksum("fletcher32", fletcher32, older=_halves_swapped)


def _halves_swapped(value: int) -> int:
    """As HDF5 before 1.6.3 wrote it: the bytes of each half the wrong way round; the library accepts both."""
    return (value & 0x00FF00FF) << 8 | (value & 0xFF00FF00) >> 8


def make_jenkins(configuration: Mapping[str, JSON]) -> Checksum:
    """``numcodecs.jenkins_lookup3``: over an optional prefix (base64) and the data."""
    start = integer(configuration, "initval", 0)
    prefix = b""
    if configuration.get("prefix") is not None:
        try:
            prefix = base64.b64decode(text(configuration, "prefix", ""), validate=True)
        except binascii.Error as error:
            raise InvalidMetadata("", "jenkins_lookup3: prefix is not base64") from error

    def compute(data: Bytes) -> int:
        whole = np.concatenate([np.frombuffer(prefix, np.uint8), np.frombuffer(data, np.uint8)]) if prefix else data
        return int(imagecodecs.h5checksum_lookup3(whole, start)) & 0xFFFFFFFF

    return Checksum("jenkins_lookup3", compute)
