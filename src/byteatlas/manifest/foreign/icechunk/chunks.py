"""The chunks of one array into a session's store: references a slab at a time, bytes of the map as native chunks."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Unsupported
from byteatlas.manifest.foreign.icechunk.slabs import Rectangle, boxes, filled, slabs
from byteatlas.manifest.foreign.icechunk.storage import library, wait
from byteatlas.manifest.kinds.encoded import EncodedManifest
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.model import INLINE, WHOLE, ChunkManifest, Manifest, Rows, SourceInfo
from byteatlas.types import Shape
from byteatlas.values import dataclass, field

KnownState: TypeAlias = str | datetime | None
BLOCK = 1 << 17
"""References that are handed over in one call at most."""
FEW = 8
"""References that a call should have on average; for fewer, each reference has a checksum of its own."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000_000


def checksum_of(info: SourceInfo) -> KnownState:
    """What icechunk compares a source with: its etag, or its modification time.

    Icechunk keeps whole seconds of a time and asks whether the source is newer: the next whole second is the last one
    at which the recorded source can have been written. Weak etags say nothing of bytes (RFC 9110 8.8.3.2).
    """
    stamp = info.stamp
    if stamp is None:
        return None
    if stamp.isdigit():
        return EPOCH + timedelta(seconds=-(-int(stamp) // SECOND))
    return stamp if re.fullmatch(r'"[^"]*"', stamp) else None


@dataclass(slots=True)
class Locations:
    """What icechunk is told of sources, each asked for once: location, checksum, and the size for whole files."""

    location: Callable[[str], str]
    checksums: bool
    keys: dict[KnownState, int] = field(default_factory=dict)
    seen: dict[str, SourceInfo] = field(default_factory=dict)
    _made: dict[SourceInfo, tuple[str, int, int]] = field(default_factory=dict)

    def columns(self, sources: tuple[SourceInfo, ...]) -> _Columns:
        rows = [self._made.get(info) or self._make(info) for info in sources]
        names = np.empty(len(rows) + 2, object)  # the last two: what INLINE and MISSING stand for
        names[: len(rows)] = [r[0] for r in rows]
        names[len(rows) :] = ""
        key = np.array([*(r[1] for r in rows), -1, -1], np.int64)
        return _Columns(names, key, np.array([r[2] for r in rows], np.int64))

    def _make(self, info: SourceInfo) -> tuple[str, int, int]:
        name = self.location(info.url)
        key = self.keys.setdefault(checksum_of(info) if self.checksums else None, len(self.keys))
        self.seen[info.url] = info
        found = self._made[info] = (name, key, -1 if info.size is None else info.size)
        return found


@dataclass(frozen=True, slots=True)
class _Columns:
    """For each number of a source: its location, its checksum's number, its size (-1: unknown)."""

    names: NDArray[Any]
    keys: NDArray[np.int64]
    sizes: NDArray[np.int64]


def tail(manifest: Manifest, first: int) -> Iterator[tuple[int, Manifest, int]]:
    """The parts of a manifest that have rows from ``first`` on: where each begins, and how many of its rows to skip.

    Parts in front of it are not looked at.
    """
    while isinstance(manifest, EncodedManifest):
        manifest = manifest.inner
    if not isinstance(manifest, SegmentedManifest):
        yield 0, manifest, first
        return
    for begin, segment in zip(manifest.starts.tolist(), manifest.segments, strict=False):
        if begin + math.prod(segment.grid_shape) > first:
            yield begin, segment, max(0, first - begin)


@dataclass(frozen=True, slots=True)
class SlabWriter:
    """Hands over the chunks of one array. ``path`` is the array's in the store."""

    store: Any
    path: str
    locations: Locations

    def write(self, manifest: Manifest, first: int) -> Iterator[int]:
        """Hand over rows from ``first`` on; gives the number of references after each block."""
        layer = math.prod(manifest.grid_shape[1:])
        for begin, part, skip in tail(manifest, first):
            for box in boxes(part.grid_shape, BLOCK, skip):
                yield self._box(part, box, begin // max(layer, 1))

    def _box(self, part: Manifest, box: Rectangle, across: int) -> int:
        rows = _rows(part, box)
        place = (box.at[0] + across, *box.at[1:]) if box.at else ()
        empty = (rows.source >= 0) & (rows.length == 0)
        inline = np.flatnonzero((rows.source == INLINE) | empty)
        if len(inline):
            at = _places(inline, box.shape, place)
            data = [b"" if empty[i] else part.inline(box.begin + i) for i in inline.tolist()]
            wait(self._natives(at, data))
        present = (rows.source >= 0) & ~empty
        if not present.any():
            return len(inline)
        columns = self.locations.columns(part.sources)
        source = np.where(present, rows.source, np.int32(-1))
        length = self._lengths(rows, present, columns.sizes, part.sources)
        made = _Block(place, box.shape, source, rows.offset, length)
        self._references(made, columns)
        return int(present.sum()) + len(inline)

    def _lengths(
        self, rows: Rows, present: NDArray[np.bool_], sizes: NDArray[np.int64], sources: tuple[SourceInfo, ...]
    ) -> NDArray[np.uint64]:
        whole = np.flatnonzero(present & (rows.length == WHOLE))
        if not len(whole):
            return rows.length
        found = sizes[rows.source[whole]]
        if (found < 0).any():
            url = sources[int(rows.source[whole[int(np.argmin(found))]])].url
            raise Unsupported("icechunk", f"a whole-file reference to {url}, whose size is unknown", self.path)
        length = rows.length.copy()
        length[whole] = found.astype(np.uint64)
        return length

    def _references(self, block: _Block, columns: _Columns) -> None:
        key = filled(columns.keys[block.source])
        found = list(slabs(key, block.shape))
        sums: list[KnownState] = list(self.locations.keys)
        names = columns.names[block.source]
        if not hasattr(self.store, "set_virtual_refs_arr") or len(found) * FEW > len(key) + FEW or not block.shape:
            self._one_by_one(block, names, columns.keys, sums)
            return
        array = f"/{self.path}"
        for s in found:
            at = tuple(a + b for a, b in zip(s.at, block.at, strict=True))
            part = slice(s.begin, s.end)
            self.store.set_virtual_refs_arr(
                array,
                s.shape,
                names[part].tolist(),
                np.ascontiguousarray(block.offset[part]),
                np.ascontiguousarray(block.length[part]),
                arr_offset=at,
                checksum=sums[int(key[s.begin])],
                validate_containers=False,
            )

    def _one_by_one(self, block: _Block, names: NDArray[Any], keys: NDArray[np.int64], sums: list[KnownState]) -> None:
        spec = library().VirtualChunkSpec
        chunks = np.flatnonzero(block.source >= 0)
        at = _places(chunks, block.shape, block.at)
        offset, length = block.offset[chunks].tolist(), block.length[chunks].tolist()
        which = keys[block.source[chunks]].tolist()
        refs = []
        for place, name, start, size, key in zip(at, names[chunks].tolist(), offset, length, which, strict=True):
            known = sums[key]
            etag, time = (known, None) if isinstance(known, str) else (None, known)
            refs.append(spec(place, name, start, size, etag, time))
        self.store.set_virtual_refs(f"/{self.path}", refs, validate_containers=False)

    async def _natives(self, places: list[list[int]], data: list[bytes]) -> None:
        from zarr.core.buffer import cpu

        for place, value in zip(places, data, strict=True):
            await self.store.set(self.key(place), cpu.Buffer.from_bytes(value))

    def key(self, place: list[int]) -> str:
        """The key of a chunk in the store."""
        return "/".join([*([self.path] if self.path else []), "c", *map(str, place)])


@dataclass(frozen=True, slots=True)
class _Block:
    """References of a rectangle: ``source`` is -1 where there is none."""

    at: Shape
    shape: Shape
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]


def _rows(part: Manifest, box: Rectangle) -> Rows:
    if isinstance(part, ChunkManifest):
        cut = slice(box.begin, box.end)
        return Rows(part.source[cut], part.offset[cut], part.length[cut])
    return part.rows(np.arange(box.begin, box.end, dtype=np.int64))


def _places(chunks: NDArray[Any], shape: Shape, at: Shape) -> list[list[int]]:
    """Grid places of chunks of a rectangle."""
    if not shape:
        return [[] for _ in chunks]
    found = np.stack(np.unravel_index(chunks, shape), axis=1) + np.asarray(at)
    places: list[list[int]] = found.tolist()
    return places
