"""The sections of a message: `parse` for bytes at hand, `walk` for whoever fetches headers only.

`walk` is a generator of byte ranges within the message. A scanner that has only the beginning of a message, or its
header sections, answers from what it has and fetches what is missing; the values of grid points are never asked for::

    walking = walk()
    wanted = next(walking)
    try:
        while True:
            wanted = walking.send(data[wanted.offset : wanted.end])
    except StopIteration as end:
        message = end.value
"""

from __future__ import annotations

from typing import cast

from byteatlas.codecs.grib.sections import edition1, edition2
from byteatlas.codecs.grib.sections.edition2 import END, Reading
from byteatlas.codecs.grib.sections.values import GribMessage
from byteatlas.codecs.grib.sections.wire import unsigned
from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.types import Buffer, ByteRange

MAGIC = b"GRIB"
LEAST = {1: 8 + 28 + 11 + 4, 2: 16 + 21 + 14 + 9 + 11 + 6 + 5 + 4}
"""Bytes of the shortest message of each edition."""


def walk() -> Reading:
    """Reads one message: yields `ByteRange` of the message, is sent exactly these bytes, returns a `GribMessage`.

    Each range begins after the beginning of the one before it. Raises `CorruptFile` with the offset in the message,
    and `Unsupported` (reason ``layout``) for other editions.
    """
    head = yield ByteRange(0, 8)
    if head[:4] != MAGIC:
        raise CorruptFile(0, "a message begins with GRIB")
    edition = unsigned(head, 7, 1)
    if edition not in LEAST:
        raise Unsupported("layout", f"a message of GRIB edition {edition}; only 1 and 2 are read")
    if edition == 1:
        total = unsigned(head, 4, 3)
        _enough(total, edition)
        return (yield from edition1.read(total))
    tail = yield ByteRange(8, 8)
    total = unsigned(tail, 0, 8)
    _enough(total, edition)
    return (yield from edition2.read(total, unsigned(head, 6, 1)))


def _enough(total: int, edition: int) -> None:
    if total < LEAST[edition]:
        raise CorruptFile(4, f"a message of {total} bytes")


def parse(data: Buffer) -> GribMessage:
    """The sections of the message that ``data`` begins with; what follows it is not looked at.

    Raises `CorruptFile` (a message that is cut off, or has no end mark), `Unsupported`.
    """
    view = memoryview(data)
    walking = walk()
    wanted = next(walking)
    try:
        while True:
            found = view[wanted.offset : wanted.end]
            if len(found) < wanted.length:
                raise CorruptFile(len(view), f"the message ends before byte {wanted.end}")
            wanted = walking.send(found)
    except StopIteration as end:
        message = cast(GribMessage, end.value)
    if view[message.length - 4 : message.length] != END:
        raise CorruptFile(message.length - 4, "the message does not end with 7777")
    return message


def grid_section(data: Buffer, number: int) -> tuple[int, bytes, bytes]:
    """Edition, grid section and section 1 of a field; the message may end right after its grid section.

    Raises `CorruptFile`, `Unsupported`.
    """
    view = memoryview(data)
    if view[:4] != MAGIC or len(view) < 16:
        raise CorruptFile(0, "a message begins with GRIB")
    match view[7]:
        case 1:
            return 1, *_sections1(view, number)
        case 2:
            return 2, *_sections2(view, number)
    raise Unsupported("layout", f"a message of GRIB edition {view[7]}; only 1 and 2 are read")


def _section(view: memoryview, place: int, size: int) -> bytes:
    """A section whose length is a number of ``size`` bytes. Raises `CorruptFile`."""
    length = unsigned(view, place, size)
    if length < size + 1 or place + length > len(view):
        raise CorruptFile(place, f"a section of {length} bytes in the first {len(view)} of a message")
    return bytes(view[place : place + length])


def _sections1(view: memoryview, number: int) -> tuple[bytes, bytes]:
    if number:
        raise CorruptFile(0, f"field {number} of a message of edition 1, which has one")
    product = _section(view, edition1.HEAD, 3)
    if unsigned(product, 7, 1) & edition1.GRID_PRESENT:
        return _section(view, edition1.HEAD + len(product), 3), product
    return b"", product


def _sections2(view: memoryview, number: int) -> tuple[bytes, bytes]:
    place, fields = edition2.HEAD, 0
    identification = grid = b""
    while True:
        length, section = unsigned(view, place, 4), unsigned(view, place + 4, 1)
        if length < edition2.LEAST.get(section, 5):
            raise CorruptFile(place, f"section {section} of {length} bytes")
        if section == 1:
            identification = _section(view, place, 4)
        elif section == 3:
            grid = _section(view, place, 4)
        fields += section == 7
        if grid and section in (3, 4) and fields == number:
            return grid, identification
        place += length
