"""Splitting inputs as `interleave` decides: they become parts, and what is known of inputs is said of their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byteatlas.combining.chunks.padding import is_short, of_its_group, padded
from byteatlas.combining.chunks.slicing import Span, parts
from byteatlas.combining.chunks.small_arrays import SMALL, inline_array
from byteatlas.combining.compare.must_match import unequal
from byteatlas.combining.context import CombineContext, Dimension, columns_of
from byteatlas.combining.coordinates.interleave import (
    CoordinateEntries,
    entries_of,
    nearly_equal,
    priorities,
    rearranged,
    shared,
    shared_text,
    split_runs,
    winners,
)
from byteatlas.combining.coordinates.order import files_of, oddities
from byteatlas.combining.coordinates.values import nbytes
from byteatlas.combining.model import Duplicates, Finding, FlatInput
from byteatlas.combining.wording import shape_text
from byteatlas.errors import Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.grid import boundaries
from byteatlas.values import dataclass, replace

CODES = frozenset({"overlap", "interleaved"})
MANY_PARTS = 16
"""Parts of chunks."""


class CannotSplit(Exception):
    """An input cannot be split, with the finding that says why."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.detail)
        self.finding = finding


@dataclass(frozen=True, slots=True, eq=False)
class MergedOrder:
    """What becomes of the values along one dimension. ``taken``: in words, whose shared values count."""

    entries: CoordinateEntries
    taken: str


def split_where_interleaved(context: CombineContext, findings: list[Finding]) -> tuple[CombineContext, list[Finding]]:
    """The context with inputs split where coordinate values interleave or overlap, when that is all that is wrong."""
    conflicts = [f for f in findings if f.level == "conflict"]
    if not conflicts or any(f.code not in CODES for f in conflicts):
        return context, findings
    if len(context.dims) != len(context.options.concat):
        return context, findings
    result = [f for f in findings if f.level != "conflict"]
    for number, dim in enumerate(context.dims):
        if dim.coordinate.values is None or dim.arranged.direction == "given" or not any(dim.lengths):
            continue
        odd = [f for f in oddities(dim.name, dim.arranged, context.names) if f.code in CODES]
        if not odd:
            continue
        try:
            merge = merged_order(dim, context)
            text = shared_text(dim.arranged, entries_of(dim.arranged))
            context, runs = split_along(number, merge.entries, context)
        except CannotSplit as trouble:
            return context, [*result, *odd, trouble.finding]
        for f in odd:
            done = f"({text}): {merge.taken}" if f.code == "overlap" else "merged in the order of values"
            result.append(replace(f, level="reconciled", detail=f"{f.detail} {done}; {runs} runs"))
    return context, result


def merged_order(dim: Dimension, context: CombineContext) -> MergedOrder:
    """Which entries count where several files have the same values. Raises `CannotSplit` when nobody says which."""
    arranged = dim.arranged
    close = nearly_equal(dim.name, arranged, files_of(arranged, context.names))
    if close is not None:
        raise CannotSplit(close)
    entries = entries_of(arranged)
    both = shared(entries)
    if not len(both.rank):
        return MergedOrder(entries, "")
    if len(context.dims) > 1 or context.columns is None:
        # Which files have the same variables and tiles is seen variable by variable.
        return MergedOrder(entries, "each variable is taken from the files that have it")
    policy: Duplicates = context.options.duplicates
    if policy != "error":
        return MergedOrder(winners(entries, priorities(arranged, policy), policy), f"the {policy} file is taken")
    compare(dim, both, context)
    return MergedOrder(winners(entries, priorities(arranged, "first"), "first"), "their data are the same")


def compare(dim: Dimension, both: CoordinateEntries, context: CombineContext) -> None:
    """Raise `CannotSplit` unless files with the same values have the same data for them."""
    spans = split_runs(both).spans()
    by_segment: dict[int, list[tuple[int, int]]] = {}
    parts: list[list[dict[str, VirtualArray]]] = []
    for i, run in enumerate(dim.arranged.block_of):
        own = spans.get(run, [])
        for k, (_, segment) in enumerate(own):
            by_segment.setdefault(segment, []).append((i, k))
        parts.append(parts_of_input(i, dim, [s for s, _ in own], context) if own else [])
    for members in by_segment.values():
        names = [context.names[i] for i, _ in members]
        for path, array in parts[members[0][0]][members[0][1]].items():
            if path == dim.coordinate.path or dim.name not in (array.meta.dimension_names or ()):
                continue
            if unequal(path, [parts[i][k][path] for i, k in members], names, context.options, context.read):
                text = shared_text(dim.arranged, both)
                detail = f"files that share {dim.name!r} values ({text}) with {names[0]} have different data for them; "
                detail += "duplicates='first' or 'last' says which count"
                raise CannotSplit(Finding("conflict", "overlap", path, tuple(dict.fromkeys(names[1:])), detail))


