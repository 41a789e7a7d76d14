"""The kinds of element layouts, and the NumPy dtypes of their values and of their bytes."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.types import Shape
from byteatlas.values import dataclass

NULLTERM, NULLPAD, SPACEPAD = "nullterm", "nullpad", "spacepad"


@dataclass(frozen=True, slots=True)
class Plain:
    """Bytes that a NumPy dtype describes as they are (``kind`` is a type string such as ``<i4``)."""

    kind: str

    @property
    def size(self) -> int:
        return np.dtype(self.kind).itemsize


@dataclass(frozen=True, slots=True)
class Integer:
    """``precision`` bits from bit ``offset`` of ``size`` bytes; two's complement when signed."""

    size: int
    order: str
    offset: int
    precision: int
    signed: bool


@dataclass(frozen=True, slots=True)
class Real:
    """A binary floating-point number. Bit positions count from the least significant bit.

    The value is ``(-1)**s * m * 2**(e - bias)``, where m is the mantissa field with its implied leading one
    (``implied``), or with an explicit one as its most significant bit. All ones in the exponent: infinity or NaN.
    """

    size: int
    order: str
    sign: int
    exponent_at: int
    exponent: int
    mantissa_at: int
    mantissa: int
    bias: int
    implied: bool


@dataclass(frozen=True, slots=True)
class Truth:
    """A Boolean of ``size`` bytes: false when all of them are zero."""

    size: int


@dataclass(frozen=True, slots=True)
class Text:
    """Fixed-length text: up to the first NUL (nullterm), without trailing NULs or blanks (nullpad, spacepad)."""

    size: int
    padding: str


@dataclass(frozen=True, slots=True)
class Sub:
    """A small array in each element."""

    dims: Shape
    base: ElementLayout

    @property
    def size(self) -> int:
        return self.base.size * math.prod(self.dims)


@dataclass(frozen=True, slots=True)
class Field:
    """A named member at a byte offset."""

    name: str
    offset: int
    layout: ElementLayout


@dataclass(frozen=True, slots=True)
class Record:
    """Named members; they may leave gaps."""

    size: int
    fields: tuple[Field, ...]


ElementLayout: TypeAlias = Plain | Integer | Real | Truth | Text | Sub | Record


def dtype(layout: ElementLayout) -> np.dtype[Any]:
    """The NumPy dtype of decoded values: native byte order, records packed."""
    match layout:
        case Plain(kind):
            return np.dtype(kind).newbyteorder("=")
        case Integer(_, _, _, _, signed):
            return np.dtype(f"{'i' if signed else 'u'}{_width(layout.size)}")
        case Real():
            return _real_dtype(layout)
        case Truth():
            return np.dtype(np.bool_)
        case Text(size, _):
            return np.dtype(f"S{size}")
        case Sub(dims, base):
            return _repeated(dtype(base), dims)
        case Record(_, fields):
            return np.dtype([(f.name, dtype(f.layout)) for f in fields])


def _repeated(base: np.dtype[Any], dims: Shape) -> np.dtype[Any]:
    """Arrays of arrays as arrays of more dimensions."""
    inner, more = base.subdtype or (base, ())
    return np.dtype((inner, (*dims, *more)))


def _width(size: int) -> int:
    """The smallest NumPy integer that holds ``size`` bytes."""
    return 1 << max(0, (size - 1).bit_length())


def _real_dtype(layout: Real) -> np.dtype[Any]:
    """The smallest float that holds every value of the layout (the rule of h5py's ``TypeFloatID``)."""
    most = (1 << layout.exponent) - layout.bias - 1
    least = 1 - layout.bias
    fraction = layout.mantissa - (0 if layout.implied else 1)
    for kind in (np.float16, np.float32, np.float64):
        info = np.finfo(kind)
        if fraction <= info.nmant and most <= info.maxexp and least >= info.minexp:
            return np.dtype(kind)
    raise Unsupported(
        "datatype", f"floating point with {layout.mantissa} bits of mantissa and {layout.exponent} of exponent"
    )


def stored_dtype(layout: ElementLayout) -> np.dtype[Any] | None:
    """The NumPy dtype that reads the stored bytes as they are (byte order, offsets), or None when there is none."""
    match layout:
        case Plain(kind):
            return np.dtype(kind)
        case Text(size, padding) if padding == NULLPAD or (size == 1 and padding == NULLTERM):
            return np.dtype(f"S{size}")
        case Sub(dims, base):
            inner = stored_dtype(base)
            return None if inner is None else _repeated(inner, dims)
        case Record(size, fields):
            kinds = [stored_dtype(f.layout) for f in fields]
            if any(k is None for k in kinds) or not fields:
                return None
            names, offsets = [f.name for f in fields], [f.offset for f in fields]
            return np.dtype({"names": names, "formats": kinds, "offsets": offsets, "itemsize": size})
        case _:
            return None
