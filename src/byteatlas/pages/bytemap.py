"""Where the bytes lie: each file as a bar, in the colours of the arrays whose chunks lie there."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import WHOLE, Manifest, SourceInfo
from byteatlas.manifest.ops.common import blocks
from byteatlas.pages.numbers import size_text
from byteatlas.values import dataclass

BINS = 240
"""Parts into which a bar is divided; each has the colour of the array with most bytes in it."""
MOST_FILES = 12
MOST_CHUNKS = 4_000_000
COLOURS = 8
"""Arrays with a colour of their own: those with the most bytes."""


@dataclass(frozen=True, slots=True)
class BarPart:
    """Bins ``[begin, end)`` of a bar, and the colour of the array there (-1: none of those with a colour)."""

    begin: int
    end: int
    colour: int


@dataclass(frozen=True, slots=True)
class FileBar:
    """One file. ``covered``: the part of its bytes that chunks refer to, per cent."""

    url: str
    size: str
    covered: int
    width: float
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class ByteMap:
    """Bars for the files with most bytes; ``more``: files that are left out."""

    bars: tuple[FileBar, ...]
    more: int


_Ranges = tuple[NDArray[np.int64], NDArray[np.int64]]


def byte_map(arrays: Mapping[str, Manifest], colours: Mapping[str, int]) -> ByteMap | None:
    """The bars of some arrays; None where nothing lies in files, or where there are too many chunks to look at."""
    total = sum(int(np.prod(m.grid_shape, dtype=object)) for m in arrays.values())
    if total > MOST_CHUNKS:
        return None
    found: dict[SourceInfo, dict[int, list[_Ranges]]] = {}
    for path, manifest in arrays.items():
        colour = colours.get(path, -1)
        for info, ranges in _by_file(manifest):
            found.setdefault(info, {}).setdefault(colour, []).append(ranges)
    sizes = {info: _size(info, parts) for info, parts in found.items()}
    chosen = sorted(found, key=lambda info: -sizes[info])[:MOST_FILES]
    if not chosen:
        return None
    largest = max(sizes.values()) or 1
    kept = [info for info in found if info in set(chosen)]
    return ByteMap(tuple(_bar(info, found[info], sizes[info], largest) for info in kept), len(found) - len(kept))


def colours_of(sizes: Mapping[str, int]) -> dict[str, int]:
    """A number for each of the arrays with most bytes."""
    return {path: i for i, path in enumerate(sorted(sizes, key=lambda path: -sizes[path])[:COLOURS]) if sizes[path]}


def _by_file(manifest: Manifest) -> Iterable[tuple[SourceInfo, _Ranges]]:
    for _, rows in blocks(manifest):
        for number in np.unique(rows.source[rows.source >= 0]).tolist():
            info = manifest.sources[number]
            if isinstance(info, JoinedInfo):
                continue
            mine = (rows.source == number) & (rows.length != WHOLE)
            if mine.any():
                yield info, (rows.offset[mine].astype(np.int64), rows.length[mine].astype(np.int64))


def _size(info: SourceInfo, parts: Mapping[int, Sequence[_Ranges]]) -> int:
    ends = [int((offset + length).max()) for ranges in parts.values() for offset, length in ranges]
    return max([info.size or 0, *ends])


def _bar(info: SourceInfo, parts: Mapping[int, Sequence[_Ranges]], size: int, largest: int) -> FileBar:
    edges = np.linspace(0, size, BINS + 1)
    colours = sorted(parts)
    bytes_in = np.stack([_bytes_between(edges, parts[colour]) for colour in colours])
    winner = np.where(bytes_in.sum(axis=0) > 0, bytes_in.argmax(axis=0), -1)
    found: list[BarPart] = []
    borders = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist(), BINS]
    for begin, end in itertools.pairwise(borders):
        if winner[begin] >= 0:
            found.append(BarPart(begin, end, colours[int(winner[begin])]))
    covered = round(100 * min(1.0, float(bytes_in.sum()) / max(size, 1)))
    return FileBar(info.url, size_text(size), covered, max(100 * size / largest, 4.0), tuple(found))


def _bytes_between(edges: NDArray[np.float64], ranges: Sequence[_Ranges]) -> NDArray[np.float64]:
    """How many bytes of some ranges lie between neighbouring edges. Ranges are taken not to overlap."""
    offset = np.concatenate([o for o, _ in ranges])
    length = np.concatenate([n for _, n in ranges])
    order = np.argsort(offset, kind="stable")
    offset, length = offset[order], length[order]
    before = np.concatenate([[0], np.cumsum(length)])
    at = np.searchsorted(offset, edges, side="right")
    last = np.maximum(at - 1, 0)
    inside = np.where(at > 0, np.minimum(edges - offset[last], length[last]) - length[last], 0)
    return np.diff(before[at] + inside)
