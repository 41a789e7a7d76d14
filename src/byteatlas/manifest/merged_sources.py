"""One table of sources for many manifests, and their source columns made to point into it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter, itemgetter

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import ChunkManifest, SourceInfo
from byteatlas.values import dataclass, field

BATCH_ROWS = 4 << 20
"""Rows that are renumbered at once."""
SOURCES, URL, FIRST = attrgetter("sources"), attrgetter("url"), itemgetter(0)


@dataclass(slots=True)
class MergedSources:
    """The merged source table. Files are known by their URL; one URL with two stamps has two entries."""

    sources: list[SourceInfo] = field(default_factory=list)
    by_url: dict[str, int] = field(default_factory=dict)

    def add(self, new: tuple[SourceInfo, ...]) -> int | list[int]:
        """Where these sources are: the first place when they follow each other, else all places."""
        if len(new) == 1:
            return self.place(new[0])
        places = [self.place(s) for s in new]
        start = places[0] if places else 0
        return start if places == list(range(start, start + len(places))) else places

    def place(self, source: SourceInfo) -> int:
        at = self.by_url.get(source.url)
        if at is None:
            at = self.by_url[source.url] = len(self.sources)
            self.sources.append(source)
        elif self.sources[at] is not source and self.sources[at] != source:
            for at in range(len(self.sources)):
                if self.sources[at] == source:
                    return at
            at = len(self.sources)
            self.sources.append(source)
        return at


@dataclass(slots=True)
class SourceMemo:
    """The last merged table of manifests with one source each: the next variable of the same files has the same.

    ``column`` is the source column of chunks that are all there, when manifests begin at ``starts``. It is shared by
    variables: columns of manifests are not writeable.
    """

    firsts: list[SourceInfo] = field(default_factory=list)
    sources: tuple[SourceInfo, ...] = ()
    shift: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    starts: Sequence[int] = ()
    column: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))


def renumber(
    source: NDArray[np.int32] | None,
    manifests: Sequence[ChunkManifest],
    starts: Sequence[int],
    memo: SourceMemo | None,
) -> tuple[tuple[SourceInfo, ...], NDArray[np.int32]]:
    """Make the concatenated ``source`` columns (None: all zero) point into one merged table; gives table and column.

    ``source`` may be changed in place.
    """
    tables = list(map(SOURCES, manifests))
    single = list(map(len, tables)).count(1) == len(tables)
    firsts = list(map(FIRST, tables)) if single else []
    if single and memo is not None and firsts == memo.firsts:
        sources, shift = memo.sources, memo.shift
    else:
        if single and len(set(map(URL, firsts))) == len(firsts):
            sources, shift = tuple(firsts), np.arange(len(firsts), dtype=np.int32)
        else:
            table = MergedSources()
            source = np.zeros(starts[-1], np.int32) if source is None and not single else source
            bases = list(map(table.place, firsts)) if source is None else merge_tables(table, source, manifests, starts)
            sources, shift = tuple(table.sources), np.asarray(bases, np.int32)
        if single and memo is not None:
            memo.firsts, memo.sources, memo.shift, memo.starts = firsts, sources, shift, ()
    if source is None:  # every chunk is in the only file of its manifest
        if memo is None:
            return sources, np.repeat(shift, np.diff(np.asarray(starts)))
        if memo.starts != starts:
            memo.starts, memo.column = starts, np.repeat(shift, np.diff(np.asarray(starts)))
        return sources, memo.column
    counts = np.diff(np.asarray(starts))
    for lo, hi in batches(starts):
        rows = source[starts[lo] : starts[hi]]
        np.add(rows, np.repeat(shift[lo:hi], counts[lo:hi]), out=rows, where=rows >= 0)
    return sources, source


def merge_tables(
    table: MergedSources, source: NDArray[np.int32], manifests: Sequence[ChunkManifest], starts: Sequence[int]
) -> list[int]:
    """What to add to each manifest's numbers; where adding does not do, the numbers are changed at once."""
    bases = []
    for i, m in enumerate(manifests):
        places = table.add(m.sources)
        bases.append(places if isinstance(places, int) else 0)
        if not isinstance(places, int):
            part = source[starts[i] : starts[i + 1]]
            part[:] = np.where(part >= 0, np.asarray(places, np.int32)[np.maximum(part, 0)], part)
    return bases


def batches(starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Runs of pieces with a bounded number of rows (a larger single piece is a run of its own)."""
    lo = 0
    for i in range(1, len(starts)):
        if starts[i] - starts[lo] >= BATCH_ROWS or i == len(starts) - 1:
            yield lo, i
            lo = i
