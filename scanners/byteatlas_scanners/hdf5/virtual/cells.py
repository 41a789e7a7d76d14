"""Virtual datasets as manifests: the boxes of `virtual` cut into cells, each a reference into one chunk of a source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Unsupported
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, SourceInfo, VirtualArray
from byteatlas.meta.model import (
    MOST_ENCODINGS,
    ArrayMeta,
    ChunkGrid,
    CodecSpec,
    Encoding,
    EncodingColumn,
    RectilinearGrid,
    RegularGrid,
)
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass, field
from byteatlas_scanners.hdf5.virtual.mappings import MOST_CELLS, Box

RAW = frozenset(("bytes", "byteatlas.bytes"))
"""Codecs under which a run of bytes is a run of elements."""


@dataclass(slots=True)
class _Canvas:
    """The columns of the manifest that is being put together."""

    fill: Any
    edges: list[NDArray[np.int64]]
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    encoding: EncodingColumn
    inlined: dict[int, bytes] = field(default_factory=dict)
    sources: dict[SourceInfo, int] = field(default_factory=dict)
    encodings: dict[tuple[tuple[str, ...], tuple[int, ...]], int] = field(default_factory=dict)
    chains: list[Encoding] = field(default_factory=list)

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple([len(e) - 1 for e in self.edges])


def assemble(meta: ArrayMeta, pieces: Sequence[Box], itemsize: int) -> VirtualArray:
    """The virtual dataset as an array; ``meta`` has its shape, type and fill value, grid and encodings are made here.

    Raises `Unsupported` (``virtual-dataset``) when a cell cannot be a reference.
    """
    if not meta.shape:
        raise Unsupported(Reason.VIRTUAL_DATASET, "a virtual dataset without dimensions")
    for box in pieces:
        _check(meta, box)
    edges = [_edges(meta.shape[axis], axis, pieces) for axis in range(len(meta.shape))]
    total = math.prod(len(e) - 1 for e in edges)
    if total > MOST_CELLS:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"pieces that cut the dataset into {total} cells")
    canvas = _Canvas(
        meta.fill_value,
        edges,
        np.full(total, MISSING, np.int32),
        np.zeros(total, np.uint64),
        np.zeros(total, np.uint64),
        np.zeros(total, np.uint16),
    )
    for box in pieces:
        _paint(canvas, box, itemsize)
    chunk_grid = _grid(meta.shape, edges)
    encodings = tuple(canvas.chains) or (Encoding(meta.encodings[0].codecs),)
    if isinstance(chunk_grid, RegularGrid):
        plain = chunk_grid.chunk_shape
        encodings = tuple([Encoding(e.codecs, None if e.chunk_shape == plain else e.chunk_shape) for e in encodings])
    column = canvas.encoding if len(encodings) > 1 else None
    manifest = ChunkManifest(
        canvas.grid, tuple(canvas.sources), canvas.source, canvas.offset, canvas.length, column, canvas.inlined
    )
    whole = ArrayMeta(
        meta.shape, meta.data_type, chunk_grid, encodings, meta.fill_value, meta.dimension_names, meta.attributes
    )
    return VirtualArray(whole, manifest)


def _check(meta: ArrayMeta, box: Box) -> None:
    source = box.source.meta
    if source.data_type != meta.data_type:
        kinds = f"{source.data_type.name} as {meta.data_type.name}"
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a source of another data type ({kinds})")
    if not isinstance(source.grid, RegularGrid):
        raise Unsupported(Reason.VIRTUAL_DATASET, "a source with an irregular chunk grid")


def _chunk(box: Box) -> tuple[int, ...]:
    grid = box.source.meta.grid
    assert isinstance(grid, RegularGrid)
    return grid.chunk_shape


def _raw(source: VirtualArray) -> bool:
    """Whether a run of bytes of a chunk is a run of elements."""
    return all(len(e.codecs) == 1 and e.codecs[0].name in RAW for e in source.meta.encodings)


def _edges(length: int, axis: int, pieces: Sequence[Box]) -> NDArray[np.int64]:
    """All borders along one axis."""
    found = [np.array([0, length], np.int64)]
    for box in pieces:
        begin, size, there = box.at[axis], box.shape[axis], box.axes[axis]
        found.append(np.array([begin, begin + size], np.int64))
        if there is None:
            continue
        step, origin = _chunk(box)[there], box.origin[there]
        first = -origin % step
        found.append(np.arange(begin + first, begin + size, step, dtype=np.int64))
        if _split_rows(box, axis):
            found.append(np.arange(begin, begin + size, dtype=np.int64))
    if sum(len(f) for f in found) > MOST_CELLS:
        raise Unsupported(Reason.VIRTUAL_DATASET, "pieces that cut the dataset into too many cells")
    return np.unique(np.concatenate(found))


def _split_rows(box: Box, axis: int) -> bool:
    """Whether an axis must be cut into single indices: a later axis takes only part of an uncompressed chunk."""
    there = box.axes[axis]
    if there is None or not _raw(box.source):
        return False
    chunk, shape = _chunk(box), box.source.meta.shape
    back = {b: a for a, b in enumerate(box.axes) if b is not None}
    for later in range(there + 1, len(chunk)):
        full = min(chunk[later], shape[later])
        taken = box.shape[back[later]] if later in back else 1
        if taken < full or box.origin[later] % chunk[later]:
            return chunk[there] > 1
    return False


def _paint(canvas: _Canvas, box: Box, itemsize: int) -> None:
    """Put the references of one box into the columns of its cells."""
    source, chunk = box.source, _chunk(box)
    rank = len(box.at)
    cells = [_cells(canvas.edges[axis], box.at[axis], box.shape[axis]) for axis in range(rank)]
    counts = [len(c) for c in cells]
    sizes = [np.diff(canvas.edges[axis])[cells[axis]] for axis in range(rank)]
    where = np.zeros(counts, np.int64)  # the cell, as an index in the manifest
    number = np.zeros(counts, np.int64)  # the source's chunk, likewise
    origins = np.zeros((*counts, len(chunk)), np.int64)  # where the cell begins in that chunk
    grid = source.manifest.grid_shape
    back = {b: a for a, b in enumerate(box.axes) if b is not None}
    for axis in range(rank):
        where += _along(cells[axis], axis, rank) * math.prod(canvas.grid[axis + 1 :])
    for there, step in enumerate(chunk):
        on = back.get(there)
        position: NDArray[np.int64]
        if on is None:
            position = np.array([box.origin[there]], np.int64).reshape((1,) * rank)
        else:
            begins = canvas.edges[on][cells[on]] - box.at[on] + box.origin[there]
            position = _along(begins, on, rank)
        origins[..., there] = position % step
        number += position // step * math.prod(grid[there + 1 :])
    flat, chunks = where.reshape(-1), number.reshape(-1)
    if bool((canvas.source[flat] != MISSING).any()):
        raise Unsupported(Reason.VIRTUAL_DATASET, "pieces that overlap")
    shapes = np.stack([np.broadcast_to(_along(sizes[a], a, rank), counts).reshape(-1) for a in range(rank)], axis=1)
    _refer(canvas, box, itemsize, _Cells(flat, chunks, shapes, origins.reshape(-1, len(chunk))))


def _along(values: NDArray[np.int64], axis: int, rank: int) -> NDArray[np.int64]:
    return values.reshape([-1 if a == axis else 1 for a in range(rank)])


def _cells(edges: NDArray[np.int64], begin: int, size: int) -> NDArray[np.int64]:
    first, last = np.searchsorted(edges, (begin, begin + size))
    return np.arange(first, last, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of one box, one row each.

    Attributes:
        flat: index in the virtual dataset's manifest.
        chunk: index of the source's chunk in the source's manifest.
        shape: of the cell, along the virtual dataset's axes.
        origin: where it begins in its chunk, along the source's axes.
    """

    flat: NDArray[np.int64]
    chunk: NDArray[np.int64]
    shape: NDArray[np.int64]
    origin: NDArray[np.int64]


