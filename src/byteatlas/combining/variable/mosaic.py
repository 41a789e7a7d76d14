"""The general case of one variable: any grid of tiles, any mixture of descriptions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from byteatlas.combining.chunks.common_borders import reclassified, split_at_common_borders, with_explicit_shapes
from byteatlas.combining.chunks.layout import GridLayout, MismatchedChunks, MosaicTile, clipped, lay_out
from byteatlas.combining.chunks.stacking import new_axis
from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.compare.must_match import unequal
from byteatlas.combining.context import CombineContext, Dimension, concat_axes
from byteatlas.combining.model import BlockNumber, Cell, ClassNumber, Finding, InputNumber
from byteatlas.combining.variable.finish import lay_down
from byteatlas.combining.variable.question import Question
from byteatlas.combining.variable.reconcile import reconcile, shape_conflicts
from byteatlas.combining.variable.treatment import Decision
from byteatlas.combining.wording import by_value, grid_text, shape_text
from byteatlas.errors import Unsupported
from byteatlas.manifest.model import MISSING, ChunkManifest, VirtualArray
from byteatlas.values import replace


def mosaic(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    classes: Sequence[MetadataClass],
    lifted: Sequence[Dimension],
    context: CombineContext,
) -> Decision:
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
        kept = [(c, tuple(i for i in c.members if i in winners)) for c in classes]
        classes = [MetadataClass(c.meta, tiles, documents=c.documents) for c, tiles in kept if tiles]
    placed = fit(path, classes, by_input, cells, axes, context)
    if isinstance(placed, Finding):
        return None, [*findings, placed]
    fitted, tiles, layout, cut = placed
    findings += cut
    by_input = fitted
    classes = reclassified(classes, by_input) if cut else classes
    absent = len(cells) < math.prod(len(d.lengths) for d in axes.values())
    tiles = numbered(tiles, classes)
    holed = {m.cls for m in tiles if has_holes(by_input[m.input])}
    holes = [n in holed for n in range(len(classes))]
    merged, more = reconcile(Question(path, classes, context.names, absent, holes, context.options))
    findings += more
    if merged is None:
        return None, findings
    treatment, last = lay_down(path, classes, tiles, by_input, merged, layout, context, bool(lifted))
    return treatment, findings + last


def numbered(tiles: Sequence[MosaicTile], classes: Sequence[MetadataClass]) -> list[MosaicTile]:
    """Tiles with the numbers of their classes."""
    class_of = class_numbers(classes)
    return [m if m.cls == class_of[m.input] else replace(m, cls=class_of[m.input]) for m in tiles]


def class_numbers(classes: Sequence[MetadataClass]) -> dict[InputNumber, ClassNumber]:
    """The class of each input."""
    return {i: ClassNumber(n) for n, c in enumerate(classes) for i in c.members}


def fit(
    path: str,
    classes: Sequence[MetadataClass],
    by_input: dict[InputNumber, VirtualArray],
    cells: dict[Cell, InputNumber],
    axes: dict[int, Dimension],
    context: CombineContext,
) -> tuple[dict[InputNumber, VirtualArray], list[MosaicTile], GridLayout, list[Finding]] | Finding:
    """Lay the tiles out, cutting chunks where they are cut differently beside each other."""
    findings: list[Finding] = []
    first = classes[0].meta
    order = sorted(axes)
    spots = [order.index(a) if a in axes else None for a in range(first.ndim)]  # where a cell has an axis's block
    lengths = [axes[a].lengths if a in axes else (first.shape[a],) for a in range(first.ndim)]
    for _ in range(first.ndim + 2):
        class_of = class_numbers(classes)
        tiles = [
            MosaicTile(
                i, class_of[i], by_input[i].meta.shape, tuple([BlockNumber(0) if k is None else cell[k] for k in spots])
            )
            for cell, i in sorted(cells.items())
        ]
        try:
            layout = lay_out(classes, tiles, own_lengths(lengths, tiles, axes))
            uneven = [m.input for m in tiles if clipped(by_input[m.input].meta, m, layout)]
            if not uneven:
                return by_input, tiles, layout, findings
            by_input = {**by_input, **{i: with_explicit_shapes(by_input[i]) for i in uneven}}
            classes = reclassified(classes, by_input)
            files = tuple(context.names[i] for i in uneven)
            detail = "maps with uneven chunks, the last of which is partial"
            findings.append(Finding("reconciled", "chunks", path, files, detail))
        except MismatchedChunks as mismatch:
            a, b = mismatch.members
            files = tuple(context.names[m.input] for m in (a, b))
            axis = first.dimension_names[mismatch.axis] if first.dimension_names else mismatch.axis
            grids = f"{grid_text(classes[a.cls].meta.grid)} / {grid_text(classes[b.cls].meta.grid)}"
            detail = f"chunks along {axis!r} are cut differently: {grids}"
            try:
                by_input = split_at_common_borders(tiles, by_input, mismatch.axis)
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
    classes: Sequence[MetadataClass],
    have: Sequence[InputNumber],
    lifted: Sequence[Dimension],
    context: CombineContext,
) -> tuple[list[MetadataClass], dict[InputNumber, VirtualArray]] | Finding:
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
            raised.append(MetadataClass(meta, cls.members, documents=cls.documents))
        result = raised
        for cls in result:
            for i in cls.members:
                m = by_input[i].manifest.load()
                shape = (1, *by_input[i].meta.shape)
                by_input[i] = VirtualArray(replace(cls.meta, shape=shape), replace(m, grid_shape=(1, *m.grid_shape)))
    return result, by_input


def cells_of(
    path: str, by_input: dict[InputNumber, VirtualArray], axes: dict[int, Dimension], context: CombineContext
) -> tuple[dict[Cell, InputNumber], list[Finding]]:
    """Which input fills each place; several only when they are equal or the options say which one wins."""
    cells: dict[Cell, InputNumber] = {}
    rivals: dict[Cell, list[InputNumber]] = {}
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
            continue
        if unequal(path, [by_input[i] for i in inputs], names, context.options, context.read):
            detail = f"files have the same coordinate values as {names[0]}, and different data"
            findings.append(Finding("conflict", "duplicate", path, tuple(names[1:]), detail))
    if rivals and context.options.duplicates != "error":
        names = [context.names[i] for inputs in rivals.values() for i in inputs]
        many = f"{len(rivals)} places" if len(rivals) > 1 else "one place"
        detail = f"several files for {many}: the {context.options.duplicates} is taken"
        findings.append(Finding("note", "duplicate", path, tuple(dict.fromkeys(names)), detail))
    return cells, findings


def length_conflicts(
    path: str,
    by_input: dict[InputNumber, VirtualArray],
    axes: dict[int, Dimension],
    classes: Sequence[MetadataClass],
    context: CombineContext,
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
            detail = f"length along {dim.name!r} is not that of its coordinate: shape {shape_text(shape)}"
            return [Finding("conflict", "length", path, tuple(context.names[i] for i in odd), detail)]
    fixed = [
        tuple(n for a, n in enumerate(c.meta.shape) if a not in axes)
        for c in classes
        if c.meta.ndim == classes[0].meta.ndim
    ]
    if len(set(fixed)) > 1:
        facts = [shape_text(f) for c, f in zip(classes, fixed, strict=False) for _ in c.members]
        names = [context.names[i] for c in classes for i in c.members]
        odd_files, detail = by_value(facts, names, "lengths of dimensions that are not concatenated differ")
        return [Finding("conflict", "shape", path, odd_files, detail)]
    return []


def own_lengths(
    lengths: Sequence[Sequence[int]], tiles: Sequence[MosaicTile], axes: dict[int, Dimension]
) -> list[Sequence[int]]:
    """Block lengths along concatenated axes from the tiles themselves (a group may have its own)."""
    result: list[Sequence[int]] = list(lengths)
    for axis in axes:
        sizes = list(lengths[axis])
        for m in tiles:
            sizes[m.block[axis]] = m.shape[axis]
        result[axis] = sizes
    return result


def has_holes(array: VirtualArray) -> bool:
    return bool((array.manifest.load().source == MISSING).any())
