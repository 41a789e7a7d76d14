"""Times in different units, and bounds of such times: brought to common units before anything else is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.compare.packing import (
    PACKED_RANGE_ATTRIBUTES,
    PACKING_ATTRIBUTES,
    Packing,
    masked,
    packing_of,
    unpacked,
)
from byteatlas.combining.context import CombineContext
from byteatlas.combining.coordinates import times
from byteatlas.combining.coordinates.times import TimeUnits
from byteatlas.combining.coordinates.values import nbytes, read_all
from byteatlas.combining.model import Finding, InputNumber
from byteatlas.manifest.model import VirtualArray
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace

ABSENT_TIME = int(np.iinfo(np.int64).min)
"""What stands for no time among integers, as in NumPy; the attribute ``_FillValue`` says so."""
EXACT_INTEGERS = 2**53


@dataclass(frozen=True, slots=True, eq=False)
class CommonTimes:
    """The arrays of a time in common units. ``in_map``: their values were read and converted."""

    arrays: Sequence[VirtualArray]
    findings: list[Finding]
    in_map: bool


@dataclass(frozen=True, slots=True, eq=False)
class UnitsOfInputs:
    """The units of a time in each input that has it, and those that all are brought to."""

    own: Mapping[InputNumber, TimeUnits]
    target: TimeUnits


def in_common_units(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> CommonTimes | Finding | None:
    """The arrays in common units; None for what is no time, or has the same units everywhere."""
    units = units_of(path, have, arrays, classes, context)
    if units is None or isinstance(units, Finding):
        return units
    target = units.target
    if all((u.unit, u.reference) == (target.unit, target.reference) for u in units.own.values()):
        return CommonTimes([labelled(a, target) for a in arrays], [], False)
    names = tuple(context.names[i] for i in have if units.own[i] != target)
    if sum(map(nbytes, arrays)) > context.options.inline_below:
        return Finding("conflict", "units", path, names, "time units differ, and the values are too many to convert")
    values = read_all(arrays, context.read)
    packings = [packing_of(a.meta) for a in arrays]
    converted = [convert(v, p, units.own[i], target) for i, v, p in zip(have, values, packings, strict=True)]
    found = [v for v in converted if v is not None]
    line = of_one_type(found)
    if line is None or len(found) < len(arrays):
        return Finding("conflict", "units", path, names, "time values overflow 64 bits in common units")
    detail = f"time units differ; converted to {target.text!r} and kept in the map"
    note = Finding("reconciled", "units", path, names, detail)
    gaps = len(have) < len(context.inputs) or len(context.dims) > 1 or any((v == ABSENT_TIME).any() for v in line)
    fill = ABSENT_TIME if gaps and line[0].dtype.kind == "i" else None
    return CommonTimes([rewritten(a, v, target, fill) for a, v in zip(arrays, line, strict=True)], [note], True)


def units_of(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    classes: Sequence[MetadataClass],
    context: CombineContext,
) -> UnitsOfInputs | Finding | None:
    """The units of a variable in each input: its own, or those of the time whose bounds it is."""
    if any(times.is_time(c.meta.attributes.get("units")) for c in classes):
        if len(classes) == 1 or not differ([c.meta.attributes for c in classes]):
            return None
        return common(path, dict(zip(have, arrays, strict=True)), context)
    if path in context.bounds:
        own, target = context.bounds[path]
        return UnitsOfInputs({InputNumber(i): u for i, u in enumerate(own)}, target)
    owner = context.owners.get(path)
    if owner is None:
        return None
    owners = {InputNumber(i): item.arrays[owner] for i, item in enumerate(context.inputs) if owner in item.arrays}
    if not differ([a.meta.attributes for a in owners.values()]) or not set(have) <= owners.keys():
        return None
    return common(owner, owners, context)


def differ(documents: Sequence[Mapping[str, JSON]]) -> bool:
    """Whether these are times whose units or calendars are not spelled the same."""
    units = {(str(d.get("units")), str(d.get("calendar"))) for d in documents}
    return len(units) > 1 and all(times.is_time(d.get("units")) for d in documents)


def common(path: str, arrays: Mapping[InputNumber, VirtualArray], context: CombineContext) -> UnitsOfInputs | Finding:
    """The units of a time in all inputs that have it, or why there are no common ones."""
    pairs = [(a.meta.attributes.get("units"), a.meta.attributes.get("calendar")) for a in arrays.values()]
    parsed = {(str(u), str(c)): times.parse_units(u, c) for u, c in pairs}
    own = [parsed[str(u), str(c)] for u, c in pairs]
    names = [context.names[i] for i in arrays]
    known = [u for u in own if u is not None]
    if len(known) < len(own):
        odd = tuple(n for n, u in zip(names, own, strict=True) if u is None)
        why = next(times.why_not(*pair) for pair, u in zip(pairs, own, strict=True) if u is None)
        return Finding("conflict", "units", path, odd, f"time units differ: {why}")
    found = UnitsOfInputs(dict(zip(arrays, known, strict=True)), known[0])
    if len({(u.unit, u.reference, u.calendar) for u in known}) == 1:
        return found
    if sum(map(nbytes, arrays.values())) > context.options.inline_below:
        detail = "time units differ, and the values are too many to convert"
        return Finding("conflict", "units", path, tuple(names), detail)
    values = [
        present(v, packing_of(a.meta))
        for v, a in zip(read_all(list(arrays.values()), context.read), arrays.values(), strict=True)
    ]
    calendar = times.common_calendar(known, values)
    if calendar is None:
        odd, detail = times.odd_calendars(known, names)
        return Finding("conflict", "calendar", path, odd, detail)
    return replace(found, target=times.common_units(known, values))


def present(values: NDArray[Any], packing: Packing) -> NDArray[Any]:
    """The values that are times, unpacked."""
    if packing.scaled or packing.unsigned is not None:
        values = unpacked(values, packing)
    hidden = masked(values, packing.mask)
    seen: NDArray[Any] = values if hidden is None else values[~hidden]
    line: NDArray[Any] = seen[seen == seen].reshape(-1)
    return line


def convert(values: NDArray[Any], packing: Packing, own: TimeUnits, target: TimeUnits) -> NDArray[Any] | None:
    """Values in the target's units; no time is NaN, among integers `ABSENT_TIME`. None when integers overflow."""
    if packing.scaled or packing.unsigned is not None:
        return times.convert(unpacked(values, packing), own, target)
    hidden = masked(values, packing.mask)
    if hidden is None or not hidden.any():
        return times.convert(values, own, target)
    known = present(values, packing)
    filled = np.where(hidden, known[0] if known.size else np.zeros((), values.dtype), values)
    converted = times.convert(filled, own, target)
    if converted is not None:
        converted[hidden] = ABSENT_TIME if converted.dtype.kind == "i" else np.nan
    return converted


