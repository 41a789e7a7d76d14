"""imagecodecs' codecs under the names of its numcodecs and Zarr v3 classes (``imagecodecs_png`` ...); NCZarr's szip.

The TIFF ones have rows of their own in the table; here is the rest: whole image files as chunks of a sequence, and
compressors of plain bytes. What they decode to must have exactly the chunk's size. In version 3 image codecs take the
place of the array -> bytes codec.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.codecs.core.adapters import AsSerializer
from byteatlas.codecs.core.checks import at_most, byte_step
from byteatlas.codecs.core.contract import (
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    Codec,
    encoded_limit,
)
from byteatlas.codecs.core.imagecodecs_table import IMAGES, PLAIN
from byteatlas.codecs.core.options import Configuration, choice, integer
from byteatlas.codecs.core.registry import default_registry
from byteatlas.codecs.isolated.children import decode_apart
from byteatlas.codecs.numcodecs.image_encode import bytes_encoder, image_encoder
from byteatlas.codecs.zarr.blosc import buffer_size
from byteatlas.errors import Unsupported
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass, field

SIZED = frozenset(("aec", "szip", "lzf", "lzo", "lz4", "blosc", "brotli", "snappy", "lz4f", "gzip", "zlibng"))
"""Those that take the decoded size and stop there."""
AEC_BLOCK = 64 * 4
"""More bytes than a block of samples has (CCSDS 121.0-B-3, 3.1.2: 64 samples of at most 32 bits)."""


@dataclass(frozen=True, slots=True)
class Coder:
    """One of imagecodecs' codecs. ``options``: of its decoder; ``configuration``: what its encoder picks from."""

    name: str
    options: tuple[tuple[str, Any], ...]
    configuration: Configuration = field(default_factory=dict)

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        import imagecodecs

        function = getattr(imagecodecs, f"{self.name}_decode", None)
        if function is None or not getattr(imagecodecs, self.name.upper()).available:
            raise Unsupported("codec", f"imagecodecs was built without {self.name}")
        options = dict(self.options)
        if self.name in SIZED and spec.nbytes is not None:
            options["out"] = spec.nbytes + (AEC_BLOCK if self.name == "aec" else 0)

        def decode(data: Bytes) -> Bytes:
            if self.name in IMAGES:
                return decode_apart(self.name, data, spec.limit)
            if self.name == "blosc":
                buffer_size(data, spec.limit)
            if self.name == "blosc2":
                at_most("blosc2", int.from_bytes(memoryview(data)[4:8], "little"), spec.limit)
            found = function(bytes(data), **options)
            octets = np.ascontiguousarray(np.frombuffer(found, np.uint8) if isinstance(found, bytes) else found)
            flat = octets.reshape(-1).view(np.uint8)
            if self.name == "aec" and spec.nbytes is not None and 0 < len(flat) - spec.nbytes < AEC_BLOCK:
                flat = flat[: spec.nbytes]  # it decodes whole blocks of samples
            return flat

        checked = byte_step(self.name, spec, decode).decode
        if self.name in PLAIN:
            encode = bytes_encoder(self.name, self.configuration, dict(self.options), spec.itemsize)
        else:
            encode = image_encoder(self.name, self.configuration, spec, checked)
        return ByteStep(None, encoded_limit(spec.limit), checked, encode)


@dataclass(frozen=True, slots=True)
class Picture(Coder, AsSerializer):
    """One of its codecs for whole images."""


def make(name: str, configuration: Configuration) -> Codec:
    """``numcodecs.imagecodecs_X`` and ``imagecodecs_X``."""
    short = name.rpartition("imagecodecs_")[2]
    if short in IMAGES:
        return Picture(short, (), configuration)
    other = f"numcodecs.imagecodecs_{short}"
    if other in default_registry():
        return default_registry()[other](configuration)
    if short not in PLAIN:
        raise Unsupported("codec", f"unknown codec {name!r}")
    given = {key: configuration[key] for key in PLAIN[short] if configuration.get(key) is not None}
    if not all(isinstance(v, (int, bool)) for v in given.values()):
        raise invalid(f"{short}: {given!r}")
    if short in ("lz4", "lzf", "lzo"):
        given.setdefault("header", True)
    return Coder(short, tuple(given.items()), configuration)


# ------------------------------------------------------------------------------------------------------ NCZarr szip

MOST_PER_SCANLINE = 4096
BLOCKS_PER_SCANLINE = 128
RAW, LSB, MSB = 128, 8, 16


@dataclass(frozen=True, slots=True)
class Szip:
    """HDF5's szip with the parameters that the user chose; the others follow from the array (NCZszip.c, H5Zszip.c).

    ``last``, ``itemsize``, ``byteorder``: of the array; None = as the bytes are described when the codec is bound.
    """

    mask: int
    pixels: int
    last: int | None = None
    itemsize: int | None = None
    byteorder: str | None = None

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        itemsize, scanline, byteorder = self.itemsize, self.last, self.byteorder
        if spec.dtype is not None and spec.shape:
            itemsize = itemsize or spec.dtype.itemsize
            scanline = scanline or spec.shape[-1]
            byteorder = byteorder or spec.dtype.str[0]
        if itemsize is None or scanline is None or spec.nbytes is None:
            raise invalid("it follows a codec that hides the elements")
        points = spec.nbytes // itemsize
        if scanline < self.pixels:
            scanline = min(self.pixels * BLOCKS_PER_SCANLINE, points)
        elif scanline <= MOST_PER_SCANLINE:
            scanline = min(self.pixels * BLOCKS_PER_SCANLINE, scanline)
        else:
            scanline = self.pixels * BLOCKS_PER_SCANLINE
        order = MSB if byteorder == ">" else LSB
        options = {
            "options_mask": (self.mask & ~(LSB | MSB)) | order | RAW,
            "pixels_per_block": self.pixels,
            "bits_per_pixel": 8 * itemsize,
            "pixels_per_scanline": scanline,
            "header": True,
        }
        return Coder("szip", tuple(options.items())).bind_bytes(spec, context)


def make_szip(configuration: Configuration) -> Szip:
    """``numcodecs.szip`` as netCDF-C writes it."""
    last, size = (configuration.get(key) for key in ("last-dimension", "itemsize"))
    return Szip(
        integer(configuration, "mask", least=0, most=255),
        integer(configuration, "pixels-per-block", least=2, most=32),
        None if last is None else max(1, integer(configuration, "last-dimension", least=0)),
        None if size is None else integer(configuration, "itemsize", least=1, most=8),
        choice(configuration, "byteorder", ("<", ">", None)),
    )
