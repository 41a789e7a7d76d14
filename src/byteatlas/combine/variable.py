"""What becomes of one variable: concatenated, stacked, kept once, rewritten, or refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combine import attributes as attrs
from byteatlas.combine import times
from byteatlas.combine.columns import Piece, new_axis
from byteatlas.combine.context import Context, Dimension
from byteatlas.combine.equal import same_inline, unequal
from byteatlas.combine.inline import inline_array
from byteatlas.combine.jobs import Mosaic, Outcome, Ready, Run
from byteatlas.combine.layout import (
    Layout,
    Member,
    MismatchedChunks,
    clipped,
    compacted,
    explicit_encodings,
    lay_out,
)
from byteatlas.combine.model import Finding
from byteatlas.combine.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.combine.reconcile import Merged, Question, reconcile, shape_conflicts
from byteatlas.combine.refine import reclassified, refine, spelled_out
from byteatlas.combine.rewrite import rewritten
from byteatlas.combine.same import Class, classify
from byteatlas.errors import Unsupported
from byteatlas.manifest.model import MISSING, ChunkManifest, VirtualArray, empty_manifest
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, ChunkKeys, RegularGrid
from byteatlas.types import Shape


def treat(path: str, context: Context) -> Outcome:
    """Decide on one variable. No job: it is in conflict."""
    have: Sequence[int] = range(len(context.inputs))
    if context.columns is not None and path in context.columns:
        arrays = context.columns[path]
    else:
        have = [i for i, item in enumerate(context.inputs) if path in item.arrays]
        arrays = [context.inputs[i].arrays[path] for i in have]
    for dim in context.dims:
        if dim.coordinate.path == path and dim.coordinate.values is not None:
            job = coordinate_job(dim, arrays, context)
            if job is not None:
                return job
    first = arrays[0].meta
    twice = [d.name for d in context.dims if (first.dimension_names or ()).count(d.name) > 1]
    if twice:
        detail = f"dimension {twice[0]!r} is there twice: {first.dimension_names}"
        return None, [Finding("conflict", "dims", path, (context.names[have[0]],), detail)]
    axes = concat_axes(first, context)
    classes = classify([a.meta for a in arrays], have, frozenset(axes))
    if path in context.bounds or time_units_differ(classes):
        return rewritten(path, have, arrays, axes, classes, context)
    lifted = [d for d in context.dims if d.new and stacks(path, first, context)]
    if not axes and not lifted:
        return once(path, have, arrays, classes, context)
    if len(classes) == 1 and not lifted and len(have) == len(context.inputs):
        run = plain_run(axes, arrays, classes[0], context)
        if run is not None:
            return run, []
    return mosaic(path, have, arrays, classes, lifted, context)


def concat_axes(meta: ArrayMeta, context: Context) -> dict[int, Dimension]:
    """The axes of an array that are concatenated dimensions."""
    names = meta.dimension_names
    if names is None:
        return {}
    return {names.index(d.name): d for d in context.dims if d.name in names}


def stacks(path: str, meta: ArrayMeta, context: Context) -> bool:
    """Whether a variable gets the new dimensions."""
    name = path.rpartition("/")[2]
    if context.options.stack is not None:
        return path in context.options.stack
    return name not in context.helpers and not any(d.coordinate.path == path for d in context.dims)


def coordinate_job(dim: Dimension, arrays: Sequence[VirtualArray], context: Context) -> Outcome | None:
    """The combined coordinate, rewritten into the map; None when it is too large or has other dimensions."""
    coord, blocks = dim.coordinate, dim.arranged.blocks
    if coord.values is None or not blocks or (arrays and arrays[0].meta.data_type.numpy.hasobject):
        return None
    line: NDArray[Any] = np.concatenate(blocks) if dim.arranged.line is None else dim.arranged.line
    if line.nbytes > context.options.inline_below:
        return None
    documents = [a.meta.attributes for a in arrays]
    if coord.attributes is not None or not documents:
        kept, differing = dict(coord.attributes or {}), list[str]()
    else:
        kept, differing = attrs.merged(documents, context.options.attributes)
    if coord.own_units and coord.time is not None:
        kept |= {"units": coord.time.text, "calendar": coord.time.calendar}
    if coord.unpacked:
        kept = {k: v for k, v in kept.items() if k not in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)}
    array = inline_array(line, (dim.name,), kept)
    return Ready(array, "inlined"), attrs.note_dropped(coord.path, differing, context.options.attributes)


def time_units_differ(classes: Sequence[Class]) -> bool:
    """Whether this is a time whose units are not the same everywhere."""
    if len(classes) == 1:
        return False
    units = {(str(c.meta.attributes.get("units")), str(c.meta.attributes.get("calendar"))) for c in classes}
    return len(units) > 1 and all(times.is_time(c.meta.attributes.get("units")) for c in classes)


def once(
    path: str, have: Sequence[int], arrays: Sequence[VirtualArray], classes: Sequence[Class], context: Context
) -> Outcome:
    """A variable without a concatenated dimension: the same in all files that have it, or a conflict."""
    names = [context.names[i] for i in have]
    findings: list[Finding] = []
    if len(classes) > 1:
        skip = frozenset({"_FillValue"})
        findings, _ = attrs.check_meaning(path, classes, context.names, skip)
        types = dict.fromkeys(c.meta.data_type.name for c in classes)
        kinds = {c.meta.data_type.numpy.kind for c in classes}
        if len(types) > 1 and not kinds <= set("iuf") and len(kinds) > 1:
            odd = tuple(context.names[i] for c in classes[1:] for i in c.members)
            findings.append(Finding("conflict", "dtype", path, odd, f"data types differ: {' / '.join(types)}"))
        if any(f.level == "conflict" for f in findings):
            return None, findings
    if len(arrays) > 1 and not (len(classes) == 1 and same_inline(arrays)):
        findings += unequal(path, arrays, names, context.options, context.read, alike=len(classes) == 1)
        if any(f.level == "conflict" for f in findings):
            return None, findings
    kept, differing = attrs.merged([c.meta.attributes for c in classes], context.options.attributes)
    own = classes[0].meta.attributes
    kept |= {k: own[k] for k in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES) if k in own}
    findings += attrs.note_dropped(path, differing, context.options.attributes)
    array = arrays[0]
    if len(classes) > 1:
        array = replace(array, meta=replace(array.meta, attributes=kept))
    return Ready(array, "once"), findings


def plain_run(axes: dict[int, Dimension], arrays: Sequence[VirtualArray], cls: Class, context: Context) -> Run | None:
    """The common case: one description, one concatenated axis that is the first, whole chunks all along."""
    dim = axes.get(0)
    meta = cls.meta
    if dim is None or len(axes) != 1 or not dim.single or not isinstance(meta.grid, RegularGrid):
        return None
    if dim.arranged.straight or dim.arranged.direction == "given" or dim.coordinate.values is None:
        ordered: Sequence[VirtualArray] = arrays
    else:
        placed: list[VirtualArray | None] = [None] * len(arrays)
        for array, block in zip(arrays, dim.arranged.block_of, strict=True):
            placed[block] = array
        ordered = [a for a in placed if a is not None]
    chunk = meta.grid.chunk_shape[0]
    lengths = [a.meta.shape[0] for a in ordered]
    if tuple(lengths) != dim.lengths or any(n % chunk for n in set(lengths[:-1])):
        return None
    manifests = tuple(a.manifest for a in ordered)
    total = sum(lengths)
    merged = replace(meta, shape=(total, *meta.shape[1:]))
    return Run(merged, chunk_counts(merged.shape, merged.grid), manifests)


def mosaic(
    path: str,
    have: Sequence[int],
    arrays: Sequence[VirtualArray],
    classes: Sequence[Class],
    lifted: Sequence[Dimension],
    context: Context,
) -> Outcome:
    """The general case: any grid of tiles, any mixture of descriptions."""
    arrays = [a if isinstance(a.manifest, ChunkManifest) else replace(a, manifest=a.manifest.load()) for a in arrays]
    misfit = shape_conflicts(Question(path, classes, context.names, False, [], context.options))
    if misfit:
        return None, misfit
    raised = raise_classes(path, arrays, classes, have, lifted, context)
    if isinstance(raised, Finding):
        return None, [raised]
    classes, by_input = raised
    axes = concat_axes(classes[0].meta, context)
    cells, findings = cells_of(path, by_input, axes, context)
    findings += length_conflicts(path, by_input, axes, classes, context)
    if any(f.level == "conflict" for f in findings):
        return None, findings
    if len(cells) < len(by_input):  # several files for one place: only those that fill it count
        winners = set(cells.values())
        kept = [(c.meta, tuple(i for i in c.members if i in winners)) for c in classes]
        classes = [Class(meta, members) for meta, members in kept if members]
    placed = fit(path, classes, by_input, cells, axes, context)
    if isinstance(placed, Finding):
        return None, [*findings, placed]
    fitted, members, layout, cut = placed
    findings += cut
    by_input = fitted
    classes = reclassified(classes, by_input) if cut else classes
    absent = len(cells) < math.prod(len(d.lengths) for d in axes.values())
    members = numbered(members, classes)
    holed = {m.cls for m in members if has_holes(by_input[m.input])}
    holes = [n in holed for n in range(len(classes))]
    merged, more = reconcile(Question(path, classes, context.names, absent, holes, context.options))
    findings += more
    if merged is None:
        return None, findings
    job, last = assemble_job(path, classes, members, by_input, merged, layout, context, bool(lifted))
    return job, findings + last


def numbered(members: Sequence[Member], classes: Sequence[Class]) -> list[Member]:
    """Members with the numbers of their classes."""
    class_of = {i: n for n, c in enumerate(classes) for i in c.members}
    return [m if m.cls == class_of[m.input] else replace(m, cls=class_of[m.input]) for m in members]


def fit(
    path: str,
    classes: Sequence[Class],
    by_input: dict[int, VirtualArray],
    cells: dict[Shape, int],
    axes: dict[int, Dimension],
    context: Context,
) -> tuple[dict[int, VirtualArray], list[Member], Layout, list[Finding]] | Finding:
    """Lay the members out, cutting chunks where they are cut differently beside each other."""
    findings: list[Finding] = []
    first = classes[0].meta
    lengths = [axes[a].lengths if a in axes else (first.shape[a],) for a in range(first.ndim)]
    for _ in range(first.ndim + 2):
        class_of = {i: n for n, c in enumerate(classes) for i in c.members}
        members = [
            Member(i, class_of[i], by_input[i].meta.shape, place_of(cell, axes, first.ndim))
            for cell, i in sorted(cells.items())
        ]
        try:
            layout = lay_out(classes, members, own_lengths(lengths, members, axes))
            uneven = [m.input for m in members if clipped(by_input[m.input].meta, m, layout)]
            if not uneven:
                return by_input, members, layout, findings
            by_input = {**by_input, **{i: spelled_out(by_input[i]) for i in uneven}}
            classes = reclassified(classes, by_input)
            files = tuple(context.names[i] for i in uneven)
            detail = "maps with uneven chunks, the last of which is partial"
            findings.append(Finding("reconciled", "chunks", path, files, detail))
        except MismatchedChunks as mismatch:
            a, b = mismatch.members
            files = tuple(context.names[m.input] for m in (a, b))
            axis = first.dimension_names[mismatch.axis] if first.dimension_names else mismatch.axis
            grids = f"{classes[a.cls].meta.grid} / {classes[b.cls].meta.grid}"
            detail = f"chunks along {axis!r} are cut differently: {grids}"
            try:
                by_input = refine(members, by_input, mismatch.axis)
            except Unsupported as error:
                return Finding("conflict", "chunks", path, files, f"{detail}; {error.detail}")
            classes = reclassified(classes, by_input)
            findings.append(Finding("reconciled", "chunks", path, files, f"{detail}; chunks are read in parts"))
        except Unsupported as error:
            return Finding("conflict", "chunks", path, (), error.detail)
    return Finding("conflict", "chunks", path, (), "chunks cannot be brought to common borders")


def raise_classes(
    path: str,
    arrays: Sequence[VirtualArray],
    classes: Sequence[Class],
    have: Sequence[int],
    lifted: Sequence[Dimension],
    context: Context,
) -> tuple[list[Class], dict[int, VirtualArray]] | Finding:
    """Add the new dimensions in front."""
    by_input = dict(zip(have, arrays, strict=True))
    result = list(classes)
    for dim in reversed(lifted):
        raised = []
        for cls in result:
            meta = new_axis(cls.meta, dim.name)
            if meta is None:
                files = tuple(context.names[i] for i in cls.members)
                return Finding("conflict", "codecs", path, files, "codecs do not allow another dimension")
            raised.append(Class(meta, cls.members))
        result = raised
        for cls in result:
            for i in cls.members:
                m = by_input[i].manifest.load()
                shape = (1, *by_input[i].meta.shape)
                by_input[i] = VirtualArray(replace(cls.meta, shape=shape), replace(m, grid_shape=(1, *m.grid_shape)))
    return result, by_input


def cells_of(
    path: str, by_input: dict[int, VirtualArray], axes: dict[int, Dimension], context: Context
) -> tuple[dict[Shape, int], list[Finding]]:
    """Which input fills each place; several only when they are equal or the options say which one wins."""
    cells: dict[Shape, int] = {}
    rivals: dict[Shape, list[int]] = {}
    order = [axes[a].arranged.block_of for a in sorted(axes)]
    for i in by_input:
        cell = tuple(b[i] for b in order)
        if cell in cells:
            rivals.setdefault(cell, [cells[cell]]).append(i)
        else:
            cells[cell] = i
    findings: list[Finding] = []
    for cell, inputs in rivals.items():
        names = [context.names[i] for i in inputs]
        if context.options.duplicates != "error":
            cells[cell] = inputs[0 if context.options.duplicates == "first" else -1]
            detail = f"several files for one place: the {context.options.duplicates} is taken"
            findings.append(Finding("note", "duplicate", path, tuple(names), detail))
            continue
        if unequal(path, [by_input[i] for i in inputs], names, context.options, context.read):
            detail = "several files have the same coordinate values, and different data"
            findings.append(Finding("conflict", "duplicate", path, tuple(names), detail))
    return cells, findings


def length_conflicts(
    path: str,
    by_input: dict[int, VirtualArray],
    axes: dict[int, Dimension],
    classes: Sequence[Class],
    context: Context,
) -> list[Finding]:
    """Lengths along concatenated axes must be those of the coordinate, unless the group has a coordinate of its own."""
    parent = path.rpartition("/")[0]
    for axis, dim in axes.items():
        if parent and f"{parent}/{dim.name}" in context.inputs[0].arrays and dim.coordinate.path == dim.name:
            continue
        block_of = dim.arranged.block_of
        odd = [i for i, a in by_input.items() if axis >= a.meta.ndim or a.meta.shape[axis] != dim.lengths[block_of[i]]]
        if odd:
            shape = by_input[odd[0]].meta.shape
            detail = f"length along {dim.name!r} is not that of its coordinate: shape {shape}"
            return [Finding("conflict", "length", path, tuple(context.names[i] for i in odd), detail)]
    fixed = [
        tuple(n for a, n in enumerate(c.meta.shape) if a not in axes)
        for c in classes
        if c.meta.ndim == classes[0].meta.ndim
    ]
    if len(set(fixed)) > 1:
        odd = [i for c, f in zip(classes, fixed, strict=False) if f != fixed[0] for i in c.members]
        shapes = " / ".join(dict.fromkeys(str(c.meta.shape) for c in classes))
        detail = f"lengths of dimensions that are not concatenated differ: {shapes}"
        return [Finding("conflict", "shape", path, tuple(context.names[i] for i in odd), detail)]
    return []


def own_lengths(
    lengths: Sequence[Sequence[int]], members: Sequence[Member], axes: dict[int, Dimension]
) -> list[Sequence[int]]:
    """Block lengths along concatenated axes from the members themselves (a group may have its own)."""
    result: list[Sequence[int]] = list(lengths)
    for axis in axes:
        sizes = list(lengths[axis])
        for m in members:
            sizes[m.block[axis]] = m.shape[axis]
        result[axis] = sizes
    return result


def place_of(cell: Shape, axes: dict[int, Dimension], ndim: int) -> Shape:
    """A member's block along every axis of the array."""
    order = sorted(axes)
    return tuple(cell[order.index(a)] if a in axes else 0 for a in range(ndim))


