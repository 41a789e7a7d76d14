"""Coordinate values that are not data of the files: attributes, names, constants, functions."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.coordinates import calendars
from byteatlas.combining.inputs import find_variable, first_url
from byteatlas.combining.model import (
    Compute,
    CoordinateSource,
    FlatInput,
    FromAttribute,
    FromName,
    Values,
)
from byteatlas.combining.wording import listed
from byteatlas.errors import BadRequest
from byteatlas.types import JSON


def value_from(source: CoordinateSource, index: int, item: FlatInput) -> object:
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
        if common.kind not in "biufU" or any(v.ndim != 1 for v in lists):
            raise BadRequest("coordinate values must be numbers, dates or text")
        if any(v.dtype.kind in "iu" and bool((v.astype(common).astype(v.dtype) != v).any()) for v in lists):
            raise BadRequest(f"no type holds all coordinate values: {listed([str(v.dtype) for v in lists])}")
        return tuple(v.astype(common) for v in lists), {}
    if all(isinstance(v, (dt.datetime, dt.date, np.datetime64)) for v in raw):
        return dates(raw)
    if all(hasattr(v, "calendar") and hasattr(v, "microsecond") for v in raw):
        return calendar_dates(raw)
    if all(isinstance(v, str) for v in raw):
        numbers = as_numbers([str(v) for v in raw])
        line = np.array(raw, dtype=np.str_) if numbers is None else numbers
    else:
        line = np.array(raw)
    if line.dtype.kind not in "biufU" or line.ndim != 1:
        raise BadRequest(f"coordinate values must be numbers, dates or text, not {listed([repr(v) for v in raw])}")
    return tuple(line[i : i + 1] for i in range(len(line))), {}


NUMBERS = ((re.compile(r"[+-]?\d+"), np.int64), (re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"), np.float64))


def as_numbers(texts: Sequence[str]) -> NDArray[Any] | None:
    """Texts as numbers when all of them are."""
    for pattern, dtype in NUMBERS:
        if all(pattern.fullmatch(t) for t in texts):
            try:
                return np.array(texts).astype(dtype)
            except (ValueError, OverflowError):
                continue
    return None


def dates(raw: Sequence[object]) -> tuple[tuple[NDArray[Any], ...], Mapping[str, JSON]]:
    """Dates as CF time: days when all are midnights, else microseconds or seconds. Time zones are taken to UTC."""
    plain = [in_utc(v) if isinstance(v, dt.datetime) else v for v in raw]
    stamps = np.array(plain, "datetime64[us]")
    if bool(np.isnat(stamps).any()):
        raise BadRequest("a coordinate value is no date (NaT)")
    if any(isinstance(v, np.datetime64) and v.astype("datetime64[us]") != v for v in plain):
        raise BadRequest("dates finer than microseconds")
    return in_steps(stamps.astype(np.int64), "proleptic_gregorian")


def in_utc(date: dt.datetime) -> dt.datetime:
    return date if date.tzinfo is None else date.astimezone(dt.UTC).replace(tzinfo=None)


def calendar_dates(raw: Sequence[Any]) -> tuple[tuple[NDArray[Any], ...], Mapping[str, JSON]]:
    """Dates of `cftime` as CF time in their own calendar, which must be one for all."""
    names = {calendars.CALENDARS.get(v.calendar) for v in raw}
    name = next(iter(names))
    if len(names) > 1 or name is None:
        raise BadRequest(f"dates of one calendar are needed, not {listed([str(v.calendar) for v in raw])}")
    epoch = calendars.day_number(name, 1970, 1, 1)
    line = [
        (calendars.day_number(name, v.year, v.month, v.day) - epoch) * 86_400_000_000
        + ((v.hour * 60 + v.minute) * 60 + v.second) * 1_000_000
        + v.microsecond
        for v in raw
    ]
    return in_steps(np.array(line, np.int64), name)


def in_steps(microseconds: NDArray[np.int64], calendar: str) -> tuple[tuple[NDArray[Any], ...], Mapping[str, JSON]]:
    """Microseconds since 1970 in the coarsest units that are exact."""
    steps = {"days": 86_400_000_000, "seconds": 1_000_000, "microseconds": 1}
    word = next(w for w, step in steps.items() if not (microseconds % step).any())
    line = microseconds // steps[word]
    attributes: dict[str, JSON] = {"units": f"{word} since 1970-01-01", "calendar": calendar, "standard_name": "time"}
    return tuple(line[i : i + 1] for i in range(len(line))), attributes
