"""numcodecs' other compressors: bz2, lzma, lz4; and base64."""

from __future__ import annotations

import base64
import binascii
import bz2
import lzma
from collections.abc import Callable
from typing import Any

import numpy as np

from byteatlas.codecs.core.checks import DamageGuard, at_least, at_most, byte_step, exactly, fits
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext, encoded_limit
from byteatlas.codecs.core.options import Configuration, EncoderSetting, integer, setting
from byteatlas.codecs.streams.members import read_streams
from byteatlas.meta.place import invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Streamed:
    """A compressor of the standard library. ``new`` makes an object that decompresses one stream."""

    name: str
    new: Callable[[], Any]
    pack: Callable[[Bytes], bytes]
    faults: tuple[type[Exception], ...]

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            # What follows the last stream may be padding.
            return read_streams(
                self.name, self._one, self.faults, data, spec.limit, lambda rest: bool(rest.strip(b"\0"))
            )

        return byte_step(self.name, spec, decode, self.pack)

    def _one(self, data: Bytes, most: int) -> tuple[bytes, bool, bytes]:
        unpacker = self.new()
        found: bytes = unpacker.decompress(bytes(data), most)
        while not unpacker.eof and not unpacker.needs_input and len(found) < most:
            found += unpacker.decompress(b"", most - len(found))
        return found, unpacker.eof, unpacker.unused_data


def make_bz2(configuration: Configuration) -> Streamed:
    """``numcodecs.bz2``."""
    level = setting(configuration, "level", 1, least=1, most=9)
    return Streamed("bz2", bz2.BZ2Decompressor, lambda data: bz2.compress(data, level.value()), (OSError, ValueError))


def make_lzma(configuration: Configuration) -> Streamed:
    """``numcodecs.lzma``: format 1 (xz), 2 (alone) or 3 (raw). Filters say how to decode raw streams only."""
    form = integer(configuration, "format", lzma.FORMAT_XZ, least=lzma.FORMAT_XZ, most=lzma.FORMAT_RAW)
    filters = _lzma_filters(configuration.get("filters"))
    if form == lzma.FORMAT_RAW and filters is None:
        raise invalid("filters: raw streams need them")
    raw = filters if form == lzma.FORMAT_RAW else None
    memory = None if form == lzma.FORMAT_RAW else MOST_MEMORY

    def new() -> Any:
        return lzma.LZMADecompressor(form, memory, raw)

    def pack(data: Bytes) -> bytes:
        check = integer(configuration, "check", -1)
        preset = None if configuration.get("preset") is None else integer(configuration, "preset")
        try:
            return lzma.compress(data, form, check, preset, filters)
        except (lzma.LZMAError, ValueError) as error:
            raise invalid(str(error)) from error

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
        raise invalid(f"filters: {value!r}")
    found = [{key: integer(f, key) for key in f if f[key] is not None} for f in value]
    if any(f.get("dict_size", 0) > MOST_MEMORY for f in found) or len(found) > 4:
        raise invalid("filters: more than four, or dictionaries beyond the bounds")
    return found


@dataclass(frozen=True, slots=True)
class Lz4:
    """numcodecs' lz4: the decoded size in four bytes, then one LZ4 block."""

    acceleration: EncoderSetting

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            import imagecodecs

            at_least("lz4", len(data), 4)
            size = int.from_bytes(bytes(data[:4]), "little")
            fits("lz4", size, spec)
            out = np.empty(size, np.uint8)
            if size:
                exactly("lz4", len(imagecodecs.lz4_decode(memoryview(data)[4:], out=out)), size)
            return out

        def encode(data: Bytes) -> Bytes:
            import imagecodecs

            packed = imagecodecs.lz4_encode(data, level=max(1, self.acceleration.value()))
            return len(data).to_bytes(4, "little") + bytes(packed)

        return byte_step("lz4", spec, decode, encode)


def make_lz4(configuration: Configuration) -> Lz4:
    """``numcodecs.lz4``."""
    return Lz4(setting(configuration, "acceleration", 1))


@dataclass(frozen=True, slots=True)
class Base64:
    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            at_most("base64", len(data), encoded_limit(spec.limit))
            with DamageGuard("base64", binascii.Error):
                found = base64.b64decode(bytes(data), validate=True)
            fits("base64", len(found), spec)
            return found

        nbytes = None if spec.nbytes is None else -(-spec.nbytes // 3) * 4
        return ByteStep(nbytes, encoded_limit(spec.limit), decode, lambda data: base64.b64encode(bytes(data)))


def make_base64(configuration: Configuration) -> Base64:
    """``numcodecs.base64``."""
    return Base64()
