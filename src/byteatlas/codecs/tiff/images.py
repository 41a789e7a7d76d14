"""Image codecs of TIFF files: JPEG, JPEG 2000, JPEG XL, JPEG XR, PNG, WebP, LERC.

A tile holds a whole image with a size of its own. That size is checked against the tile's before anything is decoded
into it; surplus rows (a last strip that was written in full) are left out, any other difference is an error. The names
are those that imagecodecs gives to numcodecs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.adapters import AsSerializer
from byteatlas.codecs.core.checks import IMAGECODECS_FAULTS, at_least, at_most, exactly
from byteatlas.codecs.core.contract import (
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    Writable,
    encoded_limit,
)
from byteatlas.codecs.core.options import Configuration, base64_bytes, choice, flag, integer
from byteatlas.codecs.isolated.children import decode_apart
from byteatlas.codecs.numcodecs.image_encode import image_encoder
from byteatlas.codecs.streams.compression import as_bytes, functions, imagecodecs_function
from byteatlas.codecs.tiff.jpeg_header import LOSSLESS, is_plain, jpeg_frame, jpeg_size
from byteatlas.codecs.tiff.png_check import png_size
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field

MOST_SURPLUS = 1 << 26
"""Bytes of surplus rows that a strip may decode to and be cut."""


Measure: TypeAlias = Callable[[bytes | memoryview], tuple[int, int, int]]
"""Rows, columns and samples, from an image's header."""


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
class ImageCodec(AsSerializer):
    """A codec for whole images.

    Attributes:
        decode: bytes, ``out=`` an array of the expected shape -> that array; raises ValueError for another shape.
        measure: bytes -> (rows, columns, samples) from the image's header, where that is cheap.
        configuration: what an encoder may pick its options from.
        pixels: bytes -> rows times columns, where more than those of the tile must not even be decoded.
        recut: bytes -> whether the image may be cut into other rows and samples than its tile's (lossless JPEG).
    """

    name: str
    decode: Callable[..., NDArray[Any]]
    measure: Measure | None = None
    configuration: Configuration = field(default_factory=dict)
    recut: Callable[[bytes | memoryview], bool] | None = None
    pixels: Callable[[bytes | memoryview], int] | None = None

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.shape is None or spec.dtype is None or spec.nbytes is None or len(spec.shape) < 2:
            raise invalid("what it decodes to must be the chunk itself, of two axes or more")
        dtype, shapes, nbytes = spec.dtype.newbyteorder("="), image_shapes(spec.shape), spec.nbytes

        def decode(data: Bytes) -> Bytes:
            out = np.empty(nbytes, np.uint8)
            into(data, out)
            return out

        def into(data: Bytes, out: Writable) -> None:
            at_least(self.name, len(data), 1)
            self._into(as_bytes(data), np.frombuffer(out, np.uint8), dtype, shapes)

        encode = image_encoder(self.name, self.configuration, spec, decode)
        return ByteStep(None, encoded_limit(spec.limit), decode, encode, into)

    def _into(self, data: bytes | memoryview, out: NDArray[Any], dtype: np.dtype[Any], shapes: list[Shape]) -> None:
        """Decode into ``out``: in place when the image has the tile's shape, else with its surplus rows cut off."""
        if self.pixels is not None:
            at_most(self.name, self.pixels(data), out.nbytes // dtype.itemsize)
        fault: Exception | None = None
        for shape in self._plausible(data, shapes):
            try:
                self.decode(data, out=out.view(dtype).reshape(shape))
                return
            except IMAGECODECS_FAULTS as error:
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
        except IMAGECODECS_FAULTS:
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
                except IMAGECODECS_FAULTS:
                    return None
                if prod(found.shape[1:]) == prod(shape[1:]) and found.dtype == dtype and len(found) >= shape[0]:
                    return np.ascontiguousarray(found[: shape[0]])
        return None


def make_jpeg(configuration: Configuration) -> ImageCodec:
    """JPEG, with the tables of TIFF's JPEGTables tag (base64) where streams have none of their own."""
    tables, header = base64_bytes(configuration, "tables"), base64_bytes(configuration, "header")
    stored, wanted = _space(configuration, "colorspace_jpeg"), _space(configuration, "colorspace_data")
    if configuration.get("bitspersample") is not None:
        integer(configuration, "bitspersample", least=2, most=16)

    def whole(data: bytes | memoryview) -> bytes | memoryview:
        return data if header is None else b"".join((header, data, b"\xff\xd9"))

    def decode(data: bytes | memoryview, out: Any = None) -> Any:
        image = bytes(whole(data))
        options = {"tables": tables, "colorspace": stored, "outcolorspace": wanted}
        if is_plain(image):
            return imagecodecs_function("jpeg8_decode")(image, **options, out=out)
        return image_apart("jpeg", image, out, jpeg_size(image), options)

    def measure(data: bytes | memoryview) -> tuple[int, int, int]:
        return jpeg_size(whole(data))

    return ImageCodec("jpeg", decode, measure, recut=lambda data: jpeg_frame(whole(data))[0] == LOSSLESS)


def image_apart(
    name: str, data: bytes, out: NDArray[Any] | None, size: tuple[int, int, int], options: Mapping[str, Any]
) -> NDArray[Any]:
    """Decode an image in a child process, into ``out`` when its shape and type are these. ``size``: by its header.

    Raises ValueError as decoders do, and `Unsupported`.
    """
    shapes: list[JSON] | None = None if out is None else [[list(out.shape), out.dtype.str]]
    try:
        found = decode_apart(name, data, 2 * prod(size) if out is None else out.nbytes, shapes, **options)
    except CorruptChunk as error:
        raise ValueError(error.why) from error
    if out is not None:
        exactly(name, len(found), out.nbytes)
        out.reshape(-1).view(np.uint8)[:] = found
        return out
    return found.view(np.uint16 if len(found) > prod(size) else np.uint8).reshape(size)


def _space(configuration: Configuration, name: str) -> int | str | None:
    value = configuration.get(name)
    if value is None or (isinstance(value, (int, str)) and not isinstance(value, bool)):
        return value
    raise invalid(f"{name}: {value!r} is no colour space")


def _jpeg2k_pixels(data: bytes | memoryview) -> int:
    """Rows times columns of a JPEG 2000 codestream, by its SIZ marker (ITU-T T.800, A.5.1); 0: not found."""
    view = bytes(memoryview(data)[:MOST_HEADER])
    at = view.find(b"\xff\x4f\xff\x51")
    if at < 0 or at + 24 > len(view):
        return 0
    right, bottom, left, top = struct.unpack_from(">4I", view, at + 8)
    return int(max(0, right - left) * max(0, bottom - top))


def _webp_pixels(data: bytes | memoryview) -> int:
    """Rows times columns of a WebP image, by the header of its first chunk (RFC 9649, section 2); 0: not known."""
    view = bytes(memoryview(data)[:40]).ljust(40, b"\0")
    match view[12:16]:
        case b"VP8X":
            return (1 + int.from_bytes(view[24:27], "little")) * (1 + int.from_bytes(view[27:30], "little"))
        case b"VP8L":
            bits = int.from_bytes(view[21:25], "little")
            return (1 + (bits & 0x3FFF)) * (1 + (bits >> 14 & 0x3FFF))
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", view, 26)
            return int((width & 0x3FFF) * (height & 0x3FFF))
    return 0


MOST_HEADER = 1 << 16
PIXELS: Mapping[str, Callable[[bytes | memoryview], int]] = {"jpeg2k": _jpeg2k_pixels, "webp": _webp_pixels}


def _image(name: str, configuration: Configuration, measure: Measure | None = None, **options: Any) -> ImageCodec:
    """A codec around imagecodecs' functions of this name; ``options`` are its decoder's."""
    unpack, _ = functions(name)

    def decode(data: bytes | memoryview, out: Any = None) -> Any:
        return unpack(data, out=out, **options)

    return ImageCodec(name, decode, measure, configuration, pixels=PIXELS.get(name))


def make_jpeg2k(configuration: Configuration) -> ImageCodec:
    return _image("jpeg2k", configuration, numthreads=1)


def make_jpegxl(configuration: Configuration) -> ImageCodec:
    return _image("jpegxl", configuration, numthreads=1)


def make_jpegxr(configuration: Configuration) -> ImageCodec:
    """JPEG XR, in a child process: damaged images lead its decoder outside of its memory."""
    options = {"fp2int": flag(configuration, "fp2int", False)}

    def decode(data: bytes | memoryview, out: Any) -> Any:
        return image_apart("jpegxr", bytes(data), out, (0, 0, 0), options)

    return ImageCodec("jpegxr", decode, None, configuration)


def make_png(configuration: Configuration) -> ImageCodec:
    return _image("png", configuration, png_size)


def make_webp(configuration: Configuration) -> ImageCodec:
    """WebP; ``hasalpha``: give an opaque alpha channel to tiles that were stored without one."""
    return _image("webp", configuration, hasalpha=choice(configuration, "hasalpha", (None, True, False)))


def make_lerc(configuration: Configuration) -> ImageCodec:
    return _image("lerc", configuration, masks=False)
