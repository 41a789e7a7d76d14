"""Attribute values as JSON.

Numbers become JSON numbers (NaN and infinities stay floats, 64-bit integers stay exact), Booleans (h5py's enumeration)
true and false, text strings; complex numbers ``[re, im]``, compounds objects by member name, references the path of
what they refer to, opaque bytes base64. One value, scalar or in an array of length one, stands alone, as in netCDF;
other arrays are nested lists. An empty (null) attribute is "" for text, else null.

Text is UTF-8; bytes that are not become Latin-1, which loses nothing.
"""

from __future__ import annotations

import math
import struct
from binascii import b2a_base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.meta.elements import Plain, decode
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.types import NULLTERM, OBJECT, REGION, SPACEPAD, Datatype, DatatypeClass
from byteatlas_scanners.hdf5.format.wire import MALFORMED, Form
from byteatlas_scanners.hdf5.heaps.global_heap import GlobalHeaps
from byteatlas_scanners.hdf5.values.zarr_type import layout

PathOf = Callable[[int], "str | None"]
"""The path of the object at an address; None when there is none."""

MOST_NESTING = 16


@dataclass(slots=True)
class Context:
    """What values of one file need beside their own bytes."""

    form: Form
    heaps: GlobalHeaps
    path_of: PathOf


class Value(NamedTuple):
    """An undecoded value: elements of a datatype in a shape (None: a null dataspace)."""

    dt: Datatype
    shape: tuple[int, ...] | None
    data: bytes


@dataclass(slots=True)
class Lookup:
    """Global heap access that notes which collections are still to be read instead of failing."""

    context: Context
    missing: set[int] = field(default_factory=set)
    missed: int = 0

    def get(self, address: int, index: int) -> bytes:
        if address not in self.context.heaps.collections:
            self.missing.add(address)
            self.missed += 1
            return b""
        return self.context.heaps.get(address, index)

    def record(self) -> np.dtype[Any]:
        """A variable-length element in a file: length, heap collection, index in it."""
        return np.dtype([("length", "<u4"), ("address", f"<u{self.context.form.offsets}"), ("index", "<u4")])

    def sequences(self, data: bytes, count: int, width: int) -> list[bytes]:
        """The bytes behind ``count`` variable-length elements of ``width`` bytes each."""
        kind = self.record()
        if kind.itemsize * count != len(data):  # a type of another size: its elements would be read out of step
            raise CorruptFile(self.context.form.base, f"{count} variable-length elements in {len(data)} bytes")
        out = []
        last, objects = -1, None  # neighbours mostly lie in one collection
        for length, address, index in np.frombuffer(data, kind, count).tolist():
            size = length * width
            if not address:
                out.append(b"")
                continue
            if address != last:
                last, objects = address, self.objects(address)
            if objects is None:
                out.append(b"")
                continue
            found = objects.get(index)
            if found is None or len(found) != size:  # libhdf5 compares so (H5VL__native_blob_get)
                raise CorruptFile(self.context.form.base, "a variable-length value of another length than its object")
            out.append(found)
        return out

    def objects(self, address: int) -> Mapping[int, bytes] | None:
        """A collection's objects; None when it is still to be read. Raises why it could not be."""
        found = self.context.heaps.collections.get(address)
        if found is None:
            self.missing.add(address)
            self.missed += 1
        if isinstance(found, FileFault):
            raise found
        return found


def attributes_json(values: Sequence[Value], context: Context) -> Parse[list[JSON | FileFault]]:
    """Many attributes at once: all that need heap collections wait for one common read. Errors stand in their place."""
    out: list[JSON | FileFault] = [None] * len(values)
    lookup = Lookup(context)
    waiting: Sequence[int] = range(len(values))
    for _ in range(MOST_NESTING):
        again: list[int] = []
        for i in waiting:
            known = lookup.missed
            try:
                out[i] = _value(values[i], lookup)
            except FileFault as error:
                out[i] = error
            except MALFORMED as error:
                out[i] = CorruptFile(context.form.base, f"a damaged value ({error})")
            if lookup.missed > known:
                again.append(i)
        if not lookup.missing:
            return out
        yield from context.heaps.load(sorted(lookup.missing))
        lookup.missing.clear()
        waiting = again
    return [CorruptFile(0, "variable-length values nested too deep") if i in again else v for i, v in enumerate(out)]


def _value(value: Value, lookup: Lookup) -> JSON:
    dt, shape, data = value
    if shape is None:
        return "" if dt.kind in (DatatypeClass.STRING, DatatypeClass.VLEN_STRING) else None
    if shape in _SINGLE:
        if dt.size > len(data):
            raise CorruptFile(lookup.context.form.base, "an attribute's value is cut off")
        if dt.kind is DatatypeClass.STRING:
            return text(fixed(dt, data[: dt.size]))
        if dt.plain is not None and not dt.symbols:
            return _SCALARS[dt.plain](data)[0]
        return json_values(dt, data, 1, lookup)[0]
    count = math.prod(shape)
    if count * dt.size > len(data):
        raise CorruptFile(lookup.context.form.base, "an attribute's value is cut off")
    if not count and math.prod(n for n in shape if n) > MOST_EMPTY:
        raise CorruptFile(lookup.context.form.base, f"an attribute of shape {shape}")
    if dt.plain is not None and not dt.symbols:
        numbers = np.frombuffer(data, dt.plain, count)
        return numbers.tolist() if len(shape) == 1 else numbers.reshape(shape).tolist()
    return nested(json_values(dt, data, count, lookup), shape)


