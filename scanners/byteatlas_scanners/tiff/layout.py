"""From images to virtual arrays: chunk grids, encodings and manifests.

Tiles and strips are chunks. Tiles are stored whole, also at the edges. The last strip is short: it gets an encoding of
its own, or, without compression, reads on into whatever follows (that part lies outside of the array). Uncompressed
strips that lie behind each other are one block of data, cut anew into chunks of a handy size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.kinds.strided import chunk_strides, contiguous, cut
from byteatlas.manifest.model import Manifest, SourceInfo, single_source
from byteatlas.meta.model import Encoding, EncodingColumn
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass
from byteatlas_scanners.tiff.page import Page, plain_lengths
from byteatlas_scanners.tiff.samples import Chain, chain, is_plain, sample_type

FARTHEST = np.uint64(2**62)
"""Offsets beyond this are not believed (and could overflow)."""


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """The chunks of an array.

    Attributes:
        chunk_shape: of the array, leading (stacking) axes included.
        missing: how many tiles or strips do not exist.
        outside: how many lie beyond the end of the file, wholly or in part.
    """

    chunk_shape: Shape
    encodings: tuple[Encoding, ...]
    manifest: Manifest
    missing: int = 0
    outside: int = 0


def lay_out(pages: Sequence[Page], leading: Shape, source: SourceInfo, target: int | None) -> ImageLayout:
    """The chunks of same-shaped pages stacked along ``leading`` axes (none for a single page).

    Raises `Unsupported` for compressions and samples that cannot be decoded.
    """
    first = pages[0]
    full = chain(first, first.chunk_height)
    if is_plain(first):
        block = _block(pages, leading, source, target, full)
        if block is not None:
            return block
    return _chunks(pages, leading, source, full)


def _block(
    pages: Sequence[Page], leading: Shape, source: SourceInfo, target: int | None, full: Chain
) -> ImageLayout | None:
    """Pages whose data are one range each, as blocks; None when they are not."""
    first = pages[0]
    lengths = plain_lengths(first)
    bases: list[int] = []
    for page in pages:
        alike = page.chunk_height == first.chunk_height and page.tiled == first.tiled
        base = data_start(page, lengths if alike else plain_lengths(page), source.size or 0)
        if base is None:
            return None
        bases.append(base)
    starts = np.asarray(bases, np.uint64)
    item = sample_type(pages[0]).itemsize
    shape = pages[0].shape
    size = item * math.prod(shape)
    steps = np.diff(starts)
    if (steps == size).all():
        block = contiguous((*leading, *shape), item, int(starts[0]), source, target)
        encodings = [Encoding(full)]
        if block.tail is not None:
            encodings.append(Encoding(full, chunk_shape=block.tail))
        return ImageLayout(block.chunk_shape, tuple(encodings), block.manifest)
    chunk = cut(shape, item, target, even=True)
    grid = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    within = np.zeros(grid, np.uint64)
    for axis, stride in enumerate(chunk_strides(shape, chunk, item)):
        index = np.arange(grid[axis], dtype=np.uint64).reshape([-1 if i == axis else 1 for i in range(len(grid))])
        within += index * np.uint64(stride)
    offsets = (starts[:, None] + within.reshape(1, -1)).reshape(-1)
    sizes = np.full(len(offsets), item * math.prod(chunk), np.uint64)
    manifest = single_source((*leading, *grid), source, offsets, sizes)
    return ImageLayout((*(1 for _ in leading), *chunk), (Encoding(full),), manifest)


def data_start(page: Page, lengths: NDArray[np.uint64], size: int) -> int | None:
    """Where a plain page's data begin, when all its strips (of these lengths) lie behind each other; else None."""
    if page.tiled and (page.chunk_width != page.width or page.height % page.chunk_height):
        return None
    counts, offsets = page.counts, page.offsets
    start = int(offsets[0])
    if len(offsets) > 1:
        joined = (offsets[1:] == offsets[:-1] + lengths[:-1]).all() and (counts[:-1] == lengths[:-1]).all()
        if not joined:
            return None
    end = int(offsets[-1]) + int(lengths[-1])
    return start if start and counts[-1] >= lengths[-1] and end <= size else None


def _chunks(pages: Sequence[Page], leading: Shape, source: SourceInfo, full: Chain) -> ImageLayout:
    """Every tile or strip a chunk."""
    first = pages[0]
    pieces = {(page.tiled, page.chunk_height, page.chunk_width) for page in pages}
    if len(pieces) > 1:
        raise Unsupported(Reason.LAYOUT, f"pages of one stack stored in pieces of {len(pieces)} kinds", first.ifd.name)
    down, across = -(-first.height // first.chunk_height), -(-first.width // first.chunk_width)
    plain = is_plain(first)
    wanted = plain_lengths(first) if plain else None
    offsets, lengths = _columns(pages, source.size or 0, wanted)
    missing = (offsets == 0) | (lengths == 0)
    outside = int(((offsets + lengths > np.uint64(source.size or 0)) & ~missing).sum())  # _columns bounds both
    inner = _grid(first, down, across)
    encodings: tuple[Encoding, ...] = (Encoding(full),)
    column: EncodingColumn | None = None
    if first.edge_rows != first.chunk_height:
        reach = np.uint64(first.chunk_height * first.row_bytes)
        last = np.zeros((len(pages) * (first.samples if first.planar else 1), down, across), bool)
        last[:, -1, :] = True
        tail = last.reshape(-1) & ~missing
        if plain and (offsets[tail] + reach <= np.uint64(source.size or 0)).all():
            lengths[tail] = reach  # reads on into what follows; cropped
        elif tail.any():
            short = Encoding(chain(first, first.edge_rows), chunk_shape=_short(first, leading))
            encodings, column = (*encodings, short), tail.astype(np.uint16)
    manifest = single_source((*leading, *inner), source, offsets, lengths, missing=missing, encoding=column)
    return ImageLayout((*(1 for _ in leading), *first.chunk_shape()), encodings, manifest, int(missing.sum()), outside)


def _short(page: Page, leading: Shape) -> Shape:
    return (*(1 for _ in leading), *page.chunk_shape(page.edge_rows))


def _grid(page: Page, down: int, across: int) -> Shape:
    if page.samples == 1:
        return (down, across)
    return (page.samples, down, across) if page.planar else (down, across, 1)


def _columns(
    pages: Sequence[Page], size: int, plain: NDArray[np.uint64] | None
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Offsets and lengths of all tiles or strips, cut at the end of the file; ``plain``: what one page's must be."""
    offsets = np.concatenate([page.offsets for page in pages])
    counts = np.concatenate([page.counts for page in pages])
    if (offsets > FARTHEST).any():
        raise CorruptFile(pages[0].ifd.offset, f"a tile or strip lies at byte {int(offsets.max())}")
    counts = np.minimum(counts, FARTHEST)
    if plain is None:
        room = np.where(offsets < np.uint64(size), np.uint64(size) - np.minimum(offsets, np.uint64(size)), counts)
        return offsets, np.minimum(counts, room)
    wanted = np.tile(plain, len(pages))
    short = (counts < wanted) & (counts != 0) & (offsets != 0)
    if short.any():
        why = f"{int(short.sum())} uncompressed tiles or strips are shorter than their samples"
        raise CorruptFile(int(offsets[short][0]), why)
    return offsets, np.where(counts == 0, counts, wanted)
