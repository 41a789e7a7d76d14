"""One file: its directory, Vgroups and Vdata headers, read in a few rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.manifest.model import SourceInfo
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.parsers import gather
from byteatlas.scanning.report import detail_of
from byteatlas.types import JSON
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf4.format.directory import Directory, TagRef, read_directory
from byteatlas_scanners.hdf4.format.elements import load_one
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.format.vdata import Vdata, parse_vdata
from byteatlas_scanners.hdf4.format.vgroup import Vgroup, parse_vgroup
from byteatlas_scanners.hdf4.values.attributes import attribute_value

T = TypeVar("T")

MOST_RECORD = 64 << 20
"""Bytes of metadata in one element that are believed."""
SMALL = (
    ElementTag.NUMBER_TYPE, ElementTag.DIMENSIONS, ElementTag.NDG, ElementTag.SDG, ElementTag.LABELS,
    ElementTag.UNITS, ElementTag.FORMATS, ElementTag.RANGE, ElementTag.SDG_LINK, ElementTag.COORDINATE_SYSTEM,
    ElementTag.CALIBRATION, ElementTag.IMAGE_GROUP, ElementTag.IMAGE_DIMENSIONS, ElementTag.PALETTE_DIMENSIONS,
    ElementTag.IMAGE_SIZE_8, ElementTag.VGROUP, ElementTag.VDATA_HEADER, ElementTag.DATA_LABEL,
    ElementTag.DATA_DESCRIPTION, ElementTag.FILE_LABEL, ElementTag.FILE_DESCRIPTION,
)  # fmt: skip
"""Elements that are read in any case: all are small."""


@dataclass(slots=True)
class Hdf4File:
    """What is known of a file.

    Attributes:
        records: the bytes of the `SMALL` elements, or why they cannot be read.
        values: attributes by the reference number of their Vdata, or why one cannot be read.
    """

    directory: Directory
    source: SourceInfo
    options: ScanOptions
    records: dict[TagRef, bytes | FileFault] = field(default_factory=dict)
    groups: dict[int, Vgroup | FileFault] = field(default_factory=dict)
    tables: dict[int, Vdata | FileFault] = field(default_factory=dict)
    values: dict[int, JSON | FileFault] = field(default_factory=dict)

    def record(self, tag: int, ref: int) -> bytes:
        """A small element's bytes. Raises the fault that it has."""
        found = self.records.get(TagRef(tag, ref))
        if isinstance(found, FileFault):
            raise found
        if found is None:
            raise CorruptFile(0, f"element {tag}/{ref} is not there")
        return found

    def group(self, ref: int) -> Vgroup | None:
        """A group that can be read."""
        found = self.groups.get(ref)
        return found if isinstance(found, Vgroup) else None

    def table(self, ref: int) -> Vdata | None:
        """A Vdata whose header can be read."""
        found = self.tables.get(ref)
        return found if isinstance(found, Vdata) else None

    def attributes(self, refs: Iterable[int]) -> tuple[dict[str, JSON], list[str]]:
        """Attributes by name, and which ones are lost, and why."""
        found: dict[str, JSON] = {}
        lost: list[str] = []
        for ref in refs:
            table, value = self.tables.get(ref), self.values.get(ref)
            if not isinstance(table, Vdata):
                lost.append(f"attribute {ref} ({detail_of(table)})" if table is not None else f"attribute {ref}")
            elif isinstance(value, FileFault):
                lost.append(f"{table.name} ({detail_of(value)})")
            else:
                found[table.name] = value
        return found, lost


def open_file(source: SourceInfo, options: ScanOptions) -> Parse[Hdf4File]:
    """The directory and all small records. Raises `CorruptFile` when the directory cannot be read."""
    directory = yield from read_directory(source.size or 0)
    file = Hdf4File(directory, source, options)
    keys = directory.of_tags(*SMALL)
    found = yield from gather([load_one(directory, tag, ref, MOST_RECORD) for tag, ref in keys])
    file.records.update(zip(keys, found, strict=True))
    for key, raw in file.records.items():
        if key.tag == ElementTag.VGROUP:
            file.groups[key.ref] = _parsed(parse_vgroup, key.ref, raw)
        elif key.tag == ElementTag.VDATA_HEADER:
            file.tables[key.ref] = _parsed(parse_vdata, key.ref, raw)
    return file


def _parsed(parse: Callable[[int, bytes, int], T], ref: int, raw: bytes | FileFault) -> T | FileFault:
    if isinstance(raw, FileFault):
        return raw
    try:
        return parse(ref, raw, 0)
    except FileFault as error:
        return error


def load_attributes(file: Hdf4File, refs: Iterable[int]) -> Parse[None]:
    """Read the values of attributes that are not read yet."""
    wanted = [ref for ref in dict.fromkeys(refs) if file.table(ref) is not None and ref not in file.values]
    found = yield from gather([_attribute(file, ref) for ref in wanted])
    file.values.update(zip(wanted, found, strict=True))


def _attribute(file: Hdf4File, ref: int) -> Parse[JSON]:
    table = file.table(ref)
    assert table is not None
    raw = yield from load_one(file.directory, ElementTag.VDATA, ref, MOST_RECORD)
    return attribute_value(table, raw)
