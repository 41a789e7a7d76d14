"""Selecting and masking by coordinate values: ``{"time": slice("2001-01", "2001-03"), "lat": slice(30, 60)}``.

A slice means all values between its ends, both included, whichever way the coordinate goes; a date that leaves out the
day (or the hour) means all of its month (or day). A single value means the positions that have it, and keeps the
dimension. What is between the ends must be one run of positions.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.compare.packing import packing_of, unpacked
from byteatlas.combining.coordinates import calendars, times
from byteatlas.combining.coordinates.values import read_all
from byteatlas.combining.model import ReadArray, scalar_json
from byteatlas.errors import BadRequest, BadSelection
from byteatlas.manifest.model import VirtualArray
from byteatlas.values import dataclass

Region: TypeAlias = Mapping[str, object]
"""For each of some dimensions a slice of coordinate values, or one value."""

PERIOD = re.compile(
    r"^(-?\d{1,5})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?)?)?)?Z?$"
)
NUMBER = re.compile(r"[+-]?(\d{1,18}|(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d{1,3})?)")
STEPS = (3_600_000_000_000, 60_000_000_000, 1_000_000_000)
"""Nanoseconds of an hour, a minute, a second."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledAxis:
    """A coordinate variable, ready to be searched. ``time``: its values are times in these units."""

    name: str
    values: NDArray[Any]
    time: times.TimeUnits | None

    def shown(self, position: int) -> str:
        """The value at a position, for a message."""
        value = self.values[position]
        if self.time is not None:
            return f"{scalar_json(value)} {self.time.text}"
        return str(scalar_json(value))


def axis_of(name: str, array: VirtualArray, read: ReadArray) -> LabelledAxis:
    """A coordinate variable's values, unpacked. Raises `BadRequest` for one that has no single dimension."""
    meta = array.meta
    if meta.ndim != 1:
        raise BadRequest(f"the coordinate {name!r} has {meta.ndim} dimensions; values of one dimension are needed")
    values = read_all([array], read)[0]
    if values.dtype.hasobject or values.dtype.kind == "S":
        values = np.array([v.decode() if isinstance(v, bytes) else v for v in values.tolist()], dtype=np.str_)
    packing = packing_of(meta)
    if values.dtype.kind in "iuf" and (packing.scaled or packing.mask or packing.unsigned is not None):
        values = unpacked(values, packing)
    units = times.parse_units(meta.attributes.get("units"), meta.attributes.get("calendar"))
    return LabelledAxis(name, values, units if values.dtype.kind in "iuf" else None)


def span_of(axis: LabelledAxis, wanted: object) -> tuple[int, int]:
    """The run of positions that a slice of values, or one value, means. Raises `BadSelection` when there is none."""
    if isinstance(wanted, slice):
        if wanted.step is not None:
            raise BadSelection(f"{axis.name!r}: a slice of values has no step")
        if (wanted.start, wanted.stop) == (None, None):
            return 0, len(axis.values)
        inside = between(axis, wanted.start, wanted.stop)
    else:
        inside = between(axis, wanted, wanted)
    found = np.flatnonzero(inside)
    if not len(found):
        raise BadSelection(f"no {axis.name!r} is {text_of(wanted)}; {nearby(axis)}")
    first, last = int(found[0]), int(found[-1])
    if last - first + 1 != len(found):
        raise BadSelection(f"the values of {axis.name!r} that are {text_of(wanted)} are not next to each other")
    return first, last + 1


def between(axis: LabelledAxis, start: object, stop: object) -> NDArray[np.bool_]:
    """Where values lie from ``start`` to ``stop``, both included; None is open."""
    values = axis.values
    low, high = (None if v is None else bound(axis, v) for v in (start, stop))
    if low is not None and high is not None and low[0] > high[1]:
        if len(values) < 2 or not values[0] > values[-1]:
            raise BadSelection(f"{axis.name!r}: nothing is from {start} to {stop}")
        low, high = high, low
    inside: NDArray[np.bool_] = np.ones(len(values), np.bool_)
    if low is not None:
        inside &= at_least(values, low[0], axis.time)
    if high is not None:
        inside &= ~at_least(values, high[1], axis.time) if axis.time is not None else values <= high[1]
    if values.dtype.kind == "f":
        inside &= ~np.isnan(values)
    return inside


