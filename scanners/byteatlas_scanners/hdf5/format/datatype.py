"""Datatype messages (format specification IV.A.2.d), all classes and versions 1 to 5.

`parse` gives a `Datatype`, a frozen tree. What it means for NumPy and Zarr is decided in `stored`.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Literal, TypeAlias

from byteatlas.errors import CorruptFile
from byteatlas.types import ByteOrder
from byteatlas.values import replace
from byteatlas_scanners.hdf5.format.types import Bits, Datatype, DatatypeClass, Float, Member
from byteatlas_scanners.hdf5.values.zarr_type import StoredType, to_zarr

__all__ = ["Bits", "Datatype", "DatatypeClass", "Float", "Member", "StoredType", "parse", "parse_at", "to_zarr"]

Cache: TypeAlias = dict[bytes, Datatype]

MOST_NESTING = 32
MOST_SIZE = (1 << 32) - 1
MOST_DIMENSIONS = 32

_HEAD = struct.Struct("<BBHI").unpack_from  # class and version, bit field (8 + 16 bits), size
_INTEGER = struct.Struct("<HH").unpack_from
_FLOAT = struct.Struct("<HHBBBBI").unpack_from


def parse(body: bytes, offset: int = 0, cache: Cache | None = None) -> Datatype:
    """Decode a datatype message. ``cache`` (one per file) saves decoding equal messages again.

    Raises `CorruptFile`.
    """
    if cache is None:
        return parse_at(body, offset)[0]
    key = body[offset:] if offset else body
    found = cache.get(key)
    if found is None:
        found = cache[key] = parse_at(key, 0)[0]
    return found


def parse_at(body: bytes, offset: int) -> tuple[Datatype, int]:
    """A datatype, and where the bytes after it begin. Raises `CorruptFile`."""
    try:
        return _datatype(body, offset, 0)
    except (struct.error, IndexError) as error:
        raise CorruptFile(offset, "a datatype message is cut off") from error


def _datatype(body: bytes, at: int, depth: int) -> tuple[Datatype, int]:
    head, low, high, size = _HEAD(body, at)
    bits, version = low | high << 8, head >> 4
    if depth > MOST_NESTING or not 1 <= version <= 5:
        raise CorruptFile(at, f"a datatype of version {version}, nested {depth} deep")
    kind = head & 15
    if kind not in _CLASSES:
        raise CorruptFile(at, f"a datatype of class {kind}")
    if not size:
        raise CorruptFile(at, "a datatype of zero bytes")
    found, at = _CLASSES[kind](body, at + 8, bits, size, version, depth)
    return found, at


def _integer(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    offset, precision = _INTEGER(body, at)
    _check_bits(at, size, offset, precision)
    return Datatype(DatatypeClass.INTEGER, size, version, Bits(_order(bits), offset, precision, bool(bits & 8))), at + 4


def _bitfield(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    offset, precision = _INTEGER(body, at)
    _check_bits(at, size, offset, precision)
    return Datatype(DatatypeClass.BITFIELD, size, version, Bits(_order(bits), offset, precision, False)), at + 4


def _float(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    offset, precision, exponent_at, exponent, mantissa_at, mantissa, bias = _FLOAT(body, at)
    _check_bits(at, size, offset, precision)
    sign = bits >> 8 & 255
    for place, width in ((exponent_at, exponent), (mantissa_at, mantissa), (sign, 1)):
        if place + width > 8 * size or not width:
            raise CorruptFile(at, "a floating-point field outside of its type")
    fields = sorted(((exponent_at, exponent), (mantissa_at, mantissa), (sign, 1)))
    if any(place + width > behind for (place, width), (behind, _) in pairwise(fields)):
        raise CorruptFile(at, "floating-point fields that overlap")
    norm = bits >> 4 & 3
    vax = bool(bits & 0x40)
    if norm == 3 or (vax and not bits & 1):
        raise CorruptFile(at, "a floating-point type of unknown normalisation or byte order")
    layout = Float(sign, exponent_at, exponent, mantissa_at, mantissa, bias, norm, vax)
    return Datatype(
        DatatypeClass.FLOAT, size, version, Bits(_order(bits), offset, precision, True), number=layout
    ), at + 12


def _check_bits(at: int, size: int, offset: int, precision: int) -> None:
    if not precision or offset + precision > 8 * size:
        raise CorruptFile(at, f"{precision} bits at bit {offset} of {size} bytes")


def _order(bits: int) -> ByteOrder:
    return ">" if bits & 1 else "<"


def _time(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    return Datatype(DatatypeClass.TIME, size, version, Bits(_order(bits), 0, 8 * size, True)), at + 2


def _string(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    padding, charset = bits & 15, bits >> 4 & 15
    if padding > 2 or charset > 1:
        raise CorruptFile(at, f"a string of padding {padding}, character set {charset}")
    return Datatype(DatatypeClass.STRING, size, version, padding=padding, charset=charset), at


def _opaque(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    length = bits & 255
    if at + length > len(body):
        raise CorruptFile(at, "an opaque type's tag is cut off")
    tag = body[at : at + length].split(b"\0")[0].decode("latin-1")
    return Datatype(DatatypeClass.OPAQUE, size, version, tag=tag), at + length


def _compound(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    members: list[Member] = []
    width = max(1, (size.bit_length() + 7) // 8)
    for _ in range(bits & 0xFFFF):
        name, at = _name(body, at, version < 3)
        dims: tuple[int, ...] = ()
        if version >= 3:
            offset = int.from_bytes(body[at : at + width], "little")
            at += width
        else:
            (offset,) = struct.unpack_from("<I", body, at)
            at += 4
        if version == 1:
            rank = body[at]
            dims = struct.unpack_from("<4I", body, at + 12)[:rank]
            at += 28
            if rank > 4:
                raise CorruptFile(at, f"a compound member of {rank} dimensions")
        kind, at = _datatype(body, at, depth + 1)
        if dims:
            kind = _array_of(at, dims, kind, None)
        if offset + kind.size > size:
            raise CorruptFile(at, f"member {name!r} sticks out of its compound")
        members.append(Member(name, offset, kind))
    if len({m.name for m in members}) < len(members) or not all(m.name for m in members):
        raise CorruptFile(at, "two members of a compound with one name, or one without")
    placed = sorted((m.offset, m.type.size) for m in members)
    if any(low + length > high for (low, length), (high, _) in pairwise(placed)):  # H5T__insert lets nobody make one
        raise CorruptFile(at, "members of a compound that overlap")
    return Datatype(DatatypeClass.COMPOUND, size, version, members=tuple(members)), at


def _name(body: bytes, at: int, padded: bool) -> tuple[str, int]:
    stop = body.find(b"\0", at)
    if stop < 0:
        raise CorruptFile(at, "a member's name without an end")
    raw = body[at:stop]
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        name = raw.decode("latin-1")
    length = stop + 1 - at
    return name, at + (-(-length // 8) * 8 if padded else length)


def _reference(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    return Datatype(DatatypeClass.REFERENCE, size, version, reference=bits & 15), at


def _enum(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    base, at = _datatype(body, at, depth + 1)
    names: list[str] = []
    if base.size != size or base.kind is not DatatypeClass.INTEGER or base.bits is None:
        raise CorruptFile(at, "an enumeration that is not of integers")
    count = bits & 0xFFFF
    for _ in range(count):
        name, at = _name(body, at, version < 3)
        if not name:
            raise CorruptFile(at, "a value of an enumeration without a name")
        names.append(name)
    if at + count * size > len(body):
        raise CorruptFile(at, "the values of an enumeration are cut off")
    order: Literal["big", "little"] = "big" if base.bits.order == ">" else "little"
    raws = (body[at + i * size : at + (i + 1) * size] for i in range(count))
    values = tuple(int.from_bytes(raw, order, signed=base.bits.signed) for raw in raws)
    pairs = tuple(zip(names, values, strict=True))
    return Datatype(DatatypeClass.ENUM, size, version, base.bits, base=base, symbols=pairs), at + count * size


def _vlen(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    base, at = _datatype(body, at, depth + 1)
    text, padding, charset = bits & 15, bits >> 4 & 15, bits >> 8 & 15
    if text > 1:
        raise CorruptFile(at, f"a variable-length type of kind {text}")
    kind = DatatypeClass.VLEN_STRING if text else DatatypeClass.VLEN
    return Datatype(kind, size, version, padding=padding, charset=charset, base=base), at


def _array(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    rank = body[at]
    at += 1 if version >= 3 else 4
    if not 1 <= rank <= MOST_DIMENSIONS:
        raise CorruptFile(at, f"an array type of {rank} dimensions")
    dims = struct.unpack_from(f"<{rank}I", body, at)
    at += 4 * rank * (1 if version >= 3 else 2)
    base, at = _datatype(body, at, depth + 1)
    return _array_of(at, dims, base, size, version), at


def _array_of(at: int, dims: tuple[int, ...], base: Datatype, size: int | None, version: int = 1) -> Datatype:
    total = base.size
    for length in dims:
        total *= length
    if not 0 < total <= MOST_SIZE or (size is not None and total != size):
        raise CorruptFile(at, f"an array type {dims} of {total} bytes where {size} are announced")
    return Datatype(DatatypeClass.ARRAY, total, version, dims=dims, base=base)


def _complex(body: bytes, at: int, bits: int, size: int, version: int, depth: int) -> tuple[Datatype, int]:
    if bits != 1:  # two parts of one type, real and imaginary: there are no others yet
        raise CorruptFile(at, f"a complex type with flags {bits:#x}")
    base, at = _datatype(body, at, depth + 1)
    if base.kind is not DatatypeClass.FLOAT or 2 * base.size != size:
        raise CorruptFile(at, "a complex type that is not two floats")
    return replace(base, kind=DatatypeClass.COMPLEX, size=size, version=version, base=base), at


_CLASSES = {
    0: _integer,
    1: _float,
    2: _time,
    3: _string,
    4: _bitfield,
    5: _opaque,
    6: _compound,
    7: _reference,
    8: _enum,
    9: _vlen,
    10: _array,
    11: _complex,
}
