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
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.format.wire import Cursor, Form, verify
from byteatlas_scanners.hdf5.virtual.selection import Selection, Slab, read_selection

FILE_OF, DATASET_OF, SAME_FILE = 1, 2, 4
"""Flags of a version 1 entry: names that an earlier entry has, or the file itself."""

MOST_MAPPINGS = 1 << 17
MOST_BOXES = 1 << 18
MOST_CELLS = 1 << 22
MOST_BLOCKS = 1 << 14


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
            if slab.end is not None:
                yield axis, slab.end


def _unlimited_axis(selection: Selection) -> int | None:
    if selection is None or len(selection) != 1:
        return None
    return next((axis for axis, slab in enumerate(selection[0]) if slab.unlimited), None)


def _selected(mapping: Mapping, axis: int, find: Find) -> int:
    """Elements along the unlimited axis that the sources can fill."""
    assert mapping.virtual is not None
    if mapping.numbered:
        slab = mapping.virtual[0][axis]
        block = slab.block if isinstance(slab, Slab) else None
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
    assert isinstance(slab, Slab)  # it is unlimited
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
                if not slab.unlimited and len(indices) != slab.size:
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
    if len(into) > 1 and not (_in_sequence(into) and _in_sequence(outof)):
        raise Unsupported(Reason.VIRTUAL_DATASET, "irregular selections")
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


def _in_sequence(parts: Runs) -> bool:
    """Whether the elements of a part all come before those of the next: single elements, or one row after the other."""
    if all(sum(n for _, n in runs) == 1 for part in parts for runs in part):
        return True
    rows = [(part[0][0][0], part[0][-1][0] + part[0][-1][1]) for part in parts if part and part[0]]
    return len(rows) == len(parts) and all(end <= start for (_, end), (start, _) in pairwise(rows))


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
