"""The header of a netCDF classic file, as frozen values (netCDF file format specifications: CDF-1, CDF-2, CDF-5).

``header = magic numrecs dim_list gatt_list var_list``. Everything is big-endian; names and attribute values are padded
to four bytes. The three versions differ by the width of two integers: counts and sizes (NON_NEG), and file offsets.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.types import JSON, ByteRange, Shape
from byteatlas.values import dataclass

DIMENSION, VARIABLE, ATTRIBUTE = 0x0A, 0x0B, 0x0C
FIRST_READ = 8 << 10
LARGEST_HEADER = 256 << 20
"""A header that claims to be larger than this is not believed."""

TYPES: Mapping[int, np.dtype[np.generic]] = {
    1: np.dtype(">i1"),  # NC_BYTE
    2: np.dtype("S1"),  # NC_CHAR
    3: np.dtype(">i2"),  # NC_SHORT
    4: np.dtype(">i4"),  # NC_INT
    5: np.dtype(">f4"),  # NC_FLOAT
    6: np.dtype(">f8"),  # NC_DOUBLE
    7: np.dtype("u1"),  # NC_UBYTE; this one and all that follow: CDF-5 only, but netCDF-C reads them anywhere
    8: np.dtype(">u2"),  # NC_USHORT
    9: np.dtype(">u4"),  # NC_UINT
    10: np.dtype(">i8"),  # NC_INT64
    11: np.dtype(">u8"),  # NC_UINT64
}


@dataclass(frozen=True, slots=True)
class Version:
    """What differs between the versions: struct codes of counts and of file offsets, and the size limit.

    Attributes:
        largest: bytes; no variable but the last may be larger than this (``vsize`` could not say so).
    """

    count: str
    offset: str
    largest: int


VERSIONS: Mapping[int, Version] = {
    1: Version("I", "I", 2**31 - 4),
    2: Version("I", "Q", 2**32 - 4),
    5: Version("Q", "Q", 2**63 - 4),
}


@dataclass(frozen=True, slots=True)
class Variable:
    """One ``var``. ``shape`` has the number of records along a record dimension.

    Attributes:
        slab: bytes of one record (record variables) or of the whole variable, without padding.
        begin: file offset of its first byte.
    """

    name: str
    dtype: np.dtype[np.generic]
    dimensions: tuple[str, ...]
    shape: Shape
    attributes: Mapping[str, JSON]
    begin: int
    slab: int
    is_record: bool

    @property
    def padded(self) -> int:
        """``slab`` rounded up to four bytes: what it takes in the file ("vsize")."""
        return -(-self.slab // 4) * 4


@dataclass(frozen=True, slots=True)
class Header:
    """The whole header.

    Attributes:
        records: number of records; counted from the file's size when the header says STREAMING.
        record_size: bytes from one record to the next.
    """

    records: int
    record_size: int
    attributes: Mapping[str, JSON]
    variables: tuple[Variable, ...]


class _Short(Exception):
    """The bytes at hand end before the header does."""


class _Cursor:
    """A position in the first bytes of the file."""

    def __init__(self, data: memoryview, size: int) -> None:
        self.data, self.size, self.at = data, size, 0

    def take(self, length: int) -> memoryview:
        """The next bytes. Raises `CorruptFile` when the file cannot hold them."""
        end = self.at + length
        if end > self.size:
            raise CorruptFile(self.at, f"the header ends beyond the end of the file ({self.size} bytes)")
        if end > len(self.data):
            raise _Short
        piece = self.data[self.at : end]
        self.at = end
        return piece

    def number(self, code: str) -> int:
        return int(struct.unpack(f">{code}", self.take(struct.calcsize(f">{code}")))[0])

    def padded(self, length: int) -> bytes:
        """``length`` bytes, and the padding after them skipped."""
        piece = bytes(self.take(length))
        self.take(-length % 4)
        return piece


def read_header(size: int) -> Parse[Header]:
    """Ask for as much of the file's beginning as the header takes. Raises `CorruptFile`."""
    want = min(size, FIRST_READ)
    while True:
        head = yield from one(ByteRange(0, want))
        try:
            return parse_header(memoryview(head), size)
        except _Short:
            if want >= min(size, LARGEST_HEADER):
                raise CorruptFile(want, f"the header is larger than {LARGEST_HEADER} bytes") from None
            want = min(size, 4 * want, LARGEST_HEADER)


def parse_header(data: memoryview, size: int) -> Header:
    """The header in the first bytes of a file of ``size`` bytes. Raises `CorruptFile`, `_Short`."""
    cursor = _Cursor(data, size)
    magic = bytes(cursor.take(4))
    version = VERSIONS.get(magic[3])
    if magic[:3] != b"CDF" or version is None:
        raise CorruptFile(0, f"not a netCDF classic file (begins {magic!r})")
    records = cursor.number(version.count)
    streaming = records == 2 ** (8 * struct.calcsize(version.count)) - 1
    dimensions = [
        (_name(cursor, version), cursor.number(version.count))
        for _ in range(_list(cursor, version, DIMENSION, "dimensions"))
    ]
    attributes = _attributes(cursor, version)
    variables = tuple(
        _variable(cursor, version, dimensions, 0 if streaming else records)
        for _ in range(_list(cursor, version, VARIABLE, "variables"))
    )
    _check(variables, version, cursor.at)
    step = _record_size(variables)
    if streaming:
        records = _count_records(variables, step, size)
        variables = tuple(_with_records(v, records) for v in variables)
    return Header(records, step, attributes, variables)


