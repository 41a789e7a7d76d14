"""imagecodecs' decoders under the names that its numcodecs classes have (``imagecodecs_png`` ...), and NCZarr's szip.

The TIFF ones have rows of their own in the table; here is the rest: whole image files as chunks of a sequence, and
compressors of plain bytes. What they decode to must have exactly the chunk's size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np

from byteatlas.codecs.contract import Bytes, ByteSpec, ByteStep, Context, encoded_limit
from byteatlas.codecs.options import integer
from byteatlas.codecs.raw import cannot_encode
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.types import JSON

IMAGES = (
    "apng", "avif", "bmp", "dds", "exr", "gif", "heif", "htj2k", "jpegls", "jpegsof3", "jpegxr", "jpegxs", "ljpeg",
    "mozjpeg", "png", "qoi", "rgbe", "spng", "ultrahdr", "webp", "jpeg8",
)  # fmt: skip
PLAIN: Mapping[str, tuple[str, ...]] = {
    "aec": ("bitspersample", "flags", "blocksize", "rsi"),
    "bitshuffle": ("itemsize", "blocksize"),
    "blosc": (),
    "blosc2": (),
    "brotli": (),
    "bz2": (),
    "gzip": (),
    "lz4": ("header",),
    "lz4f": (),
    "lz4h5": (),
    "lzf": ("header",),
    "lzfse": (),
    "lzo": ("header",),
    "snappy": (),
    "szip": ("options_mask", "pixels_per_block", "bits_per_pixel", "pixels_per_scanline", "header"),
    "zlibng": (),
}
"""Compressors of bytes, and the members of the configuration that decoding needs."""
SIZED = frozenset(("aec", "szip", "lzf", "lzo", "lz4", "blosc", "brotli", "snappy", "lz4f", "gzip", "zlibng"))
"""Those that take the decoded size and stop there."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """One of imagecodecs' decode functions."""

    name: str
    options: tuple[tuple[str, Any], ...]

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        function = getattr(imagecodecs, f"{self.name}_decode", None)
        if function is None or not getattr(imagecodecs, self.name.upper()).available:
            raise Unsupported("codec", f"imagecodecs was built without {self.name}")
        options = dict(self.options)
        if self.name in SIZED and spec.nbytes is not None:
            options["out"] = spec.nbytes

        def decode(data: Bytes) -> Bytes:
            try:
                found = function(bytes(data), **options)
            except (RuntimeError, ValueError, TypeError) as error:  # its errors are RuntimeErrors
                raise CorruptChunk(f"{self.name}: {error}") from error
            octets = np.ascontiguousarray(np.frombuffer(found, np.uint8) if isinstance(found, bytes) else found)
            flat = octets.reshape(-1).view(np.uint8)
            if len(flat) > spec.limit or (spec.nbytes is not None and len(flat) != spec.nbytes):
                raise CorruptChunk(f"{self.name}: {len(flat)} bytes decoded where there should be {spec.nbytes}")
            return flat

        return ByteStep(None, encoded_limit(spec.limit), decode, cannot_encode(f"imagecodecs_{self.name}"))


def make(name: str, configuration: Mapping[str, JSON]) -> Decoder:
    """``numcodecs.imagecodecs_X`` and ``imagecodecs_X``."""
    short = name.rpartition("imagecodecs_")[2]
    if short in IMAGES:
        return Decoder(short, ())
    if short not in PLAIN:
        raise Unsupported("codec", f"unknown codec {name!r}")
    given = {key: configuration[key] for key in PLAIN[short] if configuration.get(key) is not None}
    if not all(isinstance(v, (int, bool)) for v in given.values()):
        raise InvalidMetadata("", f"{short}: {given!r}")
    if short in ("lz4", "lzf", "lzo"):
        given.setdefault("header", True)
    return Decoder(short, tuple(given.items()))


# ------------------------------------------------------------------------------------------------------ NCZarr szip

MOST_PER_SCANLINE = 4096
BLOCKS_PER_SCANLINE = 128
RAW, LSB, MSB = 128, 8, 16


@dataclass(frozen=True, slots=True)
class Szip:
    """HDF5's szip with the parameters that the user chose; the others follow from the chunk (H5Zszip.c)."""

    mask: int
    pixels: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        if spec.dtype is None or not spec.shape or spec.nbytes is None:
            raise InvalidMetadata("", "szip after a codec that hides the elements")
        points, scanline = math.prod(spec.shape), spec.shape[-1]
        if scanline < self.pixels:
            scanline = min(self.pixels * BLOCKS_PER_SCANLINE, points)
        elif scanline <= MOST_PER_SCANLINE:
            scanline = min(self.pixels * BLOCKS_PER_SCANLINE, scanline)
        else:
            scanline = self.pixels * BLOCKS_PER_SCANLINE
        order = MSB if spec.dtype.str[0] == ">" else LSB
        options = {
            "options_mask": (self.mask & ~(LSB | MSB)) | order | RAW,
            "pixels_per_block": self.pixels,
            "bits_per_pixel": 8 * spec.dtype.itemsize,
            "pixels_per_scanline": scanline,
            "header": True,
        }
        return Decoder("szip", tuple(options.items())).bind_bytes(spec, context)


def make_szip(configuration: Mapping[str, JSON]) -> Szip:
    """``numcodecs.szip`` as netCDF-C writes it."""
    return Szip(integer(configuration, "mask"), integer(configuration, "pixels-per-block"))
