"""Global heap collections (format specification III.E): where variable-length values and references live."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers, gather
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.wire import Form

USUAL_SIZE = LEAST_SIZE = 4096
MOST_BYTES = 1 << 30
HEAD = 16
"""Bytes of a collection's head, and of each object's: libhdf5 fills both up to multiples of 8."""


@dataclass(slots=True)
class GlobalHeaps:
    """The collections of one file that were asked for. What failed to read is kept as its error."""

    form: Form
    collections: dict[int, dict[int, bytes] | FileFault] = field(default_factory=dict)
    held: int = 0

    def load(self, addresses: Iterable[int]) -> Parse[None]:
        """Read collections, all at once; those at hand already cost nothing. Errors are raised by `get`."""
        fresh = [a for a in dict.fromkeys(addresses) if a not in self.collections]
        if not fresh:
            return
        found = yield from gather([self._read(address) for address in fresh])
        self.collections.update(zip(fresh, found, strict=True))

    def get(self, address: int, index: int) -> bytes:
        """One object's bytes. Raises `CorruptFile` when it is not there, or its collection was not loaded."""
        collection = self.collections.get(address)
        if isinstance(collection, FileFault):
            raise collection
        if collection is None or index not in collection:
            raise CorruptFile(self.form.base + address, f"no object {index} in the global heap")
        return collection[index]

    def _read(self, address: int) -> Parse[dict[int, bytes]]:
        form = self.form
        (data,) = buffers((yield (form.some(address, USUAL_SIZE),)))
        data = bytes(data)
        if data[:5] != b"GCOL\x01":
            raise CorruptFile(form.base + address, "no global heap collection")
        size = int.from_bytes(data[8 : 8 + form.lengths], "little")
        self.held += size
        if size < LEAST_SIZE:
            raise CorruptFile(form.base + address, f"a global heap collection of {size} bytes")
        if size > form.size or self.held > MOST_BYTES:
            raise CorruptFile(form.base + address, f"global heap collections of {self.held} bytes")
        if size > len(data):
            (data,) = buffers((yield (form.block(address, size),)))
            data = bytes(data)
        return _objects(form, data, size)


def _objects(form: Form, data: bytes, size: int) -> dict[int, bytes]:
    """The objects by index: each has its index, a reference count, and its length."""
    at = head = HEAD
    found: dict[int, bytes] = {}
    read = _HEADS[form.lengths]
    while at + head <= size:
        index, length = read.unpack_from(data, at)
        begin = at + head
        at += head + (length + 7 & -8) if index else length  # free space, whose length counts its head
        if at > size or at < begin or index in found:
            raise CorruptFile(form.base, "a global heap object outside of its collection")
        if index:
            found[index] = data[begin : begin + length]
    return found


_HEADS = {2: struct.Struct("<H6xH6x"), 4: struct.Struct("<H6xI4x"), 8: struct.Struct("<H6xQ")}