def has_holes(array: VirtualArray) -> bool:
    return bool((array.manifest.load().source == MISSING).any())


def assemble_job(
    path: str,
    classes: Sequence[Class],
    members: Sequence[Member],
    by_input: dict[int, VirtualArray],
    merged: Merged,
    layout: Layout,
    context: Context,
    stacked: bool,
) -> Outcome:
    """Metadata and pieces."""
    encodings, maps = list(merged.encodings), list(merged.maps)
    findings: list[Finding] = []
    if layout.explicit:
        wide, maps = explicit_encodings(merged, classes)
        encodings = list(wide)
        shapes = " / ".join(dict.fromkeys(str(c.meta.grid) for c in classes))
        findings.append(Finding("reconciled", "chunks", path, (), f"chunks of different extent: {shapes}"))
    pieces = []
    for m in members:
        origin = tuple(layout.starts[a][b] for a, b in enumerate(m.block))
        manifest = by_input[m.input].manifest.load()
        pieces.append(Piece(origin, manifest, maps[m.cls], merged.constants[m.cls]))
    if merged.absent is not None:
        pieces += absent_pieces(members, layout, merged.absent)
    return finished(path, classes[0].meta, encodings, pieces, merged, layout, findings, stacked)


def absent_pieces(members: Sequence[Member], layout: Layout, encoding: int) -> list[Piece]:
    """Pieces for the places that no member fills."""
    filled = {m.block for m in members}
    blocks = product(*(range(len(s) - 1) for s in layout.starts))
    result = []
    for block in blocks:
        if block not in filled:
            origin = tuple(layout.starts[a][b] for a, b in enumerate(block))
            counts = tuple(layout.starts[a][b + 1] - layout.starts[a][b] for a, b in enumerate(block))
            result.append(Piece(origin, empty_manifest(counts), None, encoding))
    return result


