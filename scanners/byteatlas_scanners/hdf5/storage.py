"""Where a dataset's bytes are in its own file: a chunk shape and a chunk manifest."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo, empty_manifest, inline_manifest
from byteatlas.meta.model import EncodingColumn, RectilinearGrid
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.reasons import Reason
from byteatlas_scanners.hdf5.chunks.index import read_chunks
from byteatlas_scanners.hdf5.chunks.table import Space, Table
from byteatlas_scanners.hdf5.dataset import Description
from byteatlas_scanners.hdf5.format.layout import Chunked, Compact, Contiguous, Virtual
from byteatlas_scanners.hdf5.format.wire import Form
from byteatlas_scanners.hdf5.values import fillvalue

MOST_MASKS = 255
MOST_ELEMENTS = 1 << 62


class Placement(NamedTuple):
    """Where a dataset's bytes are: what is needed beside its data type to build an array.

    Attributes:
        chunk: the chunks' shape.
        masks: the filter mask of each encoding.
        grid: chunk lengths when they are not all the same; their sum is the shape.
    """

    chunk: tuple[int, ...]
    masks: tuple[int, ...]
    manifest: ChunkManifest
    inlined: bool = False
    grid: RectilinearGrid | None = None


def locate(form: Form, what: Description, options: ScanOptions, sources: tuple[SourceInfo, ...]) -> Parse[Placement]:
    """Find a dataset's bytes in its own file. Raises `CorruptFile` or `Unsupported`."""
    shape, size = what.shape, what.type.size
    if math.prod(shape) * size > MOST_ELEMENTS:
        raise CorruptFile(form.base, f"a dataset of shape {shape}")
    _check_readable(what)
    match what.layout:
        case Compact(data):
            return _compact(form, shape, size, data)
        case Contiguous() if what.external:
            # `external_storage` goes on from here, when all files are known.
            raise Unsupported(Reason.EXTERNAL_STORAGE, "raw data in other files")
        case Contiguous():
            return _contiguous(form, what, shape, options, sources)
        case Chunked():
            return (yield from _chunked(form, what, what.layout, sources))
        case Virtual():
            raise Unsupported(Reason.VIRTUAL_DATASET, "a virtual dataset")


def _check_readable(what: Description) -> None:
    """What was never written and has no fill value has no values: libhdf5 does not read it (H5D__read)."""
    place, fill = what.layout, what.fill
    if fill.defined or fill.when == fillvalue.NEVER or what.external or not math.prod(what.shape):
        return
    if isinstance(place, (Contiguous, Chunked)) and place.address is None:
        raise Unsupported(Reason.NEVER_WRITTEN, "never written, and without a fill value: there is nothing to read")


def _whole(shape: tuple[int, ...]) -> tuple[int, ...]:
    """One chunk for everything; a chunk has no empty axis."""
    return tuple([n or 1 for n in shape])


