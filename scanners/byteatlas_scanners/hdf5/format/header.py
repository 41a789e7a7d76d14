"""Object headers, versions 1 and 2, with their continuations (format specification IV.A.1).

A header is read with one speculative request; continuations cost one more per level.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from byteatlas.errors import CorruptFile
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas_scanners.hdf5.format.wire import Form, verify

SPECULATIVE = 1024
"""Bytes asked for at an object header before its size is known."""
MOST_CONTINUATIONS = 4096
MOST_BYTES = 16 << 20

NIL, DATASPACE, LINK_INFO, DATATYPE, FILL_OLD, FILL, LINK, EXTERNAL = range(8)
LAYOUT, GROUP_INFO, PIPELINE, ATTRIBUTE = 0x08, 0x0A, 0x0B, 0x0C
MODIFIED_OLD, CONTINUATION, SYMBOL_TABLE, MODIFIED, ATTRIBUTE_INFO, REFERENCES = 0x0E, 0x10, 0x11, 0x12, 0x15, 0x16
LAST_KNOWN = 0x18
BOGUS = 0x09
"""A type that was used for tests of unknown types only."""

SHARED = 0x02
FAIL_IF_UNKNOWN = 0x80

SHAREABLE = 0x40
NEVER_SHARED = frozenset(range(LAST_KNOWN + 1)) - {BOGUS, DATASPACE, DATATYPE, FILL_OLD, FILL, PIPELINE, ATTRIBUTE}

BAD_FLAGS = frozenset(flags for flags in range(256) if flags & 6 == 6 or flags & 0x28 == 0x28 or flags & 0x30 == 0x20)
"""Combinations that libhdf5 does not accept: shared and never shared; was unknown, but not marked as such."""

_V1_PREFIX = struct.Struct("<BxHII").unpack_from
_V1_MESSAGE = struct.Struct("<HHB").unpack_from
_V2_MESSAGE = struct.Struct("<BHB").unpack_from


class Message(NamedTuple):
    """One header message: its type, flags and body; ``order`` is its creation index (attributes), or -1."""

    type: int
    flags: int
    body: bytes
    order: int = -1


class ObjectHeader(NamedTuple):
    """All messages of an object, in the file's order, without null messages and continuations."""

    address: int
    version: int
    messages: list[Message]

    def find(self, type_: int) -> Message | None:
        """The first message of a type, or None."""
        for message in self.messages:
            if message.type == type_:
                return message
        return None

    def all(self, type_: int) -> Iterator[Message]:
        return (m for m in self.messages if m.type == type_)


def read_header(form: Form, address: int) -> Parse[ObjectHeader]:
    """Read an object header and its continuations. Raises `CorruptFile`."""
    ask = form.some(address, SPECULATIVE)
    (first,) = buffers((yield (ask,)))
    head = bytes(first)
    try:
        if head[:4] == b"OHDR":
            return (yield from _version2(form, address, head))
        if head[:1] == b"\x01":
            return (yield from _version1(form, address, head))
    except (struct.error, IndexError) as error:
        raise CorruptFile(form.base + address, "an object header is cut off") from error
    raise CorruptFile(form.base + address, "no object header")


def check_dates(form: Form, header: ObjectHeader) -> None:
    """libhdf5 does not open an object whose modification time it does not understand."""
    for message in header.messages:
        if message.type == MODIFIED:
            sound = message.body[:1] == b"\x01"
        elif message.type == MODIFIED_OLD:
            sound = message.body[:14].isdigit()
        else:
            continue
        if not sound:
            raise CorruptFile(form.base + header.address, "a damaged modification time")


def _version1(form: Form, address: int, head: bytes) -> Parse[ObjectHeader]:
    _, count, _, size = _V1_PREFIX(head, 0)
    if size > MOST_BYTES:
        raise CorruptFile(form.base + address, f"an object header of {size} bytes")
    if 16 + size > len(head):
        (more,) = buffers((yield (form.block(address, 16 + size),)))
        head = bytes(more)
    messages: list[Message] = []
    pending = _messages1(form, head, 16, 16 + size, messages)
    if pending:
        yield from _continue(form, pending, messages, None)
    if len(messages) != count:
        raise CorruptFile(form.base + address, f"{len(messages)} header messages where {count} are announced")
    return ObjectHeader(address, 1, [m for m in messages if m.type not in (NIL, CONTINUATION)])


