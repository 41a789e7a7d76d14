"""Virtual datasets: the list of mappings, and how they become references to the chunks of their sources.

Format specification VII.E "Virtual dataset storage". A mapping puts a selection of a source dataset onto a selection of
the virtual one. Both are cut into boxes; along each axis the boxes' borders and the borders of the sources' chunks
together make a grid whose cells each lie in one chunk of one source. A cell that begins where its chunk begins refers
to that chunk; any other one refers to a run of bytes of uncompressed data, or is cropped from its chunk. What is mapped
to nothing, or to a source that does not exist, is missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, SourceInfo, VirtualArray
from byteatlas.meta.model import ArrayMeta, ChunkGrid, CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.scan.reasons import Reason
from byteatlas_scanners.hdf5.selection import Selection, Slab, read_selection
from byteatlas_scanners.hdf5.wire import Cursor, Form, verify

FILE_OF, DATASET_OF, SAME_FILE = 1, 2, 4
"""Flags of a version 1 entry: names that an earlier entry has, or the file itself."""

MOST_MAPPINGS = 1 << 17
MOST_BOXES = 1 << 18
MOST_CELLS = 1 << 22
MOST_BLOCKS = 1 << 14

RAW = frozenset(("bytes", "byteatlas.bytes"))
"""Codecs under which a run of bytes is a run of elements."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """One entry of a virtual dataset's list; names may hold ``%b``, the number of a block."""

    file: str
    dataset: str
    source: Selection
    virtual: Selection

    @property
    def numbered(self) -> bool:
        return any("%b" in name.replace("%%", "") for name in (self.file, self.dataset))

    def named(self, block: int) -> tuple[str, str]:
        """File and dataset name of one block."""
        return numbered(self.file, block), numbered(self.dataset, block)


def numbered(name: str, block: int) -> str:
    """A printf-style name filled in.

    >>> numbered("run_%b_100%%.h5", 7)
    'run_7_100%.h5'
    """
    return "%".join(part.replace("%b", str(block)) for part in name.split("%%"))


def parse_mappings(form: Form, block: bytes) -> list[Mapping]:
    """The list of mappings in a global heap object. Raises `CorruptFile` and `Unsupported`."""
    verify(block, form.base, "a list of virtual mappings")
    cursor = Cursor(form, block)
    version = cursor.u8()
    if version > 1:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"a list of mappings of version {version}")
    count = cursor.length()
    if count > MOST_MAPPINGS:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"{count} mappings")
    found: list[Mapping] = []
    for _ in range(count):
        flags = cursor.u8() if version else 0
        if flags & ~(SAME_FILE | FILE_OF | DATASET_OF):
            raise Unsupported(Reason.VIRTUAL_DATASET, f"a mapping with flags {flags:#x}")
        file = "." if flags & SAME_FILE else found[cursor.length()].file if flags & FILE_OF else _name(cursor)
        dataset = found[cursor.length()].dataset if flags & DATASET_OF else _name(cursor)
        source = read_selection(cursor)
        found.append(Mapping(file, dataset, source, read_selection(cursor)))
    return found


def _name(cursor: Cursor) -> str:
    return cursor.text().decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True)
class Box:
    """A block of a source dataset that is a block of the virtual one.

    Attributes:
        at, shape: in the virtual dataset.
        origin: in the source.
        axes: for each axis of the virtual dataset the source's axis, or None where the block is one element thick.
    """

    source: VirtualArray
    at: tuple[int, ...]
    shape: tuple[int, ...]
    origin: tuple[int, ...]
    axes: tuple[int | None, ...]


Find = Callable[[str, str], "VirtualArray | None"]
"""The array with this file and dataset name; None when there is no such file or dataset."""


def extent(mappings: Sequence[Mapping], stored: tuple[int, ...], find: Find) -> tuple[int, ...]:
    """The shape of a virtual dataset: unlimited mappings reach as far as there are source data."""
    shape = list(stored)
    grown: dict[int, int] = {}
    for mapping in mappings:
        axis = _unlimited_axis(mapping.virtual)
        if axis is None or mapping.virtual is None:
            continue
        slab = mapping.virtual[0][axis]
        indices = slab.first(_selected(mapping, axis, find))
        grown[axis] = max(grown.get(axis, 0), int(indices[-1]) + 1 if len(indices) else 0)
    for mapping in mappings:
        for axis, least in _bounded(mapping.virtual):
            if axis in grown:
                grown[axis] = max(grown[axis], least)
    for axis, length in grown.items():
        shape[axis] = length
    return tuple(shape)


