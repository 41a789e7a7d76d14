"""The size of a PNG stream that has been checked as a whole (PNG, third edition)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping

from byteatlas.codecs.core.checks import DamageGuard
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.errors import CorruptChunk
from byteatlas.values import dataclass

MOST_IMAGE = 1 << 31
"""Bytes of an image that are inflated to be checked."""
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_SAMPLES: Mapping[int, int] = {0: 1, 2: 3, 4: 2, 6: 4}
"""Samples per pixel by colour type (PNG third edition, 11.2.1); palettes are not used inside of TIFF."""


@dataclass(frozen=True, slots=True)
class PngImage:
    """A sound PNG stream: its size, and its rows, each with the number of its filter in front."""

    rows: int
    columns: int
    samples: int
    bits: int
    raw: bytes

    def stored(self, data: bytes | memoryview) -> bytes:
        """The same image as ``data``, not compressed: faster to decode for who has it inflated already."""
        parts = [bytes(data[:33])]
        for kind, body in ((b"IDAT", zlib.compress(self.raw, 0)), (b"IEND", b"")):
            parts += [struct.pack(">I", len(body)), kind, body, struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))]
        return b"".join(parts)


def png_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """Rows, columns and samples of a sound PNG stream. Raises `CorruptChunk`."""
    found = png_image(data)
    return found.rows, found.columns, found.samples


def png_image(data: bytes | memoryview, most: int = MOST_IMAGE) -> PngImage:
    """A PNG stream that has been checked as a whole; ``most`` bounds the bytes of its rows. Raises `CorruptChunk`.

    Everything is checked here, checksums and the size of the compressed data too: after an error inside of libpng the
    process may crash.
    """
    view = memoryview(data)
    if len(view) < 33 or bytes(view[:8]) != PNG_SIGNATURE or bytes(view[12:16]) != b"IHDR":
        raise CorruptChunk("png: not a PNG stream")
    columns, rows, bits, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", view, 16)
    if colour not in PNG_SAMPLES or bits not in (8, 16) or interlaced:
        raise CorruptChunk(f"png: colour type {colour} of {bits} bits, interlaced {interlaced}")
    samples = PNG_SAMPLES[colour]
    row = 1 + columns * samples * bits // 8
    if rows * row > most:
        raise CorruptChunk(f"png: an image of {columns} x {rows} pixels")
    packed = b"".join([body for kind, body in _png_chunks(view) if kind == b"IDAT"])
    with DamageGuard("png"):
        raw = imagecodecs_function("deflate_decode")(packed, out=rows * row + 1)
    if len(raw) != rows * row or (raw and max(raw[::row]) > 4):
        raise CorruptChunk(f"png: {len(raw)} bytes of pixels where {rows * row} are expected")
    return PngImage(rows, columns, samples, bits, raw)


def _png_chunks(view: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    at, kind = 8, b""
    while kind != b"IEND":
        if at + 12 > len(view):
            raise CorruptChunk("png: the stream is cut off")
        (length,) = struct.unpack_from(">I", view, at)
        kind, body = bytes(view[at + 4 : at + 8]), view[at + 8 : at + 8 + length]
        end = at + 8 + length
        if end + 4 > len(view) or zlib.crc32(view[at + 4 : end]) != struct.unpack_from(">I", view, end)[0]:
            raise CorruptChunk("png: bad checksum")
        if kind not in (b"IHDR", b"IDAT", b"IEND") and not kind[0] & 0x20:
            raise CorruptChunk(f"png: chunk {kind!r}")
        yield kind, body
        at = end + 4
