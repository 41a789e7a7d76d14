"""Coordinate values of every input along a dimension, wherever the user says that they are."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combine import times
from byteatlas.combine.inputs import first_url
from byteatlas.combine.model import (
    ByOrder,
    CombineOptions,
    Compute,
    CoordinateSource,
    Finding,
    FromAttribute,
    FromName,
    FromVariable,
    Input,
    ReadArray,
    Values,
    listed,
)
from byteatlas.combine.packing import masked, packing_of, unpacked
from byteatlas.combine.same import Class, classify
from byteatlas.combine.values import read_all
from byteatlas.errors import BadRequest
from byteatlas.types import JSON

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


def coordinate(
    dim: str, inputs: Sequence[Input], options: CombineOptions, read: ReadArray
) -> tuple[Coordinate, list[Finding]]:
    """Find the values of ``dim`` in all inputs. Trouble comes back as conflicts."""
    source = options.coords.get(dim, FromVariable())
    if isinstance(source, FromVariable):
        return from_variables(dim, source, inputs, options, read)
    if isinstance(source, ByOrder):
        return by_order(dim, inputs), []
    return from_outside(dim, source, inputs)


def find_variable(path: str, item: Input) -> str | None:
    """The variable of that path, or the first one of that name in any group."""
    if path in item.arrays:
        return path
    tail = "/" + path
    return next((p for p in item.arrays if p.endswith(tail)), None)


def from_variables(
    dim: str, source: FromVariable, inputs: Sequence[Input], options: CombineOptions, read: ReadArray
) -> tuple[Coordinate, list[Finding]]:
    wanted = source.path or dim
    paths = [wanted if wanted in i.arrays else find_variable(wanted, i) for i in inputs]
    if paths[0] is None and all(p is None for p in paths):
        if source.path is not None:
            raise BadRequest(f"no input has a variable {source.path!r} for the coordinate of {dim!r}")
        found = by_order(dim, inputs)
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
    return settle(dim, source, paths[0] or wanted, classes, values, inputs, options)


def unusable(dim: str, path: str, classes: Sequence[Class], inputs: Sequence[Input]) -> Finding | None:
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
    classes: Sequence[Class],
    values: list[NDArray[Any]],
    inputs: Sequence[Input],
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
    packed = any(p != packings[0] for p in packings)
    if packed:
        for c, p in zip(classes, packings, strict=True):
            for i in c.members:
                values[i] = unpacked(values[i], p)
        names = tuple(
            inputs[i].name for c, p in zip(classes, packings, strict=True) if p != packings[0] for i in c.members
        )
        findings.append(Finding("reconciled", "packing", path, names, "packed differently: unpacked in the map"))
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


def has_masked(values: NDArray[Any], mask: tuple[float | int | str, ...]) -> bool:
    hidden = masked(values, mask) if values.dtype.kind in "iuf" else None
    return hidden is not None and bool(hidden.any())


def common_time(
    path: str,
    pairs: Sequence[tuple[JSON, JSON]],
    values: Sequence[NDArray[Any]],
    inputs: Sequence[Input],
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
    texts = "; ".join(dict.fromkeys(f"{u!r} ({c or 'standard'})" for u, c in [first, *(pairs[i] for i in odd[:3])]))
    units = [u for u in own if u is not None]
    if len(units) != len(own):
        why = "; ".join(dict.fromkeys(times.why_not(*p) for p, u in zip(pairs, own, strict=True) if u is None))
        detail = f"units differ and are not all CF times of a fixed length: {texts} ({why})"
        return None, (), [Finding("conflict", "units", path, names, detail)]
    calendar = times.same_calendar(units, values)
    if calendar is None:
        return None, (), [Finding("conflict", "calendar", path, names, f"calendars differ: {texts}")]
    if asked is not None and asked.calendar != calendar:
        return None, (), [Finding("conflict", "calendar", path, (), f"files are in {calendar}, not {asked.calendar}")]
    target = asked or times.common_units(units, values)
    if all(u.unit == target.unit and u.reference == target.reference for u in units):
        return target, (), []
    return (
        target,
        tuple(units),
        [Finding("reconciled", "units", path, names, f"time units differ: {texts}; converted to {target.text!r}")],
    )


def by_order(dim: str, inputs: Sequence[Input]) -> Coordinate:
    """No values: files follow each other as they are given."""
    return Coordinate(dim, "order of the files", None, None)


def from_outside(dim: str, source: CoordinateSource, inputs: Sequence[Input]) -> tuple[Coordinate, list[Finding]]:
    """Values that are not data of the files: attributes, names, constants, a function."""
    raw: list[object] = []
    lacking: list[str] = []
    for index, item in enumerate(inputs):
        value = outside_value(source, index, item)
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


def outside_value(source: CoordinateSource, index: int, item: Input) -> object:
    match source:
        case FromAttribute(name, None):
            return item.group.meta.attributes.get(name)
        case FromAttribute(name, variable):
            path = find_variable(variable or "", item)
            return None if path is None else item.arrays[path].meta.attributes.get(name)
        case FromName(pattern, strptime):
            found = name_value(pattern, strptime, item.name)
            return name_value(pattern, strptime, first_url(item.arrays, index)) if found is None else found
        case Values(values):
            if index >= len(values):
                raise BadRequest(f"{len(values)} coordinate values for more inputs")
            return values[index]
        case Compute(function):
            return function(index, item.name, item.group)
        case _:
            return None


def name_value(pattern: re.Pattern[str], strptime: str | None, name: str) -> object:
    match = pattern.search(name)
    if match is None:
        return None
    text = match["value"] if "value" in pattern.groupindex else match[1] if pattern.groups else match[0]
    if strptime is None:
        return text
    try:
        return dt.datetime.strptime(text, strptime)
    except ValueError:
        return None


def describe(source: CoordinateSource) -> str:
    match source:
        case FromAttribute(name, variable):
            return f"attribute {name}" + (f" of {variable}" if variable else "")
        case FromName(pattern, strptime):
            return f"file names by {pattern.pattern!r}" + (f" as {strptime!r}" if strptime else "")
        case Values():
            return "given values"
        case Compute():
            return "a function"
        case _:
            return "order of the files"


def typed(raw: Sequence[object]) -> tuple[tuple[NDArray[Any], ...], Mapping[str, JSON]]:
    """Values of one type: integers, else numbers, else dates (as CF time), else text."""
    if all(isinstance(v, (np.ndarray, list, tuple)) for v in raw):
        lists = [np.atleast_1d(np.asarray(v)) for v in raw]
        common = np.result_type(*lists)
        if common.hasobject:
            raise BadRequest("coordinate values must be numbers, dates or text")
        return tuple(v.astype(common) for v in lists), {}
    if all(isinstance(v, (dt.datetime, dt.date, np.datetime64)) for v in raw):
        return dates(raw)
    if all(isinstance(v, str) for v in raw):
        numbers = as_numbers([str(v) for v in raw])
        line = np.array(raw, dtype=np.str_) if numbers is None else numbers
    else:
        line = np.array(raw)
    if line.dtype.kind not in "biufU" or line.ndim != 1:
        raise BadRequest(f"coordinate values must be numbers, dates or text, not {listed([repr(v) for v in raw])}")
    return tuple(line[i : i + 1] for i in range(len(line))), {}


def as_numbers(texts: Sequence[str]) -> NDArray[Any] | None:
    """Texts as numbers when all of them are."""
    for kind, dtype in ((int, np.int64), (float, np.float64)):
        try:
            return np.array([kind(t) for t in texts], dtype=dtype)
        except (ValueError, OverflowError):
            continue
    return None


def dates(raw: Sequence[object]) -> tuple[tuple[NDArray[Any], ...], Mapping[str, JSON]]:
    """Dates as CF time: days when all are midnights, else microseconds or seconds."""
    stamps = np.array([v.replace(tzinfo=None) if isinstance(v, dt.datetime) else v for v in raw], "datetime64[us]")
    line = stamps.astype(np.int64)
    steps = {"days": 86_400_000_000, "seconds": 1_000_000, "microseconds": 1}
    word = next(w for w, step in steps.items() if not (line % step).any())
    line = line // steps[word]
    attributes = {"units": f"{word} since 1970-01-01", "calendar": "proleptic_gregorian", "standard_name": "time"}
    return tuple(line[i : i + 1] for i in range(len(line))), attributes


def kerchunk_map(coo_map: Mapping[str, object]) -> dict[str, CoordinateSource]:
    """Coordinate sources from kerchunk's ``coo_map`` spellings.

    ``data:var``, ``cf:var``, ``attr:name``, ``vattr:var:name``, ``INDEX``, a compiled pattern, a list, or a callable
    ``(index, fs, var, fn)``. Anything else is a constant. Raises `BadRequest` for ``VARNAME``.
    """
    return {dim: kerchunk_source(dim, spelled) for dim, spelled in coo_map.items()}


def kerchunk_source(dim: str, spelled: object) -> CoordinateSource:
    if isinstance(spelled, (FromVariable, FromAttribute, FromName, ByOrder, Values, Compute)):
        return spelled
    if isinstance(spelled, re.Pattern):
        return FromName(spelled)
    if isinstance(spelled, (list, tuple, np.ndarray)):
        return Values(tuple(spelled))
    if callable(spelled):
        function = spelled
        return Compute(lambda index, name, group: function(index, None, dim, name))
    if isinstance(spelled, str):
        head, _, rest = spelled.partition(":")
        match head:
            case "data":
                return FromVariable(rest or dim, decode=False)
            case "cf":
                return FromVariable(rest or dim)
            case "attr":
                return FromAttribute(rest)
            case "vattr":
                variable, _, name = rest.partition(":")
                return FromAttribute(name, variable)
            case "INDEX":
                return ByOrder()
            case "VARNAME":
                raise BadRequest("coo_map 'VARNAME' is not supported: stack variables with their own dimension instead")
    constant = spelled
    return Compute(lambda index, name, group: constant)


Conversion = tuple[Fraction, Fraction]
