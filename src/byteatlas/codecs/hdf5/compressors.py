"""Compressors of HDF5 that imagecodecs decodes, under the names that imagecodecs gives them in numcodecs.

All decode straight into the array where the chunk's size is known, and never more than it holds.
"""

from __future__ import annotations

from typing import Any

from byteatlas.codecs.core.checks import at_most, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, flag, integer
from byteatlas.codecs.isolated.children import decode_apart
from byteatlas.codecs.numcodecs.image_encode import image_encoder
from byteatlas.codecs.streams.compression import Compression, functions
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass, replace


def make_lzf(configuration: Configuration) -> Compression:
    """LZF; ``header``: the decoded size comes first (imagecodecs' own way, and its default; HDF5 has none)."""
    header = flag(configuration, "header", True)
    unpack, pack = functions("lzf")

    def decode(data: Bytes, out: Any) -> Any:
        return unpack(data, header=header, out=out)

    def encode(data: Bytes) -> Bytes:
        return pack(data, header=header)

    return Compression("lzf", decode, encode, _size_first if header else None)


def _size_first(data: Bytes) -> int:
    return int.from_bytes(memoryview(data)[:4], "little")


def make_lz4h5(configuration: Configuration) -> Compression:
    """LZ4 in blocks, as the HDF5 filter 32004 frames it."""
    unpack, pack = functions("lz4h5")

    def decode(data: Bytes, out: Any) -> Any:
        return unpack(data, out=None if isinstance(out, int) else out)

    def measure(data: Bytes) -> int:
        return int.from_bytes(memoryview(data)[:8], "big")

    return Compression("lz4h5", decode, pack, measure)


def make_szip(configuration: Configuration) -> Compression:
    """szip (CCSDS 121 through libaec); ``header``: the decoded size comes first, as in HDF5."""
    mask = integer(configuration, "options_mask", least=0, most=255)
    block = integer(configuration, "pixels_per_block", least=2, most=32)
    bits = integer(configuration, "bits_per_pixel", least=1, most=64)
    line = integer(configuration, "pixels_per_scanline", least=1, most=4096)
    header = flag(configuration, "header", True)
    unpack, pack = functions("szip")

    def decode(data: Bytes, out: Any) -> Any:
        return unpack(data, mask, block, bits, line, header=header, out=out)

    def encode(data: Bytes) -> Bytes:
        return pack(data, mask, block, bits, line, header=header)

    return Compression("szip", decode, encode, _size_first if header else None)


def make_bitshuffle(configuration: Configuration) -> Compression:
    """Transposed bits, without compression."""
    itemsize = integer(configuration, "itemsize", 1, least=1, most=1 << 20)
    block = integer(configuration, "blocksize", 0, least=0, most=1 << 30)
    if block % 8:
        raise invalid(f"blocksize: blocks of {block} elements")
    unpack, pack = functions("bitshuffle")

    def decode(data: Bytes, out: Any) -> Any:
        into = None if isinstance(out, int) else out
        return unpack(data, itemsize=itemsize, blocksize=block, out=into)

    def encode(data: Bytes) -> Bytes:
        return pack(data, itemsize=itemsize, blocksize=block)

    return Compression("bitshuffle", decode, encode, lambda data: len(memoryview(data)))


@dataclass(frozen=True, slots=True)
class JpegLs:
    """JPEG-LS: the samples of one image."""

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            at_most("jpegls", _jpegls_size(data), spec.limit)
            return decode_apart("jpegls", data, spec.limit)

        step = byte_step("jpegls", spec, decode)
        return replace(step, encode=image_encoder("jpegls", {}, spec, step.decode))


def make_jpegls(configuration: Configuration) -> JpegLs:
    """``numcodecs.imagecodecs_jpegls``."""
    return JpegLs()


def _jpegls_size(data: Bytes) -> int:
    """Bytes of an image's samples, from its frame header (ITU-T T.87, annex C)."""
    view = bytes(memoryview(data)[:4096])
    at = view.find(b"\xff\xf7")
    if at < 0 or at + 10 > len(view):
        raise CorruptChunk("jpegls: no frame header")
    height, width = (int.from_bytes(view[at + i : at + i + 2], "big") for i in (5, 7))
    return height * width * view[at + 9] * (2 if view[at + 4] > 8 else 1)
