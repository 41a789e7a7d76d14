"""The chunk grid of a combined variable, and which chunks decode to more than they contribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.model import Cell, ClassNumber, InputNumber
from byteatlas.combining.variable.encodings import EncodingTable, Merged
from byteatlas.errors import Unsupported
from byteatlas.meta.grid import boundaries
from byteatlas.meta.model import ArrayMeta, ChunkGrid, Encoding, RectilinearGrid, RegularGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True, eq=False)
class MosaicTile:
    """One input's part of a variable: its class, its own shape, and its block along each axis of the result."""

    input: InputNumber
    cls: ClassNumber
    shape: Shape
    block: Cell


@dataclass(frozen=True, slots=True, eq=False)
class GridLayout:
    """Where the blocks lie.

    Attributes:
        starts: for each axis, the first chunk of each block (and the number of chunks at the end).
        explicit: encodings must say their chunk shape, because some chunk decodes to more than it contributes.
    """

    shape: Shape
    grid: ChunkGrid
    starts: tuple[tuple[int, ...], ...]
    explicit: bool


@dataclass(frozen=True, slots=True)
class Edges:
    """Chunk lengths of one block along one axis: ``logical`` parts of the array, the last one ``full`` when decoded."""

    logical: tuple[int, ...]
    full: int

    @property
    def partial(self) -> bool:
        return bool(self.logical) and self.logical[-1] != self.full


def edges_of(grid: ChunkGrid, length: int, axis: int) -> Edges:
    """One array's chunk lengths along one axis."""
    match grid:
        case RegularGrid(chunk_shape):
            c = chunk_shape[axis]
            whole, rest = divmod(length, c)
            return Edges((c,) * whole + ((rest,) if rest else ()), c)
        case RectilinearGrid(edges):
            logical = tuple(np.diff(boundaries(length, grid, axis)).tolist())
            if logical and logical[-1] == 0:
                raise Unsupported("chunks", "chunks that lie wholly outside the array")
            return Edges(logical, edges[axis][-1] if edges[axis] else 1)


class MismatchedChunks(Exception):
    """Blocks beside each other are cut at different places along an axis."""

    def __init__(self, axis: int, tiles: tuple[MosaicTile, MosaicTile]) -> None:
        super().__init__(f"axis {axis}")
        self.axis, self.members = axis, tiles


def lay_out(
    classes: Sequence[MetadataClass], tiles: Sequence[MosaicTile], lengths: Sequence[Sequence[int]]
) -> GridLayout:
    """The grid that fits all tiles. ``lengths``: for each axis, the length of each block.

    Raises `MismatchedChunks` when blocks in one row are cut differently.
    """
    per_axis = [axis_edges(classes, tiles, axis, sizes) for axis, sizes in enumerate(lengths)]
    shape = tuple(sum(sizes) for sizes in lengths)
    starts = tuple(tuple(np.cumsum([0, *(len(e.logical) for e in edges)]).tolist()) for edges in per_axis)
    regular = [regular_length(edges) for edges in per_axis]
    if all(c is not None for c in regular):
        grid: ChunkGrid = RegularGrid(tuple(c for c in regular if c is not None))
    else:
        grid = RectilinearGrid(tuple(flat_edges(edges) for edges in per_axis))
    return GridLayout(shape, grid, starts, needs_explicit(classes, tiles, per_axis, grid))


def axis_edges(
    classes: Sequence[MetadataClass], tiles: Sequence[MosaicTile], axis: int, sizes: Sequence[int]
) -> list[Edges]:
    """The chunk lengths of each block along one axis."""
    blocks: list[Edges | None] = [None] * len(sizes)
    owners: list[MosaicTile | None] = [None] * len(sizes)
    cache: dict[tuple[int, int], Edges] = {}
    for tile in tiles:
        key = (tile.cls, tile.shape[axis])
        edges = cache.get(key)
        if edges is None:
            edges = cache[key] = edges_of(classes[tile.cls].meta.grid, tile.shape[axis], axis)
        at = tile.block[axis]
        known, owner = blocks[at], owners[at]
        if known is None or owner is None:
            blocks[at], owners[at] = edges, tile
        elif known is not edges and known.logical != edges.logical:
            raise MismatchedChunks(axis, (owner, tile))
    usual = next((b for b in blocks if b is not None), None)
    full = usual.full if usual is not None else 1
    return [b if b is not None else absent_edges(size, full) for b, size in zip(blocks, sizes, strict=True)]