def bound(axis: LabelledAxis, label: object) -> tuple[Any, Any]:
    """The first value that a label means and the last one (for times: the first one after it), as they are stored."""
    if axis.time is not None:
        period = period_of(label, axis.time.calendar)
        if period is not None:
            begin, end = (Fraction(ns - axis.time.reference, axis.time.unit) for ns in period)
            return begin, end
        value = number(axis.name, label)
        return Fraction(value), Fraction(value) + Fraction(1, axis.time.unit)
    if axis.values.dtype.kind == "U":
        if not isinstance(label, str):
            raise BadSelection(f"{axis.name!r} has text values, not {label!r}")
        return label, label
    value = number(axis.name, label)
    return value, value


def number(name: str, label: object) -> Any:
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, str) and NUMBER.fullmatch(label.strip()):
        label = float(label) if re.search("[.eE]", label) else int(label)
    if isinstance(label, bool) or not isinstance(label, (int, float)) or label != label:
        raise BadSelection(f"{name!r} has no value {label!r}; numbers are needed (or dates, for a time)")
    return label


def at_least(values: NDArray[Any], limit: Any, time: times.TimeUnits | None) -> NDArray[np.bool_]:
    """``values >= limit``. Times in floating point numbers may be off by their rounding."""
    if time is None:
        result: NDArray[np.bool_] = values >= limit
        return result
    if values.dtype.kind in "iu":
        whole = -(-limit.numerator // limit.denominator)
        info = np.iinfo(values.dtype)
        if whole > info.max:
            return np.zeros(len(values), np.bool_)
        return np.ones(len(values), np.bool_) if whole < info.min else values >= whole
    near = float(limit)
    result = values >= near - 4 * float(np.spacing(np.asarray(abs(near), values.dtype)))
    return result


def period_of(label: object, calendar: str) -> tuple[int, int] | None:
    """Nanoseconds on the calendar's day count when a date begins, and when what it leaves open is over.

    None for what is no date. Raises `BadSelection` for dates that the calendar does not have.

    >>> begin, end = period_of("2001-02", "noleap")
    >>> (end - begin) // 86_400_000_000_000
    28
    """
    if isinstance(label, np.datetime64):
        label = str(label)
    elif isinstance(label, (dt.datetime, dt.date)):
        label = label.isoformat()
    elif hasattr(label, "calendar") and hasattr(label, "isoformat"):
        label = str(label.isoformat())
    if not isinstance(label, str):
        return None
    match = PERIOD.match(label.strip())
    if match is None:
        raise BadSelection(f"{label!r} is no date such as 2001, 2001-03, 2001-03-05 or 2001-03-05T06:30")
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    if not 1 <= month <= 12 or not 1 <= day <= calendars.days_in(calendar, year, month):
        raise BadSelection(f"the calendar {calendar} has no {label}")
    begin = calendars.day_number(calendar, year, month, day) * times.NANOSECONDS["day"]
    if match[2] is None:
        return begin, calendars.day_number(calendar, year + 1, 1, 1) * times.NANOSECONDS["day"]
    if match[3] is None:
        following = (year + month // 12, month % 12 + 1, 1)
        return begin, calendars.day_number(calendar, *following) * times.NANOSECONDS["day"]
    length = times.NANOSECONDS["day"]
    for part, step, most in zip(match.groups()[3:6], STEPS, (23, 59, 59), strict=True):
        if part is not None:
            if int(part) > most:
                raise BadSelection(f"{label!r} is no time of day")
            begin, length = begin + int(part) * step, step
    if match[7] is not None:
        begin, length = begin + int(match[7].ljust(9, "0")), int(10 ** (9 - len(match[7])))
    return begin, begin + length


def text_of(wanted: object) -> str:
    return f"from {wanted.start} to {wanted.stop}" if isinstance(wanted, slice) else f"{wanted}"


def nearby(axis: LabelledAxis) -> str:
    """What values there are, for a message."""
    if not len(axis.values):
        return "it has no values"
    return f"its values go from {axis.shown(0)} to {axis.shown(-1)}"
