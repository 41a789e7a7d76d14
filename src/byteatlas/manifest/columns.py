"""Concatenating the columns of chunk manifests. Nothing here costs Python time per chunk."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, SourceInfo
from byteatlas.meta.model import EncodingColumn
from byteatlas.types import Shape

BATCH_ROWS = 4 << 20
BATCH = 256
"""Manifests whose columns are joined at once: few enough to stay in the processor's cache."""
CONSTANT_BYTES = b"\0"
"""The inline bytes of chunks whose value is in their codec. Not empty: some readers take empty for absent."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """One manifest's place in a larger grid.

    Attributes:
        origin: grid position of its first chunk.
        manifest: its columns.
        encodings: what its encoding numbers become; None = they stay.
        constant: the encoding that makes its fill value, for chunks that are missing and must not read as the
            result's fill value; None = missing stays missing.
    """

    origin: Shape
    manifest: ChunkManifest
    encodings: tuple[int, ...] | None = None
    constant: int | None = None


@dataclass(slots=True)
class SourceTable:
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


def assemble(grid_shape: Shape, pieces: Sequence[Piece]) -> ChunkManifest:
    """One manifest from many. Grid positions that no piece covers are missing. Pieces must not overlap."""
    if follow_each_other(grid_shape, pieces):
        return concatenated(grid_shape, [p.manifest for p in pieces], pieces)
    return scattered(grid_shape, pieces)


def follow_each_other(grid_shape: Shape, pieces: Sequence[Piece]) -> bool:
    """Whether the pieces' columns, one after the other, are the grid in C order."""
    if not grid_shape:
        return len(pieces) == 1
    at, rest = 0, grid_shape[1:]
    zeros = (0,) * len(rest)
    for piece in pieces:
        shape = piece.manifest.grid_shape
        if piece.origin[0] != at or shape[1:] != rest or piece.origin[1:] != zeros:
            return False
        at += shape[0]
    return at == grid_shape[0]


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


SOURCE, OFFSET, LENGTH, ENCODING, INLINED, SOURCES, DTYPE, URL = map(
    attrgetter, ("source", "offset", "length", "encoding", "inlined", "sources", "dtype", "url")
)
FIRST = itemgetter(0)
INT32, UINT64 = np.dtype(np.int32), np.dtype(np.uint64)
Joined: TypeAlias = tuple[NDArray[np.int32] | None, NDArray[np.uint64], NDArray[np.uint64]]


def joined(manifests: Sequence[ChunkManifest], total: int) -> tuple[Joined, list[int]]:
    """The source, offset and length columns of manifests that follow each other, and how many rows each has.

    No source column: it is all zero.
    """
    source, offset, length = None, np.empty(total, np.uint64), np.empty(total, np.uint64)
    counts = list(map(len, map(SOURCE, manifests)))
    if sum(counts) != total:
        raise BadRequest(f"manifests of {sum(counts)} chunks for a grid of {total}")
    at = 0
    for first in range(0, len(manifests), BATCH):
        some = manifests[first : first + BATCH]
        numbers = end_to_end(list(map(SOURCE, some)), INT32)
        end = at + len(numbers)
        if source is not None or numbers.any():
            source = np.zeros(total, np.int32) if source is None else source
            source[at:end] = numbers
        offset[at:end] = end_to_end(list(map(OFFSET, some)), UINT64)
        length[at:end] = end_to_end(list(map(LENGTH, some)), UINT64)
        at = end
    return (source, offset, length), counts