def _list(cursor: _Cursor, version: Version, tag: int, what: str) -> int:
    """The length of a list: ``ABSENT | tag nelems``; ABSENT is two zeros."""
    found, count = cursor.number("I"), cursor.number(version.count)
    if found != tag and (found, count) != (0, 0):
        raise CorruptFile(cursor.at, f"the list of {what} has tag {found}, not {tag}")
    if count * 8 > cursor.size:  # an element takes eight bytes at least
        raise CorruptFile(cursor.at, f"{count} {what} do not fit into {cursor.size} bytes")
    return count


def _name(cursor: _Cursor, version: Version) -> str:
    where = cursor.at
    raw = cursor.padded(cursor.number(version.count)).partition(b"\0")[0]  # to netCDF-C a name is a C string
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise CorruptFile(where, f"the name {raw[:80]!r} is not UTF-8") from None


def _type(cursor: _Cursor) -> np.dtype[np.generic]:
    code = cursor.number("I")
    if code not in TYPES:
        raise CorruptFile(cursor.at - 4, f"unknown type {code}")
    return TYPES[code]


def _attributes(cursor: _Cursor, version: Version) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for _ in range(_list(cursor, version, ATTRIBUTE, "attributes")):
        name = _name(cursor, version)
        dtype = _type(cursor)
        count = cursor.number(version.count)
        found[name] = _value(cursor.padded(count * dtype.itemsize), dtype)
    return found


def _value(raw: bytes, dtype: np.dtype[np.generic]) -> JSON:
    """Text as str, one number as a number, others as a list: what netCDF4-python gives."""
    if dtype.kind == "S":
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
        return text.replace("\0", "")
    values = np.frombuffer(raw, dtype).tolist()
    return values[0] if len(values) == 1 else values


def _variable(cursor: _Cursor, version: Version, dimensions: list[tuple[str, int]], records: int) -> Variable:
    where = cursor.at
    name = _name(cursor, version)
    ids = [cursor.number(version.count) for _ in range(_rank(cursor, version))]
    if any(i >= len(dimensions) for i in ids):
        raise CorruptFile(where, f"variable {name!r} has a dimension that does not exist")
    attributes = _attributes(cursor, version)
    dtype = _type(cursor)
    cursor.number(version.count)  # vsize is redundant, and overflows: always computed instead
    begin = cursor.number(version.offset)
    lengths = [dimensions[i][1] for i in ids]
    if 0 in lengths[1:]:  # a length of zero marks the record dimension
        raise CorruptFile(where, f"variable {name!r} has the record dimension in another place than the first")
    is_record = bool(lengths) and lengths[0] == 0
    slab = dtype.itemsize
    for n in lengths[1:] if is_record else lengths:
        slab *= n
    shape = (records, *lengths[1:]) if is_record else tuple(lengths)
    return Variable(name, dtype, tuple(dimensions[i][0] for i in ids), shape, attributes, begin, slab, is_record)


def _rank(cursor: _Cursor, version: Version) -> int:
    rank = cursor.number(version.count)
    if rank * 4 > cursor.size:
        raise CorruptFile(cursor.at, f"a variable of {rank} dimensions does not fit into {cursor.size} bytes")
    return rank


def _check(variables: tuple[Variable, ...], version: Version, end: int) -> None:
    """The format's own limits: variables begin after the header, only the last of a section may be huge."""
    names = [v.name for v in variables]
    if len(set(names)) != len(names):
        raise CorruptFile(end, "two variables have the same name")
    for v in variables:
        if v.begin < end and v.slab:
            raise CorruptFile(end, f"variable {v.name!r} begins at byte {v.begin}, inside the header")
    records = [v for v in variables if v.is_record]
    fixed = [v for v in variables if not v.is_record]
    for section, followed in ((fixed, bool(records)), (records, False)):
        large = [v for v in section if v.padded > version.largest]
        if large and (len(large) > 1 or large[0] is not section[-1] or followed):
            raise CorruptFile(end, f"variable {large[0].name!r} is larger than this version of the format allows")


def _record_size(variables: tuple[Variable, ...]) -> int:
    """Bytes from record to record. A single record variable is not padded ("Note on padding")."""
    records = [v for v in variables if v.is_record]
    step = sum(v.padded for v in records)
    return records[0].slab if records and step == records[0].padded else step


def _count_records(variables: tuple[Variable, ...], step: int, size: int) -> int:
    """STREAMING: as many records as the file holds in full."""
    begins = [v.begin for v in variables if v.is_record]
    return max(0, size - min(begins)) // step if begins and step else 0


def _with_records(v: Variable, records: int) -> Variable:
    if not v.is_record:
        return v
    shape = (records, *v.shape[1:])
    return Variable(v.name, v.dtype, v.dimensions, shape, v.attributes, v.begin, v.slab, True)