def _messages1(form: Form, data: bytes, at: int, end: int, out: list[Message]) -> list[tuple[int, int]]:
    """Append the messages of one version 1 block; returns (address, length) of continuations."""
    more: list[tuple[int, int]] = []
    while at + 8 <= end:
        kind, size, flags = _V1_MESSAGE(data, at)
        at += 8
        if at + size > end or size & 7:
            raise CorruptFile(form.base, "a header message that sticks out of its block, or is not aligned")
        if flags in BAD_FLAGS or (flags & (SHAREABLE | SHARED) and kind in NEVER_SHARED):
            raise CorruptFile(form.base, f"a header message with flags {flags:#x}")
        if kind == CONTINUATION:
            more.append(_target(form, data[at : at + size]))
        elif kind == REFERENCES:
            raise CorruptFile(form.base, "a count of references in an object header of version 1")
        elif kind > LAST_KNOWN or kind == BOGUS:
            _unknown(form, kind, flags)
        out.append(Message(kind, flags, data[at : at + size]))  # null messages too: they count
        at += size
    if at != end:
        raise CorruptFile(form.base, "a gap at the end of an object header of version 1")
    return more


def _version2(form: Form, address: int, head: bytes) -> Parse[ObjectHeader]:
    flags = head[5]
    if head[4] != 2 or flags & 0xC0:
        raise CorruptFile(form.base + address, f"an object header of version {head[4]}, flags {flags:#x}")
    at = 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    size = int.from_bytes(head[at : at + width], "little")
    at += width
    if size > MOST_BYTES:
        raise CorruptFile(form.base + address, f"an object header of {size} bytes")
    if at + size + 4 > len(head):
        (more,) = buffers((yield (form.block(address, at + size + 4),)))
        head = bytes(more)
    verify(head[: at + size + 4], form.base + address, "an object header")
    messages: list[Message] = []
    tracked = bool(flags & 0x04)
    pending = _messages2(form, head, at, at + size, tracked, messages)
    if pending:
        yield from _continue(form, pending, messages, tracked)
    return ObjectHeader(address, 2, messages)


def _messages2(form: Form, data: bytes, at: int, end: int, tracked: bool, out: list[Message]) -> list[tuple[int, int]]:
    """Append the messages of one version 2 block; a gap too small for a message may end it."""
    more: list[tuple[int, int]] = []
    prefix, new = 6 if tracked else 4, tuple.__new__  # a named tuple's own constructor takes three times as long
    while at + prefix <= end:
        kind, size, flags = _V2_MESSAGE(data, at)
        order = data[at + 4] | data[at + 5] << 8 if tracked else -1
        at += prefix
        if at + size > end:
            raise CorruptFile(form.base, "a header message sticks out of its block")
        if flags > 1 and (flags in BAD_FLAGS or (flags & (SHAREABLE | SHARED) and kind in NEVER_SHARED)):
            raise CorruptFile(form.base, f"a header message with flags {flags:#x}")
        if kind == CONTINUATION:
            more.append(_target(form, data[at : at + size]))
        elif kind:
            if kind > LAST_KNOWN or kind == BOGUS:
                _unknown(form, kind, flags)
            out.append(new(Message, (kind, flags, data[at : at + size], order)))
        at += size
    return more


def _continue(form: Form, pending: list[tuple[int, int]], messages: list[Message], tracked: bool | None) -> Parse[None]:
    """Follow continuations, all of one level at once. ``tracked`` None: version 1 blocks."""
    seen: set[int] = set()
    total = 0
    while pending:
        for place, size in pending:
            total += size
            if place in seen or len(seen) > MOST_CONTINUATIONS or total > MOST_BYTES:
                raise CorruptFile(form.base + place, "object header continuations run in a circle")
            seen.add(place)
        blocks = buffers((yield [form.block(place, size) for place, size in pending]))
        found: list[tuple[int, int]] = []
        for (place, size), block in zip(pending, blocks, strict=True):
            data = bytes(block)
            if tracked is None:
                found += _messages1(form, data, 0, size, messages)
                continue
            if data[:4] != b"OCHK":
                raise CorruptFile(form.base + place, "no continuation of an object header")
            verify(data, form.base + place, "an object header's continuation")
            found += _messages2(form, data, 4, size - 4, tracked, messages)
        pending = found


def _target(form: Form, body: bytes) -> tuple[int, int]:
    end = form.offsets + form.lengths
    if end > len(body):
        raise CorruptFile(form.offsets if form.offsets <= len(body) else 0, "a structure is cut off")
    address = int.from_bytes(body[: form.offsets], "little")
    if address == form.undefined:
        raise CorruptFile(form.base, "a continuation without an address")
    length = int.from_bytes(body[form.offsets : end], "little")
    if not length:
        raise CorruptFile(form.base, "a continuation of zero bytes")
    return address, length


def _unknown(form: Form, kind: int, flags: int) -> None:
    if flags & FAIL_IF_UNKNOWN:
        raise CorruptFile(form.base, f"a header message of unknown type {kind:#x} that must be understood")
