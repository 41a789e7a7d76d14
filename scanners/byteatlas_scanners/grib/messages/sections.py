"""The sections of a message that say what it is: a `RawField` for each of its fields.

Edition 2: sections 2 to 7, 3 to 7 or 4 to 7 may be repeated within one message; each round ends with the data and
gives a field. Edition 1: product, grid (if there is one), bitmap (if there is one), data.
"""

from __future__ import annotations

from typing import NamedTuple

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import gather, one
from byteatlas.types import ByteRange
from byteatlas_scanners.grib.messages.chain import Message
from byteatlas_scanners.grib.messages.indicator import END

MOST_SECTION = 64 << 20
"""Bytes of a section (other than bitmap and data) that are looked at; the longest lists of grids have less."""
PACKING = 24
"""Bytes at the beginning of section 5 that are kept: number of values, template, reference, scales, bits."""
NO_BITMAP = 255


class RawField(NamedTuple):
    """One field: the bytes of its sections as they are.

    Attributes:
        number: of the field within its message, from 0.
        alone: the message has no other field.
        identification: edition 2's section 1; of edition 1 empty.
        grid: edition 2's section 3, edition 1's section 2; empty where the grid is a number in a catalogue.
        product: edition 2's section 4, edition 1's section 1.
        packing: the beginning of edition 2's section 5, edition 1's section 4.
        bitmap: edition 2's bitmap indicator (255: none, 254: the one given before), edition 1: 0 or 255.
    """

    message: Message
    number: int
    alone: bool
    identification: bytes
    local: bytes
    grid: bytes
    product: bytes
    packing: bytes
    bitmap: int


class _Reader:
    """The bytes of one message, by place within it."""

    __slots__ = ("message",)

    def __init__(self, message: Message) -> None:
        self.message = message

    def take(self, at: int, length: int) -> Parse[bytes]:
        """Raises `CorruptFile` beyond the message's end."""
        message = self.message
        if at < 0 or length < 0 or at + length > message.length - len(END):
            raise CorruptFile(message.offset + at, f"a section of {length} bytes does not fit into its message")
        if at + length <= len(message.head):
            return message.head[at : at + length]
        return bytes((yield from one(ByteRange(message.offset + at, length))))


def read_fields(messages: list[Message]) -> Parse[list[list[RawField] | FileFault]]:
    """The fields of messages, side by side; for a message whose sections are damaged the fault."""
    return (yield from gather([_fields(message) for message in messages]))


def _fields(message: Message) -> Parse[list[RawField]]:
    if message.edition == 1:
        return [(yield from _field1(message))]
    return (yield from _fields2(message))


def _fields2(message: Message) -> Parse[list[RawField]]:
    reader, at, last = _Reader(message), 16, message.length - len(END)
    kept = {1: b"", 2: b"", 3: b"", 4: b"", 5: b""}
    bitmap = NO_BITMAP
    found: list[RawField] = []
    while at < last:
        begin = yield from reader.take(at, 5)
        length, number = int.from_bytes(begin[:4], "big"), begin[4]
        if length < 5 or at + length > last:
            raise CorruptFile(message.offset + at, f"section {number} of {length} bytes does not fit into its message")
        match number:
            case 1 | 2 | 3 | 4:
                if length > MOST_SECTION:
                    raise CorruptFile(message.offset + at, f"section {number} has {length} bytes")
                kept[number] = yield from reader.take(at, length)
            case 5:
                kept[5] = yield from reader.take(at, min(length, PACKING))
            case 6:
                bitmap = (yield from reader.take(at, 6))[5]
            case 7:
                if not (kept[3] and kept[4] and kept[5]):
                    raise CorruptFile(message.offset + at, "data without the sections that describe them")
                found.append(RawField(message, len(found), True, *kept.values(), bitmap))
            case _:
                raise CorruptFile(message.offset + at, f"a section with the number {number}")
        at += length
    if not found:
        raise CorruptFile(message.offset, "a message without data")
    return found if len(found) == 1 else [field._replace(alone=False) for field in found]


def _field1(message: Message) -> Parse[RawField]:
    reader, at = _Reader(message), 8
    product = yield from _section1(reader, at)
    if len(product) < 28:
        raise CorruptFile(message.offset + at, f"a product section of {len(product)} bytes")
    at += len(product)
    grid = b""
    if product[7] & 0x80:
        grid = yield from _section1(reader, at)
        at += len(grid)
    bitmap = NO_BITMAP
    if product[7] & 0x40:
        bitmap = 0
        at += int.from_bytes((yield from reader.take(at, 3)), "big")
    packing = yield from reader.take(at, 11)
    return RawField(message, 0, True, b"", b"", grid, product, packing, bitmap)


def _section1(reader: _Reader, at: int) -> Parse[bytes]:
    length = int.from_bytes((yield from reader.take(at, 3)), "big")
    if length < 8:
        raise CorruptFile(reader.message.offset + at, f"a section of {length} bytes")
    return (yield from reader.take(at, length))
