"""Vdatas, tables of records, as arrays: of the one field's values, or of records."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, RegularGrid
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas_scanners.hdf4.build import serializer
from byteatlas_scanners.hdf4.file import Hdf4File
from byteatlas_scanners.hdf4.format.elements import find_element
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.format.vdata import BY_RECORD, Vdata, VdataField
from byteatlas_scanners.hdf4.storage import Wanted, place_element
from byteatlas_scanners.hdf4.values.number_types import BASE, CHAR8, number_type

OWN_KINDS = ("Attr0.0", "DimVal0.0", "DimVal0.1", "SDSVar", "CoordVar", "_HDF_CHK_TBL_", "RIATTR0.0")
"""What the classes begin with of Vdatas that HDF4's own interfaces keep."""
OWN_NAME = "RIATTR0.0N"


def user_tables(file: Hdf4File) -> list[tuple[int, Vdata | FileFault]]:
    """The Vdatas that users made, by reference number; those whose header cannot be read too."""
    return [(ref, table) for ref, table in file.tables.items() if isinstance(table, FileFault) or not _own(table)]


def _own(table: Vdata) -> bool:
    return table.kind.startswith(OWN_KINDS) or table.name == OWN_NAME


def table_arrays(file: Hdf4File, table: Vdata) -> Parse[dict[str, VirtualArray]]:
    """A table as one array under the name "", or, stored field by field, an array for each. Raises `FileFault`."""
    if not table.fields:
        raise Unsupported(Reason.DATASPACE, "a Vdata without fields: there is nothing to read")
    element = yield from find_element(file.directory, ElementTag.VDATA, table.ref)
    attributes, own = _attributes(file, table)
    if table.interlace != BY_RECORD and len(table.fields) > 1:
        found: dict[str, VirtualArray] = {}
        skip = 0
        for part in table.fields:
            kind, shape = _field(part, table.count)
            wanted = Wanted(shape, serializer(kind), kind.itemsize, skip)
            placement = yield from place_element(element, wanted, file.source, file.options)
            found[part.name] = _array(kind, shape, placement, own.get(part.name, {}), table)
            skip += part.size * table.count
        return found
    if len(table.fields) == 1:
        kind, shape = _field(table.fields[0], table.count)
        codec = serializer(kind)
        if table.record != kind.itemsize * math.prod(shape[1:]):
            raise CorruptFile(0, f"records of {table.record} bytes with one field of {table.fields[0].size}")
        attributes |= own.get(table.fields[0].name, {})
    else:
        kind, shape = _record(table), (table.count,)
        codec = _record_codec(kind)
        attributes |= {name: values for name, values in own.items() if name not in attributes}
    wanted = Wanted(shape, codec, kind.itemsize)
    placement = yield from place_element(element, wanted, file.source, file.options)
    return {"": _array(kind, shape, placement, attributes, table)}


def _array(
    kind: np.dtype[Any], shape: Shape, placement: Any, attributes: dict[str, JSON], table: Vdata
) -> VirtualArray:
    native = _native(kind)
    dims = (f"record_{table.ref}", *(f"order_{table.ref}" for _ in shape[1:]))
    return VirtualArray(
        ArrayMeta(
            shape=shape,
            data_type=from_numpy(native),
            grid=RegularGrid(placement.chunk),
            encodings=placement.encodings,
            fill_value=None,
            dimension_names=dims,
            attributes=attributes,
        ),
        placement.manifest,
    )


def _native(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The same values in memory: native byte order, records without gaps."""
    if kind.names is None:
        return kind.newbyteorder("=")
    return np.dtype([(name, kind[name].newbyteorder("=")) for name in kind.names])


def _field(field: VdataField, count: int) -> tuple[np.dtype[Any], Shape]:
    """The dtype and shape of one field; text is one value however long."""
    dtype = number_type(field.type)
    if field.order < 1 or field.size != field.order * dtype.itemsize:
        raise CorruptFile(0, f"field {field.name!r}: {field.size} bytes for {field.order} of {dtype.itemsize}")
    if field.type & BASE == CHAR8:
        return np.dtype(f"S{field.order}"), (count,)
    return dtype, (count,) if field.order == 1 else (count, field.order)


def _record(table: Vdata) -> np.dtype[Any]:
    names, formats, offsets = [], [], []
    for field in table.fields:
        kind, shape = _field(field, 1)
        names.append(field.name)
        formats.append(np.dtype((kind, shape[1:])) if shape[1:] else kind)
        offsets.append(field.offset)
    ends = [at + kind.itemsize for at, kind in zip(offsets, formats, strict=True)]
    if len(set(names)) != len(names) or not all(names) or max(ends) > table.record:
        raise CorruptFile(0, f"records of {table.record} bytes with the fields {', '.join(names)}")
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": table.record})


def _record_codec(kind: np.dtype[Any]) -> CodecSpec:
    packed = np.dtype([(name, kind[name]) for name in kind.names or ()])
    if packed.itemsize == kind.itemsize and len(set(_orders(kind))) <= 1 and packed == kind:
        order = next(iter(_orders(kind)), ">")
        return CodecSpec("bytes", {"endian": "big" if order == ">" else "little"})
    fields: Any = kind.fields
    return CodecSpec(
        "byteatlas.bytes",
        {
            "dtype": [_described(name, kind[name]) for name in kind.names or ()],
            "offsets": [fields[name][1] for name in kind.names or ()],
            "itemsize": kind.itemsize,
        },
    )


def _orders(kind: np.dtype[Any]) -> Iterator[str]:
    for name in kind.names or ():
        base = kind[name].base
        if base.kind != "S" and base.itemsize > 1:
            yield base.str[0]


def _described(name: str, kind: np.dtype[Any]) -> JSON:
    base, dims = kind.subdtype or (kind, ())
    return [name, base.str, list(dims)] if dims else [name, base.str]


def _attributes(file: Hdf4File, table: Vdata) -> tuple[dict[str, JSON], dict[str, dict[str, JSON]]]:
    """Attributes of the table, and of its fields by name."""
    found, _ = file.attributes(ref for field, ref in table.attributes if field < 0)
    own: dict[str, dict[str, JSON]] = {}
    for number, field in enumerate(table.fields):
        values, _ = file.attributes(ref for at, ref in table.attributes if at == number)
        if values:
            own[field.name] = values
    return found, own
