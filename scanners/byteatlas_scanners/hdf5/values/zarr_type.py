"""What a datatype is in Zarr: a data type in memory, and the codec that takes stored bytes to it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes
from byteatlas.meta.elements import (
    NULLPAD,
    NULLTERM,
    SPACEPAD,
    ElementLayout,
    Field,
    Integer,
    Plain,
    Real,
    Record,
    Sub,
    Text,
    Truth,
    dtype,
    stored_dtype,
    to_json,
)
from byteatlas.meta.model import CodecSpec, DataType
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass

ELEMENTS = "byteatlas.hdf5-elements"
"""The codec that decodes any element layout."""

ENDIAN = {"<": "little", ">": "big"}
PADDING = (NULLTERM, NULLPAD, SPACEPAD)

_NUMPY_TIME = re.compile(r"NUMPY:([<>]?)([mM])8\[(\d*(?:Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as))\]")


@dataclass(frozen=True, slots=True)
class StoredType:
    """What an array's metadata says of its elements.

    Attributes:
        codecs: the array -> bytes codec.
        inner_shape: dimensions of an array datatype; they follow the dataset's own in shape and chunk shape.
    """

    data_type: DataType
    codecs: tuple[CodecSpec, ...]
    inner_shape: tuple[int, ...] = ()


def to_zarr(dt: Datatype) -> StoredType:
    """The Zarr data type of a dataset of fixed-size elements. Raises `Unsupported` (reason ``datatype``)."""
    inner: tuple[int, ...] = ()
    while dt.kind is DatatypeClass.ARRAY and dt.base is not None:
        inner += dt.dims
        dt = dt.base
    found = layout(dt)
    values = dtype(found)
    return StoredType(dtypes.from_numpy(values), (_codec(found),), inner)


def _codec(found: ElementLayout) -> CodecSpec:
    stored = stored_dtype(found)
    if stored is None:
        return CodecSpec(ELEMENTS, {"layout": to_json(found)})
    orders = _orders(stored)
    packed = stored == _packed(stored)
    if packed and len(orders) <= 1:
        return CodecSpec("bytes", {"endian": ENDIAN[orders.pop()]} if orders else {})
    if stored.names is None or any(_padded(stored[name]) for name in stored.names):
        return CodecSpec(ELEMENTS, {"layout": to_json(found)})
    configuration: dict[str, JSON] = {"dtype": _descr(stored)}
    if not packed:
        fields: Any = stored.fields
        configuration |= {"offsets": [fields[name][1] for name in stored.names], "itemsize": stored.itemsize}
    return CodecSpec("byteatlas.bytes", configuration)


def _orders(kind: np.dtype[Any]) -> set[str]:
    """Byte orders of the numbers in a dtype."""
    if kind.subdtype:
        return _orders(kind.subdtype[0])
    if kind.names:
        return set().union(*(_orders(kind[name]) for name in kind.names))
    return set() if kind.byteorder == "|" else {kind.str[0]}


def _packed(kind: np.dtype[Any]) -> np.dtype[Any]:
    if kind.subdtype:
        return np.dtype((_packed(kind.subdtype[0]), kind.subdtype[1]))
    return np.dtype([(name, _packed(kind[name])) for name in kind.names]) if kind.names else kind


def _padded(kind: np.dtype[Any]) -> bool:
    return kind != _packed(kind)


def _descr(kind: np.dtype[Any]) -> list[JSON]:
    """Fields as Zarr v2 writes them; nested ones likewise."""
    out: list[JSON] = []
    for name in kind.names or ():
        base, dims = kind[name].subdtype or (kind[name], ())
        entry: list[JSON] = [name, _descr(base) if base.names else base.str]
        out.append([*entry, list(dims)] if dims else entry)
    return out


def layout(dt: Datatype) -> ElementLayout:
    """How one element's bytes become a value. Raises `Unsupported` (reason ``datatype``)."""
    plain = dt.plain
    match dt.kind:
        case DatatypeClass.ENUM if _is_bool(dt):
            return Plain("|b1") if dt.size == 1 else Truth(dt.size)
        case DatatypeClass.INTEGER | DatatypeClass.ENUM | DatatypeClass.BITFIELD | DatatypeClass.FLOAT if (
            plain is not None
        ):
            return Plain(np.dtype(plain).str)
        case DatatypeClass.INTEGER | DatatypeClass.ENUM | DatatypeClass.BITFIELD:
            return _integer(dt)
        case DatatypeClass.FLOAT:
            return _real(dt)
        case DatatypeClass.COMPLEX:
            return _complex(dt, dt.base)
        case DatatypeClass.STRING:
            return Text(dt.size, PADDING[dt.padding])
        case DatatypeClass.OPAQUE:
            return _opaque(dt)
        case DatatypeClass.ARRAY if dt.base is not None:
            return Sub(dt.dims, layout(dt.base))
        case DatatypeClass.COMPOUND:
            return _compound(dt)
        case DatatypeClass.TIME:
            raise _unsupported("the time class (which libhdf5 itself does not convert)")
        case DatatypeClass.REFERENCE:
            raise _unsupported("references inside of fixed-size data")
        case _:
            raise _unsupported("variable-length values inside of fixed-size data")


