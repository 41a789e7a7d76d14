"""numcodecs' other compressors: bz2, lzma, lz4; and base64."""

from __future__ import annotations

import base64
import binascii
import bz2
import lzma
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, encoded_limit
from byteatlas.codecs.core.options import integer
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON


def _check(found: int, spec: ByteSpec, name: str) -> None:
    if found > spec.limit or (spec.nbytes is not None and found != spec.nbytes):
        raise CorruptChunk(f"{name}: {found} bytes decoded where there should be {spec.nbytes or spec.limit}")


@dataclass(frozen=True, slots=True)
class Streamed:
    """A compressor of the standard library. ``new`` makes an object that decompresses one stream."""

    name: str
    new: Callable[[], Any]
    pack: Callable[[Bytes], bytes]
    errors: tuple[type[Exception], ...]

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            found = self._all(bytes(data), spec.limit)
            _check(len(found), spec, self.name)
            return found

        return ByteStep(None, encoded_limit(spec.limit), decode, self.pack)

    def _all(self, data: bytes, limit: int) -> bytes:
        """Every stream of the data, never more than a byte beyond the limit."""
        out: list[bytes] = []
        left = limit
        while True:
            unpacker = self.new()
            try:
                found = unpacker.decompress(data, left + 1)
                while not unpacker.eof and not unpacker.needs_input and len(found) <= left:
                    found += unpacker.decompress(b"", left + 1 - len(found))
            except self.errors as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            if len(found) > left:
                raise CorruptChunk(f"{self.name}: more than the {limit} bytes that the chunk has")
            if not unpacker.eof:
                raise CorruptChunk(f"{self.name}: the stream ends too early")
            out.append(found)
            left -= len(found)
            data = unpacker.unused_data
            if not data.strip(b"\0"):
                return b"".join(out)


def make_bz2(configuration: Mapping[str, JSON]) -> Streamed:
    """``numcodecs.bz2``."""
    level = integer(configuration, "level", 1)
    if not 1 <= level <= 9:
        raise InvalidMetadata("", f"bz2 level {level}")
    return Streamed("bz2", bz2.BZ2Decompressor, lambda data: bz2.compress(data, level), (OSError, ValueError))


def make_lzma(configuration: Mapping[str, JSON]) -> Streamed:
    """``numcodecs.lzma``: format 1 (xz), 2 (alone) or 3 (raw). Filters say how to decode raw streams only."""
    form = integer(configuration, "format", lzma.FORMAT_XZ)
    if form not in (lzma.FORMAT_XZ, lzma.FORMAT_ALONE, lzma.FORMAT_RAW):
        raise InvalidMetadata("", f"lzma format {form}")
    check = integer(configuration, "check", -1)
    preset = None if configuration.get("preset") is None else integer(configuration, "preset")
    filters = _lzma_filters(configuration.get("filters"))
    if form == lzma.FORMAT_RAW and filters is None:
        raise InvalidMetadata("", "lzma: raw streams need filters")
    raw = filters if form == lzma.FORMAT_RAW else None
    memory = None if form == lzma.FORMAT_RAW else MOST_MEMORY

    def new() -> Any:
        return lzma.LZMADecompressor(form, memory, raw)

    def pack(data: Bytes) -> bytes:
        try:
            return lzma.compress(data, form, check, preset, filters)
        except (lzma.LZMAError, ValueError) as error:
            raise InvalidMetadata("", f"lzma: {error}") from error

    return Streamed("lzma", new, pack, (lzma.LZMAError, EOFError, ValueError))


MOST_MEMORY = 1 << 30
"""Bytes that a stream's dictionary may make the decoder use."""
LZMA_FILTER_KEYS = frozenset(
    ("id", "dist", "preset", "dict_size", "lc", "lp", "pb", "mode", "nice_len", "mf", "depth", "start_offset")
)


def _lzma_filters(value: JSON) -> list[dict[str, int]] | None:
    if not value:
        return None
    if not isinstance(value, list) or not all(isinstance(f, dict) and set(f) <= LZMA_FILTER_KEYS for f in value):
        raise InvalidMetadata("", f"lzma filters {value!r}")
    found = [{key: integer(f, key) for key in f if f[key] is not None} for f in value]
    if any(f.get("dict_size", 0) > MOST_MEMORY for f in found) or len(found) > 4:
        raise InvalidMetadata("", "lzma: filters beyond the bounds")
    return found


@dataclass(frozen=True, slots=True)
class Lz4:
    """numcodecs' lz4: the decoded size in four bytes, then one LZ4 block."""

    acceleration: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            if len(data) < 4:
                raise CorruptChunk(f"lz4: {len(data)} bytes are no block")
            size = int.from_bytes(bytes(data[:4]), "little")
            _check(size, spec, "lz4")
            out = np.empty(size, np.uint8)
            if not size:
                return out
            try:
                found = imagecodecs.lz4_decode(memoryview(data)[4:], out=out)
            except imagecodecs.Lz4Error as error:
                raise CorruptChunk(f"lz4: {error}") from error
            if len(found) != size:
                raise CorruptChunk(f"lz4: {len(found)} bytes decoded where the header says {size}")
            return out

        def encode(data: Bytes) -> Bytes:
            packed = imagecodecs.lz4_encode(data, level=max(1, self.acceleration))
            return len(data).to_bytes(4, "little") + bytes(packed)

        return ByteStep(None, encoded_limit(spec.limit), decode, encode)


def make_lz4(configuration: Mapping[str, JSON]) -> Lz4:
    """``numcodecs.lz4``."""
    return Lz4(integer(configuration, "acceleration", 1))


@dataclass(frozen=True, slots=True)
class Base64:
    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            if len(data) > encoded_limit(spec.limit):
                raise CorruptChunk("base64: more text than the chunk can have")
            try:
                found = base64.b64decode(bytes(data), validate=True)
            except binascii.Error as error:
                raise CorruptChunk(f"base64: {error}") from error
            _check(len(found), spec, "base64")
            return found

        nbytes = None if spec.nbytes is None else -(-spec.nbytes // 3) * 4
        return ByteStep(nbytes, encoded_limit(spec.limit), decode, lambda data: base64.b64encode(bytes(data)))


def make_base64(configuration: Mapping[str, JSON]) -> Base64:
    """``numcodecs.base64``."""
    return Base64()