def _bounded(selection: Selection) -> Iterable[tuple[int, int]]:
    """Along each limited axis, the end of a selection."""
    for slabs in selection or ():
        for axis, slab in enumerate(slabs):
            if slab.times is not None and slab.block is not None:
                yield axis, slab.start + (slab.times - 1) * slab.stride + slab.block


def _unlimited_axis(selection: Selection) -> int | None:
    if selection is None or len(selection) != 1:
        return None
    return next((axis for axis, slab in enumerate(selection[0]) if slab.unlimited), None)


def _selected(mapping: Mapping, axis: int, find: Find) -> int:
    """Elements along the unlimited axis that the sources can fill."""
    assert mapping.virtual is not None
    if mapping.numbered:
        block = mapping.virtual[0][axis].block
        if block is None:
            raise Unsupported(Reason.VIRTUAL_DATASET, "numbered sources without a block size")
        number = 0
        while find(*mapping.named(number)) is not None:
            number += 1
            _bounded_blocks(number)
        return number * block
    source = find(mapping.file, mapping.dataset)
    here = _unlimited_axis(mapping.source)
    if source is None:
        return 0
    if mapping.source is None or here is None:
        raise Unsupported(Reason.VIRTUAL_DATASET, "an unlimited mapping of a limited source")
    return len(mapping.source[0][here].within(source.meta.shape[here]))


def boxes(mappings: Sequence[Mapping], shape: tuple[int, ...], find: Find) -> list[Box]:
    """All mappings as boxes. Raises `Unsupported` for mappings that have no such form."""
    found: list[Box] = []
    for mapping in mappings:
        if mapping.numbered:
            found += _numbered_boxes(mapping, shape, find)
            continue
        source = find(mapping.file, mapping.dataset)
        if source is None:
            continue
        axis = _unlimited_axis(mapping.virtual)
        room = _selected(mapping, axis, find) if axis is not None else None
        into = _runs(mapping.virtual, shape, axis, room)
        outof = _runs(mapping.source, source.meta.shape, _unlimited_axis(mapping.source), room)
        found += _pair(source, into, outof)
        if len(found) > MOST_BOXES:
            raise Unsupported(Reason.VIRTUAL_DATASET, "too many pieces")
    return found


def _numbered_boxes(mapping: Mapping, shape: tuple[int, ...], find: Find) -> list[Box]:
    axis = _unlimited_axis(mapping.virtual)
    if axis is None or mapping.virtual is None:
        raise Unsupported(Reason.VIRTUAL_DATASET, "numbered sources of a limited selection")
    slab = mapping.virtual[0][axis]
    found: list[Box] = []
    number = 0
    while (source := find(*mapping.named(number))) is not None:
        _bounded_blocks(number)
        here = slab._replace(start=slab.start + number * slab.stride, times=1)
        slabs = (*mapping.virtual[0][:axis], here, *mapping.virtual[0][axis + 1 :])
        found += _pair(source, _runs((slabs,), shape, None, None), _runs(mapping.source, source.meta.shape, None, None))
        number += 1
    return found


def _bounded_blocks(number: int) -> None:
    """A pattern whose every number leads to the same source would go on for ever."""
    if number > MOST_BLOCKS:
        raise Unsupported(Reason.VIRTUAL_DATASET, f"more than {MOST_BLOCKS} numbered sources")


Runs = list[list[list[tuple[int, int]]]]
"""For each regular part of a selection, for each axis, (start, length) of the stretches of neighbouring indices."""


def _runs(selection: Selection, shape: tuple[int, ...], axis: int | None, room: int | None) -> Runs:
    if selection is None:
        selection = (tuple([Slab(0, 1, 1, n) for n in shape]),)
    out: Runs = []
    for slabs in selection:
        if len(slabs) != len(shape):
            raise CorruptFile(0, f"a selection of {len(slabs)} axes in a dataset of {len(shape)}")
        parts = []
        for number, (slab, length) in enumerate(zip(slabs, shape, strict=True)):
            if number == axis and room is not None:
                indices = slab.first(room)
            else:
                indices = slab.within(length)
                wanted = (slab.times or 0) * (slab.block or 0)
                if not slab.unlimited and len(indices) != wanted:
                    raise Unsupported(Reason.VIRTUAL_DATASET, "a selection outside of its dataset")
            parts.append(_stretches(indices))
        out.append(parts)
    return out


