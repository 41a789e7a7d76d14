"""Compressions of TIFF's tiles and strips (TIFF 6.0 sections 9 and 13).

They are registered under the names that imagecodecs gives to numcodecs (``imagecodecs_lzw``...), so that references
serve both us and other readers. Like libtiff, decoders take as many bytes as the tile needs and leave what follows;
too few are an error.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from byteatlas.codecs.core.options import Configuration, flag
from byteatlas.codecs.streams.compression import Compression, compression, functions, imagecodecs_function


def make_lzw(configuration: Configuration) -> Compression:
    return compression("lzw")


def make_packbits(configuration: Configuration) -> Compression:
    # A run of at most 128 bytes takes two: decoding without a size is bounded by 64 times the input.
    return compression("packbits", lambda data, wanted: imagecodecs_function("packbits_decode")(data))


def make_lzma(configuration: Configuration) -> Compression:
    return compression("lzma")


def make_zstd(configuration: Configuration) -> Compression:
    # Strips written in full have less than twice what is wanted of the last one, but for a strip of one or two rows.
    return compression(
        "zstd", lambda data, wanted: imagecodecs_function("zstd_decode")(data, out=MOST_SURPLUS * wanted + 1024)
    )


MOST_SURPLUS = 16
"""How many times the bytes that a strip should have Zstandard may decode to."""


def inflate_on(wbits: int) -> Callable[[Any, int], bytes]:
    """How to inflate at most so many bytes."""

    def on(data: Any, wanted: int) -> bytes:
        try:
            return zlib.decompressobj(wbits).decompress(data, wanted)
        except zlib.error as error:
            raise ValueError(str(error)) from error

    return on


def make_zlib(configuration: Configuration) -> Compression:
    return compression("zlib", inflate_on(15))


def make_deflate(configuration: Configuration) -> Compression:
    """zlib streams, or (``raw``) the same without their wrapping."""
    raw = flag(configuration, "raw", False)
    unpack, pack = functions("deflate")

    def decode(data: Any, out: Any) -> Any:
        return unpack(data, out=out, raw=raw)

    def encode(data: Any) -> Any:
        return pack(data, raw=raw)

    return Compression("deflate", decode, encode, surplus=inflate_on(-15 if raw else 15))