def _unsupported(why: str) -> Unsupported:
    return Unsupported(Reason.DATATYPE, why)


def _is_bool(dt: Datatype) -> bool:
    """h5py's convention: an enumeration of exactly FALSE = 0 and TRUE = 1."""
    return len(dt.symbols) == 2 and dict(dt.symbols) == {"FALSE": 0, "TRUE": 1}


def _integer(dt: Datatype) -> Integer:
    if dt.bits is None or dt.size > 8:
        raise _unsupported(f"an integer of {dt.size} bytes")
    return Integer(dt.size, dt.bits.order, dt.bits.offset, dt.bits.precision, dt.bits.signed)


def _real(dt: Datatype) -> Real:
    number, bits = dt.number, dt.bits
    if number is None or bits is None or number.vax or dt.size > 8:
        raise _unsupported(f"a floating-point number of {dt.size} bytes{', VAX' if number and number.vax else ''}")
    if number.norm == 1:  # libhdf5 knows the name and converts none
        raise _unsupported("a floating-point number whose mantissa begins with a bit that is always set")
    found = Real(
        dt.size, bits.order, number.sign, number.exponent_at, number.exponent, number.mantissa_at, number.mantissa,
        number.bias, number.norm == 2,
    )  # fmt: skip
    dtype(found)
    return found


def _complex(dt: Datatype, base: Datatype | None) -> ElementLayout:
    plain = base.plain if base is not None else None
    if base is None or plain is None:
        raise _unsupported("a complex type of uncommon floats")
    if base.size == 2:
        return Record(4, (Field("r", 0, Plain(plain)), Field("i", 2, Plain(plain))))
    return Plain(f"{plain[0]}c{2 * base.size}")


def _opaque(dt: Datatype) -> Plain:
    if not dt.tag.startswith("NUMPY:"):
        return Plain(f"|V{dt.size}")
    match = _NUMPY_TIME.fullmatch(dt.tag)
    if match is None or dt.size != 8:
        raise _unsupported(f"opaque data with the tag {dt.tag!r}")
    order, kind, unit = match.groups()
    return Plain(f"{order or '<'}{kind}8[{unit}]")


def _compound(dt: Datatype) -> ElementLayout:
    if not dt.members:
        raise _unsupported("a compound without members")
    members = dt.members
    if len(members) == 2 and (members[0].name, members[1].name) == ("r", "i"):
        real, imaginary = (m.type for m in members)
        packed = members[0].offset == 0 and members[1].offset == real.size and dt.size == 2 * real.size
        if real.plain == imaginary.plain and real.kind is DatatypeClass.FLOAT and real.size in (4, 8) and packed:
            return Plain(f"{(real.plain or '<')[0]}c{dt.size}")
    return Record(dt.size, tuple(Field(m.name, m.offset, layout(m.type)) for m in members))
