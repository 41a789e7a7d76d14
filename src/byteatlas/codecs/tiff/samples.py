"""Byte codecs of TIFF files: compressions, predictors, packed bits, bit order, odd sample types.

They are registered under the names that imagecodecs gives to numcodecs (``imagecodecs_lzw``...), so that references
serve both us and other readers; only complex integers have a name of our own. Specifications: TIFF 6.0 sections 9, 13
and 14, TIFF Technical Note 3 (floating-point predictor). Like libtiff, decoders take as many bytes as the tile needs
and leave what follows; too few are an error.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, Context, Writable, encoded_limit
from byteatlas.errors import CorruptChunk, InvalidMetadata, Unsupported
from byteatlas.types import JSON

Configuration: TypeAlias = Mapping[str, JSON]
FAULTS = (RuntimeError, ValueError, TypeError, IndexError, OverflowError, MemoryError)
"""What imagecodecs' decoders raise for bytes that they cannot read (each has its own subclass of RuntimeError)."""

MOST_AXES = 64


def decode_only(name: str) -> Callable[[Any], Any]:
    """An encoder that says that there is none."""

    def encode(data: Any) -> Any:
        raise Unsupported("codec", f"codec {name!r} only decodes")

    return encode


def as_bytes(data: Bytes) -> bytes | memoryview:
    """Something that all of imagecodecs' decoders take."""
    return data if isinstance(data, (bytes, memoryview)) else memoryview(data)


@dataclass(frozen=True, slots=True)
class Compression:
    """A compression of plain bytes.

    Attributes:
        surplus: how to decode a stream that has more bytes than the number wanted, or fewer; None: as any other.
    """

    name: str
    decode: Callable[..., Any]
    encode: Callable[..., Any]
    surplus: Callable[[Any, int], Any] | None = None

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            wanted = spec.nbytes if spec.nbytes is not None else spec.limit
            found = self._run(data, wanted, wanted)
            if spec.nbytes is not None and len(found) < spec.nbytes:
                raise CorruptChunk(f"{self.name}: {len(found)} bytes decoded where {spec.nbytes} are expected")
            return found

        def into(data: Bytes, out: Writable) -> None:
            target = np.frombuffer(out, np.uint8)
            found = self._run(data, target, len(target))
            if len(found) != len(target):
                raise CorruptChunk(f"{self.name}: {len(found)} bytes decoded where {len(target)} are expected")
            if not np.shares_memory(target, np.frombuffer(found, np.uint8)):
                target[:] = np.frombuffer(found, np.uint8)

        return ByteStep(
            None, encoded_limit(spec.limit), decode, self.encode, into if spec.nbytes is not None else None,
            itemsize=spec.itemsize,
        )  # fmt: skip

    def _run(self, data: Bytes, out: Any, wanted: int) -> Any:
        if not len(data):
            raise CorruptChunk(f"{self.name}: no bytes")
        try:
            return self.decode(as_bytes(data), out=out)
        except FAULTS as error:
            if self.surplus is None:
                raise CorruptChunk(f"{self.name}: {error}") from error
        try:
            return memoryview(self.surplus(as_bytes(data), wanted))[:wanted]
        except FAULTS as error:
            raise CorruptChunk(f"{self.name}: {error}") from error


def make_lzw(configuration: Configuration) -> Compression:
    return Compression("lzw", imagecodecs.lzw_decode, imagecodecs.lzw_encode)


def make_packbits(configuration: Configuration) -> Compression:
    # A run of at most 128 bytes takes two: decoding without a size is bounded by 64 times the input.
    def on(data: Any, wanted: int) -> Any:
        return imagecodecs.packbits_decode(data)

    return Compression("packbits", imagecodecs.packbits_decode, imagecodecs.packbits_encode, on)


def make_lzma(configuration: Configuration) -> Compression:
    return Compression("lzma", imagecodecs.lzma_decode, imagecodecs.lzma_encode)


def make_zstd(configuration: Configuration) -> Compression:
    def on(data: Any, wanted: int) -> Any:
        # Strips written in full have less than twice what is wanted of the last one, but for one of few rows.
        return imagecodecs.zstd_decode(data, out=MOST_SURPLUS * wanted + 1024)

    return Compression("zstd", imagecodecs.zstd_decode, imagecodecs.zstd_encode, on)


MOST_SURPLUS = 16
"""How many times the bytes that a strip should have Zstandard may decode to."""


def inflate_on(wbits: int) -> Callable[[Any, int], bytes]:
    """How to inflate at most so many bytes."""

    def on(data: Any, wanted: int) -> bytes:
        try:
            return zlib.decompressobj(wbits).decompress(data, wanted)
        except zlib.error as error:
            raise ValueError(str(error)) from error

    return on


def make_zlib(configuration: Configuration) -> Compression:
    return Compression("zlib", imagecodecs.zlib_decode, imagecodecs.zlib_encode, inflate_on(15))


