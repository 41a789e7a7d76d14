"""Facts about maps: how many chunks and bytes there are, and in which files. One walk over the rows gives all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import INLINE, MISSING, WHOLE, Manifest, Rows, SourceInfo, VirtualNode
from byteatlas.manifest.ops.common import all_arrays, blocks
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """An array's bytes in one file.

    Attributes:
        chunks, bytes: how many; chunks that are a whole file count with no bytes.
        begin, end: offsets between which they lie.
    """

    info: SourceInfo
    chunks: int
    bytes: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class ChunkFacts:
    """The chunks of one array.

    Attributes:
        missing: chunks without bytes anywhere.
        inline: chunks whose bytes are in the map.
        whole: chunks that are whole files, whose sizes are not known here.
        stored: bytes in files and in the map.
        smallest, largest: sizes in bytes of the chunks that ``stored`` counts; None when there are none.
        histogram: 65 counts: entry ``k`` counts chunks of 2**k <= size < 2**(k+1) bytes.
        sources: the files, in the order of the map's table.
    """

    chunks: int
    missing: int
    inline: int
    whole: int
    stored: int
    smallest: int | None
    largest: int | None
    histogram: NDArray[np.int64]
    sources: tuple[SourceFacts, ...]

    @property
    def present(self) -> int:
        """Chunks with bytes, in files or in the map."""
        return self.chunks - self.missing


def chunk_facts(manifest: Manifest) -> ChunkFacts:
    """Facts about one array's chunks, a block of rows at a time."""
    chunks = missing = inline = whole = stored = 0
    smallest: int | None = None
    largest: int | None = None
    histogram = np.zeros(65, np.int64)
    found: dict[int, SourceFacts] = {}
    for numbers, rows in blocks(manifest):
        inside = numbers[rows.source == INLINE].tolist()
        in_files = rows.source >= 0
        entire = in_files & (rows.length == WHOLE)
        sizes = rows.length[in_files & ~entire]
        if inside:
            held = np.array([len(manifest.inline(c)) for c in inside], np.uint64)
            sizes = np.concatenate([sizes, held])
        chunks += len(numbers)
        missing += int((rows.source == MISSING).sum())
        inline += len(inside)
        whole += int(entire.sum())
        if len(sizes):
            stored += int(sizes.sum())
            low, high = int(sizes.min()), int(sizes.max())
            smallest = low if smallest is None else min(smallest, low)
            largest = high if largest is None else max(largest, high)
            histogram += np.bincount(_log2(sizes), minlength=65)
        for number, facts in _by_source(rows, in_files, manifest):
            found[number] = _both(found[number], facts) if number in found else facts
    places = tuple(found[number] for number in sorted(found))
    return ChunkFacts(chunks, missing, inline, whole, stored, smallest, largest, histogram, places)


def _log2(sizes: NDArray[np.uint64]) -> NDArray[np.int64]:
    exponents = np.frexp(np.maximum(sizes, np.uint64(1)).astype(np.float64))[1]
    return exponents.astype(np.int64) - 1


def _by_source(rows: Rows, in_files: NDArray[np.bool_], manifest: Manifest) -> Iterable[tuple[int, SourceFacts]]:
    """The files of some rows, by number, with what lies in them."""
    which = np.flatnonzero(in_files)
    if not len(which):
        return ()
    source = rows.source[which]
    if bool((source[1:] < source[:-1]).any()):
        order = np.argsort(source, kind="stable")
        which, source = which[order], source[order]
    first = np.append(0, np.flatnonzero(source[1:] != source[:-1]) + 1)
    size = np.where(rows.length[which] == WHOLE, np.uint64(0), rows.length[which])
    begin = rows.offset[which]
    columns = (
        source[first],
        np.diff(np.append(first, len(which))),
        np.add.reduceat(size, first),
        np.minimum.reduceat(begin, first),
        np.maximum.reduceat(begin + size, first),
    )
    infos = manifest.sources
    return [(n, SourceFacts(infos[n], *facts)) for n, *facts in zip(*(c.tolist() for c in columns), strict=True)]


def _both(a: SourceFacts, b: SourceFacts) -> SourceFacts:
    return SourceFacts(a.info, a.chunks + b.chunks, a.bytes + b.bytes, min(a.begin, b.begin), max(a.end, b.end))


def sources_of(node: VirtualNode) -> dict[str, SourceInfo]:
    """Every source that a chunk of the tree refers to, by URL."""
    found: dict[str, SourceInfo] = {}
    for _, array in all_arrays(node):
        for _, rows in blocks(array.manifest):
            infos = array.manifest.sources
            # A map of one file is told without `np.unique`, whose first call imports NumPy's masked arrays.
            one = len(infos) == 1 and int(rows.source.max(initial=-1)) == 0
            used = [0] if one else np.unique(rows.source[rows.source >= 0]).tolist()
            found.update((infos[i].url, infos[i]) for i in used)
    return found
