"""The external file list message: raw data of a contiguous dataset in other files (format specification IV.A.2.h)."""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas_scanners.hdf5.format.wire import Cursor, Form
from byteatlas_scanners.hdf5.heaps.local import heap_text, read_local_heap


class Slot(NamedTuple):
    """Part of one external file: ``size`` None = as much as is needed."""

    name: str
    offset: int
    size: int | None


def read_slots(form: Form, body: bytes) -> Parse[tuple[Slot, ...]]:
    """The external file list of a dataset. Raises `CorruptFile`."""
    cursor = Cursor(form, body)
    version = cursor.u8()
    cursor.skip(3)
    _, used, heap = cursor.u16(), cursor.u16(), cursor.address()
    if version != 1 or heap is None:
        raise CorruptFile(form.base, "an external file list that is damaged")
    names = yield from read_local_heap(form, heap)
    unlimited = (1 << (8 * form.lengths)) - 1
    found = []
    for _ in range(used):
        name, offset, size = cursor.length(), cursor.length(), cursor.length()
        text = heap_text(names, name).decode("utf-8", "replace")
        found.append(Slot(text, offset, None if size == unlimited else size))
    return tuple(found)