def absent_edges(size: int, full: int) -> Edges:
    """Chunks for a block that no file has, cut like the others."""
    whole, rest = divmod(size, full)
    return Edges((full,) * whole + ((rest,) if rest else ()), full)


def regular_length(blocks: Sequence[Edges]) -> int | None:
    """The one chunk length of a regular axis: all full, only the very last one may be partial; None otherwise."""
    filled = [b for b in blocks if b.logical]
    if not filled:
        return max((b.full for b in blocks), default=1)
    c = filled[0].full
    last = filled[-1]
    for b in filled[:-1]:
        if b.full != c or b.logical[-1] != c or b.logical[0] != c:
            return None
    if last.full != c or any(n != c for n in last.logical[:-1]) or last.logical[-1] > c:
        return None
    return c if all(len(set(b.logical[:-1])) <= 1 for b in filled) else None


def flat_edges(blocks: Sequence[Edges]) -> tuple[int, ...]:
    """Chunk lengths along a rectilinear axis; the very last one is full (it may stick out of the array)."""
    filled = [b for b in blocks if b.logical]
    lengths = [n for b in filled for n in b.logical]
    if filled:
        lengths[-1] = max(filled[-1].full, lengths[-1])
    return tuple(lengths)


def needs_explicit(
    classes: Sequence[MetadataClass], tiles: Sequence[MosaicTile], per_axis: Sequence[Sequence[Edges]], grid: ChunkGrid
) -> bool:
    """Whether some chunk's encoded shape is not its shape in the grid."""
    if isinstance(grid, RegularGrid):
        return any(full_shape(classes[m.cls].meta) != grid.chunk_shape for m in one_each(tiles))
    lasts = [max((i for i, b in enumerate(edges) if b.logical), default=0) for edges in per_axis]
    for tile in tiles:
        own = classes[tile.cls].meta.grid
        for axis, at in enumerate(tile.block):
            edges = per_axis[axis][at]
            mine = own.chunk_shape[axis] if isinstance(own, RegularGrid) else (own.edges[axis] or (1,))[-1]
            ending = edges.full if at == lasts[axis] else (edges.logical or (mine,))[-1]
            inner = any(n != mine for n in edges.logical[:-1]) if isinstance(own, RegularGrid) else False
            if inner or (edges.logical and mine != ending):
                return True
    return False


def one_each(tiles: Sequence[MosaicTile]) -> list[MosaicTile]:
    """One tile of each class."""
    return list({m.cls: m for m in tiles}.values())


def full_shape(meta: ArrayMeta) -> Shape | None:
    return meta.grid.chunk_shape if isinstance(meta.grid, RegularGrid) else None


def explicit_encodings(
    merged: Merged, classes: Sequence[MetadataClass]
) -> tuple[tuple[Encoding, ...], list[tuple[int, ...]]]:
    """Encodings that say their chunk shape, for classes with regular grids; the others keep theirs."""
    numbered = EncodingTable()
    for e in merged.encodings:  # all different: they keep their numbers
        numbered.place(e)
    maps = []
    for cls, numbers in zip(classes, merged.maps, strict=True):
        shape = full_shape(cls.meta)
        new = []
        for n in numbers:
            e = merged.encodings[n]
            new.append(
                numbered.place(e if shape is None or e.chunk_shape is not None else replace(e, chunk_shape=shape))
            )
        maps.append(tuple(new))
    return tuple(numbered.encodings), maps


def compacted(encodings: Sequence[Encoding], used: Sequence[int]) -> tuple[tuple[Encoding, ...], dict[int, int]]:
    """Only the encodings that are used, in order of first use, and their new numbers."""
    renumber: dict[int, int] = {}
    for n in used:
        renumber.setdefault(n, len(renumber))
    return tuple(encodings[n] for n in renumber), renumber


def clipped(meta: ArrayMeta, tile: MosaicTile, layout: GridLayout) -> bool:
    """Whether a tile with uneven chunks has some whose shape in the result's grid is not what they decode to."""
    own, grid = meta.grid, layout.grid
    if 0 in meta.shape or not isinstance(own, RectilinearGrid):
        return False
    if all(e.chunk_shape is not None for e in meta.encodings):
        return False
    for axis, edges in enumerate(own.edges):
        at = layout.starts[axis][tile.block[axis]]
        if isinstance(grid, RegularGrid):
            if any(n != grid.chunk_shape[axis] for n in edges):
                return True
        elif grid.edges[axis][at : at + len(edges)] != edges:
            return True
    return False
