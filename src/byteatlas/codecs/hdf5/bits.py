"""The n-bit and scale-offset filters of HDF5: integers packed most significant bit first.

Algorithms: H5Znbit.c and H5Zscaleoffset.c of the HDF5 library, whose client data values are documented with
H5Pset_nbit and H5Pset_scaleoffset.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import at_least
from byteatlas.codecs.core.options import Configuration
from byteatlas.codecs.streams.compression import imagecodecs_function
from byteatlas.meta.place import invalid
from byteatlas.types import JSON, Buffer
from byteatlas.values import dataclass

MOST_NESTING = 32
MOST_LEAVES = 10_000


def unpack(data: Buffer, count: int, width: int) -> NDArray[np.uint64]:
    """``count`` unsigned integers of ``width`` bits each, packed without gaps. Raises `CorruptChunk`."""
    need = -(-count * width // 8)
    at_least("packed numbers", len(data), need)
    if not count or not width:
        return np.zeros(count, np.uint64)
    packed = np.frombuffer(data, np.uint8, need)
    if width in (8, 16, 32, 64):
        return packed.view(f">u{width // 8}").astype(np.uint64)
    if width < 32:
        kind = np.uint8 if width < 8 else np.uint16 if width < 16 else np.uint32
        found = imagecodecs_function("packints_decode")(packed.tobytes(), kind, width, runlen=0)
        return np.asarray(found)[:count].astype(np.uint64)
    out = np.zeros(count, np.uint64)
    step = 1 << 16  # the bits of a slice stay in the cache; 8 slices fill whole bytes
    for first in range(0, count, step):
        last = min(count, first + step)
        begin = first * width // 8
        bits = np.unpackbits(packed[begin : -(-last * width // 8)])[: (last - first) * width]
        wide = np.zeros((last - first, 64), np.uint8)
        wide[:, 64 - width :] = bits.reshape(-1, width)
        out[first:last] = np.packbits(wide, axis=1).view(">u8").reshape(-1)
    return out


@dataclass(frozen=True, slots=True)
class Atom:
    """``precision`` bits from bit ``offset`` of a number of ``size`` bytes; the other bits are zero."""

    size: int
    big: bool
    precision: int
    offset: int

    @property
    def bits(self) -> int:
        return self.precision


@dataclass(frozen=True, slots=True)
class WholeType:
    """Bytes that are stored as they are."""

    size: int

    @property
    def bits(self) -> int:
        return 8 * self.size


@dataclass(frozen=True, slots=True)
class Repeat:
    """``count`` equal parts."""

    count: int
    part: PackedType

    @property
    def size(self) -> int:
        return self.count * self.part.size

    @property
    def bits(self) -> int:
        return self.count * self.part.bits


@dataclass(frozen=True, slots=True)
class Compound:
    """Members at byte offsets; gaps are zero."""

    size: int
    members: tuple[tuple[int, PackedType], ...]

    @property
    def bits(self) -> int:
        return sum(part.bits for _, part in self.members)


PackedType: TypeAlias = Atom | WholeType | Repeat | Compound


def parse_nbit(values: JSON) -> tuple[int, PackedType]:
    """(number of elements in a chunk, the element) from the filter's client data values. Raises `InvalidMetadata`."""
    if not isinstance(values, list) or not all(isinstance(v, int) and 0 <= v < 1 << 32 for v in values):
        raise invalid("n-bit values are not a list of counts")
    try:
        part, _ = _part(values, 3, 0)
    except (IndexError, ValueError) as error:
        raise invalid("n-bit values are cut off") from error
    return values[2], part


