"""Datasets of files of HDF 3.3 and later: Vgroups of the classes ``CDF0.0``, ``Var0.0`` and ``Dim0.0``.

The library reads them so (hdf_read_dims and hdf_read_vars of cdf.c): dimensions by name, the first one of a name
counts; the length of an unlimited dimension is each dataset's own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather
from byteatlas_scanners.hdf4.file import MOST_RECORD, Hdf4File, load_attributes
from byteatlas_scanners.hdf4.format.elements import Element, element_length, find_element, load_one
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.format.vgroup import Vgroup
from byteatlas_scanners.hdf4.sds import ScientificDataset, SdsContents
from byteatlas_scanners.hdf4.values.attributes import ATTRIBUTE
from byteatlas_scanners.hdf4.values.number_types import number_type, type_of_record

ALL, VARIABLE, DIMENSION, UNLIMITED = "CDF0.0", "Var0.0", "Dim0.0", "UDim0.0"
LENGTH_OLD, LENGTH, COORDINATE = "DimVal0.0", "DimVal0.1", "CoordVar"


def top_group(file: Hdf4File) -> Vgroup | None:
    """The Vgroup of all datasets; None in older files."""
    found = [g for g in file.groups.values() if isinstance(g, Vgroup) and g.kind == ALL]
    return min(found, key=lambda g: g.ref) if found else None


def damaged(file: Hdf4File) -> SdsContents | None:
    """All datasets refused, where there are some and the Vgroup that lists them may be one that cannot be read."""
    faults = [group for group in file.groups.values() if isinstance(group, FileFault)]
    variables = [g for g in file.groups.values() if isinstance(g, Vgroup) and g.kind == VARIABLE]
    return SdsContents(refused=tuple((g.name, faults[0]) for g in variables)) if faults and variables else None


def read_datasets(file: Hdf4File, top: Vgroup) -> Parse[SdsContents]:
    """All datasets and the file's attributes."""
    variables, passed = _variables(file, top)
    owners = [top, *variables]
    yield from load_attributes(file, [ref for owner in owners for ref in _attributes(file, owner)])
    lengths = yield from _lengths(file, top)
    refs = [_data_ref(group) for group in variables]
    elements = yield from gather([find_element(file.directory, ElementTag.DATA, ref) for ref in refs])
    found: list[ScientificDataset] = []
    refused: list[tuple[str, FileFault]] = []
    counted = 0
    for group, element, before in zip(variables, elements, passed, strict=True):
        try:
            found.append(_dataset(file, group, element, lengths, len(found) + before + counted))
        except FileFault as error:
            refused.append((group.name, error))
            counted += not isinstance(error, Unsupported)  # a number type of another machine has no number
    attributes, lost = file.attributes(_attributes(file, top))
    return SdsContents(tuple(found), attributes, tuple(lost), tuple(refused))


def _variables(file: Hdf4File, top: Vgroup) -> tuple[list[Vgroup], list[int]]:
    """The Vgroups of datasets, and how many that cannot be read stand before each, behind the first dataset."""
    found: list[Vgroup] = []
    passed: list[int] = []
    damaged = 0
    for tag, ref in top.members:
        group = file.groups.get(ref) if tag == ElementTag.VGROUP else None
        if isinstance(group, FileFault):
            damaged += bool(found)
        elif group is not None and group.kind == VARIABLE:
            found.append(group)
            passed.append(damaged)
    return found, passed


def _groups(file: Hdf4File, owner: Vgroup) -> Iterator[Vgroup]:
    for tag, ref in owner.members:
        group = file.group(ref) if tag == ElementTag.VGROUP else None
        if group is not None:
            yield group


def _attributes(file: Hdf4File, owner: Vgroup) -> list[int]:
    tables = [(ref, file.table(ref)) for tag, ref in owner.members if tag == ElementTag.VDATA_HEADER]
    return [ref for ref, table in tables if table is not None and table.kind == ATTRIBUTE]


