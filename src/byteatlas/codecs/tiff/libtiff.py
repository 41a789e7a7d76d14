"""Tiles, strips and old-style JPEG images that libtiff itself decodes, wrapped into a TIFF file in memory.

Some compressions are defined by what libtiff does: old-style JPEG (TIFF 6.0 section 22, Technical Note 2), subsampled
YCbCr (section 21), SGI LogLuv, ThunderScan, NeXT, PixarLog. The codec's configuration lists the tags that matter; from
them and the encoded bytes it makes a file of one directory, which imagecodecs gives to libtiff.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import IMAGECODECS_FAULTS, DamageGuard, at_least, at_most, byte_step
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, integer
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.codecs.tiff.jpeg_header import jpeg_size
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass

Output: TypeAlias = Literal["rgb", "levels", "samples"]

NAME = "tiff_libtiff"
SHORT, LONG, RATIONAL = 3, 4, 5
CODES: Mapping[int, str] = {SHORT: "H", LONG: "I", RATIONAL: "I"}
WIDTH, HEIGHT, BITS, STRIP_OFFSETS, SAMPLES, STRIP_COUNTS = 256, 257, 258, 273, 277, 279
PLACES = frozenset({STRIP_OFFSETS, 324, 513})
"""Tags that say where image data are: strips, tiles, JPEG stream."""
POSITIONS = PLACES | {519, 520, 521}
"""Tags that hold positions: relative to the encoded bytes in the configuration, to the file in the file."""
HEADER = 8
MOST_TAGS, MOST_VALUES, MOST_BYTES = 64, 1 << 22, 1 << 31

Tags: TypeAlias = Mapping[int, tuple[int, Sequence[int]]]


def wrap(tags: Tags, data: bytes | memoryview, order: str) -> bytes:
    """A TIFF file of one directory behind ``data``; without strips among the tags, ``data`` is the only one."""
    fields = dict(tags)
    if fields.keys().isdisjoint(PLACES):
        fields |= {STRIP_OFFSETS: (LONG, [0]), STRIP_COUNTS: (LONG, [len(data)])}
    at = HEADER + len(data) + len(data) % 2
    extra_at = at + 2 + 12 * len(fields) + 4
    entries, extra = bytearray(), bytearray()
    for tag, (kind, values) in sorted(fields.items()):
        moved = [v + HEADER for v in values] if tag in POSITIONS else values
        raw = struct.pack(f"{order}{len(moved)}{CODES[kind]}", *moved)
        entries += struct.pack(order + "HHI", tag, kind, len(moved) // (2 if kind == RATIONAL else 1))
        if len(raw) <= 4:
            entries += raw.ljust(4, b"\0")
        else:
            entries += struct.pack(order + "I", extra_at + len(extra))
            extra += raw
    head = struct.pack(order + "2sHI", b"II" if order == "<" else b"MM", 42, at)
    count = struct.pack(order + "H", len(fields))
    return b"".join((head, data, b"\0" * (len(data) % 2), count, entries, bytes(4), extra))


def decode_rgba(file: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """The image as libtiff turns it into RGB and alpha, shape ``(height, width, 4)``. Raises `CorruptChunk`.

    libtiff goes on after an error in a strip. So a second directory is asked for, which is not there: the failure
    then carries the message of the last error, and none when there was no error.
    """
    out: NDArray[np.uint8] = np.empty((2, height, width, 4), np.uint8)
    said = ""
    import imagecodecs

    try:
        imagecodecs.tiff_decode(file, index=[0, 1], asrgb=True, out=out)
    except imagecodecs.TiffError as error:
        said = str(error)
    except IMAGECODECS_FAULTS as error:
        raise CorruptChunk(f"{NAME}: {error}") from error
    if said:
        raise CorruptChunk(f"{NAME}: {said}")
    image: NDArray[np.uint8] = out[0]
    return image


@dataclass(frozen=True, slots=True)
class LibTiff:
    """A chunk that libtiff decodes.

    Attributes:
        output: what is taken from it: ``rgb``, the colours; ``levels``, the level of up to 8 bits that a grey value
            stands for; ``samples``, the samples as they are.
        stream: where in the encoded bytes a JPEG stream begins that is decoded as it is when libtiff does not take
            the image; None: there is none.
    """

    tags: Tags
    order: str
    output: Output
    stream: int | None = None

    def _one(self, tag: int, default: int) -> int:
        return int(self.tags[tag][1][0]) if tag in self.tags else default

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        if spec.dtype is None or spec.nbytes is None:
            raise invalid("what it decodes to must be the chunk itself")
        height, width = self._one(HEIGHT, 0), self._one(WIDTH, 0)
        samples = {"rgb": 3, "levels": 1, "samples": self._one(SAMPLES, 1)}[self.output]
        dtype, nbytes = spec.dtype.newbyteorder("="), spec.nbytes
        item = self._one(BITS, 1) // 8 if self.output == "samples" else 1
        if height * width * samples * dtype.itemsize != nbytes or dtype.itemsize != item:
            why = f"{height} x {width} pixels of {samples} samples in a chunk of {nbytes} bytes of {dtype}"
            raise invalid(why)
        take = self._taker(height, width)

        def decode(data: Bytes) -> Bytes:
            at_least(NAME, len(data), 1)
            at_most(NAME, len(data), MOST_BYTES)
            found = take(memoryview(data))
            if found.nbytes != nbytes or found.itemsize != dtype.itemsize:
                raise CorruptChunk(f"{NAME}: {found.shape} samples of {found.dtype} decoded, not {nbytes} bytes")
            return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

        return byte_step(NAME, spec, decode)

    def _taker(self, height: int, width: int) -> Callable[[memoryview], NDArray[Any]]:
        """What makes the chunk's array of its bytes."""

        def rgb(data: memoryview) -> NDArray[Any]:
            try:
                return decode_rgba(wrap(self.tags, data, self.order), height, width)[..., :3]
            except CorruptChunk:
                if self.stream is None:
                    raise
                return _stream(data[self.stream :], height, width)

        def levels(data: memoryview) -> NDArray[Any]:
            step = 255 // ((1 << self._one(BITS, 1)) - 1)
            return decode_rgba(wrap(self.tags, data, self.order), height, width)[..., 0] // step

        def samples(data: memoryview) -> NDArray[Any]:
            return _samples(wrap(self.tags, data, self.order))

        return {"rgb": rgb, "levels": levels, "samples": samples}[self.output]