def _stretches(indices: NDArray[np.int64]) -> list[tuple[int, int]]:
    if not len(indices):
        return []
    cuts = np.flatnonzero(np.diff(indices) != 1) + 1
    begins = np.concatenate([np.zeros(1, np.int64), cuts])
    ends = np.concatenate([cuts, np.array([len(indices)])])
    return [(int(indices[b]), int(e - b)) for b, e in zip(begins, ends, strict=True)]


def _pair(source: VirtualArray, into: Runs, outof: Runs) -> list[Box]:
    """Match the stretches of both selections, axis by axis; axes of one element may be anywhere."""
    if len(into) != len(outof):
        raise Unsupported(Reason.VIRTUAL_DATASET, "selections of different kinds")
    found: list[Box] = []
    for target, origin in zip(into, outof, strict=True):
        sizes = [sum(n for _, n in runs) for runs in target]
        lengths = [sum(n for _, n in runs) for runs in origin]
        if not math.prod(sizes) or not math.prod(lengths):
            continue
        wide = [axis for axis, n in enumerate(sizes) if n > 1]
        other = [axis for axis, n in enumerate(lengths) if n > 1]
        if [sizes[a] for a in wide] != [lengths[a] for a in other]:
            raise Unsupported(Reason.VIRTUAL_DATASET, "a mapping between selections of different shapes")
        axes: list[int | None] = [None] * len(sizes)
        for a, b in zip(wide, other, strict=True):
            axes[a] = b
        _match_thin_axes(axes, len(lengths))
        found += _boxes(source, target, origin, tuple(axes))
    return found


def _match_thin_axes(axes: list[int | None], rank: int) -> None:
    """Give the axes of one element a counterpart in the source, too, where their order allows it."""
    free = [b for b in range(rank) if b not in axes]
    for axis, there in enumerate(axes):
        if there is not None:
            continue
        low = max([b for b in axes[:axis] if b is not None], default=-1)
        high = min([b for b in axes[axis:] if b is not None], default=rank)
        between = [b for b in free if low < b < high]
        if between:
            axes[axis] = between[0]
            free.remove(between[0])


def _boxes(
    source: VirtualArray,
    target: list[list[tuple[int, int]]],
    origin: list[list[tuple[int, int]]],
    axes: tuple[int | None, ...],
) -> list[Box]:
    """The product over the axes of the stretches in which both selections run on."""
    pieces: list[list[tuple[int, int, int]]] = []  # per axis: (virtual start, length, source start)
    for axis, runs in enumerate(target):
        there = axes[axis]
        pieces.append([(runs[0][0], 1, 0)] if there is None else _merge(runs, origin[there]))
    if math.prod(len(p) for p in pieces) > MOST_BOXES:
        raise Unsupported(Reason.VIRTUAL_DATASET, "too many pieces")
    base = [runs[0][0] for runs in origin]
    found: list[Box] = []
    for combination in itertools.product(*pieces):
        start = list(base)
        for axis, (_, _, at) in enumerate(combination):
            there = axes[axis]
            if there is not None:
                start[there] = at
        at_ = tuple([c[0] for c in combination])
        found.append(Box(source, at_, tuple([c[1] for c in combination]), tuple(start), axes))
    return found


