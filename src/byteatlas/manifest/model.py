"""Chunk manifests: columns over the chunk grid that say where each chunk's bytes lie.

A manifest is anything with `Manifest`'s methods: `ChunkManifest` keeps its columns in memory; the Parquet reader has
one that loads row groups on demand. Rows are asked for by *flat chunk index* (C order over the grid).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.arguments import shown
from byteatlas.errors import BadRequest, NotFound, unknown
from byteatlas.importing import report_of, shown_as_html
from byteatlas.io.access import Access
from byteatlas.manifest.printing import scan_report_text, virtual_array_text, virtual_group_text
from byteatlas.meta.model import ArrayMeta, EncodingColumn, GroupMeta
from byteatlas.types import JSON, ByteRange, Shape
from byteatlas.values import dataclass, field

MISSING = -1
"""In the ``source`` column: no bytes anywhere; the chunk reads as the fill value."""
INLINE = -2
"""In the ``source`` column: the bytes are in the manifest itself."""
WHOLE = np.uint64(2**64 - 1)
"""In the ``length`` column: the whole file, whatever its size."""

NOTHING_INLINE: Mapping[int, bytes] = {}
"""For the many manifests without inline chunks: one for all of them."""


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """One file or object, and what was known of it when it was indexed.

    Attributes:
        foreign: something that came from elsewhere names it, and it leads to this machine: it may not be opened without
            the caller's consent (`byteatlas.io.policy.foreign`).
    """

    url: str
    size: int | None = None
    stamp: str | None = None
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Inline:
    """A chunk whose bytes are in the map."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Remote:
    """A chunk whose bytes are in a file; ``range`` None means the whole file."""

    url: str
    range: ByteRange | None


@dataclass(frozen=True, slots=True)
class Missing:
    """A chunk that was never written."""


Reference: TypeAlias = Inline | Remote | Missing


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns for some chunks, all of the same length. ``encoding`` None: all zero."""

    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    encoding: EncodingColumn | None = None


class Manifest(Protocol):
    """Where the chunks of one array lie."""

    @property
    def grid_shape(self) -> Shape: ...

    @property
    def sources(self) -> tuple[SourceInfo, ...]: ...

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        """The rows of these flat chunk indices, in the order asked."""
        ...

    def inline(self, chunk: int) -> bytes:
        """The bytes of an inline chunk."""
        ...

    def load(self) -> ChunkManifest:
        """All columns in memory."""
        ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChunkManifest:
    """A manifest with all of its columns in memory; each has one row per chunk (C order over ``grid_shape``).

    Attributes:
        source: index into ``sources``, or MISSING, or INLINE.
        offset, length: bytes in that source; ``WHOLE`` as length means the whole file.
        encoding: index into `ArrayMeta.encodings`; None = all zero.
        inlined: flat chunk index -> bytes, for exactly the rows marked INLINE.
    """

    grid_shape: Shape
    sources: tuple[SourceInfo, ...]
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    encoding: EncodingColumn | None = None
    inlined: Mapping[int, bytes] = field(default_factory=lambda: NOTHING_INLINE)

    def __post_init__(self) -> None:
        total = math.prod(self.grid_shape)
        for column in (self.source, self.offset, self.length, self.encoding):
            if column is not None:
                if column.shape != (total,):
                    raise BadRequest(f"a manifest column has shape {column.shape}, the grid {self.grid_shape}")
                column.flags.writeable = False

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        encoding = None if self.encoding is None else self.encoding[chunks]
        return Rows(self.source[chunks], self.offset[chunks], self.length[chunks], encoding)

    def inline(self, chunk: int) -> bytes:
        return self.inlined[chunk]

    def load(self) -> ChunkManifest:
        return self

    @property
    def nchunks(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        missing, inline = (int(np.count_nonzero(self.source == mark)) for mark in (MISSING, INLINE))
        files = f"{len(self.sources)} file{'' if len(self.sources) == 1 else 's'}"
        facts = [f"grid {self.grid_shape}", f"{self.nchunks - missing - inline} references to {files}"]
        facts += [f"{inline} inlined"] * (inline > 0) + [f"{missing} missing"] * (missing > 0)
        return f"<ChunkManifest {', '.join(facts)}>"


def unpickled(manifest: ChunkManifest) -> ChunkManifest:
    """What manifests that read on demand become in another process: their columns.

    Such a class says ``return unpickled, (self.load(),)`` in its ``__reduce__``.
    """
    return manifest


def empty_manifest(grid_shape: Shape) -> ChunkManifest:
    """A manifest in which every chunk is missing."""
    n = math.prod(grid_shape)
    return ChunkManifest(grid_shape, (), np.full(n, MISSING, np.int32), np.zeros(n, np.uint64), np.zeros(n, np.uint64))


def inline_manifest(grid_shape: Shape, chunks: Mapping[int, bytes]) -> ChunkManifest:
    """A manifest whose present chunks are all inline."""
    n = math.prod(grid_shape)
    source = np.full(n, MISSING, np.int32)
    if chunks:
        source[np.fromiter(chunks, np.int64, len(chunks))] = INLINE
    return ChunkManifest(grid_shape, (), source, np.zeros(n, np.uint64), np.zeros(n, np.uint64), inlined=dict(chunks))


def single_source(
    grid_shape: Shape,
    source: SourceInfo,
    offset: NDArray[np.uint64],
    length: NDArray[np.uint64],
    *,
    missing: NDArray[np.bool_] | None = None,
    encoding: EncodingColumn | None = None,
) -> ChunkManifest:
    """A manifest whose chunks all lie in one file; ``missing`` marks those that do not exist."""
    column = np.zeros(len(offset), np.int32)
    if missing is not None:
        column[missing] = MISSING
    return ChunkManifest(grid_shape, (source,), column, offset, length, encoding)


def reference_at(manifest: Manifest, index: tuple[int, ...]) -> Reference:
    """One chunk's reference; IndexError-like `NotFound` outside the grid."""
    if len(index) != len(manifest.grid_shape) or not all(
        0 <= i < n for i, n in zip(index, manifest.grid_shape, strict=True)
    ):
        raise NotFound(f"chunk {index} is outside the grid {manifest.grid_shape}")
    flat = int(np.ravel_multi_index(index, manifest.grid_shape)) if index else 0
    row = manifest.rows(np.array([flat], np.int64))
    where = int(row.source[0])
    if where == MISSING:
        return Missing()
    if where == INLINE:
        return Inline(manifest.inline(flat))
    whole = row.length[0] == WHOLE
    return Remote(manifest.sources[where].url, None if whole else ByteRange(int(row.offset[0]), int(row.length[0])))