def split_along(number: int, entries: CoordinateEntries, context: CombineContext) -> tuple[CombineContext, int]:
    """The context of the parts, and the number of runs that they make."""
    dim = context.dims[number]
    parts = split_runs(entries)
    spans = parts.spans()
    inputs: list[FlatInput] = []
    parents: list[int] = []
    places: list[int] = []
    taken_spans: list[Span] = []
    for i, item in enumerate(context.inputs):
        own = spans.get(dim.arranged.block_of[i], [])
        arrays = parts_of_input(i, dim, [span for span, _ in own], context)
        for (span, segment), found in zip(own, arrays, strict=True):
            inputs.append(FlatInput(item.name, item.group, found, item.groups))
            parents.append(i)
            places.append(segment)
            taken_spans.append(span)
    arranged = rearranged(dim.arranged, parts, places)
    dims = [spread(d, parents) for d in context.dims]
    values = tuple(v[a:b] for v, (a, b) in zip(dims[number].coordinate.values or (), taken_spans, strict=True))
    coordinate = replace(dims[number].coordinate, values=values)
    dims[number] = replace(
        dims[number], coordinate=coordinate, arranged=arranged, lengths=tuple(map(len, arranged.blocks))
    )
    bounds = {p: (tuple(own[i] for i in parents), target) for p, (own, target) in context.bounds.items()}
    changed = replace(
        context,
        inputs=inputs,
        columns=columns_of(inputs),
        names=[i.name for i in inputs],
        dims=tuple(dims),
        bounds=bounds,
        interleaved=True,
    )
    return changed, len(arranged.blocks)


def spread(dim: Dimension, parents: Sequence[int]) -> Dimension:
    """What is known of inputs along a dimension, said of parts of them."""
    coordinate, arranged = dim.coordinate, dim.arranged
    values = None if coordinate.values is None else tuple(coordinate.values[p] for p in parents)
    own = tuple(coordinate.own_units[p] for p in parents) if coordinate.own_units else ()
    block_of = tuple(arranged.block_of[p] for p in parents)
    return replace(
        dim,
        coordinate=replace(coordinate, values=values, own_units=own),
        arranged=replace(arranged, block_of=block_of, straight=False),
    )


def parts_of_input(
    i: int, dim: Dimension, spans: Sequence[Span], context: CombineContext
) -> list[dict[str, VirtualArray]]:
    """The arrays of each part of an input. Arrays without the dimension are in the first part only."""
    item, length = context.inputs[i], len(dim.arranged.blocks[dim.arranged.block_of[i]])
    result: list[dict[str, VirtualArray]] = [{} for _ in spans]
    for path, array in item.arrays.items():
        names = array.meta.dimension_names or ()
        if names.count(dim.name) != 1:
            if result:
                result[0][path] = array
            continue
        axis = names.index(dim.name)
        if of_its_group(path, dim) and is_short(array.meta, axis, length):
            array = padded(array, axis, length)
        if array.meta.shape[axis] != length:
            detail = f"length along {dim.name!r} is not that of its coordinate: shape {shape_text(array.meta.shape)}"
            raise CannotSplit(Finding("conflict", "length", path, (item.name,), detail))
        for found, part in zip(result, split_array(path, array, axis, spans, item.name, context), strict=True):
            found[path] = part
    return result


def split_array(
    path: str, array: VirtualArray, axis: int, spans: Sequence[Span], name: str, context: CombineContext
) -> list[VirtualArray]:
    """The parts of one array. Raises `CannotSplit`."""
    if falls_apart(array, axis, spans):
        values = np.asarray(context.read(array))
        meta = array.meta
        dims = meta.dimension_names or (None,) * meta.ndim
        index: list[slice] = [slice(None)] * meta.ndim
        found = []
        for start, stop in spans:
            index[axis] = slice(start, stop)
            found.append(inline_array(values[tuple(index)], dims, meta.attributes, meta.zarr_format))
        return found
    try:
        return parts(array, axis, spans)
    except Unsupported as error:
        raise CannotSplit(Finding("conflict", "chunks", path, (name,), f"cannot be cut: {error.detail}")) from error


def falls_apart(array: VirtualArray, axis: int, spans: Sequence[Span]) -> bool:
    """Whether a small array would become many parts of chunks."""
    if len(spans) <= MANY_PARTS or nbytes(array) > SMALL or array.meta.data_type.numpy.kind not in "biufcSU":
        return False
    borders = boundaries(array.meta.shape[axis], array.meta.grid, axis)
    return len(np.setdiff1d([a for a, _ in spans], borders)) > MANY_PARTS
