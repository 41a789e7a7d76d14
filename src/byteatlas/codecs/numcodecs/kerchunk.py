"""kerchunk's own codecs, so that maps written with it open without it.

``fill_hdf_strings``, ``FITSAscii``, ``FITSVarBintable``, ``record_member`` and ``deflate`` (a member of a zip file).
All but ``deflate`` only decode: what they leave out of the archive's bytes cannot be made up. dtypes that kerchunk
writes as Python text are read as literals of lists, tuples, strings and numbers.
"""

from __future__ import annotations

import ast
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import DamageGuard, at_least, decode_only, exactly, fits
from byteatlas.codecs.core.contract import (
    MOST_UNKNOWN,
    ArraySpec,
    Bytes,
    ByteSpec,
    ByteStep,
    ChainContext,
    SerializerStep,
    encoded_limit,
)
from byteatlas.codecs.core.options import Configuration, integer
from byteatlas.codecs.streams.members import inflate
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass

MOST_TEXT = 1 << 16


def numpy_type(configuration: Configuration, key: str) -> np.dtype[Any]:
    """A dtype as kerchunk writes it: a type string, a list of fields, or the Python text of one."""
    value = configuration.get(key)
    with InMember(key):
        return _numpy_type(value)


def _numpy_type(value: JSON) -> np.dtype[Any]:
    if isinstance(value, str) and value[:1] in ("[", "("):
        if len(value) > MOST_TEXT:
            raise invalid(f"a dtype of {len(value)} characters")
        try:
            value = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise invalid(f"{value!r}") from error
    try:
        found = np.dtype([_field(f) for f in value] if isinstance(value, (list, tuple)) else value)
    except (TypeError, ValueError, IndexError, SyntaxError) as error:
        raise invalid(f"{value!r}") from error
    if not 0 < found.itemsize <= 1 << 28:
        raise invalid(f"elements of {found.itemsize} bytes")
    return found


def _field(entry: Any) -> tuple[Any, ...]:
    label, kind, *dims = entry
    kind = np.dtype([_field(f) for f in kind]) if isinstance(kind, (list, tuple)) else kind
    return (label, kind, *(tuple(d) if isinstance(d, list) else d for d in dims))


def _records(data: Bytes, dtype: np.dtype[Any], count: int, name: str) -> NDArray[Any]:
    if dtype.hasobject:
        raise invalid("stored elements cannot be objects")
    exactly(name, len(data), count * dtype.itemsize)
    return np.frombuffer(data, dtype)


@dataclass(frozen=True, slots=True)
class FillStrings:
    """HDF5 heap references (16 bytes each) to the strings of a table, or all to one value."""

    dtype: np.dtype[Any]
    strings: JSON

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        nbytes = spec.size * self.dtype.itemsize

        def decode(data: Bytes) -> NDArray[Any]:
            found = _records(data, self.dtype, spec.size, "fill_hdf_strings")
            if found.dtype.names is None:
                return self._text(found).reshape(spec.shape)
            out = np.empty(spec.size, spec.dtype)
            for name in found.dtype.names:
                out[name] = self._text(found[name]) if found.dtype[name].kind in "SU" else found[name]
            return out.reshape(spec.shape)

        return SerializerStep(nbytes, nbytes, decode, decode_only("fill_hdf_strings"), self.dtype.itemsize)

    def _text(self, ids: NDArray[Any]) -> NDArray[Any]:
        if not isinstance(self.strings, dict):
            return np.full(ids.shape, self.strings, object)
        keys = [x.decode("latin-1") if isinstance(x, bytes) else str(x) for x in ids.reshape(-1)]
        missing = [k for k in keys if k not in self.strings]
        if missing:
            raise CorruptChunk(f"fill_hdf_strings: no string for {missing[0]!r}")
        return np.array([self.strings[k] for k in keys], object).reshape(ids.shape)


def make_fill_strings(configuration: Configuration) -> FillStrings:
    """``numcodecs.fill_hdf_strings``."""
    return FillStrings(numpy_type(configuration, "dtype"), configuration.get("id_map", configuration.get("id")))


@dataclass(frozen=True, slots=True)
class RecordsCodec:
    """Fixed records converted to other ones (``FITSAscii``), or one field of them (``record_member``)."""

    name: str
    stored: np.dtype[Any]
    wanted: np.dtype[Any]
    member: str | None = None

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        nbytes = spec.nbytes
        if nbytes is None or nbytes % self.wanted.itemsize:
            raise invalid(f"{nbytes} bytes are no whole elements of {self.wanted}")
        count = nbytes // self.wanted.itemsize
        encoded = count * self.stored.itemsize

        def decode(data: Bytes) -> Bytes:
            found = _records(data, self.stored, count, self.name)
            if self.member is not None:
                found = found[self.member]
            with DamageGuard(self.name, ValueError):
                found = np.ascontiguousarray(found.astype(self.wanted, copy=False))
            return found.reshape(-1).view(np.uint8)

        return ByteStep(encoded, encoded, decode, decode_only(self.name), itemsize=self.stored.itemsize)


