"""Chunks into the map (`inline`), and out of it into a side file (`deinline`)."""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from byteatlas.errors import BadRequest, CorruptChunk, FetchFailed, unknown
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.open import opened
from byteatlas.io.output import Sink
from byteatlas.io.source import Opener
from byteatlas.manifest.model import (
    INLINE,
    MISSING,
    WHOLE,
    ChunkManifest,
    SourceInfo,
    VirtualArray,
    VirtualGroup,
    VirtualNode,
)
from byteatlas.manifest.ops.common import all_arrays, map_arrays
from byteatlas.manifest.ops.side_file import side_file
from byteatlas.types import ByteRange
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class InlineOptions:
    """Which chunks are copied into the map.

    Attributes:
        below: bytes; chunks shorter than this.
        arrays: only these arrays (paths); None = all.
        whole_arrays: bytes; all chunks of arrays whose stored bytes total less than this (coordinates, mostly).
        most: bytes; more than this in total is refused.
    """

    below: int = 500
    arrays: frozenset[str] | None = None
    whole_arrays: int = 0
    most: int = 1 << 30


def inline(node: VirtualNode, opener: Opener, options: InlineOptions | None = None) -> VirtualNode:
    """The tree with small chunks copied into it.

    Raises:
        FetchFailed: a chunk cannot be read.
        BadRequest: it would be more than ``options.most`` bytes.
        NotFound: one of ``options.arrays`` that is none.
    """
    chosen = options or InlineOptions()
    if chosen.arrays is not None:
        paths = [path for path, _ in all_arrays(node)]
        for path in sorted(chosen.arrays.difference(paths)):
            raise unknown("array", path, paths)
    spent = 0

    def array(path: str, old: VirtualArray) -> VirtualArray:
        nonlocal spent
        if chosen.arrays is not None and path not in chosen.arrays:
            return old
        columns = old.manifest.load()
        remote = columns.source >= 0
        sized = remote & (columns.length != WHOLE)
        total = int(columns.length[sized].sum())
        wanted = sized & (columns.length < np.uint64(chosen.below))
        if chosen.whole_arrays and bool((sized == remote).all()) and total < chosen.whole_arrays:
            wanted = sized
        if not wanted.any():
            return old
        spent += int(columns.length[wanted].sum())
        if spent > chosen.most:
            raise BadRequest(f"inline data of more than {chosen.most} bytes")
        return VirtualArray(old.meta, _fetch(columns, np.flatnonzero(wanted), opener, path))

    return map_arrays(node, array)


def _fetch(
    columns: ChunkManifest, chunks: np.ndarray[tuple[int], np.dtype[np.int64]], opener: Opener, path: str
) -> ChunkManifest:
    inlined = dict(columns.inlined)
    source = columns.source.copy()
    for number in np.unique(source[chunks]).tolist():
        mine = chunks[source[chunks] == number]
        ranges = [ByteRange(int(columns.offset[c]), int(columns.length[c])) for c in mine.tolist()]
        info = columns.sources[number]
        found = opened(opener, info).read(ranges)
        for chunk, data, where in zip(mine.tolist(), found, ranges, strict=True):
            if len(data) != where.length:
                raise FetchFailed(info.url, f"{len(data)} bytes came back for a chunk of {path!r}", where)
            inlined[chunk] = bytes(data)
    source[chunks] = INLINE
    offset, length = columns.offset.copy(), columns.length.copy()
    offset[chunks] = 0
    length[chunks] = 0
    return replace(columns, source=source, offset=offset, length=length, inlined=inlined)


def deinline(
    node: VirtualNode, sink: Sink, url: str, *, at_least: int = 1, only: Container[str] | None = None
) -> VirtualNode:
    """The tree with inline chunks written one after the other into a side file, and referred to there.

    Args:
        sink: the side file, empty so far.
        url: what references to it will say.
        at_least: bytes; shorter chunks stay in the map. (A chunk of no bytes always does.)
        only: paths of the arrays that this concerns; None = all.
    """
    written = 0

    def array(path: str, old: VirtualArray) -> VirtualArray:
        nonlocal written
        if only is not None and path not in only:
            return old
        columns = old.manifest.load()
        chunks = [
            c for c in np.flatnonzero(columns.source == INLINE).tolist() if _size(columns, c, path) >= max(at_least, 1)
        ]
        if not chunks:
            return old
        source, offset, length = columns.source.copy(), columns.offset.copy(), columns.length.copy()
        for chunk in chunks:
            data = columns.inlined[chunk]
            sink.write(data)
            source[chunk], offset[chunk], length[chunk] = len(columns.sources), written, len(data)
            written += len(data)
        gone = set(chunks)
        kept = {c: d for c, d in columns.inlined.items() if c not in gone}
        sources = (*columns.sources, SourceInfo(url))
        return VirtualArray(
            old.meta,
            replace(columns, sources=sources, source=source, offset=offset, length=length, inlined=kept),
        )

    return map_arrays(node, array)


def aside(found: VirtualGroup, url: str, most: int, access: Access = DEFAULT) -> VirtualGroup:
    """A scanned tree whose arrays with more than ``most`` inline bytes have them in a side file, which is written here.

    Their entries in the report say ``side file``. Nothing is written when no array is that large.
    """
    large = {path for path, array in all_arrays(found) if _inline_bytes(array) > most}
    if not large:
        return found
    with side_file(url, found, access) as sink:
        moved = deinline(found, sink, url, only=large)
    report = tuple(replace(i, status="side file") if i.path.strip("/") in large else i for i in found.report)
    return replace(moved, report=report) if isinstance(moved, VirtualGroup) else found


def _inline_bytes(array: VirtualArray) -> int:
    inlined = array.manifest.inlined if isinstance(array.manifest, ChunkManifest) else {}
    return sum(len(data) for data in inlined.values())


def _size(columns: ChunkManifest, chunk: int, path: str) -> int:
    if chunk not in columns.inlined:
        raise CorruptChunk("inline, but its bytes are not in the map", array=path)
    return len(columns.inlined[chunk])


__all__ = ["MISSING", "InlineOptions", "deinline", "inline"]
