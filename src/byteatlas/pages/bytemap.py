"""Where the bytes lie: each file as a bar, in the colours of the arrays whose chunks lie there.

Of many files, neighbours share a column: files go from left to right, the bytes of each from the top down.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.describe import StorageFacts, stored_facts
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import WHOLE, Manifest
from byteatlas.manifest.ops.common import blocks
from byteatlas.pages.numbers import size_text
from byteatlas.values import dataclass

BINS = 240
"""Parts into which a bar is divided; each has the colour of the array with most bytes in it."""
DEPTH = 60
"""The same of a column."""
MOST_FILES = 12
"""Files with bars of their own beside columns; without columns there are twice as many."""
MOST_COLUMNS = 160
MOST_CHUNKS = 40_000_000
COLOURS = 8
"""Arrays with a colour of their own: those with the most bytes. All others share one."""


@dataclass(frozen=True, slots=True)
class BarPart:
    """Bins ``[begin, end)`` of a bar, the colour of the array there (-1: none of those with a colour), and in words
    which bytes these are."""

    begin: int
    end: int
    colour: int
    where: str = ""


@dataclass(frozen=True, slots=True)
class FileBar:
    """One file. ``covered``: the part of its bytes that chunks refer to, per cent."""

    url: str
    size: str
    covered: int
    width: float
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class FileColumn:
    """Files ``[begin, end)`` of the map's, one upon the other. ``size``: of all of them."""

    begin: int
    end: int
    first: str
    last: str
    size: str
    covered: int
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class ByteMap:
    """Bars for the files with most bytes, and, where there are ``more`` files, columns for all ``files``."""

    bars: tuple[FileBar, ...]
    more: int
    files: int
    columns: tuple[FileColumn, ...] = ()


