"""Element layouts: how the bytes of one stored element become one NumPy value.

NumPy's own dtypes cover numbers that fill whole bytes. Archives also hold integers of 12 bits in 4 bytes, floats with
exponents of other widths, text that ends at a NUL or before trailing blanks, and records of all of these. A layout is
a frozen tree; `decode` turns an array of elements into values of `dtype` at once. `to_json` and `from_json` are its
form in codec configurations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.types import JSON, Shape

NULLTERM, NULLPAD, SPACEPAD = "nullterm", "nullpad", "spacepad"
MOST_NESTING = 32
MOST_SIZE = 1 << 32

Bytes2: TypeAlias = NDArray[np.uint8]
"""Elements as rows: shape (count, size)."""


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
    base: Layout

    @property
    def size(self) -> int:
        return self.base.size * math.prod(self.dims)


@dataclass(frozen=True, slots=True)
class Field:
    """A named member at a byte offset."""

    name: str
    offset: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class Record:
    """Named members; they may leave gaps."""

    size: int
    fields: tuple[Field, ...]


Layout: TypeAlias = Plain | Integer | Real | Truth | Text | Sub | Record


def dtype(layout: Layout) -> np.dtype[Any]:
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


def stored_dtype(layout: Layout) -> np.dtype[Any] | None:
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


def decode(layout: Layout, rows: Bytes2) -> NDArray[Any]:
    """Values of elements given as rows of bytes; shape (count,), or (count, *dims) for a `Sub`."""
    if rows.ndim != 2 or rows.shape[1] != layout.size:
        raise InvalidMetadata("", f"elements of {rows.shape[1:]} bytes where the layout has {layout.size}")
    count = rows.shape[0]
    match layout:
        case Sub(dims, base):
            inner = decode(base, np.ascontiguousarray(rows).reshape(count * math.prod(dims), base.size))
            return inner.reshape(count, *dims, *inner.shape[1:])
        case Record(_, fields):
            out = np.empty(count, dtype(layout))
            for f in fields:
                out[f.name] = decode(f.layout, rows[:, f.offset : f.offset + f.layout.size])
            return out
        case Plain(kind):
            found: NDArray[Any] = np.ascontiguousarray(rows).view(kind).reshape(count)
            return found.astype(found.dtype.newbyteorder("="), copy=False)
        case Integer():
            return _integers(layout, rows)
        case Real():
            return _reals(layout, rows)
        case Truth():
            truth: NDArray[Any] = np.any(rows, axis=1)
            return truth
        case Text():
            return _texts(layout, rows)


def _words(size: int, order: str, rows: Bytes2) -> NDArray[np.uint64]:
    """The elements' bytes as unsigned integers of 64 bits."""
    wide = np.zeros((rows.shape[0], 8), np.uint8)
    wide[:, :size] = rows if order == "<" else rows[:, ::-1]
    return wide.view("<u8").reshape(-1).astype(np.uint64, copy=False)


def _integers(layout: Integer, rows: Bytes2) -> NDArray[Any]:
    words = _words(layout.size, layout.order, rows) >> np.uint64(layout.offset)
    spare = np.uint64(64 - layout.precision)
    words = words << spare
    values = words.view(np.int64) >> np.int64(spare) if layout.signed else words >> spare
    return values.astype(dtype(layout))


def _bits(words: NDArray[np.uint64], at: int, width: int) -> NDArray[np.uint64]:
    mask = np.uint64((1 << width) - 1)
    return (words >> np.uint64(at)) & mask


def _reals(layout: Real, rows: Bytes2) -> NDArray[Any]:
    words = _words(layout.size, layout.order, rows)
    mantissa = _bits(words, layout.mantissa_at, layout.mantissa)
    exponent = _bits(words, layout.exponent_at, layout.exponent).astype(np.int64)
    special = exponent == (1 << layout.exponent) - 1
    scale = np.where(exponent == 0, 1, exponent) if layout.implied else exponent
    whole = mantissa.astype(np.float64)  # at most 53 bits: exact
    fraction = layout.mantissa
    if layout.implied:
        whole += np.where(exponent == 0, 0.0, math.ldexp(1.0, layout.mantissa))
    else:
        fraction -= 1
    with np.errstate(over="ignore", under="ignore"):
        power = np.clip(scale - layout.bias - fraction, -4000, 4000).astype(np.int32)
        values = np.ldexp(whole, power)
    payload = mantissa if layout.implied else mantissa & np.uint64((1 << (layout.mantissa - 1)) - 1)
    values[special] = np.where(payload[special] == 0, np.inf, np.nan)
    negative = _bits(words, layout.sign, 1).astype(bool)
    out: NDArray[Any] = np.where(negative, -values, values).astype(dtype(layout))
    return out


