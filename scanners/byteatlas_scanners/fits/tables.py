"""Binary and ASCII tables: an array for each column (FITS 4.0, sections 7.2 and 7.3).

By default columns are what is stored, with attributes that say what it means: bits in bytes, logical values as their
letters, integers with an offset. With the option ``unpack_columns`` bits and logical values are Booleans, and integers
with an offset of half their range have the other sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from byteatlas.errors import FileFault, Unsupported
from byteatlas.manifest.model import SourceInfo, VirtualArray, single_source
from byteatlas.meta.dtypes import BYTES, VLEN_ARRAY, from_numpy, to_v3
from byteatlas.meta.model import ArrayMeta, CodecSpec, DataType, Encoding, RegularGrid
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.fits.columns import (
    AsciiColumn,
    BinaryColumn,
    ascii_columns,
    binary_columns,
    column_attributes,
    column_names,
)
from byteatlas_scanners.fits.hdus import Hdu
from byteatlas_scanners.fits.images import check_inside, check_rank
from byteatlas_scanners.fits.numbers import blank, other_sign
from byteatlas_scanners.fits.records import FitsRecords, RecordField, column_codec, field_array

MOST_HEAP = 1 << 30
"""Bytes of a table and its heap, which a variable-length column is one chunk of."""
NEVER_PLAIN = 8
"""Bytes of integers that no floating-point number could hold with their offset: their sign is always changed."""


@dataclass(frozen=True, slots=True)
class TableHdu:
    """A table that is being presented."""

    unit: Hdu
    records: FitsRecords
    unpack: bool


@dataclass(frozen=True, slots=True)
class Presented:
    """What a column becomes: the shape in a row, the array's type, how it is stored, the codec's form."""

    inner: Shape
    dtype: np.dtype[np.generic]
    stored: np.dtype[np.generic]
    form: str
    attributes: dict[str, JSON]


def table_columns(
    unit: Hdu, source: SourceInfo, options: ScanOptions, unpack: bool
) -> Iterator[tuple[str, VirtualArray | FileFault]]:
    """Each column's name and array, or why it has none. Raises `CorruptFile`, `Unsupported` for the whole table."""
    header = unit.header
    if len(unit.shape) != 2 or header.integer("BITPIX") != 8 or header.integer("GCOUNT", 1) != 1:
        raise Unsupported(Reason.LAYOUT, "a table that is no two-dimensional array of bytes")
    rows, stride = unit.shape
    check_inside(unit, unit.data + rows * stride, source)
    table = TableHdu(unit, FitsRecords(rows, max(1, stride), unit.data, source, options.target_chunk), unpack)
    columns: Sequence[AsciiColumn | BinaryColumn]
    columns = [*ascii_columns(header, stride)] if unit.kind == "TABLE" else [*binary_columns(header, stride)]
    for name, column in zip(column_names(header, len(columns)), columns, strict=True):
        try:
            yield name, _column(table, column, name)
        except FileFault as error:
            yield name, error


def _column(table: TableHdu, column: AsciiColumn | BinaryColumn, name: str) -> VirtualArray:
    match column:
        case AsciiColumn():
            return _ascii(table, column)
        case BinaryColumn(variable=""):
            return _fixed(table, column, name)
        case BinaryColumn():
            return _variable(table, column)


# --------------------------------------------------------------------------------------- ASCII tables


def _ascii(table: TableHdu, column: AsciiColumn) -> VirtualArray:
    header, records = table.unit.header, table.records
    if column.code == "A":
        text = np.dtype(f"S{column.width}")
        codec = column_codec(records, column.offset, text, ())
        attributes = column_attributes(header, column.number, scaled=False)
        return field_array(records, RecordField((), text, codec, (), attributes))
    configuration: dict[str, JSON] = {"stride": records.stride, "offset": column.offset, "width": column.width}
    if column.decimals and column.code in "FED":
        configuration["decimals"] = column.decimals
    if null := header.text(f"TNULL{column.number}"):
        configuration["null"] = null
    attributes = column_attributes(header, column.number, scaled=True)
    codec = CodecSpec("byteatlas.fits_ascii", configuration)
    return field_array(records, RecordField((), _text_type(column), codec, (), attributes))


def _text_type(column: AsciiColumn) -> np.dtype[np.generic]:
    """Integers as wide as their digits need, all other numbers in double precision, as astropy has them."""
    if column.code in "FED":
        return np.dtype(np.float64)
    if column.code == "J":
        return np.dtype(np.int64)
    return np.dtype(np.int16 if column.width <= 4 else np.int32 if column.width <= 9 else np.int64)


# --------------------------------------------------------------------------------------- binary tables


