"""Image codecs of TIFF files: CCITT fax, JPEG, JPEG 2000, JPEG XL, JPEG XR, PNG, WebP, LERC.

A tile holds a whole image with a size of its own. That size is checked against the tile's before anything is decoded
into it; surplus rows (a last strip that was written in full) are left out, any other difference is an error. The names
are those that imagecodecs gives to numcodecs.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import (
    ArraySpec,
    Bytes,
    ByteSpec,
    ByteStep,
    Context,
    SerializerStep,
    Writable,
    encoded_limit,
)
from byteatlas.codecs.numcodecs.image_encode import as_serializer, image_encoder
from byteatlas.codecs.tiff.samples import FAULTS, Configuration, as_bytes, decode_only
from byteatlas.errors import CorruptChunk, InvalidMetadata
from byteatlas.types import Shape

MOST_IMAGE = 1 << 31
"""Bytes of an image that are inflated to be checked."""
MOST_SURPLUS = 1 << 26
"""Bytes of surplus rows that a strip may decode to and be cut."""


def image_shapes(shape: Shape) -> list[Shape]:
    """The shapes that a decoder may give for a chunk: rows, columns, and samples where there are several.

    Leading axes of length 1 are those of a plane or a stack, or one row.

    >>> image_shapes((1, 16, 16))
    [(16, 16), (1, 16, 16)]
    """
    found = [shape[k:] for k in range(len(shape) - 1) if set(shape[:k]) <= {1}]
    images = [s[:-1] if s[-1] == 1 and len(s) == 3 else s for s in found if len(s) in (2, 3)]
    return list(dict.fromkeys(images[::-1]))


@dataclass(frozen=True, slots=True)
class Image:
    """A codec for whole images.

    Attributes:
        decode: bytes, ``out=`` an array of the expected shape -> that array; raises ValueError for another shape.
        measure: bytes -> (rows, columns, samples) from the image's header, where that is cheap.
        configuration: what an encoder may pick its options from.
        recut: bytes -> whether the image may be cut into other rows and samples than its tile's (lossless JPEG).
    """

    name: str
    decode: Callable[..., NDArray[Any]]
    measure: Callable[[bytes | memoryview], tuple[int, int, int]] | None = None
    configuration: Configuration = field(default_factory=dict)
    recut: Callable[[bytes | memoryview], bool] | None = None

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        if spec.shape is None or spec.dtype is None or spec.nbytes is None or len(spec.shape) < 2:
            raise InvalidMetadata("", f"{self.name}: what it decodes to must be the chunk itself, of two axes or more")
        dtype, shapes, nbytes = spec.dtype.newbyteorder("="), image_shapes(spec.shape), spec.nbytes

        def decode(data: Bytes) -> Bytes:
            out = np.empty(nbytes, np.uint8)
            into(data, out)
            return out

        def into(data: Bytes, out: Writable) -> None:
            if not len(data):
                raise CorruptChunk(f"{self.name}: no bytes")
            self._into(as_bytes(data), np.frombuffer(out, np.uint8), dtype, shapes)

        encode = image_encoder(self.name, self.configuration, spec, decode)
        return ByteStep(None, encoded_limit(spec.limit), decode, encode, into)

    def bind_serializer(self, spec: ArraySpec, context: Context) -> SerializerStep:
        return as_serializer(self, spec, context, self.name)

    def _into(self, data: bytes | memoryview, out: NDArray[Any], dtype: np.dtype[Any], shapes: list[Shape]) -> None:
        """Decode into ``out``: in place when the image has the tile's shape, else with its surplus rows cut off."""
        fault: Exception | None = None
        for shape in self._plausible(data, shapes):
            try:
                self.decode(data, out=out.view(dtype).reshape(shape))
                return
            except FAULTS as error:
                fault = fault or error
        cut = self._recut(data, dtype, out.nbytes)
        if cut is None:
            cut = self._surplus(data, dtype, shapes)
        if cut is None:
            raise CorruptChunk(f"{self.name}: {fault or 'the image has another size than its tile'}") from fault
        out[:] = cut.reshape(-1).view(np.uint8)

    def _plausible(self, data: bytes | memoryview, shapes: list[Shape]) -> list[Shape]:
        """Shapes that agree with the image's header; all of them when it is not measured."""
        if self.measure is None:
            return shapes
        size = self.measure(data)
        return [s for s in shapes if (*s, 1)[:3] == size]

    def _recut(self, data: bytes | memoryview, dtype: np.dtype[Any], nbytes: int) -> NDArray[Any] | None:
        """An image of as many samples in all: raw photographs have two columns of a tile as samples of one pixel."""
        if self.measure is None or self.recut is None or not self.recut(data):
            return None
        if prod(self.measure(data)) * dtype.itemsize != nbytes:
            return None
        try:
            found = self.decode(data, out=None)
        except FAULTS:
            return None
        return np.ascontiguousarray(found) if found.dtype == dtype and found.nbytes == nbytes else None

    def _surplus(self, data: bytes | memoryview, dtype: np.dtype[Any], shapes: list[Shape]) -> NDArray[Any] | None:
        """The first rows of an image that has more of them, but the same width and samples."""
        if self.measure is None:
            return None
        rows, columns, samples = self.measure(data)
        if rows * columns * samples * dtype.itemsize > MOST_SURPLUS:
            return None
        for shape in shapes:
            wide = (*shape, 1)[1:3] == (columns, samples) and len(shape) in (2, 3)
            if wide and shape[0] < rows:
                try:
                    found = self.decode(data, out=None)
                except FAULTS:
                    return None
                if prod(found.shape[1:]) == prod(shape[1:]) and found.dtype == dtype and len(found) >= shape[0]:
                    return np.ascontiguousarray(found[: shape[0]])
        return None


