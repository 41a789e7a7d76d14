"""Coordinate values of every input along a dimension, wherever the user says that they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.compare import attributes as attrs
from byteatlas.combining.compare.classify import MetadataClass, classify
from byteatlas.combining.compare.packing import masked, packing_of, unpacked
from byteatlas.combining.coordinates import times
from byteatlas.combining.coordinates.sources import describe, typed, value_from
from byteatlas.combining.coordinates.values import read_all
from byteatlas.combining.inputs import find_variable
from byteatlas.combining.model import (
    ByOrder,
    CombineOptions,
    CoordinateSource,
    Finding,
    FlatInput,
    FromVariable,
    ReadArray,
)
from byteatlas.combining.wording import alternatives, by_value, listed
from byteatlas.errors import BadRequest, unknown_text
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace

DTYPE = attrgetter("dtype")
MAX_COORDINATE = 256 << 20
"""Bytes; a coordinate variable larger than this is not one."""


@dataclass(frozen=True, slots=True, eq=False)
class Coordinate:
    """The coordinate along one dimension.

    Attributes:
        values: for each input a 1-D array of values to sort by and to store; None when the files' own lengths and
            their order are all there is.
        path: the variable that holds it in the result; None when it has none.
        attributes: of that variable when it is new (its values do not come from the files' variables).
        time: the units that the values are in now.
        own_units: for each input its own units, where they had to be converted; empty otherwise.
        scalar: the inputs have one value each, and the dimension is new to them.
        lengths: the values' numbers are the lengths of the dimension: they are of the variable with its name.
        documents: the attributes of that variable in the inputs, those that are equal once; empty when not all have it.
    """

    dim: str
    source: str
    values: tuple[NDArray[Any], ...] | None
    path: str | None
    attributes: Mapping[str, JSON] | None = None
    time: times.TimeUnits | None = None
    own_units: tuple[times.TimeUnits, ...] = ()
    unpacked: bool = False
    scalar: bool = False
    lengths: bool = False
    documents: tuple[Mapping[str, JSON], ...] = ()


def coordinate(
    dim: str, inputs: Sequence[FlatInput], options: CombineOptions, read: ReadArray
) -> tuple[Coordinate, list[Finding]]:
    """Find the values of ``dim`` in all inputs. Trouble comes back as conflicts."""
    source = options.coords.get(dim, FromVariable())
    if isinstance(source, FromVariable):
        return from_variables(dim, source, inputs, options, read)
    if isinstance(source, ByOrder):
        return by_order(dim, inputs), []
    return from_sources(dim, source, inputs)


def from_variables(
    dim: str, source: FromVariable, inputs: Sequence[FlatInput], options: CombineOptions, read: ReadArray
) -> tuple[Coordinate, list[Finding]]:
    wanted = source.path or dim
    paths = [wanted if wanted in i.arrays else find_variable(wanted, i) for i in inputs]
    if paths[0] is None and all(p is None for p in paths):
        if source.path is not None:
            known = dict.fromkeys(path for i in inputs for path in i.arrays)
            _, _, names = unknown_text("variable", source.path, known).partition("; ")
            raise BadRequest(f"no input has a variable {source.path!r} for the coordinate of {dim!r}; {names}")
        found = by_order(dim, inputs)
        if dim not in options.coords and (typo := probably_meant(dim, inputs)):
            return found, [Finding("conflict", "dims", None, (), typo)]
        note = Finding("note", "coordinate", None, (), f"no variable {dim!r} in the files: the order given is kept")
        return found, [note]
    lacking = tuple(i.name for i, p in zip(inputs, paths, strict=True) if p is None)
    if lacking:
        return Coordinate(dim, f"variable {wanted}", None, wanted), [
            Finding("conflict", "coordinate", wanted, lacking, f"no coordinate variable {wanted!r}")
        ]
    arrays = [i.arrays[p] for i, p in zip(inputs, paths, strict=True) if p is not None]
    classes = classify([a.meta for a in arrays], range(len(arrays)), frozenset({0}))
    wrong = unusable(dim, wanted, classes, inputs)
    if wrong:
        return Coordinate(dim, f"variable {wanted}", None, wanted), [wrong]
    values = read_all(arrays, read, classes)
    if any(c.meta.ndim == 0 for c in classes):
        values = [v.reshape(-1) for v in values]
    found, findings = settle(dim, source, paths[0] or wanted, classes, values, inputs, options)
    if paths.count(paths[0]) == len(paths):
        found = replace(found, documents=tuple(d for c in classes for d in c.attributes))
    return found, findings


def probably_meant(dim: str, inputs: Sequence[FlatInput]) -> str | None:
    """A sentence when no file has a dimension of this name, but one whose name is nearly the same."""
    known = dict.fromkeys(d for i in inputs for a in i.arrays.values() for d in a.meta.dimension_names or () if d)
    folded = {d.casefold() for d in known}
    near = dim.casefold() in folded or bool(get_close_matches(dim.casefold(), folded, 1))
    return None if dim in known or not near else no_dimension(dim, list(known))


def no_dimension(dim: str, known: Sequence[str]) -> str:
    """What is said of a dimension that no file has."""
    close = get_close_matches(dim.casefold(), [d.casefold() for d in known], 1)
    meant = next((f"did you mean {d!r}? " for d in known if d.casefold() in close), "")
    return f"no file has a dimension {dim!r}; {meant}known: {listed(known, 12) or 'none'}"


def unusable(dim: str, path: str, classes: Sequence[MetadataClass], inputs: Sequence[FlatInput]) -> Finding | None:
    """Coordinate variables with more than one dimension, or absurdly large."""
    for cls in classes:
        meta, name = cls.meta, inputs[cls.members[0]].name
        if meta.ndim > 1:
            detail = f"the coordinate of {dim!r} has {meta.ndim} dimensions"
            return Finding("conflict", "coordinate", path, (name,), detail)
        if math.prod(meta.shape) * max(1, meta.data_type.numpy.itemsize) > MAX_COORDINATE:
            return Finding("conflict", "coordinate", path, (name,), f"the coordinate of {dim!r} is too large")
    return None


def settle(
    dim: str,
    source: FromVariable,
    path: str,
    classes: Sequence[MetadataClass],
    values: list[NDArray[Any]],
    inputs: Sequence[FlatInput],
    options: CombineOptions,
) -> tuple[Coordinate, list[Finding]]:
    """Bring values from the files to common packing, units and calendar."""
    findings: list[Finding] = []
    if values and values[0].dtype.hasobject:
        values = [np.array(v.tolist()) for v in values]
    packings = [packing_of(c.meta) for c in classes]
    absent = [
        i for c, p in zip(classes, packings, strict=True) if p.mask for i in c.members if has_masked(values[i], p.mask)
    ]
    if absent:
        names = tuple(inputs[i].name for i in absent)
        detail = f"the coordinate of {dim!r} has values that mean no data"
        return Coordinate(dim, f"variable {path}", None, path), [Finding("conflict", "coordinate", path, names, detail)]
    units = {(str(c.meta.attributes.get("units")), str(c.meta.attributes.get("calendar"))) for c in classes}
    converts = source.decode and (len(units) > 1 or options.units is not None)
    packed = any(p != packings[0] for p in packings) or packings[0].unsigned is not None
    packed = packed or (converts and packings[0].scaled)
    if packed:
        for c, p in zip(classes, packings, strict=True):
            for i in c.members:
                values[i] = unpacked(values[i], p)
        names = tuple(
            inputs[i].name for c, p in zip(classes, packings, strict=True) if p != packings[0] for i in c.members
        )
        why = "packed differently" if names else "packed"
        findings.append(Finding("reconciled", "packing", path, names, f"{why}: unpacked in the map"))
    mixed = inexact(path, values, inputs)
    meaning = attrs.check_meaning(path, classes, [i.name for i in inputs], MEANING_ELSEWHERE[source.decode])
    if mixed or any(f.level == "conflict" for f in meaning):
        return Coordinate(dim, f"variable {path}", None, path), [*mixed, *meaning]
    scalar = all(c.meta.ndim == 0 for c in classes)
    label = f"variable {path}"
    if not source.decode:
        return Coordinate(dim, label, tuple(values), path, unpacked=packed, scalar=scalar), findings
    pairs: list[tuple[JSON, JSON]] = [(None, None)] * len(inputs)
    for c in classes:
        pair = c.meta.attributes.get("units"), c.meta.attributes.get("calendar")
        for i in c.members:
            pairs[i] = pair
    target, own, trouble = common_time(path, pairs, values, inputs, options)
    findings += trouble
    if own and target is not None:
        converted = [times.convert(v, u, target) for v, u in zip(values, own, strict=True)]
        if any(v is None for v in converted):
            overflow = Finding("conflict", "units", path, (), "time values overflow 64 bits in common units")
            return Coordinate(dim, label, None, path, scalar=scalar), [*findings, overflow]
        values = [v for v in converted if v is not None]
    lengths = path == dim and all(c.meta.dimension_names == (dim,) for c in classes)
    return Coordinate(dim, label, tuple(values), path, None, target, own, packed, scalar, lengths), findings


MEANING_ELSEWHERE = {True: frozenset({"units", "calendar"}), False: frozenset[str]()}
"""Attributes that are reconciled after values are decoded, when they are."""


def inexact(path: str, values: Sequence[NDArray[Any]], inputs: Sequence[FlatInput]) -> list[Finding]:
    """A conflict when values of different types have no type that holds them all exactly."""
    types = set(map(DTYPE, values))
    if len(types) > 1:
        types = {v.dtype for v in values if v.size}
    if len(types) < 2:
        return []
    if any(t.kind not in "iuf" for t in types):
        return [] if len({t.kind for t in types}) == 1 else [type_conflict(path, values, inputs)]
    common = np.result_type(*types)
    if all(bool((v.astype(common).astype(v.dtype) == v).all()) or v.dtype.kind == "f" for v in values):
        return []
    return [type_conflict(path, values, inputs)]


def type_conflict(path: str, values: Sequence[NDArray[Any]], inputs: Sequence[FlatInput]) -> Finding:
    what = "no type holds the coordinate values of all files"
    return Finding("conflict", "dtype", path, *by_value([str(v.dtype) for v in values], [i.name for i in inputs], what))


def has_masked(values: NDArray[Any], mask: tuple[float | int | str, ...]) -> bool:
    hidden = masked(values, mask) if values.dtype.kind in "iuf" else None
    return hidden is not None and bool(hidden.any())


def common_time(
    path: str,
    pairs: Sequence[tuple[JSON, JSON]],
    values: Sequence[NDArray[Any]],
    inputs: Sequence[FlatInput],
    options: CombineOptions,
) -> tuple[times.TimeUnits | None, tuple[times.TimeUnits, ...], list[Finding]]:
    """The common units; the inputs' own ones when values must be converted."""
    first = pairs[0]
    odd = [i for i, p in enumerate(pairs) if p is not first and p != first]
    known: dict[tuple[str, str], times.TimeUnits | None] = {}
    asked = times.parse_units(options.units, options.calendar) if options.units else None
    if options.units and times.is_time(first[0]) and asked is None:
        raise BadRequest(f"units {options.units!r} are not those of a CF time")
    if not odd and (asked is None or not times.is_time(first[0])):
        return times.parse_units(*first), (), []
    own = []
    for pair in pairs:
        key = (str(pair[0]), str(pair[1]))
        if key not in known:
            known[key] = times.parse_units(*pair)
        own.append(known[key])
    names = tuple(inputs[i].name for i in odd)
    facts = [f"{u} ({c or 'standard'})" for u, c in pairs]
    units = [u for u in own if u is not None]
    if len(units) != len(own):
        why = "; ".join(dict.fromkeys(times.why_not(*p) for p, u in zip(pairs, own, strict=True) if u is None))
        what = "units differ and are not all CF times of a fixed length"
        files, detail = by_value(facts, [i.name for i in inputs], what)
        return None, (), [Finding("conflict", "units", path, files, f"{detail}; {why}")]
    calendar = times.common_calendar(units, values)
    if calendar is None:
        return None, (), [Finding("conflict", "calendar", path, *times.odd_calendars(units, [i.name for i in inputs]))]
    if asked is not None and asked.calendar != calendar:
        return None, (), [Finding("conflict", "calendar", path, (), f"files are in {calendar}, not {asked.calendar}")]
    target = asked or times.common_units(units, values)
    if all(u.unit == target.unit and u.reference == target.reference for u in units):
        return target, (), []
    return (
        target,
        tuple(units),
        [
            Finding(
                "reconciled",
                "units",
                path,
                names,
                f"time units differ: {alternatives(facts)}; converted to {target.text!r}",
            )
        ],
    )


def by_order(dim: str, inputs: Sequence[FlatInput]) -> Coordinate:
    """No values: files follow each other as they are given."""
    return Coordinate(dim, "order of the files", None, None)


def from_sources(dim: str, source: CoordinateSource, inputs: Sequence[FlatInput]) -> tuple[Coordinate, list[Finding]]:
    """Values that are not data of the files: attributes, names, constants, a function."""
    raw: list[object] = []
    lacking: list[str] = []
    for index, item in enumerate(inputs):
        value = value_from(source, index, item)
        if value is None:
            lacking.append(item.name)
        raw.append(value)
    label = describe(source)
    if lacking:
        return Coordinate(dim, label, None, dim), [
            Finding("conflict", "coordinate", None, tuple(lacking), f"no value for {dim!r} from {label}")
        ]
    values, attributes = typed(raw)
    return Coordinate(dim, label, values, dim, attributes, scalar=all(len(v) == 1 for v in values)), []