def of_one_type(values: Sequence[NDArray[Any]]) -> list[NDArray[Any]] | None:
    """Integers, or all floating point numbers; None when these do not hold all integers."""
    if len({v.dtype for v in values}) == 1:
        return list(values)
    result = []
    for v in values:
        if v.dtype.kind == "i":
            absent = v == ABSENT_TIME
            if bool((np.abs(np.where(absent, 0, v)) > EXACT_INTEGERS).any()):
                return None
            v = np.where(absent, np.nan, v.astype(np.float64))
        result.append(v)
    return result


def labelled(array: VirtualArray, target: TimeUnits) -> VirtualArray:
    """An array whose units are the target's in other words."""
    own = array.meta.attributes
    if "units" not in own:
        return array
    kept = {**own, "units": target.text, "calendar": target.calendar}
    return replace(array, meta=replace(array.meta, attributes=kept))


def rewritten(array: VirtualArray, values: NDArray[Any], target: TimeUnits, fill: int | None) -> VirtualArray:
    """An array of converted values, in the map."""
    meta = array.meta
    kept = {k: v for k, v in meta.attributes.items() if k not in (*PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)}
    if "units" in kept:
        kept |= {"units": target.text, "calendar": target.calendar}
    if fill is not None:
        kept["_FillValue"] = fill
    return inline_array(values, meta.dimension_names or (None,) * meta.ndim, kept)
