"""Bytes of the file around a place, asked for in windows whose size follows the size of the messages.

A chain of messages tells only one by one where the next begins. Where messages are small, a window holds many of them,
and one request brings all; where they are large, a window is no more than a head.
"""

from __future__ import annotations

from byteatlas.scanning.contract import Apart, Parse
from byteatlas.scanning.parsers import one
from byteatlas.types import Buffer, ByteRange

SMALLEST, LARGEST = 64 << 10, 8 << 20
MANY = 16
"""Messages that a window should hold, where they are small enough."""
SMALL = LARGEST // MANY


class Window:
    """The part of the file that was asked for last.

    Args:
        size: bytes of the file.
        head: bytes that are asked for at a place. 0: as many as pay for a request to a far machine.
    """

    __slots__ = ("_begin", "_data", "_head", "_seen", "size")

    def __init__(self, size: int, head: int = 0) -> None:
        self.size = size
        self._head, self._begin = head, 0
        self._data: Buffer = b""
        self._seen = [0, 0]

    def count(self, length: int) -> None:
        """A message of so many bytes was found."""
        self._seen[0] += 1
        self._seen[1] += length

    @property
    def mean(self) -> int:
        """Bytes of a message, as far as they were counted."""
        messages, total = self._seen
        return total // messages if messages else 0

    def _wanted(self) -> int:
        if self._head:
            return self._head
        mean = self.mean
        return min(max(SMALLEST, MANY * mean), LARGEST) if mean <= SMALL else 0

    def at(self, offset: int, least: int) -> Parse[memoryview]:
        """The bytes from a place on: at least so many, or all up to the end of the file."""
        least = max(0, min(least, self.size - offset))
        inside = offset - self._begin
        if not 0 <= inside <= inside + least <= len(self._data):
            wanted = self._wanted()
            length = min(max(least, wanted), max(0, self.size - offset))
            ask = Apart(offset, length) if wanted <= length < SMALLEST else ByteRange(offset, length)
            self._data = (yield from one(ask)) if length else b""
            self._begin, inside = offset, 0
        return memoryview(self._data)[inside:]