_SINGLE = ((), (1,))
MOST_EMPTY = 1 << 16
"""Empty lists that an attribute without elements may become."""
_FORMATS = {"i1": "b", "u1": "B", "i2": "h", "u2": "H", "i4": "i", "u4": "I", "i8": "q", "u8": "Q"} | {
    "f2": "e",
    "f4": "f",
    "f8": "d",
}
_SCALARS = {
    order + kind: struct.Struct(order + letter).unpack_from for order in "<>" for kind, letter in _FORMATS.items()
}


def nested(flat: list[JSON], shape: Sequence[int]) -> JSON:
    """A flat list, in C order, as nested lists."""
    for axis in range(len(shape) - 1, 0, -1):
        step = shape[axis]
        outer = math.prod(shape[:axis])
        flat = [flat[i * step : (i + 1) * step] for i in range(outer)]
    return flat if shape else flat[0]


def text(raw: bytes) -> str:
    """UTF-8 where it is, else Latin-1."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def strings(lookup: Lookup, data: bytes, count: int) -> list[bytes]:
    """Variable-length text, as far as its first NUL."""
    found = lookup.sequences(data, count, 1)
    return [raw.split(b"\0", 1)[0] if b"\0" in raw else raw for raw in found]


def fixed(dt: Datatype, raw: bytes) -> bytes:
    """A fixed-length string without its padding."""
    if dt.padding == NULLTERM:
        return raw.split(b"\0", 1)[0]
    return raw.rstrip(b" \0" if dt.padding == SPACEPAD else b"\0")


def json_values(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> list[JSON]:
    """``count`` elements as a flat list. Raises `Unsupported` and `CorruptFile`."""
    size = dt.size
    match dt.kind:
        case DatatypeClass.STRING:
            return [text(fixed(dt, data[i : i + size])) for i in range(0, count * size, size)]
        case DatatypeClass.VLEN_STRING:
            return [text(raw) for raw in strings(lookup, data, count)]
        case DatatypeClass.VLEN if dt.base is not None:
            width, base = dt.base.size, dt.base
            return [json_values(base, raw, len(raw) // width, lookup) for raw in lookup.sequences(data, count, width)]
        case DatatypeClass.REFERENCE:
            return references(dt, data, count, lookup)
        case DatatypeClass.ARRAY if dt.base is not None:
            inner = json_values(dt.base, data, count * math.prod(dt.dims), lookup)
            found: list[JSON] = nested(inner, (count, *dt.dims))
            return found
        case DatatypeClass.COMPOUND if not isinstance(_maybe_plain(dt), Plain):
            return _compounds(dt, data, count, lookup)
        case _:
            return _numbers(dt, data, count)


def _maybe_plain(dt: Datatype) -> object:
    """The layout when it is one number (a complex one in a compound), else None."""
    if len(dt.members) != 2 or dt.members[0].name != "r":
        return None
    try:
        return layout(dt)
    except Unsupported:
        return None


def _compounds(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> list[JSON]:
    rows = np.frombuffer(data, np.uint8, count * dt.size).reshape(count, dt.size)
    columns = [
        json_values(m.type, rows[:, m.offset : m.offset + m.type.size].tobytes(), count, lookup) for m in dt.members
    ]
    names = [m.name for m in dt.members]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _numbers(dt: Datatype, data: bytes, count: int) -> list[JSON]:
    rows = np.frombuffer(data, np.uint8, count * dt.size).reshape(count, dt.size)
    found = decode(layout(dt), rows)
    match found.dtype.kind:
        case "c":
            return [[z.real, z.imag] for z in found.tolist()]
        case "V" if found.dtype.names is None:
            return [b2a_base64(raw.tobytes(), newline=False).decode("ascii") for raw in found]
        case "V":  # a complex number of half floats
            return [list(pair) for pair in found.tolist()]
        case "m":
            return [int(n) for n in found.view("i8")]
        case "M":
            return [str(stamp) for stamp in found]
        case _:
            values: list[JSON] = found.tolist()
            return values


def references(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> list[JSON]:
    """The paths that references lead to; None for a null reference, or one to an object without a path."""
    form, path_of = lookup.context.form, lookup.context.path_of
    width = form.offsets
    addresses: list[int]
    if dt.reference == OBJECT and dt.size == width:
        addresses = np.frombuffer(data, f"<u{width}", count).tolist()
    elif dt.reference == REGION and dt.size == width + 4:
        kind = np.dtype([("address", f"<u{width}"), ("index", "<u4")])
        pairs = np.frombuffer(data, kind, count).tolist()
        empty = (0, form.undefined)
        targets = [lookup.get(a, i) if a not in empty else b"" for a, i in pairs]
        addresses = [int.from_bytes(raw[:width], "little") for raw in targets]
    else:
        raise Unsupported(Reason.DATATYPE, f"references of kind {dt.reference}, {dt.size} bytes")
    return [path_of(a) if a and a != form.undefined else None for a in addresses]
