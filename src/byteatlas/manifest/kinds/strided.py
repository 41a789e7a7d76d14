"""Manifests that are a formula: chunks of one length at a regular distance in one file.

Contiguous data, uncompressed strips and netCDF-3 records lie like this. A million chunks are a handful of integers
until somebody asks for their rows.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest, NotFound
from byteatlas.manifest.model import ChunkManifest, Manifest, Rows, SourceInfo, single_source
from byteatlas.types import Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Strided:
    """Chunk ``(i, j, ...)`` lies at ``base + i * strides[0] + j * strides[1] + ...``, all ``length`` bytes long.

    Attributes:
        strides: bytes between neighbours along each axis of the grid.

    >>> at = Strided((3,), SourceInfo("a.nc"), base=100, strides=(16,), length=8)
    >>> at.rows(np.array([2])).offset.tolist()
    [132]
    """

    grid_shape: Shape
    source: SourceInfo
    base: int
    strides: tuple[int, ...]
    length: int

    def __post_init__(self) -> None:
        if len(self.strides) != len(self.grid_shape):
            raise BadRequest(f"strides {self.strides} for a grid {self.grid_shape}")

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        return (self.source,)

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        n = len(chunks)
        offset = np.full(n, self.base, np.uint64)
        if len(self.grid_shape) == 1:
            offset += np.asarray(chunks, np.uint64) * np.uint64(self.strides[0])
        elif n and self.grid_shape:
            for index, stride in zip(np.unravel_index(chunks, self.grid_shape), self.strides, strict=True):
                offset += np.asarray(index, np.uint64) * np.uint64(stride)
        return Rows(np.zeros(n, np.int32), offset, np.full(n, self.length, np.uint64))

    def inline(self, chunk: int) -> bytes:
        raise NotFound(f"chunk {chunk} is not inline")

    def load(self) -> ChunkManifest:
        rows = self.rows(np.arange(math.prod(self.grid_shape), dtype=np.int64))
        return ChunkManifest(self.grid_shape, self.sources, rows.source, rows.offset, rows.length)


SMALLEST_SHARE = 8
"""A chunk may be this many times smaller than asked, where that makes all chunks equal."""


@dataclass(frozen=True, slots=True)
class ChunkedBlock:
    """How one block of C-contiguous data is presented.

    Attributes:
        chunk_shape: the regular chunk shape.
        manifest: where the chunks lie.
        tail: the encoded shape of the last chunk where it is short (encoding 1 of the manifest), or None.
    """

    chunk_shape: Shape
    manifest: Manifest
    tail: Shape | None = None


def chunk_strides(shape: Shape, chunk: Shape, item: int) -> tuple[int, ...]:
    """Bytes between chunks that are neighbours along each axis, for C-contiguous data.

    >>> chunk_strides((10, 100), (2, 100), 8)
    (1600, 800)
    """
    return tuple(item * c * math.prod(shape[i + 1 :]) for i, c in enumerate(chunk))


def cut(shape: Shape, item: int, target: int | None, *, even: bool) -> Shape:
    """The chunk shape that cuts C-contiguous data into pieces of about ``target`` bytes, contiguous each.

    Axes before the cut have chunks of one, axes after it are whole. A length that divides the axis evenly is taken
    when one is near; ``even``: no other cut is acceptable (pieces must not read over the end of the block).

    >>> cut((100, 1000), 8, 80_000, even=False)
    (10, 1000)
    >>> cut((7, 1000), 8, 16_000, even=True)
    (1, 1000)
    """
    if target is None or item * math.prod(shape) <= 2 * target:
        return shape
    for axis, n in enumerate(shape):
        row = item * math.prod(shape[axis + 1 :])
        if row > target:
            continue  # one step along this axis is too much already: cut further in
        fewest = -(-n * row // target)
        pieces = next((k for k in range(fewest, SMALLEST_SHARE * fewest) if n % k == 0), None)
        if pieces is None and even:
            break
        length = n // pieces if pieces else -(-n // fewest)
        return (*(1,) * axis, length, *shape[axis + 1 :])
    return shape


def contiguous(shape: Shape, item: int, base: int, source: SourceInfo, target: int | None) -> ChunkedBlock:
    """C-contiguous data at ``base`` as chunks of about ``target`` bytes; ``source.size`` must be known.

    The data must lie inside of the file: the caller has checked that. An empty array has no chunks.
    """
    if 0 in shape:
        chunk = tuple(max(1, n) for n in shape)
        grid = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
        return ChunkedBlock(chunk, Strided(grid, source, base, (0,) * len(shape), item))
    chunk = cut(shape, item, target, even=False)
    grid = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    strides, length = chunk_strides(shape, chunk, item), math.prod(chunk) * item
    regular = Strided(grid, source, base, strides, length)
    last = base + sum((n - 1) * s for n, s in zip(grid, strides, strict=True))
    if last + length <= (source.size or 0):
        # A partial last chunk reads on into whatever follows; that part lies outside of the array and is cropped.
        return ChunkedBlock(chunk, regular)
    axis = max(i for i, n in enumerate(grid) if n > 1)
    tail = (*chunk[:axis], shape[axis] - (grid[axis] - 1) * chunk[axis], *chunk[axis + 1 :])
    rows = regular.load()
    lengths, encoding = rows.length.copy(), np.zeros(len(rows.length), np.uint16)
    lengths[-1], encoding[-1] = math.prod(tail) * item, 1
    return ChunkedBlock(chunk, single_source(grid, source, rows.offset, lengths, encoding=encoding), tail)
