"""Vgroups: names, classes, members (HDF 4.2 specification, DFTAG_VG)."""

from __future__ import annotations

from byteatlas.errors import Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.hdf4.format.directory import TagRef
from byteatlas_scanners.hdf4.format.records import RecordCursor

NEWEST, WITH_ATTRIBUTES = 4, 1
ENDING = 5
"""Bytes at a record's end, in which its version stands: one more than it should be, as it has always been."""


@dataclass(frozen=True, slots=True)
class Vgroup:
    """One group.

    Attributes:
        members: tags and reference numbers, in order.
        attributes: reference numbers of the Vdatas that are its attributes.
    """

    ref: int
    name: str
    kind: str
    members: tuple[TagRef, ...]
    attributes: tuple[int, ...] = ()


def parse_vgroup(ref: int, raw: bytes, base: int) -> Vgroup:
    """Raises `CorruptFile`, `Unsupported`."""
    if version_of(raw, base) > NEWEST:
        raise Unsupported(Reason.LAYOUT, f"a Vgroup of version {version_of(raw, base)}")
    record = RecordCursor(raw, base)
    count = record.number(2)
    tags, refs = record.numbers(count), record.numbers(count)
    name, kind = record.name(), record.name()
    record.take(4)
    attributes: list[int] = []
    if version_of(raw, base) == NEWEST and record.number(4) & WITH_ATTRIBUTES:
        attributes = record.numbers(2 * min(record.number(4), len(raw)))[1::2]
    return Vgroup(ref, name, kind, tuple(map(TagRef, tags, refs)), tuple(attributes))


def version_of(raw: bytes, base: int) -> int:
    """The version of a Vgroup's or a Vdata's record."""
    end = RecordCursor(raw[-ENDING:], base)
    return end.number(2)
