"""``byteatlas.fits_ascii``: one field of the lines of an ASCII table (FITS 4.0, section 7.2).

A chunk is whole lines. Configuration: ``stride``, characters of a line; ``offset`` and ``width`` of the field;
``decimals``: digits after the implied decimal point of numbers that have none, as the format ``Fw.d`` says (section
7.2.5); ``null``: the text that stands for "no value". Text without a value is NaN, or 0 where the array holds integers.
Numbers may have exponents written with E or D.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import decode_only, exactly
from byteatlas.codecs.core.contract import ArraySpec, Bytes, ChainContext, SerializerStep
from byteatlas.codecs.core.options import Configuration, integer, only, text
from byteatlas.codecs.fits.columns import MOST_STRIDE
from byteatlas.errors import CorruptChunk
from byteatlas.meta.place import invalid
from byteatlas.values import dataclass

NAME = "byteatlas.fits_ascii"
MOST_WIDTH = 1 << 12
"""Characters of one number."""
INTEGER = re.compile(rb"[ ]*[+-]?[0-9]+[ ]*")
REAL = re.compile(rb"[ ]*+[+-]?(?:[0-9]++(\.?)[0-9]*+|(\.)[0-9]++)(?:([ED][+-]?|[+-])[0-9]++)?[ ]*+")
SHORT = re.compile(rb"([0-9.])([+-])")
"""An exponent without its letter, as Fortran writes those of three digits."""


@dataclass(frozen=True, slots=True)
class FitsTextColumn:
    """The codec."""

    stride: int
    offset: int
    width: int
    decimals: int
    null: bytes

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        dtype = spec.dtype
        if len(spec.shape) != 1 or dtype.kind not in "if":
            raise invalid(f"not for {spec.data_type.name} of shape {spec.shape}")
        rows = spec.shape[0]
        nbytes = rows * self.stride

        def decode(data: Bytes) -> NDArray[Any]:
            exactly(NAME, len(data), nbytes)
            cells = np.ndarray((rows,), f"S{self.width}", data, self.offset, (self.stride,))
            cells = np.array(cells)  # a copy: blanks are replaced
            return self._integers(cells, dtype) if dtype.kind == "i" else self._reals(cells, dtype)

        return SerializerStep(nbytes, nbytes, decode, decode_only(NAME), self.stride)

    def _absent(self, cells: NDArray[Any]) -> NDArray[np.bool_]:
        """Where there is no value: blanks, or the text that says so."""
        plain = np.strings.strip(cells, b" \0")
        absent: NDArray[np.bool_] = plain == b""
        return absent | (plain == self.null) if self.null else absent

    def _integers(self, cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        absent = self._absent(cells)
        for cell in cells[~absent].tolist():
            if INTEGER.fullmatch(cell) is None:
                raise CorruptChunk(f"{NAME}: {cell.decode('latin-1')!r} is not an integer")
        cells[absent] = b"0"
        try:
            return cells.astype(dtype)
        except (ValueError, OverflowError) as error:
            raise CorruptChunk(f"{NAME}: {error}") from error

    def _reals(self, cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        absent = self._absent(cells)
        cells = np.strings.upper(cells)
        implied = []
        for at in np.flatnonzero(~absent).tolist():
            match = REAL.fullmatch(cells[at])
            if match is None:
                raise CorruptChunk(f"{NAME}: {cells[at].decode('latin-1')!r} is not a number")
            if self.decimals and not (match[1] or match[2]):
                implied.append(at)
            if match[3] in (b"+", b"-"):
                cells = cells.astype(f"S{self.width + 1}")
                cells[at] = SHORT.sub(rb"\1E\2", cells[at].strip())
        plain = np.strings.replace(cells, b"D", b"E") if bool((np.strings.find(cells, b"D") >= 0).any()) else cells
        found: NDArray[Any] = np.where(absent, b"0", plain).astype(np.float64)
        found[absent] = np.nan
        for at in implied:
            found[at] = float(_with_point(plain[at].strip(), self.decimals))
        return found.astype(dtype)


def _with_point(number: bytes, decimals: int) -> bytes:
    """A number with its implied decimal point moved into the exponent."""
    digits, _, exponent = number.partition(b"E")
    return digits + b"E%d" % (int(exponent or b"0") - decimals)


def make(configuration: Configuration) -> FitsTextColumn:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "stride", "offset", "width", "decimals", "null")
    stride = integer(configuration, "stride", least=1, most=MOST_STRIDE)
    offset = integer(configuration, "offset", 0, least=0, most=stride)
    width = integer(configuration, "width", least=1, most=min(MOST_WIDTH, stride - offset))
    decimals = integer(configuration, "decimals", 0, least=0, most=MOST_WIDTH)
    return FitsTextColumn(stride, offset, width, decimals, text(configuration, "null", "").encode("latin-1", "replace"))
