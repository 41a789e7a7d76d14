"""Part of a source, as a source: a member of an archive, a value inside of a larger file."""

from __future__ import annotations

from collections.abc import Sequence

from byteatlas.errors import FetchFailed
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """``length`` bytes of a source from ``start`` on, under a name of their own."""

    inner: Source
    start: int
    length: int
    name: str

    @property
    def url(self) -> str:
        return self.name

    def size(self) -> int:
        return self.length

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > self.length:
                raise FetchFailed(self.name, f"only {self.length} bytes are there", where)
        return self.inner.read([ByteRange(self.start + r.offset, r.length) for r in ranges])

    def read_all(self) -> Buffer:
        return self.inner.read([ByteRange(self.start, self.length)])[0]
