"""A complete scanner plugin for a small format, used in docs/how-to/scanner.md and run through the kit by a test.

A ``.grids`` file is a chain of records behind the four bytes ``GRDS``. A record is a head of 40 bytes, all numbers
little-endian, and its data::

    name      16 bytes, ASCII, ended by NUL
    kind       4 bytes: "f4", "f8", "i2" ... (NumPy's), ended by NUL
    codec      1 byte: 0 = none, 1 = zlib
    (unused)   3 bytes
    rows       4 bytes
    columns    4 bytes
    length     8 bytes: of the data

Attributes are in a side file of their own, if there is one: ``FILE.json``, an object of objects by name.
"""

from __future__ import annotations

import json
import struct
from typing import NamedTuple

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, InvalidMetadata, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualArray, VirtualGroup, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas.scanning.parsers import ahead, one, whole
from byteatlas.scanning.report import INCOMPLETE, refusal
from byteatlas.types import JSON, ByteRange

MAGIC = b"GRDS"
HEAD = struct.Struct("<16s4sB3xIIQ")
MOST_RECORDS = 100_000


class Record(NamedTuple):
    """The head of a record, and where its data begin."""

    name: str
    kind: str
    codec: int
    shape: tuple[int, int]
    length: int
    begin: int


class GridsScanner(Scanner):
    """Records as arrays of one chunk each."""

    name = "grids"
    suffixes = (".grids",)
    options = (Option("side_file", bool, True, "read attributes from FILE.json"),)

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(MAGIC)

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        records, report = yield from read_records(source.size or 0)
        attributes: dict[str, JSON] = {}
        if chosen(self, options)["side_file"]:
            try:
                attributes = yield from read_attributes(source)
            except FileFault as error:  # the data are whole without them: say so, and go on
                report.append(ReportItem("/", INCOMPLETE, "corrupt", f"attributes left out: {error}"))
        arrays: dict[str, VirtualArray] = {}
        for record in records:
            try:
                if record.name in arrays:
                    raise CorruptFile(record.begin, f"a second record {record.name!r}")
                arrays[record.name] = to_array(record, source, attributes.get(record.name, {}))
                report.append(ReportItem(record.name, "virtual", locators=(f"record/{len(arrays) - 1}",)))
            except FileFault as error:
                report.append(refusal(record.name, error))
        return VirtualGroup(GroupMeta(), arrays, report=tuple(report))


def read_records(size: int) -> Parse[tuple[list[Record], list[ReportItem]]]:
    """All heads, and a report item when the chain is broken. Raises `CorruptFile` for what is no such file."""
    if bytes((yield from one(ByteRange(0, len(MAGIC))))) != MAGIC:
        raise CorruptFile(0, f"does not begin with {MAGIC!r}")
    yield from ahead(0, size)  # heads follow each other: let a remote file be read in large parts
    found: list[Record] = []
    at = len(MAGIC)
    try:
        while at < size:
            if len(found) == MOST_RECORDS:
                raise Unsupported("too-large", f"more than {MOST_RECORDS} records")
            name, kind, codec, rows, columns, length = HEAD.unpack((yield from one(ByteRange(at, HEAD.size))))
            begin = at + HEAD.size
            if begin + length > size:
                raise CorruptFile(at, f"{length} bytes of data do not fit into the file")
            found.append(Record(text(name), text(kind), codec, (rows, columns), length, begin))
            at = begin + length
    except FileFault as error:
        return found, [refusal(f"record_{len(found)}", error)]
    return found, []


def text(raw: bytes) -> str:
    return raw.partition(b"\0")[0].decode("latin-1")


def read_attributes(source: SourceInfo) -> Parse[dict[str, JSON]]:
    """The side file's attributes; none when there is no such file."""
    data = yield from whole(f"{source.url.rpartition('/')[2]}.json", optional=True)
    if data is None:
        return {}
    try:
        found = json.loads(bytes(data))
    except ValueError as error:
        raise InvalidMetadata("side file", str(error)) from error
    if not isinstance(found, dict) or not all(isinstance(value, dict) for value in found.values()):
        raise InvalidMetadata("side file", "not an object of objects")
    return found


def to_array(record: Record, source: SourceInfo, attributes: JSON) -> VirtualArray:
    """One record as an array. Raises `Unsupported` and `CorruptFile`."""
    if record.kind not in ("u1", "i2", "i4", "f4", "f8"):
        raise Unsupported("datatype", f"elements of kind {record.kind!r}")
    dtype = np.dtype(record.kind)
    codecs = [CodecSpec("bytes", {"endian": "little"} if dtype.itemsize > 1 else {})]
    match record.codec:
        case 0:
            if record.length != record.shape[0] * record.shape[1] * dtype.itemsize:
                raise CorruptFile(record.begin, f"{record.length} bytes of data for {record.shape}")
        case 1:
            codecs.append(CodecSpec("numcodecs.zlib", {"level": 1}))  # named, never run: decoding is the reader's
        case other:
            raise Unsupported("compression", f"codec {other}")
    shape = record.shape
    meta = ArrayMeta(
        shape,
        from_numpy(dtype),
        RegularGrid((max(shape[0], 1), max(shape[1], 1))),
        (Encoding(tuple(codecs)),),
        dimension_names=("y", "x"),
        attributes=attributes,
    )
    n = 1 if all(shape) else 0
    place = np.full(n, record.begin, np.uint64), np.full(n, record.length, np.uint64)
    return VirtualArray(meta, single_source((min(shape[0], 1), min(shape[1], 1)), source, *place))


SCANNER = GridsScanner()