def _texts(layout: Text, rows: Bytes2) -> NDArray[Any]:
    kept = np.array(rows, np.uint8, order="C")
    if layout.padding == NULLTERM:
        kept[np.logical_or.accumulate(kept == 0, axis=1)] = 0
    elif layout.padding == SPACEPAD:
        blank = np.logical_and.accumulate(kept[:, ::-1] == 0x20, axis=1)[:, ::-1]
        kept[blank] = 0
    return kept.view(f"S{layout.size}").reshape(-1)


def to_json(layout: Layout) -> JSON:
    """The layout as a JSON object, tagged by ``kind``."""
    match layout:
        case Plain(kind):
            return kind
        case Integer(size, order, offset, precision, signed):
            return {
                "kind": "integer", "size": size, "order": order, "offset": offset, "precision": precision,
                "signed": signed,
            }  # fmt: skip
        case Real():
            names = ("size", "order", "sign", "exponent_at", "exponent", "mantissa_at", "mantissa", "bias", "implied")
            return {"kind": "float", **{name: getattr(layout, name) for name in names}}
        case Truth(size):
            return {"kind": "bool", "size": size}
        case Text(size, padding):
            return {"kind": "text", "size": size, "padding": padding}
        case Sub(dims, base):
            return {"kind": "array", "dims": list(dims), "base": to_json(base)}
        case Record(size, fields):
            return {"kind": "record", "size": size, "fields": [[f.name, f.offset, to_json(f.layout)] for f in fields]}


def from_json(document: JSON, depth: int = 0) -> Layout:
    """The layout in a codec configuration. Raises `InvalidMetadata`."""
    if depth > MOST_NESTING:
        raise InvalidMetadata("", "an element layout nested too deep")
    try:
        found = _from_json(document, depth)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidMetadata("", f"not an element layout: {error}") from error
    if not 0 < found.size <= MOST_SIZE:
        raise InvalidMetadata("", f"an element layout of {found.size} bytes")
    return found


def _from_json(document: JSON, depth: int) -> Layout:
    if isinstance(document, str):
        kind = np.dtype(document)
        if kind.kind not in "biufcmMSV" or kind.names or kind.subdtype:
            raise ValueError(f"type {document!r}")
        return Plain(document)
    tag = document["kind"]
    return _from_object(tag, document, depth)


def _from_object(tag: str, document: JSON, depth: int) -> Layout:
    if tag == "array":
        dims = tuple(_count(n) for n in document["dims"])
        return Sub(dims, from_json(document["base"], depth + 1))
    if tag == "record":
        fields = tuple(Field(str(n), _count(at), from_json(f, depth + 1)) for n, at, f in document["fields"])
        size = _count(document["size"])
        if not fields or any(f.offset + f.layout.size > size for f in fields):
            raise ValueError("a record's fields do not fit it")
        return Record(size, fields)
    size = _count(document["size"])
    if tag == "bool":
        return Truth(size)
    if tag == "text":
        if document["padding"] not in (NULLTERM, NULLPAD, SPACEPAD):
            raise ValueError(f"padding {document['padding']!r}")
        return Text(size, document["padding"])
    if document["order"] not in "<>" or size > 8:
        raise ValueError(f"a number of {size} bytes, order {document['order']!r}")
    if tag == "integer":
        offset, precision = _count(document["offset"]), _count(document["precision"])
        _inside(size, offset, precision)
        return Integer(size, document["order"], offset, precision, bool(document["signed"]))
    if tag != "float":
        raise ValueError(f"kind {tag!r}")
    names = ("sign", "exponent_at", "exponent", "mantissa_at", "mantissa", "bias")
    sign, exponent_at, exponent, mantissa_at, mantissa, bias = (_count(document[name]) for name in names)
    for at, width in ((sign, 1), (exponent_at, exponent), (mantissa_at, mantissa)):
        _inside(size, at, width)
    return Real(
        size, document["order"], sign, exponent_at, exponent, mantissa_at, mantissa, bias, bool(document["implied"])
    )


def _count(value: JSON) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_SIZE:
        raise ValueError(f"{value!r} where a count should be")
    return value


def _inside(size: int, at: int, width: int) -> None:
    if not width or at + width > 8 * size:
        raise ValueError(f"{width} bits at bit {at} of {size} bytes")