def _part(values: list[int], at: int, depth: int) -> tuple[PackedType, int]:
    if depth > MOST_NESTING:
        raise invalid("n-bit types nested too deep")
    kind, size = values[at], values[at + 1]
    if not 0 < size < 1 << 31:
        raise invalid(f"an n-bit element of {size} bytes")
    match kind:
        case 1:
            big, precision, offset = values[at + 2 : at + 5]
            if size > 8 or not precision > 0 or precision + offset > 8 * size or big > 1:
                raise invalid(f"{precision} bits at bit {offset} of {size} bytes, order {big}")
            return Atom(size, bool(big), precision, offset), at + 5
        case 2:
            part, end = _part(values, at + 2, depth + 1)
            if size % part.size:
                raise invalid(f"an array of {size} bytes of elements of {part.size}")
            return Repeat(size // part.size, part), end
        case 3:
            members: list[tuple[int, PackedType]] = []
            count, at = values[at + 2], at + 3
            for _ in range(count):
                offset = values[at]
                part, at = _part(values, at + 1, depth + 1)
                if offset + part.size > size or len(members) > MOST_LEAVES:
                    raise invalid("an n-bit member outside of its compound")
                members.append((offset, part))
            return Compound(size, tuple(members)), at
        case 4:
            return WholeType(size), at + 2
        case _:
            raise invalid(f"an n-bit type of class {kind}")


def nbit(data: Buffer, count: int, part: PackedType) -> bytes:
    """The elements of one chunk. Raises `CorruptChunk`."""
    out = np.zeros((count, part.size), np.uint8)
    if isinstance(part, Atom):
        _store(out, part, unpack(data, count, part.precision))
        return out.tobytes()
    need = -(-count * part.bits // 8)
    at_least("byteatlas.hdf5-nbit", len(data), need)
    bits = np.unpackbits(np.frombuffer(data, np.uint8, need))[: count * part.bits]
    _fill(out, part, bits.reshape(count, part.bits))
    return out.tobytes()


def _fill(out: NDArray[np.uint8], part: PackedType, bits: NDArray[np.uint8]) -> None:
    """Set the bytes of elements, rows of ``out``, from their bits, rows of ``bits``."""
    match part:
        case WholeType():
            out[:] = np.packbits(bits, axis=1)
        case Atom(precision=precision):
            wide = np.zeros((len(bits), 64), np.uint8)
            wide[:, 64 - precision :] = bits
            _store(out, part, np.packbits(wide, axis=1).view(">u8").reshape(-1).astype(np.uint64))
        case Repeat(count, inner):
            rows = np.zeros((len(bits) * count, inner.size), np.uint8)
            _fill(rows, inner, bits.reshape(len(bits) * count, inner.bits))
            out[:] = rows.reshape(out.shape)
        case Compound(_, members):
            at = 0
            for offset, inner in members:
                _fill(out[:, offset : offset + inner.size], inner, bits[:, at : at + inner.bits])
                at += inner.bits


def _store(out: NDArray[np.uint8], atom: Atom, numbers: NDArray[np.uint64]) -> None:
    words = (numbers << np.uint64(atom.offset)).astype("<u8").view(np.uint8).reshape(-1, 8)[:, : atom.size]
    out[:] = words[:, ::-1] if atom.big else words


HEADER = 21
"""Bytes before the packed numbers of a scale-offset chunk: their width, and the minimum."""


@dataclass(frozen=True, slots=True)
class OffsetNumbers:
    """What the scale-offset filter knows of a dataset: ``kind`` is the NumPy type of its elements as stored."""

    kind: np.dtype[Any]
    scale: int
    fill: bytes | None


def parse_scaleoffset(configuration: Configuration) -> OffsetNumbers:
    """The codec's configuration. Raises `InvalidMetadata`."""
    try:
        size, order = configuration["size"], configuration["order"]
        letter = "f" if configuration["class"] == "float" else "i" if configuration["signed"] else "u"
        kind = np.dtype(f"{order}{letter}{size}")
        fill = bytes.fromhex(configuration["fill"]) if "fill" in configuration else None
        scale = int(configuration["scale"])
    except (KeyError, TypeError, ValueError) as error:
        raise invalid(f"scale-offset: {error}") from error
    if (fill is not None and len(fill) != kind.itemsize) or kind.itemsize not in (1, 2, 4, 8) or order not in "<>":
        raise invalid(f"scale-offset of {kind} with a fill value of {fill!r}")
    return OffsetNumbers(kind, scale, fill)


def scaleoffset(data: Buffer, what: OffsetNumbers, count: int) -> bytes:
    """The elements of one chunk, in their stored byte order. Raises `CorruptChunk`."""
    at_least("byteatlas.hdf5-scaleoffset", len(data), HEADER)
    native = what.kind.newbyteorder("<")
    width = int.from_bytes(data[:4], "little")
    if width >= 8 * native.itemsize:
        # Written as they are: the numbers do not fit in fewer bits.
        raw = bytes(data[HEADER : HEADER + count * native.itemsize])
        at_least("byteatlas.hdf5-scaleoffset", len(raw), count * native.itemsize)
        return np.frombuffer(raw, native).astype(what.kind).tobytes()
    stored = unpack(memoryview(data)[HEADER:], count, width).astype(f"<u{native.itemsize}")
    least = bytes(data[5 : 5 + 8]).ljust(8, b"\0")[: native.itemsize]
    if native.kind == "f":
        values = _floats(stored, native, least, what.scale)
    else:
        values = (stored + np.frombuffer(least, stored.dtype)[0]).view(native)
    if what.fill is not None:
        values = np.where(stored == (1 << width) - 1, np.frombuffer(what.fill, native)[0], values)
    return values.astype(what.kind).tobytes()


def _floats(stored: NDArray[Any], kind: np.dtype[Any], least: bytes, scale: int) -> NDArray[Any]:
    """``n / 10**scale + minimum``, in the arithmetic of the element's own type as the library does it."""
    power = kind.type(10.0 ** max(-400, min(scale, 400)) if abs(scale) < 308 else np.inf)
    signed = stored.view(f"<i{kind.itemsize}").astype(kind)
    with np.errstate(all="ignore"):
        values: NDArray[Any] = signed / power + np.frombuffer(least, kind)[0]
    return values
