"""Bytes in memory as a source: for tests, and for inline files."""

from __future__ import annotations

from collections.abc import Sequence

from byteatlas.errors import FetchFailed
from byteatlas.types import Buffer, ByteRange


class MemorySource:
    """Bytes under a name."""

    __slots__ = ("_data", "_url")

    def __init__(self, data: Buffer, url: str = "memory:") -> None:
        self._data, self._url = memoryview(data).cast("B"), url

    def __reduce__(self) -> tuple[type[MemorySource], tuple[bytes, str]]:
        return MemorySource, (bytes(self._data), self._url)

    @property
    def url(self) -> str:
        return self._url

    def size(self) -> int:
        return len(self._data)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > len(self._data):
                raise FetchFailed(self._url, f"only {len(self._data)} bytes are there", where)
        return [self._data[w.offset : w.end] for w in ranges]

    def read_all(self) -> Buffer:
        return self._data