def finished(
    path: str,
    first: ArrayMeta,
    encodings: Sequence[Any],
    pieces: Sequence[Piece],
    merged: Merged,
    layout: Layout,
    findings: list[Finding],
    stacked: bool,
) -> Outcome:
    """Number the encodings by use, and write plain Zarr where that says it all."""
    used: list[int] = []
    for p in pieces:
        used += p.encodings or ()
        used += [] if p.constant is None else [p.constant]
    kept, renumber = compacted(encodings, used or [0])
    if len(kept) > 255:
        return None, [*findings, Finding("conflict", "codecs", path, (), "more than 255 different encodings")]
    renamed = [
        replace(
            p,
            encodings=None if p.encodings is None else tuple(renumber[n] for n in p.encodings),
            constant=None if p.constant is None else renumber[p.constant],
        )
        for p in pieces
    ]
    grid = layout.grid
    if len(kept) == 1 and isinstance(grid, RegularGrid) and kept[0].chunk_shape == grid.chunk_shape:
        kept = (replace(kept[0], chunk_shape=None),)
    e = kept[0]
    plain = len(kept) == 1 and e.chunk_shape is None and e.data_type is None and not e.cast
    two = plain and isinstance(grid, RegularGrid)
    meta = replace(
        first,
        shape=layout.shape,
        grid=grid,
        data_type=merged.data_type,
        encodings=kept,
        fill_value=merged.fill_value,
        attributes=merged.attributes,
        zarr_format=first.zarr_format if two else 3,
        keys=first.keys if two else ChunkKeys("default", "/"),
    )
    counts = tuple(s[-1] for s in layout.starts)
    if counts != chunk_counts(meta.shape, grid):
        raise AssertionError(f"{path}: {counts} chunks laid out for {grid}")
    return Mosaic(meta, counts, tuple(renamed), "stacked" if stacked else "concatenated"), findings
