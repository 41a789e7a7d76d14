"""Datasets of older files (DFSD of HDF 3.x and before): the groups NDG and SDG (HDF 4.2 specification, chapter 6).

Each dataset has dimensions of its own, ``fakeDim0`` and so on throughout the file. A dimension with values, or without
any label, unit and format, has a number among the datasets, as in the library (hdf_read_ndgs of hdfsds.c). Where the
record of the scales has no values for a dimension, the library reads from the record's beginning, flags and all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather, one
from byteatlas.types import JSON, ByteRange
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.file import Hdf4File
from byteatlas_scanners.hdf4.format.directory import TagRef
from byteatlas_scanners.hdf4.format.elements import Element, element_length, find_element
from byteatlas_scanners.hdf4.format.records import RecordCursor, text
from byteatlas_scanners.hdf4.format.tags import ElementTag
from byteatlas_scanners.hdf4.sds import ScientificDataset, SdsContents
from byteatlas_scanners.hdf4.values.attributes import char_text, plain
from byteatlas_scanners.hdf4.values.number_types import type_of_record

MOST_RANK = 32
CALIBRATION = ("scale_factor", "scale_factor_err", "add_offset", "add_offset_err")
STRINGS = ((ElementTag.LABELS, "long_name"), (ElementTag.UNITS, "units"), (ElementTag.FORMATS, "format"))


@dataclass(frozen=True, slots=True)
class OldGroup:
    """One group: what its members say, and where its data and scales are."""

    key: TagRef
    members: dict[int, int]

    def ref(self, tag: int) -> int:
        return self.members.get(tag, 0)


def read_datasets(file: Hdf4File) -> Parse[SdsContents]:
    """All datasets; a damaged group is refused by itself."""
    groups, refused = _all_groups(file)
    asked = [(tag, group.ref(tag)) for group in groups for tag in (ElementTag.DATA, ElementTag.SCALES)]
    elements = yield from gather([find_element(file.directory, tag, ref) for tag, ref in asked])
    flags = yield from gather([_flags(file, group) for group in groups])
    found: list[ScientificDataset] = []
    dims = passed = 0
    for i, group in enumerate(groups):
        name = f"Data-Set-{group.key.ref}"
        try:
            made = list(
                _datasets(file, group, elements[2 * i], elements[2 * i + 1], flags[i], len(found) + passed, dims)
            )
        except FileFault as error:
            refused.append((name, error))
            rank = _rank(file, group)  # the numbers of those behind it should not change
            dims, passed = dims + rank, passed + rank + 1
            continue
        dims += len(made[-1].shape)
        found += made
    return SdsContents(tuple(found), refused=tuple(refused))


def _all_groups(file: Hdf4File) -> tuple[list[OldGroup], list[tuple[str, FileFault]]]:
    """NDGs, then those SDGs that no NDG stands for as well."""
    found: list[OldGroup] = []
    refused: list[tuple[str, FileFault]] = []
    seen: set[int] = set()
    for tag in (ElementTag.NDG, ElementTag.SDG):
        for key in file.directory.of_tags(tag):
            if tag == ElementTag.SDG and key.ref in seen:
                continue
            try:
                if not key.ref:  # which means any to the library: it passes over this one
                    raise CorruptFile(0, "a dataset's group without a number")
                raw = file.record(*key)
                pairs = RecordCursor(raw).numbers(len(raw) // 2)
                group = OldGroup(key, dict(zip(pairs[::2], pairs[1::2], strict=False)))
                if tag == ElementTag.NDG and group.ref(ElementTag.SDG_LINK):
                    seen.add(
                        RecordCursor(file.record(ElementTag.SDG_LINK, group.ref(ElementTag.SDG_LINK))).numbers(4)[3]
                    )
                found.append(group)
            except FileFault as error:
                refused.append((f"Data-Set-{key.ref}", error))
    return found, refused


def _flags(file: Hdf4File, group: OldGroup) -> Parse[bytes]:
    """For each dimension whether it has values: the first bytes of the scales."""
    ref = group.ref(ElementTag.SCALES)
    place = file.directory.find(ElementTag.SCALES, ref) if ref else None
    if place is None or place.special:
        return b""
    length = min(MOST_RANK, place.length, max(0, file.directory.size - place.offset))
    return bytes((yield from one(ByteRange(place.offset, length))))


def _rank(file: Hdf4File, group: OldGroup) -> int:
    """The number of dimensions of a group that cannot be read, as far as it is known."""
    try:
        return min(
            MOST_RANK, RecordCursor(file.record(ElementTag.DIMENSIONS, group.ref(ElementTag.DIMENSIONS))).number(2)
        )
    except FileFault:
        return 0


def _datasets(
    file: Hdf4File,
    group: OldGroup,
    element: Element | FileFault | None,
    scales: Element | FileFault | None,
    flags: bytes | FileFault,
    index: int,
    dims: int,
) -> Iterator[ScientificDataset]:
    """The dimensions of a group that are datasets, then its own."""
    if isinstance(scales, FileFault):
        flags = b""  # as in the library: dimensions whose values cannot be read have none
    if isinstance(flags, FileFault):
        raise flags
    record = RecordCursor(file.record(ElementTag.DIMENSIONS, group.ref(ElementTag.DIMENSIONS)))
    rank = record.number(2)
    if not 0 < rank <= MOST_RANK:
        raise CorruptFile(0, f"a dataset of {rank} dimensions")
    shape = tuple(record.numbers(rank, 4))
    if any(n >> 31 for n in shape):
        raise CorruptFile(0, f"a dataset of shape {shape}")
    types = [file.record(*record.numbers(2)) for _ in range(rank + 1)]
    strings = {name: _strings(file, tag, group.ref(tag), rank + 1) for tag, name in STRINGS}
    at = rank
    for axis, length in enumerate(shape):
        said = {name: values[axis + 1] for name, values in strings.items() if values and values[axis + 1]}
        present = axis < len(flags) and bool(flags[axis])
        if present or not said:
            dtype = type_of_record(types[axis + 1], 0)
            yield ScientificDataset(
                index, f"fakeDim{dims + axis}", 0, (length,), (f"fakeDim{dims + axis}",), dtype,
                scales if present or _answered(scales, length * dtype.itemsize) else None, said, coordinate=True,
                skip=at if present else 0,
            )  # fmt: skip
            index += 1
            at += length * dtype.itemsize if present else 0
    dtype = type_of_record(types[0], 0)
    attributes, lost = _attributes(file, group, dtype)
    if isinstance(scales, FileFault):
        lost.append(f"scales ({scales})")
    attributes |= {name: values[0] for name, values in strings.items() if values and values[0]}
    names = tuple(f"fakeDim{dims + axis}" for axis in range(rank))
    yield ScientificDataset(
        index, f"Data-Set-{group.key.ref}", group.key.ref, shape, names, dtype, element, attributes, lost=tuple(lost)
    )


def _answered(scales: Element | FileFault | None, nbytes: int) -> bool:
    """Whether the library reads something for a dimension without values: the record has so many bytes."""
    return not isinstance(scales, FileFault) and element_length(scales) >= nbytes


def _strings(file: Hdf4File, tag: int, ref: int, count: int) -> list[str]:
    """The data's text, then each dimension's; empty where the group has none."""
    if not ref:
        return []
    parts = file.record(tag, ref).split(b"\0")
    return [text(parts[i]) if i < len(parts) else "" for i in range(count)]


def _attributes(file: Hdf4File, group: OldGroup, dtype: np.dtype[np.generic]) -> tuple[dict[str, JSON], list[str]]:
    found: dict[str, JSON] = {}
    lost: list[str] = []
    readers = (
        (
            ElementTag.COORDINATE_SYSTEM,
            "coordsys",
            lambda raw: {"coordsys": char_text(raw)} if raw.strip(b"\0") else {},
        ),
        (ElementTag.CALIBRATION, "calibration", _calibration),
        (ElementTag.RANGE, "range", lambda raw: _range(raw, dtype)),
    )
    for tag, name, reader in readers:
        if not group.ref(tag):
            continue
        try:
            found |= reader(file.record(tag, group.ref(tag)))
        except FileFault as error:
            lost.append(f"{name} ({error})")
    found |= _annotations(file, group.key)
    return found, lost


def _calibration(raw: bytes) -> dict[str, JSON]:
    """Four numbers and the type of the uncalibrated data, in one of two widths."""
    wide = len(raw) == 36
    if len(raw) < 18:
        raise CorruptFile(0, f"{len(raw)} bytes of calibration")
    numbers = np.frombuffer(raw, ">f8" if wide else ">f4", 4).tolist()
    last = np.frombuffer(raw, ">i4" if wide else ">i2", 1, 32 if wide else 16)
    return dict(zip(CALIBRATION, numbers, strict=True)) | {"calibrated_nt": plain(last)}


def _range(raw: bytes, dtype: np.dtype[np.generic]) -> dict[str, JSON]:
    if len(raw) < 2 * dtype.itemsize or dtype.kind == "S":
        raise CorruptFile(0, f"{len(raw)} bytes of two values")
    most, least = np.frombuffer(raw, dtype, 2).tolist()
    return {"valid_max": most, "valid_min": least}


def _annotations(file: Hdf4File, key: TagRef) -> dict[str, JSON]:
    """Descriptions and labels of a group."""
    found: dict[str, JSON] = {}
    for tag, name in ((ElementTag.DATA_DESCRIPTION, "remarks"), (ElementTag.DATA_LABEL, "anno_label")):
        mine = [
            raw[4:]
            for k, raw in file.records.items()
            if k.tag == tag and isinstance(raw, bytes) and len(raw) >= 4 and RecordCursor(raw).numbers(2) == list(key)
        ]
        found |= {f"{name}-{i}": char_text(raw) for i, raw in enumerate(mine, 1)}
    return found
