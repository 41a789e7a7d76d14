"""Parts of files as files: a window on one, and several parts one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import FetchFailed
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class SourceWindow:
    """``length`` bytes of a source from ``start`` on, as a source: a file inside of another one.

    ``name`` is its URL in messages; empty = the URL of the source.
    """

    inner: Source
    start: int
    length: int
    name: str = ""

    @property
    def url(self) -> str:
        return self.name or self.inner.url

    def size(self) -> int:
        return self.length

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        """As every source; what lies outside of the window is not there."""
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > self.length:
                raise FetchFailed(self.url, f"only {self.length} bytes are there", where)
        return self.inner.read([ByteRange(self.start + r.offset, r.length) for r in ranges])

    def read_all(self) -> Buffer:
        return self.read([ByteRange(0, self.length)])[0]


CONSTANT = -1
"""In the ``source`` column of parts: the bytes are among the constant ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Parts that follow each other, as columns of the same length.

    Attributes:
        source: the number of each part's file, or CONSTANT.
        offset, length: bytes in that file (or in ``constant``).
        ends: where each part ends in the whole: the running sum of ``length``.
        constant: bytes that are in no file.
    """

    source: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    ends: NDArray[np.int64]
    constant: bytes = b""

    def within(self, where: ByteRange) -> list[tuple[int, ByteRange]]:
        """The parts, or parts of them, that make a range of the whole: (file, place in it) each."""
        if not where.length:
            return []
        first = int(np.searchsorted(self.ends, where.offset, side="right"))
        last = int(np.searchsorted(self.ends, where.end, side="left"))
        found = []
        for k in range(first, last + 1):
            begin = int(self.ends[k] - self.length[k])
            low, high = max(where.offset, begin), min(where.end, int(self.ends[k]))
            if high > low:
                found.append((int(self.source[k]), ByteRange(int(self.offset[k]) + low - begin, high - low)))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class JoinedSource:
    """Parts of files, one after the other, as one source. ``open`` gives the file with a number."""

    url: str
    columns: Columns
    open: Callable[[int], Source]

    def size(self) -> int:
        return int(self.columns.ends[-1]) if len(self.columns.ends) else 0

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        """As every source: all parts of one file are fetched together."""
        for where in ranges:
            if where.offset < 0 or where.length < 0 or where.end > self.size():
                raise FetchFailed(self.url, f"only {self.size()} bytes are there", where)
        pieces = [self.columns.within(where) for where in ranges]
        wanted: dict[int, list[ByteRange]] = {}
        for piece in pieces:
            for number, where in piece:
                wanted.setdefault(number, []).append(where)
        found = {n: iter(self.open(n).read(some)) for n, some in wanted.items() if n != CONSTANT}
        constant = memoryview(self.columns.constant)
        return [
            b"".join([constant[w.offset : w.end] if n == CONSTANT else next(found[n]) for n, w in piece])
            for piece in pieces
        ]

    def read_all(self) -> Buffer:
        return self.read([ByteRange(0, self.size())])[0]