def make_fits_ascii(configuration: Configuration) -> RecordsCodec:
    """``numcodecs.FITSAscii``: the text columns of a FITS table, as other types."""
    stored = numpy_type(configuration, "indtypes")
    return RecordsCodec("FITSAscii", stored, numpy_type(configuration, "outdtypes"))


def make_record_member(configuration: Configuration) -> RecordsCodec:
    """``numcodecs.record_member``."""
    stored, member = numpy_type(configuration, "dtype"), configuration.get("member")
    if not isinstance(member, str) or stored.names is None or member not in stored.names:
        raise invalid(f"member: no field {member!r}")
    return RecordsCodec("record_member", stored, stored[member], member)


FITS_HEAP = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8", "A": "S1", "L": "u1"}


@dataclass(frozen=True, slots=True)
class FitsTable:
    """A FITS binary table with variable-length columns: rows, then a heap that (count, offset) pairs point into."""

    stored: np.dtype[Any]
    rows: int
    types: Mapping[str, str]

    def bind_serializer(self, spec: ArraySpec, context: ChainContext) -> SerializerStep:
        if spec.dtype.names != self.stored.names or spec.size != self.rows:
            raise invalid(f"{self.rows} rows of {self.stored.names}")
        size = self.rows * self.stored.itemsize

        def decode(data: Bytes) -> NDArray[Any]:
            view = memoryview(data)
            at_least("FITSVarBintable", len(view), size)
            found, heap = np.frombuffer(view[:size], self.stored), view[size:]
            out = np.empty(self.rows, spec.dtype)
            for name in spec.dtype.names or ():
                if spec.dtype[name].kind == "O":
                    out[name] = self._column(found[name], heap, name)
                else:
                    out[name] = found[name]
            return out.reshape(spec.shape)

        return SerializerStep(None, MOST_UNKNOWN, decode, decode_only("FITSVarBintable"))

    def _column(self, pairs: NDArray[Any], heap: memoryview, name: str) -> NDArray[Any]:
        code = self.types.get(name)
        if code not in FITS_HEAP:
            raise Unsupported("codec", f"FITSVarBintable: column {name!r} of type {code!r}")
        dtype = np.dtype(FITS_HEAP[code])
        out = np.empty(len(pairs), object)
        for i, (count, offset) in enumerate(pairs.reshape(-1, 2).tolist()):
            end = offset + count * dtype.itemsize
            if count < 0 or offset < 0 or end > len(heap):
                raise CorruptChunk(f"FITSVarBintable: {count} elements at {offset} lie outside of the heap")
            out[i] = np.frombuffer(heap[offset:end], dtype).astype(dtype.newbyteorder("="))
        return out


def make_fits_table(configuration: Configuration) -> FitsTable:
    """``numcodecs.FITSVarBintable``."""
    types = configuration.get("types")
    if not isinstance(types, dict):
        raise invalid(f"types: {types!r} is not an object")
    return FitsTable(numpy_type(configuration, "dt_in"), integer(configuration, "nrow"), types)


LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
"""A zip member's local file header (APPNOTE 4.3.7)."""
MOST_NAMES = 1 << 17
MOST_MEMBER = (1 << 32) - 1
"""Bytes of a member, as it is and compressed: its header has four for each."""


@dataclass(frozen=True, slots=True)
class ZipMember:
    """A deflated member of a zip file, from its local header on."""

    def bind_bytes(self, spec: ByteSpec, context: ChainContext) -> ByteStep:
        def decode(data: Bytes) -> Bytes:
            at_least("deflate", len(data), LOCAL_HEADER.size)
            magic, *_, names, extra = LOCAL_HEADER.unpack_from(data)
            if magic != b"PK\x03\x04":
                raise CorruptChunk("deflate: no local header")
            found = inflate(memoryview(data)[LOCAL_HEADER.size + names + extra :], -15, spec.limit)
            fits("deflate", len(found), spec)
            return found

        return ByteStep(None, encoded_limit(spec.limit) + MOST_NAMES, decode, zip_member)


def zip_member(data: Bytes) -> bytes:
    """A member without a name: local header and raw deflate."""
    engine = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = engine.compress(data) + engine.flush()
    size = len(memoryview(data).cast("B"))
    if max(size, len(packed)) > MOST_MEMBER:
        raise Unsupported("too-large", f"a zip member of {size} bytes")
    # 1 January 1980; version 2.0, which is what deflate needs.
    head = LOCAL_HEADER.pack(b"PK\x03\x04", 20, 0, 8, 0, 33, zlib.crc32(data), len(packed), size, 0, 0)
    return head + packed


def make_deflate(configuration: Configuration) -> ZipMember:
    """``numcodecs.deflate``."""
    return ZipMember()
