"""Sample types of TIFF files that NumPy does not have, as types that it has. They decode only.

Complex integers and floats of other sizes have names of our own; the others have those that imagecodecs gives to
numcodecs. Too few bytes for the tile are an error, what follows is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard, at_least, decode_only, exactly
from byteatlas.codecs.core.contract import Bytes, ByteSpec, ByteStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, integer, type_string
from byteatlas.codecs.streams.compression import as_bytes, imagecodecs_function
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Sized:
    """A conversion between two fixed sizes: ``encoded(nbytes)`` bytes in, ``nbytes`` bytes out."""

    name: str
    encoded: Callable[[int], int]
    convert: Callable[[bytes | memoryview, int], NDArray[Any]]
    itemsize: int

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        nbytes = spec.nbytes
        if nbytes is None or nbytes % self.itemsize:
            raise invalid(f"{nbytes} bytes are no whole elements of {self.itemsize} bytes")
        need = self.encoded(nbytes)

        def decode(data: Bytes) -> Bytes:
            at_least(self.name, len(data), need)
            with DamageGuard(self.name):
                found = self.convert(as_bytes(data)[:need], nbytes)
            exactly(self.name, found.nbytes, nbytes)
            return np.ascontiguousarray(found).reshape(-1).view(np.uint8)

        return ByteStep(need, need, decode, decode_only(self.name))


def make_packints(configuration: Configuration) -> Sized:
    """Unsigned integers of 1 to 32 bits, most significant bit first; each row of ``runlen`` begins on a byte."""
    dtype = type_string(configuration, "dtype", kinds="u")
    bits, run = integer(configuration, "bitspersample", 0), integer(configuration, "runlen", 0)
    if not 0 < bits <= min(32, 8 * dtype.itemsize) or run < 0:
        raise invalid(f"{bits} bits as {dtype}, rows of {run}")
    if configuration.get("bitorder") not in (None, ">"):
        raise Unsupported("codec", "packints with the least significant bit first")

    def encoded(nbytes: int) -> int:
        count = nbytes // dtype.itemsize
        row = run or count
        if row and count % row:
            raise invalid(f"{count} samples are no whole rows of {row}")
        return -(-row * bits // 8) * (count // row) if row else 0

    native = dtype.newbyteorder("=")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        found = imagecodecs_function("packints_decode")(bytes(data), native, bits, runlen=run)
        return np.asarray(found)[: nbytes // dtype.itemsize].astype(dtype, copy=False)

    return Sized("packints", encoded, convert, dtype.itemsize)


def make_float24(configuration: Configuration) -> Sized:
    """Floats of 24 bits, as float32 in native byte order."""
    order = choice(configuration, "byteorder", ("<", ">", "=", "", None), "=") or "="

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        return np.asarray(imagecodecs_function("float24_decode")(bytes(data), byteorder=order))

    return Sized("float24", lambda nbytes: nbytes // 4 * 3, convert, 4)


def make_float_planes(configuration: Configuration) -> Sized:
    """Undo the floating-point predictor (TIFF Technical Note 3) for floats of a size that NumPy does not have.

    Rows of ``row`` floats of ``itemsize`` bytes; differences are between bytes ``stride`` apart. The floats come out
    big-endian.
    """
    item, row, stride = (integer(configuration, name, 0) for name in ("itemsize", "row", "stride"))
    if not 0 < item <= 16 or row <= 0 or stride <= 0 or row % stride:
        raise invalid(f"rows of {row} floats of {item} bytes, stride {stride}")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        if nbytes % (row * item):
            raise CorruptChunk(f"tiff_float_planes: {nbytes} bytes are no whole rows of {row * item}")
        columns = np.frombuffer(data, np.uint8).reshape(-1, row * item // stride, stride)
        planes = np.cumsum(columns, axis=1, dtype=np.uint8).reshape(-1, item, row)
        return np.ascontiguousarray(planes.swapaxes(1, 2))

    return Sized("tiff_float_planes", lambda nbytes: nbytes, convert, item)


def make_complex_int(configuration: Configuration) -> Sized:
    """Pairs of signed integers as complex floats that hold them exactly: up to 16 bits in float32, 32 in float64."""
    dtype = type_string(configuration, "dtype", kinds="i")
    if dtype.itemsize > 4:
        raise invalid(f"dtype: {dtype} has more than 32 bits")
    part = np.dtype("<f8" if dtype.itemsize == 4 else "<f4")

    def convert(data: bytes | memoryview, nbytes: int) -> NDArray[Any]:
        return np.frombuffer(data, dtype).astype(part)

    ratio = part.itemsize // dtype.itemsize
    return Sized("tiff_complex_int", lambda nbytes: nbytes // ratio, convert, 2 * part.itemsize)