@dataclass(frozen=True, slots=True)
class ReportItem:
    """What became of one dataset of a scanned file.

    Attributes:
        path: its path in the virtual group.
        status: ``virtual`` (references only), ``inlined`` (its bytes are in the map), ``side file`` or ``refused``.
        reason: a stable code when refused (`byteatlas.scanning.reasons`), else None.
        detail: a sentence.
        locators: its places in the file, in the format's own terms (``page/0``, ``hdu/2``).

    >>> ba.scan("jan.nc").report[0]
    ReportItem(path='time', status='virtual', reason=None, detail='', locators=())
    """

    path: str
    status: str
    reason: str | None = None
    detail: str = ""
    locators: tuple[str, ...] = ()


class ScanReport(tuple[ReportItem, ...]):
    """What became of each dataset of a scanned file.

    >>> report = ba.scan("jan.nc").report
    >>> report
    <ScanReport: 4 virtual>
    >>> [item.path for item in report if item.status == "refused"]
    []
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return scan_report_text(self)

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)

    def html(self) -> str:
        """A page about it: see `byteatlas.report`."""
        return report_of(self)


@dataclass(frozen=True, slots=True, repr=False)
class VirtualArray:
    """An array's metadata and where its bytes lie; ``access`` says how they may be reached (None: as by default).

    >>> air = ba.scan("jan.nc")["air"]
    >>> air.meta.shape
    (2, 4, 8)
    >>> air.manifest
    <ChunkManifest grid (2, 4, 1), 8 references to 1 file>
    """

    meta: ArrayMeta
    manifest: Manifest
    access: Access | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return virtual_array_text(self)

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)


@dataclass(frozen=True, slots=True, repr=False)
class VirtualGroup:
    """A tree of virtual arrays. Immutable; the children are in the file's order.

    ``access`` says how the bytes of all its arrays may be reached (None: as by default).

    >>> vg = ba.scan("jan.nc")
    >>> vg
    <VirtualGroup: 4 arrays>
      time  float64 (time 2)
      lat   float64 (lat 4)
      lon   float64 (lon 8)
      air   float32 (time 2, lat 4, lon 8)
    """

    meta: GroupMeta = field(default_factory=GroupMeta)
    arrays: Mapping[str, VirtualArray] = field(default_factory=dict)
    groups: Mapping[str, VirtualGroup] = field(default_factory=dict)
    report: tuple[ReportItem, ...] = ()
    access: Access | None = field(default=None, compare=False)

    @property
    def attributes(self) -> Mapping[str, JSON]:
        return self.meta.attributes

    def walk(self, prefix: str = "") -> Iterator[tuple[str, VirtualArray | VirtualGroup]]:
        """Every array and group below this one as (path, node), depth first, arrays before groups."""
        for name, array in self.arrays.items():
            yield prefix + name, array
        for name, group in self.groups.items():
            yield prefix + name, group
            yield from group.walk(f"{prefix}{name}/")

    def __getitem__(self, path: str) -> VirtualArray | VirtualGroup:
        if not isinstance(path, str):
            raise NotFound(f"no member {shown(path)}: names are text")
        head, _, rest = path.strip("/").partition("/")
        if not head:
            return self
        if not rest and head in self.arrays:
            return self.arrays[head]
        if head in self.groups:
            return self.groups[head][rest]
        raise unknown("array or group", path, [*self.arrays, *self.groups])

    def __contains__(self, path: object) -> bool:
        """Whether there is such an array or group."""
        if not isinstance(path, str):
            return False
        try:
            return self[path] is not None
        except NotFound:
            return False

    def __repr__(self) -> str:
        return virtual_group_text(self)

    def _repr_html_(self) -> str | None:
        return shown_as_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        return [path for path, _ in self.walk()]


VirtualNode: TypeAlias = VirtualGroup | VirtualArray