def _refer(canvas: _Canvas, box: Box, itemsize: int, cells: _Cells) -> None:
    source, flat = box.source, cells.flat
    rows = source.manifest.rows(cells.chunk)
    missing = rows.source == MISSING
    if missing.any() and not _same(source.meta.fill_value, canvas.fill):
        raise Unsupported(Reason.VIRTUAL_DATASET, "a source with missing chunks and a fill value")
    lookup = np.array([canvas.sources.setdefault(s, len(canvas.sources)) for s in source.manifest.sources], np.int32)
    where, offset, length = rows.source.copy(), rows.offset.copy(), rows.length.copy()
    where[rows.source >= 0] = lookup[rows.source[rows.source >= 0]]
    before = np.zeros(len(flat), np.int64)  # bytes of the chunk before the cell, of cells that are runs of bytes
    runs = np.zeros(len(flat), np.bool_)
    kinds = np.zeros(len(flat), np.int64) if rows.encoding is None else rows.encoding.astype(np.int64)
    for kind in np.unique(kinds).tolist():
        encoding = source.meta.encodings[kind]
        # Chunks of this kind may be stored in another shape than the grid's: of arrays that are virtual themselves.
        stored = encoding.chunk_shape or _chunk(box)
        which = np.flatnonzero((kinds == kind) & ~missing)
        elements = cells.origin[which] @ np.array([math.prod(stored[i + 1 :]) for i in range(len(stored))], np.int64)
        runs[which] = _refer_kind(canvas, box, cells, which, stored, encoding.codecs, elements)
        before[which] = elements * itemsize
    offset[runs] += before[runs].astype(np.uint64)
    length[runs] = (cells.shape[runs].prod(axis=1) * itemsize).astype(np.uint64)
    canvas.source[flat], canvas.offset[flat], canvas.length[flat] = where, offset, length
    for i in np.flatnonzero(rows.source == INLINE).tolist():
        data = source.manifest.inline(int(cells.chunk[i]))
        if runs[i]:
            data = data[int(before[i]) :][: int(cells.shape[i].prod()) * itemsize]
        canvas.inlined[int(flat[i])] = data


