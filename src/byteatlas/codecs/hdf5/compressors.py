"""Compressors of HDF5 that imagecodecs decodes, under the names that imagecodecs gives them in numcodecs.

All decode straight into the array where the chunk's size is known, and never more than it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, Writable, encoded_limit
from byteatlas.codecs.numcodecs.image_encode import image_encoder
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import JSON

Decode = Callable[[Bytes, Any], Any]
"""Encoded bytes, and where to decode to: a writable buffer, or the most bytes that may come out."""

FAILURES = (
    imagecodecs.LzfError,
    imagecodecs.Lz4h5Error,
    imagecodecs.SzipError,
    imagecodecs.BitshuffleError,
    imagecodecs.JpeglsError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Decompressor:
    """A bytes -> bytes codec around one function of imagecodecs."""

    name: str
    decoder: Decode
    encoder: Callable[[Bytes], Bytes]
    least: Callable[[Bytes], int] | None = None
    """What the encoded bytes say of their decoded size."""
    in_place: bool = True
    image: bool = False
    """It encodes images, not bytes."""

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            if self.least is not None and self.least(data) > spec.limit:
                raise CorruptChunk(f"{self.name}: {self.least(data)} bytes where {spec.limit} are the most")
            try:
                out = self.decoder(data, spec.limit)
            except FAILURES as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            if len(out) > spec.limit or (spec.nbytes is not None and len(out) != spec.nbytes):
                raise CorruptChunk(f"{self.name}: {len(out)} bytes where {spec.nbytes or spec.limit} are expected")
            return out

        def into(data: Bytes, out: Writable) -> None:
            if self.least is not None and self.least(data) != len(out):
                raise CorruptChunk(f"{self.name}: {self.least(data)} bytes where {len(out)} are expected")
            try:
                found = self.decoder(data, memoryview(out))
            except FAILURES as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            if len(found) != len(out):
                raise CorruptChunk(f"{self.name}: {len(found)} bytes where {len(out)} are expected")

        ready = into if self.in_place and spec.nbytes is not None else None
        encode = image_encoder(self.name, {}, spec, decode) if self.image else self.encoder
        return ByteStep(None, encoded_limit(spec.limit), decode, encode, ready, itemsize=spec.itemsize)


def _count(configuration: Mapping[str, JSON], name: str, least: int, most: int, default: int | None = None) -> int:
    value = configuration.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidMetadata("", f"{name} {value!r} is not between {least} and {most}")
    return value


def make_lzf(configuration: Mapping[str, JSON]) -> Decompressor:
    """LZF; ``header``: the decoded size comes first (imagecodecs' own way, and its default; HDF5 has none)."""
    header = bool(configuration.get("header", True))

    def decode(data: Bytes, out: Any) -> Any:
        return imagecodecs.lzf_decode(data, header=header, out=out)

    def encode(data: Bytes) -> Bytes:
        return imagecodecs.lzf_encode(data, header=header)

    return Decompressor("lzf", decode, encode, _size_first if header else None)


def _size_first(data: Bytes) -> int:
    return int.from_bytes(memoryview(data)[:4], "little")


def make_lz4h5(configuration: Mapping[str, JSON]) -> Decompressor:
    """LZ4 in blocks, as the HDF5 filter 32004 frames it."""

    def decode(data: Bytes, out: Any) -> Any:
        return imagecodecs.lz4h5_decode(data, out=None if isinstance(out, int) else out)

    def measure(data: Bytes) -> int:
        return int.from_bytes(memoryview(data)[:8], "big")

    return Decompressor("lz4h5", decode, imagecodecs.lz4h5_encode, measure)


def make_szip(configuration: Mapping[str, JSON]) -> Decompressor:
    """szip (CCSDS 121 through libaec); ``header``: the decoded size comes first, as in HDF5."""
    mask = _count(configuration, "options_mask", 0, 255)
    block = _count(configuration, "pixels_per_block", 2, 32)
    bits = _count(configuration, "bits_per_pixel", 1, 64)
    line = _count(configuration, "pixels_per_scanline", 1, 4096)
    header = bool(configuration.get("header", True))

    def decode(data: Bytes, out: Any) -> Any:
        return imagecodecs.szip_decode(data, mask, block, bits, line, header=header, out=out)

    def encode(data: Bytes) -> Bytes:
        return imagecodecs.szip_encode(data, mask, block, bits, line, header=header)

    return Decompressor("szip", decode, encode, _size_first if header else None)


def make_bitshuffle(configuration: Mapping[str, JSON]) -> Decompressor:
    """Transposed bits, without compression."""
    itemsize = _count(configuration, "itemsize", 1, 1 << 20, 1)
    block = _count(configuration, "blocksize", 0, 1 << 30, 0)
    if block % 8:
        raise InvalidMetadata("", f"bitshuffle in blocks of {block} elements")

    def decode(data: Bytes, out: Any) -> Any:
        into = None if isinstance(out, int) else out
        return imagecodecs.bitshuffle_decode(data, itemsize=itemsize, blocksize=block, out=into)

    def encode(data: Bytes) -> Bytes:
        return imagecodecs.bitshuffle_encode(data, itemsize=itemsize, blocksize=block)

    return Decompressor("bitshuffle", decode, encode, lambda data: len(memoryview(data)))


def make_jpegls(configuration: Mapping[str, JSON]) -> Decompressor:
    """JPEG-LS: the samples of one image."""

    def decode(data: Bytes, out: Any) -> Any:
        return np.ascontiguousarray(imagecodecs.jpegls_decode(data)).reshape(-1).view(np.uint8)

    return Decompressor("jpegls", decode, imagecodecs.jpegls_encode, _jpegls_size, in_place=False, image=True)


def _jpegls_size(data: Bytes) -> int:
    """Bytes of an image's samples, from its frame header (ITU-T T.87, annex C)."""
    view = bytes(memoryview(data)[:4096])
    at = view.find(b"\xff\xf7")
    if at < 0 or at + 10 > len(view):
        raise CorruptChunk("jpegls: no frame header")
    height, width = (int.from_bytes(view[at + i : at + i + 2], "big") for i in (5, 7))
    return height * width * view[at + 9] * (2 if view[at + 4] > 8 else 1)
