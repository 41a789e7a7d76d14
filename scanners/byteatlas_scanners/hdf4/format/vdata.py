"""Headers of Vdatas, tables of records (HDF 4.2 specification, DFTAG_VH)."""

from __future__ import annotations

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.format.records import RecordCursor
from byteatlas_scanners.hdf4.format.vgroup import NEWEST, version_of

OLD_TYPES = 2
"""Up to this version fields have other numbers for their types."""
BY_RECORD, BY_FIELD = 0, 1
WITH_ATTRIBUTES = 1


@dataclass(frozen=True, slots=True)
class VdataField:
    """One field; ``order`` values of a number type at a byte of each record."""

    name: str
    type: int
    order: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Vdata:
    """A table's header; its records are in the element with the same reference number.

    Attributes:
        interlace: `BY_RECORD` or `BY_FIELD` (all values of a field together).
        record: bytes of a record.
        attributes: (field or -1 for the table itself, reference number of a Vdata).
    """

    ref: int
    name: str
    kind: str
    count: int
    interlace: int
    record: int
    fields: tuple[VdataField, ...]
    attributes: tuple[tuple[int, int], ...] = ()


def parse_vdata(ref: int, raw: bytes, base: int) -> Vdata:
    """Raises `CorruptFile`, `Unsupported`."""
    version = version_of(raw, base)
    if not OLD_TYPES < version <= NEWEST:
        raise Unsupported(Reason.LAYOUT, f"a Vdata of version {version}")
    record = RecordCursor(raw, base)
    interlace, count, size, fields = record.number(2), record.number(4), record.number(2), record.number(2)
    if count >> 31 or fields >> 15:
        raise CorruptFile(base, f"a Vdata of {count} records of {fields} fields")
    types, sizes, offsets, orders = (record.numbers(fields) for _ in range(4))
    names = [record.name() for _ in range(fields)]
    name, kind = record.name(), record.name()
    record.take(8)
    attributes: list[tuple[int, int]] = []
    if version == NEWEST and record.number(4) & WITH_ATTRIBUTES:
        for _ in range(min(record.number(4), len(raw))):
            field = record.number(4, signed=True)
            record.take(2)
            attributes.append((field, record.number(2)))
    columns = map(VdataField, names, types, orders, offsets, sizes)
    return Vdata(ref, name, kind, count, interlace, size, tuple(columns), tuple(attributes))
