"""``byteatlas.fits_heap``: a variable-length column of a binary table (FITS 4.0, section 7.3.5).

The chunk is the whole data unit: the rows, each with a descriptor (number of elements and place in the heap), and the
heap. Configuration: ``stride`` and ``offset`` of the descriptor; ``rows``; ``wide``: descriptors of 64-bit integers
(``Q``) instead of 32-bit ones (``P``); ``heap``: where the heap begins; ``dtype`` of the elements as stored; ``form``:
``bits`` counts bits, in whole bytes, ``logical`` makes Booleans of letters. Elements of the array are one-dimensional
arrays, or bytes where ``dtype`` is absent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least, decode_only
from byteatlas.codecs.core.contract import MOST_UNKNOWN, ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, choice, flag, integer, only, type_string
from byteatlas.codecs.fits.columns import MOST_STRIDE
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

NAME = "byteatlas.fits_heap"
TRUE = np.array([ord("T"), 1], np.uint8)
"""Astropy before 8.0 wrote 1 where the standard has the letter."""


@dataclass(frozen=True, slots=True)
class HeapColumn:
    """The codec."""

    stride: int
    offset: int
    wide: bool
    heap: int
    dtype: np.dtype[Any] | None
    form: str

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if not spec.dtype.hasobject or len(spec.shape) != 1:
            raise invalid(f"not for {spec.data_type.name} of shape {spec.shape}")
        rows = spec.shape[0]

        def decode(data: Bytes) -> NDArray[Any]:
            at_least(NAME, len(data), rows * self.stride)
            return self._elements(memoryview(data).cast("B"), rows)

        return SerializerStep(None, MOST_UNKNOWN, decode, decode_only(NAME))

    def _elements(self, data: memoryview, rows: int) -> NDArray[Any]:
        item = 1 if self.dtype is None else self.dtype.itemsize
        word = np.dtype(">i8" if self.wide else ">i4")
        pairs = np.ndarray((rows, 2), word, data, self.offset, (self.stride, word.itemsize)).astype(np.int64)
        counts = -(-pairs[:, 0] // 8) if self.form == "bits" else pairs[:, 0]
        places = np.where(counts, pairs[:, 1], 0)
        room = max(0, len(data) - self.heap)
        bad = (counts < 0) | (places < 0) | (places > room) | (counts > (room - places) // item)
        if bool(bad.any()):
            at = int(np.flatnonzero(bad)[0])
            raise CorruptChunk(f"{NAME}: row {at} has {counts[at]} elements at {places[at]} of a heap of {room} bytes")
        if int(counts.sum()) * item > MOST_UNKNOWN:  # descriptors may share elements
            raise CorruptChunk(f"{NAME}: {int(counts.sum())} elements in all")
        out = np.empty(rows, object)
        native = None if self.dtype is None else self.dtype.newbyteorder("=")
        begins = (places + self.heap).tolist()
        for row, (begin, count) in enumerate(zip(begins, counts.tolist(), strict=True)):
            piece = data[begin : begin + count * item]
            if self.dtype is None:
                out[row] = piece.tobytes()
            elif self.form == "logical":
                out[row] = np.isin(np.frombuffer(piece, np.uint8), TRUE)
            else:
                out[row] = np.frombuffer(piece, self.dtype).astype(native)
        return out


def make(configuration: Configuration) -> HeapColumn:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "stride", "offset", "wide", "heap", "dtype", "form")
    wide = flag(configuration, "wide", False)
    pair = 16 if wide else 8
    stride = integer(configuration, "stride", least=pair, most=MOST_STRIDE)
    offset = integer(configuration, "offset", 0, least=0, most=stride - pair)
    heap = integer(configuration, "heap", least=0, most=1 << 62)
    stored = None if configuration.get("dtype") is None else type_string(configuration, "dtype", kinds="iufc")
    form = choice(configuration, "form", ("number", "bits", "logical"), "number")
    return HeapColumn(stride, offset, wide, heap, stored, form)