_Chunks = tuple[int, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]
"""The colour, the files by number, the offsets and lengths of some chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class _Files:
    """The files of some manifests, by number. ``sizes``: as known, at least to the end of the last chunk."""

    urls: dict[str, int]
    sizes: NDArray[np.int64]


def byte_map(
    arrays: Mapping[str, Manifest],
    colours: Mapping[str, int],
    naming: Callable[[str], str] = str,
    facts: Mapping[str, StorageFacts] | None = None,
) -> ByteMap | None:
    """The bars of some arrays; None where nothing lies in files, or where there are too many chunks to look at.

    Args:
        naming: what a file is called.
        facts: of the arrays, where they are known; finding them takes a walk over all chunks.
    """
    if sum(int(np.prod(m.grid_shape, dtype=object)) for m in arrays.values()) > MOST_CHUNKS:
        return None
    known = facts or {path: stored_facts(manifest) for path, manifest in arrays.items()}
    files = _files(arrays, known)
    if not files.urls:
        return None
    few = len(files.urls) <= 2 * MOST_FILES
    n = len(files.urls)
    chosen = np.arange(n) if few else np.sort(np.argsort(-files.sizes, kind="stable")[:MOST_FILES])
    rows = np.full(n, -1)
    rows[chosen] = np.arange(len(chosen))
    borders = np.linspace(0, n, min(n, MOST_COLUMNS) + 1).astype(int)
    bars = Spread(rows, files.sizes, BINS)
    columns = Spread(np.searchsorted(borders, np.arange(n), side="right") - 1, files.sizes, DEPTH)
    for colour, file, offset, length in _chunks(arrays, colours, files):
        bars.add(colour, file, offset, length)
        if not few:
            columns.add(colour, file, offset, length)
    lines = () if few else _columns(columns.result(), files, borders.tolist(), naming)
    return ByteMap(_bars(bars.result(), files, chosen, naming), n - len(chosen), n, lines)


def colours_of(sizes: Mapping[str, int]) -> dict[str, int]:
    """A number for each of the arrays with most bytes."""
    return {path: i for i, path in enumerate(sorted(sizes, key=lambda path: -sizes[path])[:COLOURS]) if sizes[path]}


def _files(arrays: Mapping[str, Manifest], facts: Mapping[str, StorageFacts]) -> _Files:
    """The files in which chunks lie, in the order of the map; files that are made of others do not count."""
    known: dict[str, int] = {}
    ends: dict[str, int] = {}
    for path, manifest in arrays.items():
        places = {place.url: place for place in facts[path].sources if place.bytes}
        for info in manifest.sources:
            if (place := places.get(info.url)) is not None and not isinstance(info, JoinedInfo):
                ends[info.url] = max(ends.get(info.url, 1), place.end)
                known[info.url] = max(known.get(info.url, 0), info.size or 0)
    sizes = [max(known[url], end) for url, end in ends.items()]
    return _Files({url: i for i, url in enumerate(ends)}, np.array(sizes, np.int64))


def _chunks(arrays: Mapping[str, Manifest], colours: Mapping[str, int], files: _Files) -> Iterator[_Chunks]:
    """All chunks that are parts of files, many at a time."""
    for path, manifest in arrays.items():
        numbers = np.array([files.urls.get(info.url, -1) for info in manifest.sources], np.int64)
        for _, rows in blocks(manifest):
            there = np.flatnonzero((rows.source >= 0) & (rows.length != WHOLE))
            file = numbers[rows.source[there]]
            if (file < 0).any():
                there, file = there[file >= 0], file[file >= 0]
            if len(there):
                offset, length = rows.offset[there].astype(np.int64), rows.length[there].astype(np.int64)
                yield colours.get(path, COLOURS), file, offset, length


class Spread:
    """Bytes of chunks by row, colour (the last: all others) and bin.

    Args:
        rows: of each file, -1 for those that are left out.
        sizes: of each file, which is divided into ``bins``.
    """

    def __init__(self, rows: NDArray[np.int64], sizes: NDArray[np.int64], bins: int) -> None:
        self._rows, self._bins, self._width = rows, bins, sizes / bins
        self._shape = (int(rows.max()) + 1, COLOURS + 1, bins + 1)
        self._within = np.zeros(int(np.prod(self._shape)))
        self._steps = np.zeros_like(self._within)

    def add(self, colour: int, file: NDArray[np.int64], offset: NDArray[np.int64], length: NDArray[np.int64]) -> None:
        """Chunks of one colour: their files by number, their bytes."""
        row = self._rows[file]
        if (row < 0).any():
            mine = np.flatnonzero(row >= 0)
            row, file, offset, length = row[mine], file[mine], offset[mine], length[mine]
        base, width = (row * (COLOURS + 1) + colour) * (self._bins + 1), self._width[file]
        begin, end = offset / width, (offset + length) / width
        last = np.minimum(end.astype(np.int64), self._bins - 1)
        first = np.minimum(begin.astype(np.int64), last)
        within = first == last
        self._count(self._within, base + first, np.where(within, length, (first + 1 - begin) * width))
        across = np.flatnonzero(~within)
        base, width, first, last = base[across], width[across], first[across], last[across]
        self._count(self._within, base + last, (end[across] - last) * width)
        self._count(self._steps, base + first + 1, width)
        self._count(self._steps, base + last, -width)

    def _count(self, total: NDArray[np.float64], at: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        if len(at):
            total += np.bincount(at, weights, len(total))

    def result(self) -> NDArray[np.float64]:
        """Bytes, shape (rows, colours, bins)."""
        found: NDArray[np.float64] = self._within.reshape(self._shape)
        return (found + np.cumsum(self._steps.reshape(self._shape), axis=2))[..., : self._bins]


def _bars(
    inside: NDArray[np.float64], files: _Files, chosen: NDArray[np.int64], naming: Callable[[str], str]
) -> tuple[FileBar, ...]:
    largest, urls = int(files.sizes[chosen].max()), list(files.urls)
    bars = []
    for row, file in enumerate(chosen.tolist()):
        size = int(files.sizes[file])
        width = max(100 * size / largest, 4.0)
        parts = _parts(inside[row], size)
        bars.append(FileBar(naming(urls[file]), size_text(size), _covered(inside[row], size), width, parts))
    return tuple(bars)


def _columns(
    inside: NDArray[np.float64], files: _Files, borders: Sequence[int], naming: Callable[[str], str]
) -> tuple[FileColumn, ...]:
    columns, urls = [], list(files.urls)
    for row, (begin, end) in enumerate(itertools.pairwise(borders)):
        size = int(files.sizes[begin:end].sum())
        first, last = naming(urls[begin]), naming(urls[end - 1])
        parts = _parts(inside[row], None)
        columns.append(FileColumn(begin, end, first, last, size_text(size), _covered(inside[row], size), parts))
    return tuple(columns)


def _covered(inside: NDArray[np.float64], size: int) -> int:
    return round(100 * min(1.0, float(inside.sum()) / size))


def _parts(inside: NDArray[np.float64], size: int | None) -> tuple[BarPart, ...]:
    """Neighbouring bins in which the same array has most bytes; ``size``: of the file that they divide."""
    bins = inside.shape[1]
    winner = np.where(inside.sum(axis=0) > 0.5, inside.argmax(axis=0), -1)
    borders = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist(), bins]
    found: list[BarPart] = []
    for begin, end in itertools.pairwise(borders):
        colour = int(winner[begin])
        if colour < 0:
            continue
        where = "" if size is None else f"{size_text(size * begin // bins)} to {size_text(size * end // bins)}"
        found.append(BarPart(begin, end, -1 if colour == COLOURS else colour, where))
    return tuple(found)
