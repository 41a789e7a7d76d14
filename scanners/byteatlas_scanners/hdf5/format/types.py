"""The value that a datatype message becomes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from byteatlas.types import ByteOrder
from byteatlas.values import dataclass, field


class DatatypeClass(Enum):
    """Datatype classes; variable-length text is one of its own."""

    INTEGER = 0
    FLOAT = 1
    TIME = 2
    STRING = 3
    BITFIELD = 4
    OPAQUE = 5
    COMPOUND = 6
    REFERENCE = 7
    ENUM = 8
    VLEN = 9
    ARRAY = 10
    COMPLEX = 11
    VLEN_STRING = 12


class Bits(NamedTuple):
    """Where a number's significant bits lie: ``precision`` bits from bit ``offset``."""

    order: ByteOrder
    offset: int
    precision: int
    signed: bool


class Float(NamedTuple):
    """Bit positions and widths of a floating-point type's parts, counted from the least significant bit.

    ``norm``: 0 = no normalisation, 1 = the mantissa's most significant bit is always set, 2 = that bit is implied.
    """

    sign: int
    exponent_at: int
    exponent: int
    mantissa_at: int
    mantissa: int
    bias: int
    norm: int
    vax: bool


class Member(NamedTuple):
    """A field of a compound; ``offset`` in bytes."""

    name: str
    offset: int
    type: Datatype


OBJECT, REGION, OBJECT2, REGION2, ATTRIBUTE2 = range(5)
"""Kinds of references."""

NULLTERM, NULLPAD, SPACEPAD = range(3)
"""Paddings of fixed-length strings."""


@dataclass(frozen=True, slots=True)
class Datatype:
    """An HDF5 datatype. ``size`` is in bytes; the other fields are set for the classes that have them."""

    kind: DatatypeClass
    size: int
    version: int = 1
    bits: Bits | None = None
    number: Float | None = None
    padding: int = 0
    charset: int = 0
    tag: str = ""
    members: tuple[Member, ...] = ()
    symbols: tuple[tuple[str, int], ...] = ()
    base: Datatype | None = None
    dims: tuple[int, ...] = ()
    reference: int = 0

    plain: str | None = field(init=False, compare=False, repr=False)
    """The NumPy type string of a number that fills its bytes in a layout that NumPy knows, else None."""
    variable: bool = field(init=False, compare=False, repr=False)
    """Whether values lie outside of the element's own bytes, in a global heap."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plain", _plain(self))
        base = self.base is not None and self.base.variable
        outside = self.kind in (DatatypeClass.VLEN, DatatypeClass.VLEN_STRING)
        object.__setattr__(self, "variable", outside or base or any(m.type.variable for m in self.members))


def _plain(dt: Datatype) -> str | None:
    bits = dt.bits
    if bits is None or bits.offset or bits.precision != 8 * dt.size or dt.size not in (1, 2, 4, 8):
        return None
    if dt.kind is DatatypeClass.FLOAT:
        return f"{bits.order}f{dt.size}" if dt.number == _IEEE.get(dt.size) else None
    if dt.kind in (DatatypeClass.INTEGER, DatatypeClass.ENUM, DatatypeClass.BITFIELD):
        return f"{bits.order}{'i' if bits.signed else 'u'}{dt.size}"
    return None


_IEEE = {
    2: Float(15, 10, 5, 0, 10, 15, 2, False),
    4: Float(31, 23, 8, 0, 23, 127, 2, False),
    8: Float(63, 52, 11, 0, 52, 1023, 2, False),
}
