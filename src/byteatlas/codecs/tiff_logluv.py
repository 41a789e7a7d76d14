"""SGI LogLuv of 32 bits (TIFF compression 34676) as libtiff gives it in 16 bits: log luminance, u', v'.

Layout: G. Ward Larson, "LogLuv encoding for full-gamut, high-dynamic range images", and libtiff's ``tif_luv.c``. Each
row is four planes of bytes, the highest first, each run-length encoded: a code of 128 and more repeats the next byte
code - 126 times, one below stands for so many bytes that follow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.contract import Bytes, ByteSpec, ByteStep, Context, encoded_limit
from byteatlas.codecs.tiff_bytes import Configuration, decode_only
from byteatlas.errors import CorruptChunk, InvalidMetadata

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


@dataclass(frozen=True, slots=True)
class LogLuv:
    """Rows of ``width`` pixels."""

    width: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        if spec.nbytes is None or spec.nbytes % (PIXEL * self.width):
            raise InvalidMetadata("", f"{NAME}: {spec.nbytes} bytes are no whole rows of {self.width} pixels")
        rows = spec.nbytes // (PIXEL * self.width)

        def decode(data: Bytes) -> Bytes:
            found = planes(memoryview(data).cast("B"), rows, self.width)
            out = np.empty((rows, self.width, 3), np.int16)
            out[..., 0] = (found[:, 0].astype(np.uint16) << 8 | found[:, 1]).view(np.int16)
            out[..., 1], out[..., 2] = CHROMA[found[:, 2]], CHROMA[found[:, 3]]
            return out.reshape(-1).view(np.uint8)

        return ByteStep(None, encoded_limit(spec.limit), decode, decode_only(NAME))


def make(configuration: Configuration) -> LogLuv:
    """``byteatlas.tiff_logluv``: ``width``, the pixels of a row."""
    width = configuration.get("width")
    if type(width) is not int or not 0 < width < 1 << 31:
        raise InvalidMetadata("", f"{NAME}: rows of {width!r} pixels")
    return LogLuv(width)