def _data_ref(group: Vgroup) -> int:
    return next((ref for tag, ref in reversed(group.members) if tag == ElementTag.DATA), 0)


def _lengths(file: Hdf4File, top: Vgroup) -> Parse[Mapping[str, int | FileFault | None]]:
    """Lengths of dimensions by name; None: unlimited."""
    found: dict[str, int | FileFault | None] = {}
    asked: list[tuple[str, int]] = []
    for group in _groups(file, top):
        if group.kind not in (DIMENSION, UNLIMITED) or group.name in found:
            continue
        for tag, ref in group.members:
            table = file.table(ref) if tag == ElementTag.VDATA_HEADER else None
            if table is None or group.name in found:
                continue
            if group.kind == UNLIMITED:
                found[group.name] = None
            elif table.kind == LENGTH_OLD:
                found[group.name] = table.count
            elif table.kind == LENGTH:
                found[group.name] = 0
                asked.append((group.name, ref))
    values = yield from gather([_first_value(file, ref) for _, ref in asked])
    found.update((name, value) for (name, _), value in zip(asked, values, strict=True))
    return found


def _first_value(file: Hdf4File, ref: int) -> Parse[int]:
    table = file.table(ref)
    raw = yield from load_one(file.directory, ElementTag.VDATA, ref, MOST_RECORD)
    if table is None or not table.fields or not raw:
        raise CorruptFile(0, f"the length of a dimension (Vdata {ref}) is not there")
    dtype = number_type(table.fields[0].type)
    if len(raw) < dtype.itemsize or dtype.kind not in "iu":
        raise CorruptFile(0, f"the length of a dimension (Vdata {ref}) is no number")
    return int(np.frombuffer(raw, dtype, 1)[0])


def _dataset(
    file: Hdf4File,
    group: Vgroup,
    element: Element | FileFault | None,
    lengths: Mapping[str, int | FileFault | None],
    index: int,
) -> ScientificDataset:
    """Raises `CorruptFile`; `Unsupported` for what the library itself passes over (types of other machines)."""
    types = [ref for tag, ref in group.members if tag == ElementTag.NUMBER_TYPE]
    if not types:
        raise CorruptFile(0, f"dataset {group.name!r} has no number type")
    dtype = type_of_record(file.record(ElementTag.NUMBER_TYPE, types[-1]), 0)
    for tag, ref in group.members:  # what cannot be read may be one of its dimensions
        if tag == ElementTag.VGROUP and isinstance(fault := file.groups.get(ref), FileFault):
            raise fault
    dims = [g for g in _groups(file, group) if g.kind in (DIMENSION, UNLIMITED)]
    names = tuple(g.name for g in dims)
    attributes, lost = file.attributes(_attributes(file, group))
    kinds = [
        t.kind for tag, ref in group.members if tag == ElementTag.VDATA_HEADER and (t := file.table(ref)) is not None
    ]
    refs = [ref for tag, ref in group.members if tag == ElementTag.NDG]
    shape: list[int] = []
    fault = element if isinstance(element, FileFault) else None
    for name in names:
        length = lengths.get(name, CorruptFile(0, f"dimension {name!r} is not there"))
        if isinstance(length, FileFault) or (length is not None and length < 0):
            fault = (
                length if isinstance(length, FileFault) else CorruptFile(0, f"dimension {name!r} has {length} steps")
            )
            length = 0
        shape.append(-1 if length is None else length)
    unlimited = bool(shape) and shape[0] == -1
    if -1 in shape[1:]:
        fault = CorruptFile(0, "an unlimited dimension that is not the first one")
    if unlimited and not isinstance(element, FileFault):
        row = dtype.itemsize * math.prod(n for n in shape[1:] if n > 0)
        shape[0] = element_length(element) // row
    return ScientificDataset(
        index, group.name, refs[-1] if refs else 0, tuple(max(0, n) for n in shape), names, dtype, fault or element,
        attributes, COORDINATE in kinds, unlimited, lost=tuple(lost),
    )  # fmt: skip
