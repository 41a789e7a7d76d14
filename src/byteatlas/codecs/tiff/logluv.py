"""SGI LogLuv (TIFF compressions 34676 and 34677) as libtiff gives it in 16 bits: log luminance, u', v'.

Layout: G. Ward Larson, "LogLuv encoding for full-gamut, high-dynamic range images", and libtiff's ``tif_luv.c``.

32 bits: each row is four planes of bytes, the highest first, each run-length encoded: a code of 128 and more repeats
the next byte code - 126 times, one below stands for so many bytes that follow. 24 bits: three bytes a pixel, 10 bits of
luminance and 14 of a code for the cell of a grid over all visible u', v'.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.codecs.tiff.libtiff import wrap
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

NAME = "tiff_logluv"
UV_SCALE = 410.0
PLANES, PIXEL = 4, 6
"""Byte planes of a row, bytes of a decoded pixel."""
CHROMA: NDArray[np.int16] = np.array([int(1.0 / UV_SCALE * (k + 0.5) * (1 << 15)) for k in range(256)], np.int16)
"""u' or v' by its byte, in 1/32768."""


def planes(data: memoryview, rows: int, width: int) -> NDArray[np.uint8]:
    """Byte planes of shape ``(rows, 4, width)``. Raises `CorruptChunk` when a row is cut off or too long."""
    out = bytearray()
    at = 0
    for end in range(width, rows * PLANES * width + 1, width):
        while len(out) < end:
            if at + 1 >= len(data):
                raise CorruptChunk(f"{NAME}: the data end in row {len(out) // (PLANES * width)} of {rows}")
            code = data[at]
            if code >= 128:
                out += bytes(data[at + 1 : at + 2]) * (code - 126)
                at += 2
            else:
                out += data[at + 1 : at + 1 + code]
                at += 1 + code
        if len(out) > end:
            raise CorruptChunk(f"{NAME}: a run goes beyond its row")
    return np.frombuffer(out, np.uint8).reshape(rows, PLANES, width)


CODES, CELLS, BANDS = 1 << 14, 16289, 163
"""Codes of 14 bits, how many of them are cells of the grid, and the grid's rows."""
CELL, LOWEST = float(np.float32(0.0035)), float(np.float32(0.01694))
"""Side of a cell, lower edge of the grid along v'."""
NEUTRAL = (0.210526316, 0.473684211)
"""u', v' of codes that are no cell."""


@cache
def chroma24() -> NDArray[np.int16]:
    """u' and v' in 1/32768 by code, shape ``(CODES, 2)``.

    The rows of the grid begin at places along u' that libtiff has in a table, to six decimals. They are found by
    letting libtiff decode every code to XYZ once.
    """
    words = (0x1FF << 14 | np.arange(CODES)).astype(">u4").view(np.uint8).reshape(-1, 4)[:, 1:]
    tags = {256: (4, [128]), 257: (4, [128]), 258: (3, [32] * 3), 259: (3, [34677]), 262: (3, [32845]), 277: (3, [3]),
            278: (4, [128]), 339: (3, [3] * 3)}  # fmt: skip
    x, y, z = (
        np.asarray(imagecodecs_function("tiff_decode")(wrap(tags, words.tobytes(), "<")))
        .reshape(-1, 3)[:CELLS]
        .T.astype(float)
    )
    under = x + 15 * y + 3 * z
    row = np.rint((9 * y / under - LOWEST) / CELL - 0.5).astype(int)
    column = np.arange(CELLS) - np.searchsorted(row, row)
    begins = np.bincount(row, 4 * x / under - (column + 0.5) * CELL, BANDS) / np.bincount(row, minlength=BANDS)
    exact = np.round(begins, 6).astype(np.float32).astype(float)
    found = np.tile(np.array(NEUTRAL), (CODES, 1))
    found[:CELLS, 0] = exact[row] + (column + 0.5) * CELL
    found[:CELLS, 1] = LOWEST + (row + 0.5) * CELL
    return (found * (1 << 15)).astype(np.int16)


def decode24(data: memoryview, rows: int, width: int) -> NDArray[np.int16]:
    """Pixels of shape ``(rows, width, 3)``. Raises `CorruptChunk` when there are too few bytes."""
    at_least(NAME, len(data), 3 * rows * width)
    high, middle, low = np.frombuffer(data, np.uint8, 3 * rows * width).reshape(rows, width, 3).astype(np.int32).T
    words = (high << 16 | middle << 8 | low).T
    out = np.empty((rows, width, 3), np.int16)
    out[..., 0] = (words >> 12 & 0xFFD) + 13314
    out[..., 1:] = chroma24()[words & CODES - 1]
    return out


def decode32(data: memoryview, rows: int, width: int) -> NDArray[np.int16]:
    """Pixels of shape ``(rows, width, 3)``. Raises `CorruptChunk`."""
    found = planes(data, rows, width)
    out = np.empty((rows, width, 3), np.int16)
    out[..., 0] = (found[:, 0].astype(np.uint16) << 8 | found[:, 1]).view(np.int16)
    out[..., 1], out[..., 2] = CHROMA[found[:, 2]], CHROMA[found[:, 3]]
    return out


@dataclass(frozen=True, slots=True)
class LogLuv:
    """Rows of ``width`` pixels of 24 or 32 ``bits``."""

    width: int
    bits: int = 32

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.nbytes is None or spec.nbytes % (PIXEL * self.width):
            raise invalid(f"{spec.nbytes} bytes are no whole rows of {self.width} pixels")
        rows = spec.nbytes // (PIXEL * self.width)

        pixels = decode32 if self.bits == 32 else decode24

        def decode(data: Bytes) -> Bytes:
            return pixels(memoryview(data).cast("B"), rows, self.width).reshape(-1).view(np.uint8)

        return byte_step(NAME, spec, decode)


def make(configuration: Configuration) -> LogLuv:
    """``byteatlas.tiff_logluv``: ``width``, the pixels of a row, and ``bits`` of a stored pixel (24 or 32)."""
    width, bits = integer(configuration, "width", least=1, most=(1 << 31) - 1), integer(configuration, "bits", 32)
    if bits not in (24, 32):
        raise invalid(f"bits: {bits} is neither 24 nor 32")
    return LogLuv(width, bits)