def end_to_end(columns: list[NDArray[Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    """One column after the other, in memory of their own.

    Joining buffers takes a third of the time that NumPy takes for thousands of short arrays; it needs their types to
    be what they should be.
    """
    if list(map(DTYPE, columns)).count(dtype) == len(columns):
        buffers: Any = columns
        try:
            return np.frombuffer(bytearray().join(buffers), dtype)
        except (TypeError, ValueError, BufferError):  # not contiguous
            pass
    return np.concatenate(columns, dtype=dtype) if columns else np.zeros(0, dtype)


def concatenated_manifests(
    grid_shape: Shape, manifests: Sequence[ChunkManifest], memo: SourceMemo | None = None
) -> ChunkManifest:
    """Manifests one after the other, encodings unchanged."""
    return concatenated(grid_shape, manifests, (), memo)


def concatenated(
    grid_shape: Shape, manifests: Sequence[ChunkManifest], pieces: Sequence[Piece], memo: SourceMemo | None = None
) -> ChunkManifest:
    """Manifests one after the other; ``pieces`` (none, or one for each) say what becomes of encodings."""
    total = math.prod(grid_shape)
    (source, offset, length), counts = joined(manifests, total)
    starts = [0, *accumulate(counts)]
    sources, source = renumber(source, manifests, starts, memo)
    inlined: dict[int, bytes] = {}
    for m, start in zip(manifests, starts, strict=False) if any(map(INLINED, manifests)) else ():
        if m.inlined:
            inlined.update({k + start: v for k, v in m.inlined.items()} if start else m.inlined)
    encoding = encoding_column(pieces, counts, total) if pieces else plain_encoding(manifests, starts)
    for piece, start in zip(pieces, starts, strict=False):
        if piece.constant is not None and encoding is not None:
            stop = start + len(piece.manifest.source)
            absent = np.flatnonzero(source[start:stop] == MISSING) + start
            source[absent], encoding[absent] = INLINE, piece.constant
            inlined.update(dict.fromkeys(absent.tolist(), CONSTANT_BYTES))
    return ChunkManifest(grid_shape, sources, source, offset, length, encoding, inlined)


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
            table = SourceTable()
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
    table: SourceTable, source: NDArray[np.int32], manifests: Sequence[ChunkManifest], starts: Sequence[int]
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


def plain_encoding(manifests: Sequence[ChunkManifest], starts: Sequence[int]) -> EncodingColumn | None:
    """The concatenated encoding column, unchanged; None when no manifest has one."""
    if set(map(type, map(ENCODING, manifests))) <= {type(None)}:
        return None
    column = np.zeros(starts[-1], np.uint16)
    for m, start in zip(manifests, starts, strict=False):
        if m.encoding is not None:
            column[start : start + len(m.encoding)] = m.encoding
    return column


def encoding_column(pieces: Sequence[Piece], counts: Sequence[int], total: int) -> EncodingColumn | None:
    """The encoding column of pieces that follow each other; None when it would be all zero."""
    if all(p.constant is None and not shifted(p) and p.manifest.encoding is None for p in pieces):
        return None
    column = np.repeat(
        np.fromiter((p.encodings[0] if p.encodings else 0 for p in pieces), np.uint16, len(pieces)), np.asarray(counts)
    )
    at = 0
    for piece, count in zip(pieces, counts, strict=True):
        if piece.manifest.encoding is not None:
            column[at : at + count] = piece_encoding(piece)
        at += count
    return column if column.any() or any(p.constant is not None for p in pieces) else None


def shifted(piece: Piece) -> bool:
    return piece.encodings is not None and any(e != i for i, e in enumerate(piece.encodings))


def piece_encoding(piece: Piece) -> EncodingColumn:
    """The new encoding numbers of one piece's chunks."""
    manifest = piece.manifest
    old = manifest.encoding if manifest.encoding is not None else np.zeros(len(manifest.source), np.uint16)
    return np.asarray(piece.encodings, np.uint16)[old] if piece.encodings is not None else old.copy()


def scattered(grid_shape: Shape, pieces: Sequence[Piece]) -> ChunkManifest:
    """Pieces anywhere in the grid (tiles, a later axis)."""
    source = np.full(grid_shape, MISSING, np.int32)
    offset, length = np.zeros(grid_shape, np.uint64), np.zeros(grid_shape, np.uint64)
    many = any(p.constant is not None or shifted(p) or p.manifest.encoding is not None for p in pieces)
    encoding = np.zeros(grid_shape, np.uint16) if many else None
    table = SourceTable()
    inlined: dict[int, bytes] = {}
    for piece in pieces:
        m = piece.manifest
        where = tuple(slice(o, o + n) for o, n in zip(piece.origin, m.grid_shape, strict=True))
        places = table.add(m.sources)
        present = m.source >= 0
        moved = m.source + places if isinstance(places, int) else np.asarray(places, np.int32)[np.maximum(m.source, 0)]
        new = np.where(present, moved, m.source).astype(np.int32)
        flat = positions(grid_shape, piece.origin, m.grid_shape) if m.inlined or piece.constant is not None else None
        numbers = piece_encoding(piece) if encoding is not None else None
        if flat is not None:
            inlined.update({int(flat[k]): v for k, v in m.inlined.items()})
            if piece.constant is not None and numbers is not None:
                absent = new == MISSING
                new[absent], numbers[absent] = INLINE, piece.constant
                inlined.update(dict.fromkeys(flat[absent].tolist(), CONSTANT_BYTES))
        source[where], offset[where] = new.reshape(m.grid_shape), m.offset.reshape(m.grid_shape)
        length[where] = m.length.reshape(m.grid_shape)
        if encoding is not None and numbers is not None:
            encoding[where] = numbers.reshape(m.grid_shape)
    column = None if encoding is None or not encoding.any() else encoding.reshape(-1)
    return ChunkManifest(
        grid_shape, tuple(table.sources), source.reshape(-1), offset.reshape(-1), length.reshape(-1), column, inlined
    )


def positions(grid_shape: Shape, origin: Shape, block: Shape) -> NDArray[np.int64]:
    """Flat indices in the grid of the chunks of a block, in the block's C order."""
    axes = [np.arange(o, o + n) for o, n in zip(origin, block, strict=True)]
    if not axes:
        return np.zeros(1, np.int64)
    mesh = np.meshgrid(*axes, indexing="ij")
    return np.ravel_multi_index([m.reshape(-1) for m in mesh], grid_shape).astype(np.int64)
