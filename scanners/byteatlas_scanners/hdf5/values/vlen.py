"""Datasets whose values lie in global heaps, or are references: decoded while scanning, and copied into the map.

The records in the dataset's own bytes are fetched and their filters undone, then the heap collections that they point
to, then the values are written as one chunk in a form that Zarr has: text as ``vlen-utf8``, sequences of numbers as
``vlen-array``, nested sequences as JSON. Text inside of compounds becomes fixed-length fields, as wide as the longest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.meta import dtypes
from byteatlas.meta.elements import decode, dtype
from byteatlas.meta.model import CodecSpec, DataType
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.types import Datatype, DatatypeClass
from byteatlas_scanners.hdf5.format.wire import MALFORMED
from byteatlas_scanners.hdf5.values.as_json import MOST_NESTING, Context, Lookup, json_values, references, strings
from byteatlas_scanners.hdf5.values.records import Records, elements
from byteatlas_scanners.hdf5.values.zarr_type import StoredType, layout

MOST_CHUNKS = 100_000


@dataclass(frozen=True, slots=True)
class Inlined:
    """A dataset's values as one chunk: the whole array (empty: an array without elements)."""

    stored: StoredType
    data: bytes

    @property
    def fill(self) -> object:
        """What a chunk that is not there would read as."""
        kind = self.stored.data_type
        if kind == dtypes.STRING:
            return ""
        if kind == dtypes.BYTES:
            return b""
        return None if kind.numpy.hasobject else np.zeros((), kind.numpy)[()]


def needs_inlining(dt: Datatype) -> bool:
    """Whether elements say nothing without the rest of the file."""
    if dt.kind in (DatatypeClass.VLEN, DatatypeClass.VLEN_STRING, DatatypeClass.REFERENCE):
        return True
    if dt.base is not None and needs_inlining(dt.base):
        return True
    return any(needs_inlining(m.type) for m in dt.members)


def read_inlined(records: Records, context: Context, most: int) -> Parse[Inlined]:
    """Decode a dataset of variable-length elements or references.

    Raises `Unsupported` (``vlen-large`` above ``most`` bytes, ``filter``, ``datatype``) and `CorruptFile`.
    """
    try:
        return (yield from _read(records, context, most))
    except MALFORMED as error:
        raise CorruptFile(context.form.base, f"damaged variable-length data ({error})") from error


def _read(records: Records, context: Context, most: int) -> Parse[Inlined]:
    total = math.prod(records.shape) * records.dt.size
    if total > most or math.prod(records.manifest.grid_shape) > MOST_CHUNKS:
        raise Unsupported(Reason.VLEN_LARGE, f"{total} bytes of variable-length elements, more than {most}")
    dt = records.dt
    inner: tuple[int, ...] = ()
    while dt.kind is DatatypeClass.ARRAY and dt.base is not None:
        inner, dt = inner + dt.dims, dt.base
    _check(dt)
    data = yield from elements(records)
    count = math.prod(records.shape) * math.prod(inner)
    if dt.kind in (DatatypeClass.VLEN, DatatypeClass.VLEN_STRING):
        yield from context.heaps.load(_check_size(data, count, dt, context, most))
    lookup = Lookup(context)
    for _ in range(MOST_NESTING):
        found = _write_all(records.shape, inner, dt, data, count, lookup)
        if not lookup.missing:
            return found
        yield from context.heaps.load(sorted(lookup.missing))
        lookup.missing.clear()
    raise CorruptFile(context.form.base, "variable-length values nested too deep")


def _check(dt: Datatype) -> None:
    """Refuse what cannot be written, before anything is fetched."""
    match dt.kind:
        case DatatypeClass.VLEN:
            _check_listed(dt)
        case DatatypeClass.VLEN_STRING | DatatypeClass.REFERENCE:
            return
        case DatatypeClass.COMPOUND:
            for member in dt.members:
                _check_member(member.type)
        case _:
            layout(dt)


def _check_listed(dt: Datatype) -> None:
    """Refuse elements of sequences that JSON cannot hold without a change of kind."""
    if dt.kind in (DatatypeClass.OPAQUE, DatatypeClass.TIME):
        raise Unsupported(Reason.DATATYPE, "sequences of opaque data or of times")
    if dt.kind is DatatypeClass.VLEN and dt.base is not None and (dt.base.plain or "<")[0] == ">" and dt.base.size > 1:
        # libhdf5 gives the numbers, h5py (3.16) their bytes the wrong way round: nobody to agree with.
        raise Unsupported(Reason.DATATYPE, "big-endian sequences, which h5py and libhdf5 read differently")
    for inner in (dt.base, *(m.type for m in dt.members)):
        if inner is not None:
            _check_listed(inner)


def _check_member(dt: Datatype) -> None:
    if dt.kind is DatatypeClass.VLEN:
        raise Unsupported(Reason.DATATYPE, "a compound with variable-length sequences")
    if dt.kind is DatatypeClass.ARRAY and dt.base is not None:
        _check_member(dt.base)
    else:
        _check(dt)


def _check_size(data: bytes, count: int, dt: Datatype, context: Context, most: int) -> list[int]:
    """The heap collections that are needed; refuses before they are read when the lengths add up to too much."""
    width = dt.base.size if dt.base is not None and dt.kind is DatatypeClass.VLEN else 1
    kind = Lookup(context).record()
    if kind.itemsize != dt.size:
        raise CorruptFile(context.form.base, f"variable-length elements of {dt.size} bytes")
    found = np.frombuffer(data, kind, count)
    total = int(found["length"].sum(dtype=np.uint64)) * width
    if total > most:
        raise Unsupported(Reason.VLEN_LARGE, f"{total} bytes of variable-length values, more than {most}")
    addresses: list[int] = np.unique(found["address"]).tolist()
    return [a for a in addresses if a]


