"""From a variable's place in the file to chunks: one record each, or pieces of contiguous data of a handy size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import Manifest, SourceInfo, empty_manifest, single_source
from byteatlas.manifest.strided import Strided
from byteatlas.types import Shape
from byteatlas_scanners.netcdf3.header import Header, Variable

SMALLEST_SHARE = 8
"""A chunk may be this many times smaller than asked, where that makes all chunks equal."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a variable is presented.

    Attributes:
        chunk_shape: the regular chunk shape.
        manifest: where the chunks lie.
        tail: the encoded shape of the last chunk where it is short (then encoding 1 of the manifest), or None.
    """

    chunk_shape: Shape
    manifest: Manifest
    tail: Shape | None = None


def lay_out(v: Variable, header: Header, source: SourceInfo, target: int | None) -> Layout:
    """The chunks of one variable. Raises `CorruptFile` when its bytes are not all in the file."""
    size = source.size or 0
    end = data_end(v, header)
    if never_written(header, size):
        chunk = tuple(max(1, n) for n in v.shape)
        return Layout(chunk, empty_manifest(_counts(v.shape, chunk)))
    if end > size:
        held = (size - v.begin - v.slab) // header.record_size + 1 if v.is_record else 0
        whole = f"; {max(0, held)} of {v.shape[0]} records are whole" if v.is_record else ""
        raise CorruptFile(v.begin, f"its data end at byte {end}, the file at byte {size}{whole}")
    if 0 in v.shape or not v.shape:
        chunk = tuple(max(1, n) for n in v.shape)
        return Layout(chunk, Strided(_counts(v.shape, chunk), source, v.begin, (0,) * len(chunk), v.slab))
    if v.is_record and header.record_size != v.slab:
        return _records(v, header, source, target)
    return _contiguous(v, source, target)


def never_written(header: Header, size: int) -> bool:
    """Whether the file ends before any variable begins: defined but not filled. NetCDF-C reads zeros from it.

    (A file that ends later, in the middle of its data, has lost something: its variables are refused.)
    """
    return 0 < size <= min((v.begin for v in header.variables), default=0)


def data_end(v: Variable, header: Header) -> int:
    """One past the last byte of a variable's data (padding does not count)."""
    if v.is_record:
        return v.begin + (v.shape[0] - 1) * header.record_size + v.slab if v.shape[0] and v.slab else 0
    return v.begin + v.slab


def _counts(shape: Shape, chunk: Shape) -> Shape:
    return tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))


def _records(v: Variable, header: Header, source: SourceInfo, target: int | None) -> Layout:
    """One chunk a record; a huge record is cut where it divides evenly."""
    inner = split(v.shape[1:], v.dtype.itemsize, target, even=True)
    chunk = (1, *inner)
    grid = _counts(v.shape, chunk)
    strides = (header.record_size, *_strides(v.shape[1:], inner, v.dtype.itemsize))
    return Layout(chunk, Strided(grid, source, v.begin, strides, math.prod(chunk) * v.dtype.itemsize))


def _contiguous(v: Variable, source: SourceInfo, target: int | None) -> Layout:
    item = v.dtype.itemsize
    chunk = split(v.shape, item, target, even=False)
    grid = _counts(v.shape, chunk)
    strides, length = _strides(v.shape, chunk, item), math.prod(chunk) * item
    last = v.begin + sum((n - 1) * s for n, s in zip(grid, strides, strict=True))
    if last + length <= (source.size or 0):
        # A partial last chunk reads on into whatever follows; that part lies outside of the array and is cropped.
        return Layout(chunk, Strided(grid, source, v.begin, strides, length))
    axis = max(i for i, n in enumerate(grid) if n > 1)
    tail = (*chunk[:axis], v.shape[axis] - (grid[axis] - 1) * chunk[axis], *chunk[axis + 1 :])
    rows = Strided(grid, source, v.begin, strides, length).load()
    lengths, encoding = rows.length.copy(), np.zeros(len(rows.length), np.uint8)
    lengths[-1], encoding[-1] = math.prod(tail) * item, 1
    return Layout(chunk, single_source(grid, source, rows.offset, lengths, encoding=encoding), tail)


def _strides(shape: Shape, chunk: Shape, item: int) -> tuple[int, ...]:
    """Bytes between chunks that are neighbours along each axis, for C-contiguous data."""
    return tuple(item * c * math.prod(shape[i + 1 :]) for i, c in enumerate(chunk))


def split(shape: Shape, item: int, target: int | None, *, even: bool) -> Shape:
    """The chunk shape that cuts C-contiguous data into pieces of about ``target`` bytes, contiguous each.

    Axes before the cut have chunks of one, axes after it are whole. A length that divides the axis evenly is taken
    when one is near; ``even``: no other cut is acceptable (pieces must not read over the end of the block).

    >>> split((100, 1000), 8, 80_000, even=False)
    (10, 1000)
    >>> split((7, 1000), 8, 16_000, even=True)
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
