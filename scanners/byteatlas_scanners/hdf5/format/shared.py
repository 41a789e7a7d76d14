"""Shared header messages: committed datatypes, and the table of shared messages (format specification IV.A.2, III.H).

What is shared by many objects is read once per file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.format.dataspace import Dataspace
from byteatlas_scanners.hdf5.format.header import SHARED, Message, read_header
from byteatlas_scanners.hdf5.format.types import Datatype
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, verify
from byteatlas_scanners.hdf5.heaps.fractal import fetch
from byteatlas_scanners.hdf5.heaps.fractal_header import Heap, read_heap

T = TypeVar("T")

IN_HEAP, COMMITTED = 1, 2


OLD_FILL, FILL = 4, 5
"""Message types of fill values: both are in the index of the new one."""


def in_heap(identifier: bytes) -> bytes:
    """The reference to a message in the heap of shared messages by its id (version 3 of section IV.A.2's layout)."""
    return bytes((3, IN_HEAP)) + identifier


@dataclass(slots=True)
class Shared:
    """Resolves shared messages of one file; keeps them, and what the messages of siblings repeat.

    Attributes:
        pairs: types and extents of attributes.
        attributes: whole attributes by their messages.
        empty: attribute info messages that say that no attribute is in a heap.
    """

    form: Form
    messages: dict[tuple[int, int | bytes], bytes] = field(default_factory=dict)
    heaps: dict[int, Heap] = field(default_factory=dict)
    pairs: dict[bytes, tuple[Datatype, Dataspace, int]] = field(default_factory=dict)
    decoded: dict[tuple[object, bytes], Any] = field(default_factory=dict)
    attributes: dict[Message, Any] = field(default_factory=dict)
    empty: set[bytes] = field(default_factory=set)
    _table: list[tuple[int, int]] | None = None

    def once(self, decode: Callable[[Form, bytes], T], body: bytes) -> T:
        """What a message decodes to; equal messages, which many datasets have, are decoded once."""
        found: T | None = self.decoded.get((decode, body))
        if found is None:
            found = self.decoded[decode, body] = decode(self.form, body)
        return found

    def body(self, message: Message) -> Parse[bytes]:
        """A message's body, wherever it is stored. Raises `CorruptFile`."""
        if not message.flags & SHARED:
            return message.body
            yield ()  # a generator, though the usual case asks for nothing
        return (yield from self.resolve(message.type, message.body))

    def resolve(self, kind: int, reference: bytes, depth: int = 0) -> Parse[bytes]:
        """What a shared-message reference stands for."""
        key = self._key(reference)
        if (kind, key) in self.messages:
            return self.messages[kind, key]
        if isinstance(key, bytes):
            body = yield from self._from_heap(kind, key)
        else:
            header = yield from read_header(self.form, key)
            found = header.find(kind)
            if found is None or depth > 4:
                raise CorruptFile(self.form.base + key, f"no message of type {kind:#x} where a shared one should be")
            body = (yield from self.resolve(kind, found.body, depth + 1)) if found.flags & SHARED else found.body
        self.messages[kind, key] = body
        return body

    def _key(self, reference: bytes) -> int | bytes:
        """The address of an object header, or an id in the heap of shared messages."""
        cursor = Cursor(self.form, reference)
        version, kind = cursor.u8(), cursor.u8()
        if version == 1:
            cursor.skip(6 + self.form.lengths)
        elif version == 3 and kind == IN_HEAP:
            return cursor.take(8)
        elif version not in (2, 3) or (version == 3 and kind != COMMITTED):
            raise CorruptFile(self.form.base, f"a shared message of version {version}, kind {kind}")
        address = cursor.address()
        if address is None:
            raise CorruptFile(self.form.base, "a shared message without an address")
        return address

    def load_table(self) -> Parse[None]:
        """Read the table of shared messages, if there is one. A file whose table is damaged cannot be read."""
        if self.form.shared_table is not None:
            self._table = yield from self._read_table()

    def _from_heap(self, kind: int, key: bytes) -> Parse[bytes]:
        if self._table is None:
            self._table = yield from self._read_table()
        bit = FILL if kind == OLD_FILL else kind
        address = next((heap for types, heap in self._table if types >> bit & 1), None)
        if address is None:
            raise CorruptFile(self.form.base, f"no index of shared messages of type {kind:#x}")
        if address not in self.heaps:
            self.heaps[address] = yield from read_heap(self.form, address)
        (body,) = yield from fetch(self.form, self.heaps[address], [key])
        return body

    def _read_table(self) -> Parse[list[tuple[int, int]]]:
        """(message types as bits, heap address) of each index."""
        form = self.form
        if form.shared_table is None:
            raise CorruptFile(form.base, "a shared message in a file without a table of them")
        size = 4 + form.shared_indexes * (14 + 2 * form.offsets) + 4
        (data,) = buffers((yield (form.block(form.shared_table, size),)))
        verify(data, form.base + form.shared_table, "the table of shared messages")
        cursor = Cursor(form, data)
        if cursor.take(4) != b"SMTB":
            raise CorruptFile(form.base + form.shared_table, "no table of shared messages")
        found = []
        for _ in range(form.shared_indexes):
            version, kind, types = cursor.u8(), cursor.u8(), cursor.u16()
            if version or kind > 1:
                raise CorruptFile(form.base + form.shared_table, "an index of shared messages of unknown kind")
            cursor.skip(4 + 2 + 2 + 2 + form.offsets)
            heap = cursor.address()
            if heap is not None:
                found.append((types, heap))
        return found
