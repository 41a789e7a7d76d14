"""Chunks that are values under keys: which there are, in columns, without an object for each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import NotFound
from byteatlas.manifest.model import MISSING, ChunkManifest, Rows, SourceInfo, unpickled
from byteatlas.meta.keys import chunk_keys, parse_key
from byteatlas.meta.model import ChunkKeys
from byteatlas.types import Shape
from byteatlas.values import dataclass

LONGEST = 18
"""Digits of a number that fits into 64 bits for sure."""


def flat_chunks(keys: ChunkKeys, names: Sequence[str], counts: Shape) -> NDArray[np.int64]:
    """For each key below an array the chunk's number in the grid, -1 for what is no chunk's key of this grid.

    >>> flat_chunks(ChunkKeys("v2", "."), ["0.1", ".zarray", "1.0", "9.9"], (2, 2)).tolist()
    [1, -1, 2, -1]
    """
    found = _all_numbers(keys, names, len(counts))
    if found is None:
        return np.array([_one(keys, name, counts) for name in names], np.int64)
    flat, inside = np.zeros(len(names), np.int64), np.ones(len(names), np.bool_)
    for axis, count in enumerate(counts):
        inside &= found[:, axis] < count
        flat = flat * count + np.where(inside, found[:, axis], 0)
    return np.where(inside, flat, -1)


def _one(keys: ChunkKeys, name: str, counts: Shape) -> int:
    index = parse_key(keys, name, len(counts))
    if index is None or not all(i < n for i, n in zip(index, counts, strict=True)):
        return -1
    return sum(i * math.prod(counts[axis + 1 :]) for axis, i in enumerate(index))


def _all_numbers(keys: ChunkKeys, names: Sequence[str], ndim: int) -> NDArray[np.int64] | None:
    """The numbers of keys that are all of the usual form, a row for each; None where one may not be."""
    head = f"c{keys.separator}" if keys.kind == "default" else ""
    if not ndim or not names or keys.suffix:
        return None
    text = "\n" + "\n".join(names) + "\n"
    if not text.isascii() or text.count("\n") != len(names) + 1:
        return None
    if head:
        if text.count("\n" + head) != len(names):
            return None
        text = text.replace("\n" + head, "\n")
    if not _is_table(np.frombuffer(text.encode(), np.uint8), ord(keys.separator), ndim):
        return None
    return np.fromstring(text.replace(keys.separator, " "), np.int64, sep=" ").reshape(-1, ndim)


def _is_table(text: NDArray[np.uint8], mark: int, ndim: int) -> bool:
    """Whether each line has this many numbers between its marks: digits, no zero before others, of 64 bits for sure."""
    ends = np.flatnonzero((text < ord("0")) | (text > ord("9")))
    line = np.full(ndim, mark, np.uint8)
    line[-1] = ord("\n")
    found = text[ends]
    if found[0] != ord("\n") or (len(ends) - 1) % ndim or not bool((found[1:].reshape(-1, ndim) == line).all()):
        return False
    digits = np.diff(ends) - 1
    if int(digits.min()) < 1 or int(digits.max()) > LONGEST:
        return False
    return not bool(((text[ends[:-1] + 1] == ord("0")) & (digits > 1)).any())


class ValueSources(Sequence[SourceInfo]):
    """The files of one array's chunks, each made when it is asked for.

    Args:
        prefix: URL of the array, with a slash at its end.
        chunk: numbers of the chunks that are there, sorted.
        time: modification times in nanoseconds, 0 where there is none; or None.
        stamps: etags, in place of times.
    """

    __slots__ = ("_counts", "_keys", "_prefix", "chunk", "size", "stamps", "time")

    def __init__(
        self,
        prefix: str,
        keys: ChunkKeys,
        counts: Shape,
        chunk: NDArray[np.int64],
        size: NDArray[np.int64],
        time: NDArray[np.int64] | None,
        stamps: Sequence[str | None] | None,
    ) -> None:
        self._prefix, self._keys, self._counts = prefix, keys, counts
        self.chunk, self.size, self.time, self.stamps = chunk, size, time, stamps

    def __len__(self) -> int:
        return len(self.chunk)

    @overload
    def __getitem__(self, index: int) -> SourceInfo: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SourceInfo, ...]: ...
    def __getitem__(self, index: int | slice) -> SourceInfo | tuple[SourceInfo, ...]:
        if isinstance(index, slice):
            return tuple(self._made(range(*index.indices(len(self)))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return next(self._made(range(place, place + 1)))

    def __iter__(self) -> Iterator[SourceInfo]:
        for begin in range(0, len(self), 1 << 12):
            yield from self._made(range(begin, min(begin + (1 << 12), len(self))))

    def _made(self, places: range) -> Iterator[SourceInfo]:
        numbers = np.fromiter(places, np.int64, len(places))
        for i, key in zip(places, chunk_keys(self._keys, self._counts, self.chunk[numbers]), strict=True):
            stamp = str(int(self.time[i])) if self.time is not None else self.stamps[i] if self.stamps else None
            yield SourceInfo(self._prefix + key, int(self.size[i]), stamp)


@dataclass(frozen=True, slots=True, eq=False)
class KeyManifest:
    """An array each chunk of which is the whole value under a key of its own; other chunks are missing."""

    grid_shape: Shape
    files: ValueSources

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, (self.load(),)

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return cast("tuple[SourceInfo, ...]", self.files)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        there, n = self.files.chunk, len(chunks)
        if not len(there):
            return Rows(np.full(n, MISSING, np.int32), np.zeros(n, np.uint64), np.zeros(n, np.uint64))
        place = np.minimum(np.searchsorted(there, chunks), len(there) - 1)
        found = there[place] == chunks
        source = np.where(found, place, MISSING).astype(np.int32)
        length = np.where(found, self.files.size[place], 0).astype(np.uint64)
        return Rows(source, np.zeros(n, np.uint64), length)

    def inline(self, chunk: int) -> bytes:
        raise NotFound(f"chunk {chunk} is not inline")

    def load(self) -> ChunkManifest:
        rows = self.rows(np.arange(math.prod(self.grid_shape), dtype=np.int64))
        return ChunkManifest(self.grid_shape, tuple(self.files), rows.source, rows.offset, rows.length)