def _write_all(shape: Shape, inner: Shape, dt: Datatype, data: bytes, count: int, lookup: Lookup) -> Inlined:
    """The whole dataset. A single sequence is an array of its elements, as h5py reads it."""
    if dt.kind is DatatypeClass.VLEN and dt.base is not None and not shape and not inner:
        base = dt.base
        (data,) = lookup.sequences(data, 1, base.size)
        dt, count = base, len(data) // base.size
        inner = (count,)
    kind, codecs, written = _write(dt, data, count, lookup)
    return Inlined(StoredType(kind, codecs, inner), written)


Written = tuple[DataType, tuple[CodecSpec, ...], bytes]


def _write(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> Written:
    match dt.kind:
        case DatatypeClass.VLEN_STRING:
            return _write_text(strings(lookup, data, count))
        case DatatypeClass.REFERENCE:
            return _write_text([(path or "").encode() for path in references(dt, data, count, lookup)])
        case DatatypeClass.VLEN if dt.base is not None:
            plain = dt.base.plain
            if plain is None or dt.base.symbols:
                return _write_json(dt, data, count, lookup)
            spec = CodecSpec("numcodecs.vlen-array", {"dtype": np.dtype(plain).str})
            inner = dtypes.to_v3(dtypes.from_numpy(np.dtype(plain)))
            kind = DataType(dtypes.VLEN_ARRAY, np.dtype(object), {"data_type": inner})
            return kind, (spec,), pack(lookup.sequences(data, count, dt.base.size))
        case _:
            values = materialise(dt, data, count, lookup)
            written = values.astype(values.dtype.newbyteorder("<"), copy=False)
            return dtypes.from_numpy(values.dtype), (CodecSpec("bytes", {"endian": "little"}),), written.tobytes()


def _write_text(items: list[bytes]) -> Written:
    """Text when all of it is UTF-8, else byte strings."""
    try:
        b"\0".join(items).decode("utf-8")  # none holds a NUL: all are text if this is
    except UnicodeDecodeError:
        return dtypes.BYTES, (CodecSpec("vlen-bytes"),), pack(items)
    return dtypes.STRING, (CodecSpec("vlen-utf8"),), pack(items)


def pack(items: Sequence[bytes]) -> bytes:
    """What ``vlen-utf8``, ``vlen-bytes`` and ``vlen-array`` share: a count, then each item's length and bytes."""
    lengths = np.fromiter(map(len, items), "<u4", len(items))
    ends = np.cumsum(lengths, dtype=np.int64) + 4 * np.arange(2, len(items) + 2)
    total = 4 + 4 * len(items) + int(lengths.sum(dtype=np.int64))
    out = np.empty(total, np.uint8)
    out[:4] = np.array([len(items)], "<u4").view(np.uint8)
    rest = np.ones(total, np.bool_)
    rest[:4] = False
    places = (ends - lengths - 4)[:, None] + np.arange(4)
    rest[places] = False
    out[places] = lengths.view(np.uint8).reshape(-1, 4)
    out[rest] = np.frombuffer(b"".join(items), np.uint8)
    return out.tobytes()


def _write_json(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> Written:
    """Nested sequences, as numcodecs' JSON codec stores them: the items, then the type and shape of their array."""
    items = _lists(json_values(dt, data, count, lookup))
    document = json.dumps([*items, "|O", [count]], separators=(",", ":"), sort_keys=True)
    return dtypes.OBJECT, (CodecSpec("numcodecs.json2"),), document.encode("utf-8")


def _lists(value: Any) -> Any:
    """Compounds as lists of their members."""
    if isinstance(value, dict):
        return [_lists(v) for v in value.values()]
    return [_lists(v) for v in value] if isinstance(value, list) else value


def materialise(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> NDArray[Any]:
    """Elements as an array without objects: text of any length becomes text of the longest's."""
    match dt.kind:
        case DatatypeClass.VLEN_STRING:
            return _widest(strings(lookup, data, count))
        case DatatypeClass.REFERENCE:
            return _widest([(path or "").encode() for path in references(dt, data, count, lookup)])
        case DatatypeClass.ARRAY if dt.base is not None:
            inner = materialise(dt.base, data, count * math.prod(dt.dims), lookup)
            return inner.reshape(count, *dt.dims, *inner.shape[1:])
        case DatatypeClass.COMPOUND if needs_inlining(dt):
            return _columns(dt, data, count, lookup)
        case _:
            found = layout(dt)
            values = decode(found, np.frombuffer(data, np.uint8, count * dt.size).reshape(count, dt.size))
            return values.astype(dtype(found), copy=False) if values.dtype.names is None else values


def _widest(items: list[bytes]) -> NDArray[Any]:
    return np.array(items, dtype=f"S{max([1, *map(len, items)])}")


def _columns(dt: Datatype, data: bytes, count: int, lookup: Lookup) -> NDArray[Any]:
    rows = np.frombuffer(data, np.uint8, count * dt.size).reshape(count, dt.size)
    columns = {
        m.name: materialise(m.type, rows[:, m.offset : m.offset + m.type.size].tobytes(), count, lookup)
        for m in dt.members
    }
    kind = np.dtype([(name, column.dtype, column.shape[1:]) for name, column in columns.items()])
    out = np.empty(count, kind)
    for name, column in columns.items():
        out[name] = column
    return out