def _stream(data: memoryview, height: int, width: int) -> NDArray[Any]:
    """A JPEG stream in YCbCr as RGB. Raises `CorruptChunk`, also when it has another size."""
    if jpeg_size(data) != (height, width, 3):
        raise CorruptChunk(f"{NAME}: a JPEG stream of {jpeg_size(data)}, not {(height, width, 3)}")
    with DamageGuard(NAME):
        found: NDArray[Any] = imagecodecs_function("jpeg_decode")(bytes(data), outcolorspace="RGB")
    return found


def _samples(file: bytes) -> NDArray[Any]:
    with DamageGuard(NAME):
        found: NDArray[Any] = np.asarray(imagecodecs_function("tiff_decode")(file))
    return found


def make(configuration: Configuration) -> LibTiff:
    """``byteatlas.tiff_libtiff``: ``tags`` (rows of number, type, values), ``order`` and ``output``."""
    rows, order = configuration.get("tags"), choice(configuration, "order", ("<", ">"), "<")
    output = choice(configuration, "output", get_args(Output), "rgb")
    if not isinstance(rows, list) or not 0 < len(rows) <= MOST_TAGS:
        raise invalid(f"tags: {str(rows)[:60]}")
    tags = dict(_tag(row) for row in rows)
    for tag in (WIDTH, HEIGHT, BITS, SAMPLES):
        if tag in tags and not 0 < tags[tag][1][0] < 1 << 31:
            raise invalid(f"tags: tag {tag} is {tags[tag][1][0]}")
    if output == "levels" and (tags[BITS][1][0] if BITS in tags else 1) not in (1, 2, 4, 8):
        raise invalid(f"output: levels of {tags[BITS][1][0]} bits")
    stream = None
    if configuration.get("stream") is not None:
        stream = integer(configuration, "stream", least=0, most=MOST_BYTES - 1)
    return LibTiff(tags, order, output, stream)


def _tag(row: JSON) -> tuple[int, tuple[int, Sequence[int]]]:
    match row:
        case [int(tag), int(kind), [int(), *_] as values] if 0 < tag < 1 << 16 and kind in CODES:
            most = 1 << (16 if kind == SHORT else 32)
            room = HEADER if tag in POSITIONS else 0
            sized = len(values) <= MOST_VALUES and (kind != RATIONAL or len(values) % 2 == 0)
            if sized and all(type(v) is int and 0 <= v < most - room for v in values):
                return tag, (kind, [int(v) for v in values if isinstance(v, int)])
    raise invalid(f"tags: {str(row)[:60]} is no tag")