def make_deflate(configuration: Configuration) -> Compression:
    raw = bool(configuration.get("raw", False))

    def decode(data: Any, out: Any = None) -> Any:
        return imagecodecs.deflate_decode(data, out=out, raw=raw)

    def encode(data: Any) -> Any:
        return imagecodecs.deflate_encode(data, raw=raw)

    return Compression("deflate", decode, encode, inflate_on(-15 if raw else 15))


@dataclass(frozen=True, slots=True)
class BitOrder:
    """FillOrder 2: the bits of every byte are reversed."""

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        return ByteStep(spec.nbytes, spec.limit, reverse_bits, reverse_bits, itemsize=spec.itemsize)


def reverse_bits(data: Bytes) -> bytes:
    """Each byte's bits in opposite order."""
    if not len(data):
        return b""
    found: bytes = imagecodecs.bitorder_decode(bytes(data))
    return found


def make_bitorder(configuration: Configuration) -> BitOrder:
    return BitOrder()


# Predictors -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Predictor:
    """Differences along one axis, of integers (``floating`` False) or of the bytes of floats.

    Attributes:
        shape: of the tile; None: one row.
    """

    name: str
    floating: bool
    shape: tuple[int, ...] | None
    dtype: np.dtype[Any]
    axis: int
    dist: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        shape = self.shape
        if spec.nbytes is None or spec.nbytes % self.dtype.itemsize:
            raise InvalidMetadata("", f"{self.name}: {spec.nbytes} bytes are no whole elements of {self.dtype}")
        if shape is None:
            shape = (spec.nbytes // self.dtype.itemsize,)
        if prod(shape) * self.dtype.itemsize != spec.nbytes or not -len(shape) <= self.axis < len(shape):
            why = f"{self.name}: shape {shape} of {self.dtype} along axis {self.axis} does not fit {spec.nbytes} bytes"
            raise InvalidMetadata("", why)
        return self._step(spec.nbytes, shape, spec)

    def _step(self, nbytes: int, shape: tuple[int, ...], spec: ByteSpec) -> ByteStep:
        undo = imagecodecs.floatpred_decode if self.floating else imagecodecs.delta_decode
        redo = imagecodecs.floatpred_encode if self.floating else imagecodecs.delta_encode

        def view(data: Bytes) -> NDArray[Any]:
            if len(data) < nbytes:
                raise CorruptChunk(f"{self.name}: {len(data)} bytes where {nbytes} are expected")
            return np.frombuffer(data, self.dtype, prod(shape)).reshape(shape)

        def run(source: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
            try:
                found: NDArray[Any] = undo(source, axis=self.axis, dist=self.dist, out=out)
            except FAULTS as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            return found

        def decode(data: Bytes) -> Bytes:
            return np.ascontiguousarray(run(view(data), None)).reshape(-1).view(np.uint8)

        def into(data: Bytes, out: Writable) -> None:
            run(view(data), np.frombuffer(out, self.dtype).reshape(shape))

        def staged(fill: Callable[[Writable], None], out: Writable) -> None:
            fill(out)
            whole = np.frombuffer(out, self.dtype).reshape(shape)
            run(whole, whole)

        def encode(data: Bytes) -> Bytes:
            return bytes(np.ascontiguousarray(redo(view(data), axis=self.axis, dist=self.dist)).tobytes())

        return ByteStep(
            nbytes, nbytes, decode, encode, into, None if self.floating else staged, itemsize=spec.itemsize
        )  # fmt: skip


def _integer(configuration: Configuration, name: str, default: int) -> int:
    value = configuration.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidMetadata("", f"{name} {value!r} is not an integer")
    return value


def _dtype(configuration: Configuration, kinds: str, default: str | None = None) -> np.dtype[Any]:
    text = configuration.get("dtype", default)
    try:
        dtype = np.dtype(text if isinstance(text, str) else "O")
    except (TypeError, ValueError) as error:
        raise InvalidMetadata("", f"{text!r} is no data type") from error
    if dtype.kind not in kinds:
        raise InvalidMetadata("", f"data type {text!r} is not possible here")
    return dtype


def _predictor(name: str, floating: bool, configuration: Configuration) -> Predictor:
    shape = configuration.get("shape")
    if shape is not None:
        sized = isinstance(shape, Sequence) and 0 < len(shape) <= MOST_AXES
        if not sized or not all(isinstance(n, int) and n > 0 for n in shape):
            raise InvalidMetadata("", f"{name}: {shape!r} is no shape")
        shape = tuple(shape)
    kinds = "f" if floating else "iuf"
    dtype = _dtype(configuration, kinds, None if floating else "u1")
    axis, dist = _integer(configuration, "axis", -1), _integer(configuration, "dist", 1)
    if dist not in (1, 2, 4) or (floating and shape is None):
        raise InvalidMetadata("", f"{name}: distance {dist} of a tile of shape {shape}")
    return Predictor(name, floating, shape, dtype, axis, dist)


def make_delta(configuration: Configuration) -> Predictor:
    return _predictor("delta", False, configuration)


def make_floatpred(configuration: Configuration) -> Predictor:
    return _predictor("floatpred", True, configuration)


# Sample types that NumPy does not have --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sized:
    """A conversion between two fixed sizes: ``encoded(nbytes)`` bytes in, ``nbytes`` bytes out."""

    name: str
    encoded: Callable[[int], int]
    convert: Callable[[bytes | memoryview, int], NDArray[Any]]
    itemsize: int

    def bind_bytes(self, spec: ByteSpec, context: Context) -> ByteStep:
        nbytes = spec.nbytes
        if nbytes is None or nbytes % self.itemsize:
            raise InvalidMetadata("", f"{self.name}: {nbytes} bytes are no whole elements of {self.itemsize} bytes")
        need = self.encoded(nbytes)

        def decode(data: Bytes) -> Bytes:
            if len(data) < need:
                raise CorruptChunk(f"{self.name}: {len(data)} bytes where {need} are expected")
            try:
                found = self.convert(as_bytes(data)[:need], nbytes)
            except FAULTS as error:
                raise CorruptChunk(f"{self.name}: {error}") from error
            if found.nbytes != nbytes:
                raise CorruptChunk(f"{self.name}: {found.nbytes} bytes decoded where {nbytes} are expected")
            return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

        return ByteStep(need, need, decode, decode_only(self.name))


def make_packints(configuration: Configuration) -> Sized:
    """Unsigned integers of 1 to 32 bits, most significant bit first; each row of ``runlen`` begins on a byte."""
    dtype = _dtype(configuration, "u")
    bits, run = _integer(configuration, "bitspersample", 0), _integer(configuration, "runlen", 0)
    if not 0 < bits <= min(32, 8 * dtype.itemsize) or run < 0:
        raise InvalidMetadata("", f"packints: {bits} bits as {dtype}, rows of {run}")
    if configuration.get("bitorder") not in (None, ">"):
        raise Unsupported("codec", "packints with the least significant bit first")

    def encoded(nbytes: int) -> int:
        count = nbytes // dtype.itemsize
        row = run or count
        if row and count % row:
            raise InvalidMetadata("", f"packints: {count} samples are no whole rows of {row}")
        return -(-row * bits // 8) * (count // row) if row else 0

    native = dtype.newbyteorder("=")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        found = imagecodecs.packints_decode(bytes(data), native, bits, runlen=run)
        return np.asarray(found)[: nbytes // dtype.itemsize].astype(dtype, copy=False)

    return Sized("packints", encoded, convert, dtype.itemsize)


def make_float24(configuration: Configuration) -> Sized:
    """Floats of 24 bits, as float32 in native byte order."""
    order = configuration.get("byteorder") or "="
    if order not in ("<", ">", "="):
        raise InvalidMetadata("", f"float24: byte order {order!r}")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        return np.asarray(imagecodecs.float24_decode(bytes(data), byteorder=order))

    return Sized("float24", lambda nbytes: nbytes // 4 * 3, convert, 4)


def make_float_planes(configuration: Configuration) -> Sized:
    """Undo the floating-point predictor (TIFF Technical Note 3) for floats of a size that NumPy does not have.

    Rows of ``row`` floats of ``itemsize`` bytes; differences are between bytes ``stride`` apart. The floats come out
    big-endian.
    """
    item, row, stride = (_integer(configuration, name, 0) for name in ("itemsize", "row", "stride"))
    if not 0 < item <= 16 or row <= 0 or stride <= 0 or row % stride:
        raise InvalidMetadata("", f"tiff_float_planes: rows of {row} floats of {item} bytes, stride {stride}")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        if nbytes % (row * item):
            raise CorruptChunk(f"tiff_float_planes: {nbytes} bytes are no whole rows of {row * item}")
        columns = np.frombuffer(data, np.uint8).reshape(-1, row * item // stride, stride)
        planes = np.cumsum(columns, axis=1, dtype=np.uint8).reshape(-1, item, row)
        return np.ascontiguousarray(planes.swapaxes(1, 2))

    return Sized("tiff_float_planes", lambda nbytes: nbytes, convert, item)


def make_complex_int(configuration: Configuration) -> Sized:
    """Pairs of signed integers as complex floats that hold them exactly: up to 16 bits in float32, 32 in float64."""
    dtype = _dtype(configuration, "i")
    if dtype.itemsize > 4:
        raise InvalidMetadata("", f"tiff_complex_int: {dtype}")
    part = np.dtype("<f8" if dtype.itemsize == 4 else "<f4")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        return np.frombuffer(data, dtype).astype(part)

    ratio = part.itemsize // dtype.itemsize
    return Sized("tiff_complex_int", lambda nbytes: nbytes // ratio, convert, 2 * part.itemsize)
