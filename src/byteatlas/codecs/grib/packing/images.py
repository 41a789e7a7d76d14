"""Packings that are other formats' streams: JPEG 2000 (5.40), PNG (5.41) and CCSDS (5.42)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard
from byteatlas.codecs.grib.packing.coded import Coded, Floats, constant, scaled
from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.codecs.tiff.png_check import png_image
from byteatlas.errors import CorruptChunk

HEAD = 5
CODESTREAM = bytes.fromhex("ff4fff51")
"""Start of codestream, and the marker of image and tile size (ITU-T T.800, A.5.1)."""
AEC_3BYTE, AEC_MSB = 2, 4
"""Flags of the coder: numbers of three bytes instead of four; most significant byte first."""
AEC_WIDEST = 32


def decode_jpeg2000(coded: Coded) -> Floats:
    """JPEG 2000. Raises `CorruptChunk`."""
    count = coded.bounded(coded.packing.values or 0)
    if not coded.packing.bits or not count:
        return constant(coded, count)
    data = coded.section[HEAD:]
    _codestream(data, count)
    with DamageGuard("grib jpeg2000"):
        found: NDArray[Any] = imagecodecs_function("jpeg2k_decode")(data, numthreads=1)
    return scaled(_unsigned(found, count, "grib jpeg2000"), coded.packing)


def _codestream(data: memoryview, count: int) -> None:
    """A codestream of one component of ``count`` samples. Raises `CorruptChunk`."""
    if data[:4] != CODESTREAM or len(data) < 45:
        raise CorruptChunk("grib jpeg2000: not a JPEG 2000 codestream")
    right, bottom, left, top = (unsigned(data, at, 4) for at in (8, 12, 16, 20))
    components, depth = unsigned(data, 40, 2), data[42]
    if components != 1 or depth & 0x80 or depth > 30 or data[43] != 1 or data[44] != 1:
        raise CorruptChunk(f"grib jpeg2000: {components} components, the first of depth {depth}")
    if (right - left) * (bottom - top) != count or right < left:
        raise CorruptChunk(f"grib jpeg2000: {right - left} x {bottom - top} samples where there are {count}")


def decode_png(coded: Coded) -> Floats:
    """PNG; the bytes of a pixel's samples are one number. Raises `CorruptChunk`."""
    count = coded.bounded(coded.packing.values or 0)
    if not coded.packing.bits or not count:
        return constant(coded, count)
    data = coded.section[HEAD:]
    image = png_image(data, 9 * count)  # at most 8 bytes for a pixel, and one for a row
    samples, size = image.samples, -(-coded.packing.bits // 8)
    if image.rows * image.columns != count or samples * image.bits != 8 * size:
        raise CorruptChunk(f"grib png: {image.rows} x {image.columns} pixels of {samples} samples, for {count} values")
    with DamageGuard("grib png"):
        found: NDArray[Any] = imagecodecs_function("png_decode")(image.stored(data))
    if samples == 1:
        return scaled(_unsigned(found, count, "grib png"), coded.packing)
    if found.size != count * samples or found.dtype != np.uint8:
        raise CorruptChunk(f"grib png: {found.size} samples of {found.dtype}")
    whole = np.zeros((count, 4), np.uint8)
    whole[:, 4 - samples :] = found.reshape(count, samples)
    return scaled(whole.reshape(-1).view(">u4"), coded.packing)


def _unsigned(found: NDArray[Any], count: int, name: str) -> NDArray[Any]:
    if found.size != count or found.dtype.kind != "u":
        raise CorruptChunk(f"{name}: {found.size} samples of {found.dtype} where there are {count} values")
    return found.reshape(-1)


def decode_ccsds(coded: Coded) -> Floats:
    """CCSDS 121.0-B lossless coding (libaec). Raises `CorruptChunk`."""
    count = coded.bounded(coded.packing.values or 0)
    bits, section = coded.packing.bits, coded.packing.section
    if not bits or not count:
        return constant(coded, count)
    if bits > AEC_WIDEST:
        raise CorruptChunk(f"grib ccsds: packed values of {bits} bits")
    block = unsigned(section, 22, 1)
    kind = np.dtype(np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32)
    out = np.zeros(-(-count // max(block, 1)) * max(block, 1), kind)  # the decoder stops at the end of a block only
    flags = unsigned(section, 21, 1) & ~(AEC_3BYTE | AEC_MSB) | (AEC_MSB if sys.byteorder == "big" else 0)
    with DamageGuard("grib ccsds"):
        found = imagecodecs_function("aec_decode")(
            coded.section[HEAD:],
            bitspersample=bits,
            flags=flags,
            blocksize=block,
            rsi=unsigned(section, 23, 2),
            out=out,
        )
    if memoryview(found).nbytes < count * kind.itemsize:
        raise CorruptChunk(f"grib ccsds: {memoryview(found).nbytes} bytes for {count} values of {kind.itemsize}")
    return scaled(out[:count], coded.packing)
