"""What becomes of one variable: concatenated, stacked, kept once, rewritten, or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.build import compact, in_the_map
from byteatlas.combining.chunks.padding import as_long_as_dimensions
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.compare.classify import MetadataClass, classify
from byteatlas.combining.compare.must_match import all_inline_identical, unequal
from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.combining.context import CombineContext, Dimension, concat_axes
from byteatlas.combining.model import Finding, InputNumber
from byteatlas.combining.variable.common_times import in_common_units
from byteatlas.combining.variable.mosaic import mosaic
from byteatlas.combining.variable.treatment import Concatenation, Decision, Ready, is_plain, meta_of
from byteatlas.combining.wording import by_value, dims_text
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import replace

META, MANIFEST = attrgetter("meta"), attrgetter("manifest")


def decide(path: str, context: CombineContext) -> Decision:
    """Decide on one variable. No treatment: it is in conflict."""
    have: Sequence[InputNumber] = cast("Sequence[InputNumber]", range(len(context.inputs)))
    if context.columns is not None and path in context.columns:
        arrays = context.columns[path]
    else:
        have = [i for i in have if path in context.inputs[i].arrays]
        arrays = [context.inputs[i].arrays[path] for i in have]
    for dim in context.dims:
        if dim.coordinate.path == path and dim.coordinate.values is not None:
            treatment = rewritten_coordinate(dim, arrays, context)
            if treatment is not None:
                return treatment
    first = arrays[0].meta
    twice = [d.name for d in context.dims if (first.dimension_names or ()).count(d.name) > 1]
    if twice:
        detail = f"dimension {twice[0]!r} is there twice: {dims_text(first.dimension_names or ())}"
        return None, [Finding("conflict", "dims", path, (context.names[have[0]],), detail)]
    axes = concat_axes(first, context)
    classes = classify(list(map(META, arrays)), have, frozenset(axes), context.known_encodings)
    if path.rpartition("/")[2] in context.grid_mappings:
        crs = attrs.check_crs(path, [a.meta.attributes for a in arrays], [context.names[i] for i in have])
        if crs:
            return None, crs
    common = in_common_units(path, have, arrays, classes, context)
    if isinstance(common, Finding):
        return None, [common]
    if common is None:
        return joined(path, have, arrays, axes, classes, context)
    classes = classify(list(map(META, common.arrays)), have, frozenset(axes))
    result, found = joined(path, have, common.arrays, axes, classes, context)
    if result is not None and common.in_map:
        result = in_the_map(result, context)
    return result, common.findings + found


def joined(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    axes: dict[int, Dimension],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> Decision:
    """One variable whose numbers mean the same in all files."""
    lifted = [d for d in context.dims if d.new and stacks(path, arrays[0].meta, context)]
    if not axes and not lifted:
        return once(path, have, arrays, classes, context)
    if not lifted and (run := whole_run(path, have, arrays, axes, classes, context)) is not None:
        return run
    arrays, padded = as_long_as_dimensions(path, have, arrays, axes, context)
    if padded:
        classes = classify(list(map(META, arrays)), have, frozenset(axes))
    treatment, found = mosaic(path, have, arrays, classes, lifted, context)
    if treatment is not None and not is_plain(meta_of(treatment)):
        treatment = compact(treatment, context, context.options.inline_uneven)
    return treatment, padded + found


def whole_run(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    axes: dict[int, Dimension],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> Decision | None:
    """The common case, if it is: all files have the variable, described alike, in whole chunks."""
    if len(classes) > 1 or len(have) < len(context.inputs):
        return None
    run = plain_run(axes, arrays, classes[0], context)
    if run is None:
        return None
    kept, differing = attrs.merged(classes[0].attributes, context.options.attributes)
    if classes[0].documents:
        run = replace(run, meta=replace(run.meta, attributes=kept))
    return run, attrs.note_dropped(path, differing, context.options.attributes)


def stacks(path: str, meta: ArrayMeta, context: CombineContext) -> bool:
    """Whether a variable gets the new dimensions."""
    name = path.rpartition("/")[2]
    if context.options.stack is not None:
        return path in context.options.stack
    return name not in context.helpers and not any(d.coordinate.path == path for d in context.dims)


def rewritten_coordinate(dim: Dimension, arrays: Sequence[VirtualArray], context: CombineContext) -> Decision | None:
    """The combined coordinate, rewritten into the map; None when it is too large or has other dimensions."""
    coord, blocks = dim.coordinate, dim.arranged.blocks
    if coord.values is None or not blocks or (arrays and arrays[0].meta.data_type.numpy.hasobject):
        return None
    line: NDArray[Any] = np.concatenate(blocks) if dim.arranged.line is None else dim.arranged.line
    if line.nbytes > context.options.inline_below:
        return None
    whole = coord.documents and len(arrays) == len(context.inputs)
    documents = coord.documents if whole else tuple(a.meta.attributes for a in arrays)
    if coord.attributes is not None or not documents:
        kept, differing = dict(coord.attributes or {}), list[str]()
    else:
        kept, differing = attrs.merged(documents, context.options.attributes)
    if coord.time is not None and (coord.own_units or any(not same_spelling(d, documents[0]) for d in documents)):
        kept |= {"units": coord.time.text, "calendar": coord.time.calendar}
    if coord.unpacked:
        kept = {k: v for k, v in kept.items() if k not in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)}
    array = inline_array(line, (dim.name,), kept)
    return Ready(array, "inlined"), attrs.note_dropped(coord.path, differing, context.options.attributes)


def same_spelling(a: Mapping[str, JSON], b: Mapping[str, JSON]) -> bool:
    """Whether the units of two times have the same spelling (they may be the same in other words)."""
    return all(a.get(name) == b.get(name) for name in ("units", "calendar"))


def once(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> Decision:
    """A variable without a concatenated dimension: the same in all files that have it, or a conflict."""
    names = [context.names[i] for i in have]
    findings: list[Finding] = []
    if len(classes) > 1:
        skip = frozenset({"_FillValue"})
        findings = attrs.check_meaning(path, classes, context.names, skip)
        types = dict.fromkeys(c.meta.data_type.name for c in classes)
        kinds = {c.meta.data_type.numpy.kind for c in classes}
        if len(types) > 1 and not kinds <= set("iuf") and len(kinds) > 1:
            facts = [c.meta.data_type.name for c in classes for _ in c.members]
            files = [context.names[i] for c in classes for i in c.members]
            findings.append(Finding("conflict", "dtype", path, *by_value(facts, files, "data types differ")))
        if any(f.level == "conflict" for f in findings):
            return None, findings
    if len(arrays) > 1 and not (len(classes) == 1 and all_inline_identical(arrays)):
        findings += unequal(path, arrays, names, context.options, context.read, alike=len(classes) == 1)
        if any(f.level == "conflict" for f in findings):
            return None, findings
    kept, differing = attrs.merged([d for c in classes for d in c.attributes], context.options.attributes)
    own = classes[0].meta.attributes
    kept |= {k: own[k] for k in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES) if k in own}
    findings += attrs.note_dropped(path, differing, context.options.attributes)
    array = arrays[0]
    if len(classes) > 1 or classes[0].documents:
        array = replace(array, meta=replace(array.meta, attributes=kept))
    return Ready(array, "once"), findings


def plain_run(
    axes: dict[int, Dimension], arrays: Sequence[VirtualArray], cls: MetadataClass, context: CombineContext
) -> Concatenation | None:
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
    lengths = (meta.shape[0],) * len(ordered) if cls.even else tuple(a.meta.shape[0] for a in ordered)
    if lengths != dim.lengths or any(n % chunk for n in set(lengths[:-1])):
        return None
    manifests = tuple(map(MANIFEST, ordered))
    total = sum(lengths)
    merged = replace(meta, shape=(total, *meta.shape[1:]))
    return Concatenation(merged, chunk_counts(merged.shape, merged.grid), manifests)
