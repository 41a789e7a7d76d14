"""Local heaps (format specification III.D): the names of old groups and of external files, in one block."""

from __future__ import annotations

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas_scanners.hdf5.format.wire import Cursor, Form

END_OF_FREE = 1
"""The offset that ends the list of free blocks."""


def read_local_heap(form: Form, address: int) -> Parse[bytes]:
    """The data segment of a local heap: names, each ended by NUL."""
    (data,) = buffers((yield (form.block(address, 8 + 2 * form.lengths + form.offsets),)))
    cursor = Cursor(form, data)
    cursor.expect(b"HEAP", 0)
    cursor.skip(3)
    size, free = cursor.length(), cursor.length()
    segment = cursor.address()
    if segment is None:
        raise CorruptFile(form.base + address, "a local heap without data")
    (names,) = buffers((yield (form.block(segment, size),)))
    names = bytes(names)
    _check_free(form, names, free)
    return names


def _check_free(form: Form, names: bytes, at: int) -> None:
    """The list of free blocks must be sound: libhdf5 checks it before it reads a name (H5HL__fl_deserialize)."""
    width = form.lengths
    nowhere = (END_OF_FREE, (1 << (8 * width)) - 1)
    for _ in range(len(names) // (2 * width) + 1):
        if at in nowhere:
            return
        if at + 2 * width > len(names):
            break
        size = int.from_bytes(names[at + width : at + 2 * width], "little")
        if at + size > len(names):
            break
        at = int.from_bytes(names[at : at + width], "little")
    raise CorruptFile(form.base, "a local heap whose list of free blocks is damaged")


def heap_text(names: bytes, at: int) -> bytes:
    """The NUL-terminated text at one offset of a local heap's data. Raises `CorruptFile`."""
    end = names.find(b"\0", at)
    if at >= len(names) or end < 0:
        raise CorruptFile(at, "a name outside of its local heap")
    return names[at:end]