def _grid(shape: tuple[int, ...], chunk: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([-(-n // c) for n, c in zip(shape, chunk, strict=True)])


def _compact(form: Form, shape: tuple[int, ...], size: int, data: bytes) -> Placement:
    need = math.prod(shape) * size
    if len(data) < need:
        raise CorruptFile(form.base, f"{len(data)} bytes of compact data where {need} are needed")
    chunk = _whole(shape)
    return Placement(chunk, (0,), inline_manifest(_grid(shape, chunk), {0: data[:need]} if need else {}), inlined=True)


def _contiguous(
    form: Form, what: Description, shape: tuple[int, ...], options: ScanOptions, sources: tuple[SourceInfo, ...]
) -> Placement:
    place = what.layout
    assert isinstance(place, Contiguous)
    size = what.type.size
    need = math.prod(shape) * size
    if place.address is not None and (not need or place.address + (place.size or 0) > form.size):
        raise CorruptFile(form.base + place.address, f"{place.size} bytes of data are not there")
    if place.address is None or not need:
        chunk = _whole(shape)
        return Placement(chunk, (0,), empty_manifest(_grid(shape, chunk)))
    recorded = need if place.size is None else place.size
    if recorded < need or place.address + recorded > form.size:
        raise CorruptFile(form.base + place.address, f"{need} bytes of data are not there")
    chunk = split(shape, size, options.target_chunk)
    grid = _grid(shape, chunk)
    count, step = math.prod(grid), math.prod(chunk) * size
    offset = np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(form.base + place.address)
    manifest = ChunkManifest(grid, sources, np.zeros(count, np.int32), offset, np.full(count, step, np.uint64))
    return Placement(chunk, (0,), manifest)


def split(shape: tuple[int, ...], size: int, target: int | None) -> tuple[int, ...]:
    """A chunk shape for contiguous data: blocks that lie one after the other, all of the same size.

    Only sizes that divide the array evenly are used: then every chunk has its full shape, as plain Zarr wants it.

    >>> split((1000, 10, 10), 8, 80_000), split((7919,), 8, 1000)
    ((100, 10, 10), (7919,))
    """
    need = math.prod(shape) * size
    if target is None or need <= 2 * target:
        return _whole(shape)
    below = size
    best: tuple[int, ...] = shape
    for axis in range(len(shape) - 1, -1, -1):
        if below * shape[axis] > target:
            rows = _divisor(shape[axis], max(1, target // below))
            if rows * below * 16 >= target or axis == 0:
                best = (1,) * axis + (rows, *shape[axis + 1 :])
            elif below * shape[axis] <= 16 * target:
                best = (1,) * axis + shape[axis:]
            else:
                return shape
            break
        below *= shape[axis]
    chunk = math.prod(best) * size
    return best if chunk * 64 >= target else shape


def _divisor(n: int, most: int) -> int:
    """The largest divisor of ``n`` that is not above ``most``."""
    best = 1
    for k in range(1, math.isqrt(n) + 1):
        if k > 1 << 20:
            break
        if not n % k:
            for d in (k, n // k):
                if best < d <= most:
                    best = d
    return best


def _chunked(form: Form, what: Description, place: Chunked, sources: tuple[SourceInfo, ...]) -> Parse[Placement]:
    shape = what.shape
    if len(place.chunk) != len(shape) or place.element != what.type.size:
        raise CorruptFile(
            form.base, f"chunks {place.chunk} of {place.element}-byte elements for {shape} of {what.type.size}"
        )
    space = Space(
        shape, what.space.most, place.chunk, math.prod(place.chunk) * place.element, len(what.pipeline.filters)
    )
    table = yield from read_chunks(form, place, space)
    table, masks, column = _encodings(space, table, place.raw_edges)
    return Placement(place.chunk, masks, _manifest(form, space, table, column, sources))


def _encodings(space: Space, table: Table, raw_edges: bool) -> tuple[Table, tuple[int, ...], EncodingColumn | None]:
    """The distinct filter masks, and which one each listed chunk has (None: all the same)."""
    every = (1 << space.filters) - 1
    masks = table.mask
    if masks is not None and not raw_edges and not masks.any():
        return table, (0,), None
    if masks is not None and every:
        masks = masks & np.uint32(every & 0xFFFFFFFF)
    if raw_edges and every:
        masks = np.zeros(len(table.flat), np.uint32) if masks is None else masks.copy()
        masks[_edges(space, table.flat)] = every
    if masks is None or not every or not masks.any():
        return table, (0,), None
    found, column = np.unique(masks, return_inverse=True)
    if len(found) > MOST_MASKS:
        raise Unsupported(Reason.LAYOUT, f"{len(found)} different filter masks")
    return table, tuple(found.tolist()), None if len(found) == 1 else column.astype(np.uint16)


def _edges(space: Space, flat: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which chunks stick out of the dataset."""
    edge = np.zeros(len(flat), np.bool_)
    rest = flat
    for n, c, count in reversed(list(zip(space.shape, space.chunk, space.grid, strict=True))):
        rest, here = np.divmod(rest, count)
        if n % c:
            edge |= here == count - 1
    return edge


def _manifest(
    form: Form, space: Space, table: Table, column: EncodingColumn | None, sources: tuple[SourceInfo, ...]
) -> ChunkManifest:
    grid = space.grid
    total, flat = math.prod(grid), table.flat
    if not len(flat):
        return empty_manifest(grid)
    address: NDArray[Any] = table.address + np.uint64(form.base) if form.base else table.address
    if len(flat) == total and (table.ordered or bool((flat[1:] > flat[:-1]).all())):  # all there, in order
        source = np.zeros(total, np.int32)
        length = np.full(total, space.nbytes, np.uint64) if table.nbytes is None else table.nbytes
        return ChunkManifest(grid, sources, source, address, length, column)
    source = np.full(total, MISSING, np.int32)
    offset, length = np.zeros(total, np.uint64), np.zeros(total, np.uint64)
    source[flat], offset[flat] = 0, address
    length[flat] = space.nbytes if table.nbytes is None else table.nbytes
    encoding = None
    if column is not None:
        encoding = np.zeros(total, np.uint16)
        encoding[flat] = column
    return ChunkManifest(grid, sources, source, offset, length, encoding)
