"""Small arrays that cannot be left as they are: times in different units, and the bounds of such times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.compare.packing import masked, packing_of
from byteatlas.combining.context import CombineContext, Dimension
from byteatlas.combining.coordinates import times
from byteatlas.combining.coordinates.values import nbytes, read_all
from byteatlas.combining.model import Finding, InputNumber
from byteatlas.combining.variable.treatment import Decision, Ready
from byteatlas.manifest.model import VirtualArray


def rewritten(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    axes: dict[int, Dimension],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> Decision:
    """Times in different units (and bounds of such times): read, converted and kept in the map."""
    names = tuple(context.names[i] for i in have)
    if len(have) != len(context.inputs) or len(axes) > 1 or not axes:
        detail = "time units differ, and the variable is not in all files along one concatenated dimension"
        return None, [Finding("conflict", "units", path, names, detail)]
    if sum(nbytes(a) for a in arrays) > context.options.inline_below:
        return None, [
            Finding("conflict", "units", path, names, "time units differ, and the values are too many to convert")
        ]
    (axis, dim), *_ = axes.items()
    values = read_all(arrays, context.read)
    findings: list[Finding] = []
    if path in context.bounds and not any(times.is_time(c.meta.attributes.get("units")) for c in classes):
        own, target = context.bounds[path]
    else:
        parsed = [times.parse_units(a.meta.attributes.get("units"), a.meta.attributes.get("calendar")) for a in arrays]
        own = tuple(p for p in parsed if p is not None)
        if len(own) < len(parsed):
            pairs = [(a.meta.attributes.get("units"), a.meta.attributes.get("calendar")) for a in arrays]
            why = next(times.why_not(*pair) for pair, units in zip(pairs, parsed, strict=True) if units is None)
            return None, [Finding("conflict", "units", path, names, f"time units differ: {why}")]
        calendar = times.common_calendar(own, values)
        if calendar is None:
            return None, [
                Finding("conflict", "calendar", path, names, "time units or calendars cannot be brought together")
            ]
        target = times.common_units(own, values)
    if any(k in c.meta.attributes for c in classes for k in ("scale_factor", "add_offset")):
        return None, [Finding("conflict", "packing", path, names, "packed times in different units")]
    masks = [packing_of(a.meta).mask for a in arrays]
    if any(m is not None and m.any() for m in (masked(v, k) for v, k in zip(values, masks, strict=True) if k)):
        return None, [Finding("conflict", "units", path, names, "time units differ, and some values mean no data")]
    converted = [times.convert(v, u, target) for v, u in zip(values, own, strict=True)]
    if any(v is None for v in converted):
        return None, [Finding("conflict", "units", path, names, "time values overflow 64 bits in common units")]
    placed, trouble = by_place(path, have, [v for v in converted if v is not None], dim, context)
    if trouble is not None:
        return None, [trouble]
    line = np.concatenate(placed, axis=axis)
    kept, differing = attrs.merged([d for c in classes for d in c.attributes], context.options.attributes)
    if any("units" in c.meta.attributes for c in classes):
        kept |= {"units": target.text, "calendar": target.calendar}
    findings.append(Finding("reconciled", "units", path, names, f"converted to {target.text!r} and kept in the map"))
    findings += attrs.note_dropped(path, differing, context.options.attributes)
    dims = classes[0].meta.dimension_names or (None,) * line.ndim
    return Ready(inline_array(line, dims, kept), "inlined"), findings


def by_place(
    path: str, have: Sequence[InputNumber], values: Sequence[NDArray[Any]], dim: Dimension, context: CombineContext
) -> tuple[list[NDArray[Any]], Finding | None]:
    """Values in the order of places; of several files for one place the options (or equal values) say which counts."""
    places: dict[int, tuple[int, NDArray[Any]]] = {}
    for i, v in zip(have, values, strict=True):
        block = dim.arranged.block_of[i]
        if block not in places or context.options.duplicates == "last":
            places[block] = (i, v)
        elif context.options.duplicates == "error" and not np.array_equal(places[block][1], v, equal_nan=True):
            first = context.names[places[block][0]]
            detail = f"files have the same coordinate values as {first}, and different data"
            return [], Finding("conflict", "duplicate", path, (context.names[i],), detail)
    return [v for _, (_, v) in sorted(places.items())], None
