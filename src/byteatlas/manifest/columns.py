"""Concatenating the columns of chunk manifests. Nothing here costs Python time per chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.manifest.merged_sources import MergedSources, SourceMemo, renumber
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest
from byteatlas.meta.model import EncodingColumn
from byteatlas.types import Shape
from byteatlas.values import dataclass

BATCH = 256
"""Manifests whose columns are joined at once: few enough to stay in the processor's cache."""
CONSTANT_BYTES = b"\0"
"""The inline bytes of chunks whose value is in their codec. Not empty: some readers take empty for absent."""


@dataclass(frozen=True, slots=True, eq=False)
class PlacedManifest:
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


def assemble(grid_shape: Shape, parts: Sequence[PlacedManifest]) -> ChunkManifest:
    """One manifest from many. Grid positions that no part covers are missing. Parts must not overlap."""
    if follow_each_other(grid_shape, parts):
        return concatenated(grid_shape, [p.manifest for p in parts], parts)
    return scattered(grid_shape, parts)


def follow_each_other(grid_shape: Shape, parts: Sequence[PlacedManifest]) -> bool:
    """Whether the parts' columns, one after the other, are the grid in C order."""
    if not grid_shape:
        return len(parts) == 1
    at, rest = 0, grid_shape[1:]
    zeros = (0,) * len(rest)
    for part in parts:
        shape = part.manifest.grid_shape
        if part.origin[0] != at or shape[1:] != rest or part.origin[1:] != zeros:
            return False
        at += shape[0]
    return at == grid_shape[0]


SOURCE, OFFSET, LENGTH, ENCODING, INLINED, DTYPE = map(
    attrgetter, ("source", "offset", "length", "encoding", "inlined", "dtype")
)
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
    grid_shape: Shape,
    manifests: Sequence[ChunkManifest],
    parts: Sequence[PlacedManifest],
    memo: SourceMemo | None = None,
) -> ChunkManifest:
    """Manifests one after the other; ``parts`` (none, or one for each) say what becomes of encodings."""
    total = math.prod(grid_shape)
    (source, offset, length), counts = joined(manifests, total)
    starts = [0, *accumulate(counts)]
    sources, source = renumber(source, manifests, starts, memo)
    inlined: dict[int, bytes] = {}
    for m, start in zip(manifests, starts, strict=False) if any(map(INLINED, manifests)) else ():
        if m.inlined:
            inlined.update({k + start: v for k, v in m.inlined.items()} if start else m.inlined)
    encoding = encoding_column(parts, counts, total) if parts else plain_encoding(manifests, starts)
    for part, start in zip(parts, starts, strict=False):
        if part.constant is not None and encoding is not None:
            stop = start + len(part.manifest.source)
            absent = np.flatnonzero(source[start:stop] == MISSING) + start
            source[absent], encoding[absent] = INLINE, part.constant
            inlined.update(dict.fromkeys(absent.tolist(), CONSTANT_BYTES))
    return ChunkManifest(grid_shape, sources, source, offset, length, encoding, inlined)


def plain_encoding(manifests: Sequence[ChunkManifest], starts: Sequence[int]) -> EncodingColumn | None:
    """The concatenated encoding column, unchanged; None when no manifest has one."""
    if set(map(type, map(ENCODING, manifests))) <= {type(None)}:
        return None
    column = np.zeros(starts[-1], np.uint16)
    for m, start in zip(manifests, starts, strict=False):
        if m.encoding is not None:
            column[start : start + len(m.encoding)] = m.encoding
    return column


def encoding_column(parts: Sequence[PlacedManifest], counts: Sequence[int], total: int) -> EncodingColumn | None:
    """The encoding column of parts that follow each other; None when it would be all zero."""
    if all(p.constant is None and not shifted(p) and p.manifest.encoding is None for p in parts):
        return None
    column = np.repeat(
        np.fromiter((p.encodings[0] if p.encodings else 0 for p in parts), np.uint16, len(parts)), np.asarray(counts)
    )
    at = 0
    for part, count in zip(parts, counts, strict=True):
        if part.manifest.encoding is not None:
            column[at : at + count] = part_encoding(part)
        at += count
    return column if column.any() or any(p.constant is not None for p in parts) else None


def shifted(part: PlacedManifest) -> bool:
    return part.encodings is not None and any(e != i for i, e in enumerate(part.encodings))


def part_encoding(part: PlacedManifest) -> EncodingColumn:
    """The new encoding numbers of one part's chunks."""
    manifest = part.manifest
    old = manifest.encoding if manifest.encoding is not None else np.zeros(len(manifest.source), np.uint16)
    return np.asarray(part.encodings, np.uint16)[old] if part.encodings is not None else old.copy()


def scattered(grid_shape: Shape, parts: Sequence[PlacedManifest]) -> ChunkManifest:
    """Pieces anywhere in the grid (tiles, a later axis)."""
    source = np.full(grid_shape, MISSING, np.int32)
    offset, length = np.zeros(grid_shape, np.uint64), np.zeros(grid_shape, np.uint64)
    many = any(p.constant is not None or shifted(p) or p.manifest.encoding is not None for p in parts)
    encoding = np.zeros(grid_shape, np.uint16) if many else None
    table = MergedSources()
    inlined: dict[int, bytes] = {}
    for part in parts:
        m = part.manifest
        where = tuple(slice(o, o + n) for o, n in zip(part.origin, m.grid_shape, strict=True))
        places = table.add(m.sources)
        present = m.source >= 0
        moved = m.source + places if isinstance(places, int) else np.asarray(places, np.int32)[np.maximum(m.source, 0)]
        new = np.where(present, moved, m.source).astype(np.int32)
        flat = positions(grid_shape, part.origin, m.grid_shape) if m.inlined or part.constant is not None else None
        numbers = part_encoding(part) if encoding is not None else None
        if flat is not None:
            inlined.update({int(flat[k]): v for k, v in m.inlined.items()})
            if part.constant is not None and numbers is not None:
                absent = new == MISSING
                new[absent], numbers[absent] = INLINE, part.constant
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