# JPEG -----------------------------------------------------------------------------------------------------------------

FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Start-of-frame markers (ITU-T T.81 table B.1)."""


LOSSLESS = 0xC3


def jpeg_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """Rows, columns and components from the frame header. Raises `CorruptChunk`."""
    return jpeg_frame(data)[1:]


def jpeg_frame(data: bytes | memoryview) -> tuple[int, int, int, int]:
    """The frame's marker, then rows, columns and components. Raises `CorruptChunk`."""
    at, view = 0, memoryview(data)
    while at + 4 <= len(view):
        if view[at] != 0xFF:
            at += 1
            continue
        marker = view[at + 1]
        if marker in (0xFF, 0x00, 0x01) or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if marker in FRAMES and at + 10 <= len(view):
            rows, columns, components = struct.unpack_from(">HHB", view, at + 5)
            return marker, rows, columns, components
        if marker in (0xD9, 0xDA):
            break
        at += 2 + int(struct.unpack_from(">H", view, at + 2)[0])
    raise CorruptChunk("jpeg: no frame header")


def make_jpeg(configuration: Configuration) -> Image:
    """JPEG, with the tables of TIFF's JPEGTables tag (base64) where streams have none of their own."""
    tables, header = _binary(configuration, "tables"), _binary(configuration, "header")
    inside, outside = _space(configuration, "colorspace_jpeg"), _space(configuration, "colorspace_data")
    bits = configuration.get("bitspersample")
    if bits is not None and bits not in range(2, 17):
        raise InvalidMetadata("", f"jpeg: {bits!r} bits")

    def whole(data: bytes | memoryview) -> bytes | memoryview:
        return data if header is None else b"".join((header, data, b"\xff\xd9"))

    def decode(data: bytes | memoryview, out: Any = None) -> Any:
        return imagecodecs.jpeg_decode(
            bytes(whole(data)), tables=tables, colorspace=inside, outcolorspace=outside, bitspersample=bits, out=out
        )

    def measure(data: bytes | memoryview) -> tuple[int, int, int]:
        return jpeg_size(whole(data))

    return Image("jpeg", decode, measure, recut=lambda data: jpeg_frame(whole(data))[0] == LOSSLESS)


def _binary(configuration: Configuration, name: str) -> bytes | None:
    value = configuration.get(name)
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise InvalidMetadata("", f"jpeg: {name} is not base64") from error


def _space(configuration: Configuration, name: str) -> int | str | None:
    value = configuration.get(name)
    if value is None or (isinstance(value, (int, str)) and not isinstance(value, bool)):
        return value
    raise InvalidMetadata("", f"jpeg: {name} {value!r}")


# Others ---------------------------------------------------------------------------------------------------------------


def make_jpeg2k(configuration: Configuration) -> Image:
    return Image(
        "jpeg2k", lambda data, out=None: imagecodecs.jpeg2k_decode(data, numthreads=1, out=out), None, configuration
    )


def make_jpegxl(configuration: Configuration) -> Image:
    return Image(
        "jpegxl", lambda data, out=None: imagecodecs.jpegxl_decode(data, numthreads=1, out=out), None, configuration
    )