def _merge(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Stretches of two index lists of one length, cut so that both run on in each."""
    out: list[tuple[int, int, int]] = []
    i = j = a = b = 0
    while i < len(left) and j < len(right):
        n = min(left[i][1] - a, right[j][1] - b)
        out.append((left[i][0] + a, n, right[j][0] + b))
        a, b = a + n, b + n
        if a == left[i][1]:
            i, a = i + 1, 0
        if b == right[j][1]:
            j, b = j + 1, 0
    return out


@dataclass(slots=True)
class _Canvas:
    """The columns of the manifest that is being put together."""

    fill: Any
    edges: list[NDArray[np.int64]]
    source: NDArray[np.int32]
    offset: NDArray[np.uint64]
    length: NDArray[np.uint64]
    encoding: NDArray[np.uint8]
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
        np.zeros(total, np.uint8),
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
    origins = np.zeros((*counts, rank), np.int64)  # where the cell begins in that chunk
    inside = np.zeros(counts, np.int64)  # elements before the cell in that chunk
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
            origins[..., on] = position % step
        number += position // step * math.prod(grid[there + 1 :])
        inside += position % step * math.prod(chunk[there + 1 :])
    flat, chunks, before = where.reshape(-1), number.reshape(-1), inside.reshape(-1)
    if bool((canvas.source[flat] != MISSING).any()):
        raise Unsupported(Reason.VIRTUAL_DATASET, "pieces that overlap")
    shapes = np.stack([np.broadcast_to(_along(sizes[a], a, rank), counts).reshape(-1) for a in range(rank)], axis=1)
    _refer(canvas, box, itemsize, _Cells(flat, chunks, before, shapes, origins.reshape(-1, rank)))


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
        before: elements of that chunk before the cell.
        shape, origin: the cell's shape, and where it begins in its chunk, along the virtual dataset's axes.
    """

    flat: NDArray[np.int64]
    chunk: NDArray[np.int64]
    before: NDArray[np.int64]
    shape: NDArray[np.int64]
    origin: NDArray[np.int64]


def _refer(canvas: _Canvas, box: Box, itemsize: int, cells: _Cells) -> None:
    source, chunk, flat = box.source, _chunk(box), cells.flat
    rows = source.manifest.rows(cells.chunk)
    missing = rows.source == MISSING
    if missing.any() and not _same(source.meta.fill_value, canvas.fill):
        raise Unsupported(Reason.VIRTUAL_DATASET, "a source with missing chunks and a fill value")
    mapped = set(box.axes)
    whole = tuple([1 if b is None else chunk[b] for b in box.axes])
    thin = all(step == 1 for there, step in enumerate(chunk) if there not in mapped)
    corner = (cells.before == 0) if thin else np.zeros(len(flat), np.bool_)
    runs = ~corner & ~missing
    if not _raw(source) or not _contiguous(box, chunk, cells.shape[runs]):
        runs[:] = False
    cut = ~corner & ~missing & ~runs
    if cut.any() and not thin:
        raise Unsupported(Reason.VIRTUAL_DATASET, "pieces of sources with more dimensions, across their chunks")
    lookup = np.array([canvas.sources.setdefault(s, len(canvas.sources)) for s in source.manifest.sources], np.int32)
    where, offset, length = rows.source.copy(), rows.offset.copy(), rows.length.copy()
    where[rows.source >= 0] = lookup[rows.source[rows.source >= 0]]
    offset[runs] += (cells.before[runs] * itemsize).astype(np.uint64)
    length[runs] = (cells.shape[runs].prod(axis=1) * itemsize).astype(np.uint64)
    canvas.source[flat], canvas.offset[flat], canvas.length[flat] = where, offset, length
    kinds = np.zeros(len(flat), np.int64) if rows.encoding is None else rows.encoding.astype(np.int64)
    for kind in np.unique(kinds).tolist():
        codecs, here = source.meta.encodings[kind].codecs, kinds == kind
        canvas.encoding[flat[corner & here]] = _encoding(canvas, codecs, whole)
        for shape, which in _groups(cells.shape, runs & here):
            canvas.encoding[flat[which]] = _encoding(canvas, codecs, shape)
        for both, which in _groups(np.concatenate([cells.shape, cells.origin], axis=1), cut & here):
            shape, origin = both[: len(whole)], both[len(whole) :]
            crop = CodecSpec("byteatlas.crop", {"origin": list(origin), "shape": list(whole)})
            canvas.encoding[flat[which]] = _encoding(canvas, (crop, *codecs), shape)
    for i in np.flatnonzero(rows.source == INLINE).tolist():
        data = source.manifest.inline(int(cells.chunk[i]))
        if runs[i]:
            data = data[int(cells.before[i]) * itemsize :][: int(cells.shape[i].prod()) * itemsize]
        canvas.inlined[int(flat[i])] = data


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
    """Whether cells are runs of elements in their chunk: whole behind the first axis that is longer than one."""
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
        if found > 255:
            raise Unsupported(Reason.VIRTUAL_DATASET, "pieces stored in more than 256 ways")
        canvas.chains.append(Encoding(codecs, tuple(shape)))
    return found


def _grid(shape: tuple[int, ...], edges: list[NDArray[np.int64]]) -> ChunkGrid:
    """A regular grid where the borders allow it."""
    steps = [np.diff(e) for e in edges]
    regular = all(len(s) < 2 or (bool((s[:-1] == s[0]).all()) and s[-1] <= s[0]) for s in steps)
    if regular:
        return RegularGrid(tuple([int(s[0]) if len(s) else 1 for s in steps]))
    return RectilinearGrid(tuple([tuple(s.tolist()) for s in steps]))