def _refer_kind(
    canvas: _Canvas,
    box: Box,
    cells: _Cells,
    which: NDArray[np.int64],
    stored: tuple[int, ...],
    codecs: tuple[CodecSpec, ...],
    elements: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """The encodings of the cells ``which``, whose chunks are stored alike; tells which of them are runs of bytes.

    ``elements``: how many of its chunk come before each of these cells.
    """
    flat, shapes = cells.flat[which], cells.shape[which]
    mapped = set(box.axes)
    whole = tuple([1 if b is None else stored[b] for b in box.axes])
    thin = all(step == 1 for there, step in enumerate(stored) if there not in mapped)
    corner = (elements == 0) if thin else np.zeros(len(which), np.bool_)
    runs = ~corner
    if not (len(codecs) == 1 and codecs[0].name in RAW) or not _contiguous(box, stored, shapes[runs]):
        runs[:] = False
    cut = ~corner & ~runs
    if cut.any() and not thin:
        raise Unsupported(Reason.VIRTUAL_DATASET, "pieces of sources with more dimensions, across their chunks")
    if corner.any():
        canvas.encoding[flat[corner]] = _encoding(canvas, codecs, whole)
    for shape, here in _groups(shapes, runs):
        canvas.encoding[flat[here]] = _encoding(canvas, codecs, shape)
    origins = np.stack(
        [np.zeros(len(which), np.int64) if b is None else cells.origin[which, b] for b in box.axes], axis=1
    )
    for both, here in _groups(np.concatenate([shapes, origins], axis=1), cut):
        shape, origin = both[: len(whole)], both[len(whole) :]
        crop = CodecSpec("byteatlas.crop", {"origin": list(origin), "shape": list(whole)})
        canvas.encoding[flat[here]] = _encoding(canvas, (crop, *codecs), shape)
    return runs


def _groups(
    columns: NDArray[np.int64], chosen: NDArray[np.bool_]
) -> Iterable[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """The different rows among the chosen ones, each with the places where it stands."""
    places = np.flatnonzero(chosen)
    if not len(places):
        return
    found, inverse = np.unique(columns[places], axis=0, return_inverse=True)
    for number, row in enumerate(found.tolist()):
        yield tuple(row), places[inverse.reshape(-1) == number]


def _same(left: Any, right: Any) -> bool:
    """Whether two fill values are the same bytes."""
    a, b = np.asarray(left), np.asarray(right)
    return a.dtype == b.dtype and a.dtype.kind != "O" and a.tobytes() == b.tobytes()


def _contiguous(box: Box, chunk: tuple[int, ...], shapes: NDArray[np.int64]) -> bool:
    """Whether cells are runs of elements of a chunk stored so: whole behind the first axis that is longer than one."""
    back = {b: a for a, b in enumerate(box.axes) if b is not None}
    one = np.ones(len(shapes), np.int64)
    started = np.zeros(len(shapes), np.bool_)
    sound = np.ones(len(shapes), np.bool_)
    for there, step in enumerate(chunk):
        size = shapes[:, back[there]] if there in back else one
        sound &= ~started | (size == step)
        started |= size > 1
    return bool(sound.all())


def _encoding(canvas: _Canvas, codecs: tuple[CodecSpec, ...], shape: tuple[int, ...]) -> int:
    key = (tuple([repr(c) for c in codecs]), tuple(shape))
    found = canvas.encodings.get(key)
    if found is None:
        found = canvas.encodings[key] = len(canvas.chains)
        if found >= MOST_ENCODINGS:
            raise Unsupported(Reason.VIRTUAL_DATASET, f"pieces stored in more than {MOST_ENCODINGS} ways")
        canvas.chains.append(Encoding(codecs, tuple(shape)))
    return found


def _grid(shape: tuple[int, ...], edges: list[NDArray[np.int64]]) -> ChunkGrid:
    """A regular grid where the borders allow it."""
    steps = [np.diff(e) for e in edges]
    regular = all(len(s) < 2 or (bool((s[:-1] == s[0]).all()) and s[-1] <= s[0]) for s in steps)
    if regular:
        return RegularGrid(tuple([int(s[0]) if len(s) else 1 for s in steps]))
    return RectilinearGrid(tuple([tuple(s.tolist()) for s in steps]))
