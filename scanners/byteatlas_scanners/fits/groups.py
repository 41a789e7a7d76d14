"""Random groups: records of parameters and an array, of one type (FITS 4.0, section 6)."""

from __future__ import annotations

from byteatlas.manifest.model import SourceInfo, VirtualArray
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.fits.hdus import Hdu
from byteatlas_scanners.fits.images import check_inside, check_rank, image_attributes
from byteatlas_scanners.fits.numbers import TYPES, scaling
from byteatlas_scanners.fits.records import FitsRecords, RecordField, column_codec, field_array
from byteatlas_scanners.fits.wcs import dimension_names

AXIS = "group"


def group_arrays(unit: Hdu, source: SourceInfo, options: ScanOptions) -> dict[str, VirtualArray]:
    """``data`` and each parameter, as stored. Parameters of one name are numbered from the second on."""
    header, stored = unit.header, TYPES[unit.header.integer("BITPIX")]
    inner, count = unit.shape[:-1], header.integer("PCOUNT", 0)
    check_rank(len(inner) + 1)
    check_inside(unit, unit.data + unit.size, source)
    groups = header.integer("GCOUNT", 1)
    stride = unit.size // groups if groups else 1
    records = FitsRecords(groups, max(1, stride), unit.data, source, options.target_chunk)
    native = stored.newbyteorder("=")
    found: dict[str, VirtualArray] = {}
    for i in range(count if stride else 0):
        label = header.text(f"PTYPE{i + 1}") or f"parameter_{i + 1}"
        attributes = scaling(header.number(f"PSCAL{i + 1}"), header.number(f"PZERO{i + 1}"))
        name = label
        while name in found or name == "data":
            name = f"{label}_{i + 1}" if name == label else f"{name}_"
        codec = column_codec(records, i * stored.itemsize, stored, ())
        found[name] = field_array(records, RecordField((), native, codec, (), attributes), AXIS)
    names = tuple(n if n != AXIS else f"{n}_axis" for n in dimension_names(header, unit.shape)[:-1])
    if inner and stride:
        attributes = image_attributes(header) | scaling(header.number("BSCALE"), header.number("BZERO"))
        codec = column_codec(records, count * stored.itemsize, stored, inner)
        found["data"] = field_array(records, RecordField(inner, native, codec, names, attributes), AXIS)
    return found