def _fixed(table: TableHdu, column: BinaryColumn, name: str) -> VirtualArray:
    header, number = table.unit.header, column.number
    attributes = column_attributes(header, number, scaled=False)
    if column.code == "A":
        return _characters(table, column, name, attributes)
    if column.code in "XL":
        return _logical(table, column, name, attributes)
    stored, inner = column.stored, _inner(column)
    scale, zero = header.number(f"TSCAL{number}"), header.number(f"TZERO{number}")
    flipped = other_sign(stored, scale, zero)
    if flipped is not None and not table.unpack and stored.itemsize < NEVER_PLAIN:
        flipped = None
    presented = stored.newbyteorder("=") if flipped is None else flipped
    attributes = column_attributes(header, number, scaled=flipped is None)
    fill = blank(header, f"TNULL{number}", stored, presented)
    if fill is not None:
        attributes["_FillValue"] = fill
    form = "number" if flipped is None else "unsigned"
    return _made(table, column, name, Presented(inner, presented, stored, form, attributes))


def _inner(column: BinaryColumn) -> Shape:
    """The shape of one row's elements; () for one element without TDIM."""
    return column.dims or (() if column.repeat == 1 else (column.repeat,))


def _characters(table: TableHdu, column: BinaryColumn, name: str, attributes: dict[str, JSON]) -> VirtualArray:
    """The first axis of TDIM is the length of the strings (section 7.3.2)."""
    length = column.dims[-1] if column.dims else column.repeat
    text = np.dtype(f"S{length}")
    return _made(table, column, name, Presented(column.dims[:-1], text, text, "number", attributes))


def _logical(table: TableHdu, column: BinaryColumn, name: str, attributes: dict[str, JSON]) -> VirtualArray:
    """Bits and logical values, as stored or as Booleans."""
    inner, bits = _inner(column), column.code == "X"
    if table.unpack:
        whole = (column.repeat,) if bits else inner
        form = "bits" if bits else "logical"
        return _made(table, column, name, Presented(whole, np.dtype(np.bool_), column.stored, form, attributes))
    if bits:
        attributes["bits"] = column.repeat
        inner = (column.width,)
    else:
        attributes |= {"flag_values": [ord("F"), ord("T"), 0], "flag_meanings": "false true undefined"}
    return _made(table, column, name, Presented(inner, column.stored, column.stored, "number", attributes))


def _made(table: TableHdu, column: BinaryColumn, name: str, what: Presented) -> VirtualArray:
    """The array of a column."""
    inner, stored = what.inner, what.stored
    check_rank(len(inner) + 1)
    plain = inner if column.width == stored.itemsize * int(np.prod(inner, dtype=object)) else (0,)
    codec = column_codec(table.records, column.offset, stored, plain, what.form)
    names = tuple(f"{name}_{i}" for i in range(1, len(inner) + 1))
    return field_array(table.records, RecordField(inner, what.dtype, codec, names, what.attributes))


def _variable(table: TableHdu, column: BinaryColumn) -> VirtualArray:
    """A column of arrays of different lengths, as one chunk: the rows and the heap."""
    unit, records = table.unit, table.records
    header, number = unit.header, column.number
    check_inside(unit, unit.data + unit.size, records.source)
    rows = records.count * unit.shape[1]
    heap = header.integer("THEAP", rows)
    if not rows <= heap <= max(rows, unit.size):
        raise Unsupported(Reason.LAYOUT, f"THEAP is {heap}, in a unit of {unit.size} bytes with rows of {rows}")
    if unit.size > MOST_HEAP:
        why = f"a table with its heap of {unit.size} bytes; at most {MOST_HEAP} are one chunk"
        raise Unsupported(Reason.VLEN_LARGE, why)
    if not column.repeat:
        raise Unsupported(Reason.LAYOUT, "a variable-length column without descriptors")
    stored = None if column.code == "A" else column.stored
    configuration: dict[str, JSON] = {"stride": records.stride, "offset": column.offset, "heap": heap}
    if column.variable == "Q":
        configuration["wide"] = True
    if column.code in "XL":
        configuration["form"] = "bits" if column.code == "X" else "logical"
    if stored is not None:
        configuration["dtype"] = stored.str
    attributes = column_attributes(header, number, scaled=column.code not in "AXL")
    kind = BYTES
    if stored is not None:
        inside = to_v3(from_numpy(np.dtype(np.bool_) if column.code == "L" else stored.newbyteorder("=")))
        kind = DataType(VLEN_ARRAY, np.dtype(object), {"data_type": inside})
    meta = ArrayMeta(
        shape=(records.count,),
        data_type=kind,
        grid=RegularGrid((max(1, records.count),)),
        encodings=(Encoding((CodecSpec("byteatlas.fits_heap", configuration),)),),
        dimension_names=("row",),
        attributes=attributes,
        zarr_format=3,
    )
    count = 1 if records.count else 0
    place = np.full(count, unit.data, np.uint64), np.full(count, unit.size, np.uint64)
    return VirtualArray(meta, single_source((count,), records.source, *place))