def make_jpegxr(configuration: Configuration) -> Image:
    to_int = bool(configuration.get("fp2int", False))
    return Image(
        "jpegxr", lambda data, out=None: imagecodecs.jpegxr_decode(data, fp2int=to_int, out=out), None, configuration
    )


PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
PNG_SAMPLES: Mapping[int, int] = {0: 1, 2: 3, 4: 2, 6: 4}
"""Samples per pixel by colour type (PNG third edition, 11.2.1); palettes are not used inside of TIFF."""


def png_size(data: bytes | memoryview) -> tuple[int, int, int]:
    """Rows, columns and samples of a sound PNG stream. Raises `CorruptChunk`.

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
    if rows * row > MOST_IMAGE:
        raise CorruptChunk(f"png: an image of {columns} x {rows} pixels")
    inflate = zlib.decompressobj()
    raw = bytearray()
    for kind, body in _png_chunks(view):
        if kind == b"IDAT":
            try:
                raw += inflate.decompress(body, max(1, rows * row - len(raw) + 1))
            except zlib.error as error:
                raise CorruptChunk(f"png: {error}") from error
    if len(raw) != rows * row or not inflate.eof or max(raw[::row]) > 4:
        raise CorruptChunk(f"png: {len(raw)} bytes of pixels where {rows * row} are expected")
    return rows, columns, samples


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


def make_png(configuration: Configuration) -> Image:
    return Image("png", lambda data, out=None: imagecodecs.png_decode(bytes(data), out=out), png_size, configuration)


def make_webp(configuration: Configuration) -> Image:
    """WebP; ``hasalpha``: give an opaque alpha channel to tiles that were stored without one."""
    alpha = configuration.get("hasalpha")
    if alpha not in (None, True, False):
        raise InvalidMetadata("", f"webp: hasalpha {alpha!r}")
    return Image(
        "webp", lambda data, out=None: imagecodecs.webp_decode(data, hasalpha=alpha, out=out), None, configuration
    )


def make_lerc(configuration: Configuration) -> Image:
    return Image(
        "lerc", lambda data, out=None: imagecodecs.lerc_decode(data, masks=False, out=out), None, configuration
    )


@dataclass(frozen=True, slots=True)
class Fax:
    """CCITT fax compression of one-bit images, as bytes of 0 and 1 (a run of white is 0; MinIsWhite is not undone)."""

    name: str
    decode: Callable[..., Any]
    height: int
    width: int
    extra: Mapping[str, int]

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        if spec.nbytes != self.height * self.width:
            why = f"{self.name}: {self.height} x {self.width} pixels in a chunk of {spec.nbytes} bytes"
            raise InvalidMetadata("", why)

        def decode(data: Bytes) -> Bytes:
            if not len(data):
                raise CorruptChunk(f"{self.name}: no bytes")
            try:
                found = self.decode(bytes(data), height=self.height, width=self.width, **self.extra)
            except FAULTS as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            if found.shape != (self.height, self.width) or found.dtype.itemsize != 1:
                raise CorruptChunk(f"{self.name}: {found.shape} pixels decoded, not {(self.height, self.width)}")
            return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

        return ByteStep(None, encoded_limit(spec.limit), decode, decode_only(self.name))


def _fax(name: str, decode: Callable[..., Any], configuration: Configuration, extra: Mapping[str, int]) -> Fax:
    size = [configuration.get("height"), configuration.get("width")]
    if not all(isinstance(n, int) and 0 < n < 1 << 31 for n in size):
        raise InvalidMetadata("", f"{name}: an image of {size}")
    return Fax(name, decode, int(configuration["height"]), int(configuration["width"]), extra)


def make_ccittrle(configuration: Configuration) -> Fax:
    return _fax("ccittrle", imagecodecs.ccittrle_decode, configuration, {})


def make_ccittfax3(configuration: Configuration) -> Fax:
    options = configuration.get("t4options", 0)
    if not isinstance(options, int) or not 0 <= options < 1 << 32:
        raise InvalidMetadata("", f"ccittfax3: t4options {options!r}")
    return _fax("ccittfax3", imagecodecs.ccittfax3_decode, configuration, {"t4options": options})


def make_ccittfax4(configuration: Configuration) -> Fax:
    return _fax("ccittfax4", imagecodecs.ccittfax4_decode, configuration, {})
