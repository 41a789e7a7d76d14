"""From a variable's place in the file to chunks: one record each, or pieces of contiguous data of a handy size."""

from __future__ import annotations

import math

from byteatlas.errors import CorruptFile
from byteatlas.manifest.kinds.strided import ChunkedBlock, Strided, chunk_strides, contiguous, cut
from byteatlas.manifest.model import SourceInfo, empty_manifest
from byteatlas.types import Shape
from byteatlas_scanners.netcdf3.header import Header, Variable


def lay_out(v: Variable, header: Header, source: SourceInfo, target: int | None) -> ChunkedBlock:
    """The chunks of one variable. Raises `CorruptFile` when its bytes are not all in the file."""
    size = source.size or 0
    end = data_end(v, header)
    if never_written(header, size):
        chunk = tuple(max(1, n) for n in v.shape)
        return ChunkedBlock(chunk, empty_manifest(_counts(v.shape, chunk)))
    if end > size:
        held = (size - v.begin - v.slab) // header.record_size + 1 if v.is_record else 0
        whole = f"; {max(0, held)} of {v.shape[0]} records are whole" if v.is_record else ""
        raise CorruptFile(v.begin, f"its data end at byte {end}, the file at byte {size}{whole}")
    if v.is_record and header.record_size != v.slab:
        return _records(v, header, source, target)
    return contiguous(v.shape, v.dtype.itemsize, v.begin, source, target)


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


def _records(v: Variable, header: Header, source: SourceInfo, target: int | None) -> ChunkedBlock:
    """One chunk a record; a huge record is cut where it divides evenly."""
    inner = cut(v.shape[1:], v.dtype.itemsize, target, even=True)
    chunk = (1, *inner)
    grid = _counts(v.shape, chunk)
    strides = (header.record_size, *chunk_strides(v.shape[1:], inner, v.dtype.itemsize))
    return ChunkedBlock(chunk, Strided(grid, source, v.begin, strides, math.prod(chunk) * v.dtype.itemsize))
