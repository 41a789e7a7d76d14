"""Reading numbers and text from a record, with a bound."""

from __future__ import annotations

from byteatlas.errors import CorruptFile


class RecordCursor:
    """Goes through a record. Big endian throughout. Raises `CorruptFile` where it ends too early."""

    __slots__ = ("at", "base", "data")

    def __init__(self, data: bytes, base: int = 0) -> None:
        self.data, self.base, self.at = data, base, 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if count < 0 or end > len(self.data):
            raise CorruptFile(self.base + self.at, f"a record ends before {count} bytes are read")
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self, size: int, *, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "big", signed=signed)

    def numbers(self, count: int, size: int = 2) -> list[int]:
        raw = self.take(count * size)
        return [int.from_bytes(raw[i : i + size], "big") for i in range(0, len(raw), size)]

    def name(self) -> str:
        """Text behind its length."""
        return text(self.take(self.number(2)))


def text(raw: bytes) -> str:
    """Up to its first NUL; UTF-8 where it is, else Latin-1."""
    raw = raw.split(b"\0", 1)[0]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")
