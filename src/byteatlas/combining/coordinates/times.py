"""CF times: units and calendars brought to common ones by exact arithmetic (CF conventions 1.11, section 4.4).

A time is ``reference + value * unit``. Going from one pair of units to another is ``value * a + b`` with rational
``a`` and ``b``, which are computed exactly; integers stay integers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.combining.coordinates.calendars import CALENDARS, julian_day
from byteatlas.combining.coordinates.reference_dates import reference_ns
from byteatlas.combining.wording import by_value
from byteatlas.values import dataclass

NANOSECONDS = {
    "nanosecond": 1,
    "microsecond": 1_000,
    "millisecond": 1_000_000,
    "second": 1_000_000_000,
    "minute": 60_000_000_000,
    "hour": 3_600_000_000_000,
    "day": 86_400_000_000_000,
}
# UDUNITS spellings.
ALIASES = {
    "s": "second", "sec": "second", "secs": "second", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour",
    "hrs": "hour", "d": "day", "ms": "millisecond", "msec": "millisecond", "msecs": "millisecond",
    "millisec": "millisecond", "us": "microsecond", "microsec": "microsecond", "ns": "nanosecond",
}  # fmt: skip
OF_ONE_CALENDAR = {
    "month": ("360_day", 30 * NANOSECONDS["day"]),
    "common_year": ("noleap", 365 * NANOSECONDS["day"]),
}
"""Units that have a length in one calendar only (so does cftime take them): the calendar, and nanoseconds."""
VARYING = {
    "month": "months have a fixed length in the calendar 360_day only",
    "year": "years have no fixed length (UDUNITS takes them as 365.242198781 days, others by the calendar)",
    "common_year": "common years have a fixed length in the calendars noleap and 365_day only",
    "week": "weeks are no CF unit of time",
    "decade": "decades have no fixed length",
    "century": "centuries have no fixed length",
}
"""Units whose length depends on the date, or on who is asked."""
WORD = re.compile("[a-zA-Z_]+")

CHANGE_NS = julian_day(1582, 10, 15, gregorian=True) * NANOSECONDS["day"]
"""From here on the standard and the proleptic Gregorian calendar are the same, day numbers included."""


@dataclass(frozen=True, slots=True)
class TimeUnits:
    """Units of a time: nanoseconds per step, and the reference in nanoseconds on its calendar's own day count."""

    text: str
    calendar: str
    unit: int
    reference: int


def _parts(text: object) -> tuple[str, str, str] | None:
    """``hours since 2000-01-01`` as its unit, the plural's s, and the date; None when it is not of this form."""
    parts = text.split(None, 2) if isinstance(text, str) else []
    if len(parts) < 3 or parts[1].lower() != "since" or WORD.fullmatch(parts[0]) is None:
        return None
    word, date = parts[0], parts[2].rstrip()
    at = len(word) - (len(word) > 1 and word[-1] in "sS")
    return None if "\n" in date else (word[:at], word[at:], date)


def parse_units(text: object, calendar: object = None) -> TimeUnits | None:
    """The units of a time coordinate, or None when this is not one, or one whose steps vary (months, years)."""
    parts = _parts(text)
    if not isinstance(text, str) or parts is None:
        return None
    name = CALENDARS.get(str(calendar).lower()) if calendar is not None else "standard"
    word = parts[0].lower()
    word = ALIASES.get(word + parts[1].lower(), ALIASES.get(word, word))
    only, length = OF_ONE_CALENDAR.get(word, (name, NANOSECONDS.get(word)))
    if name is None or name != only or length is None:
        return None
    reference = reference_ns(parts[2], name)
    return None if reference is None else TimeUnits(text, name, length, reference)


def why_not(text: object, calendar: object = None) -> str:
    """Why `parse_units` gives None, in words."""
    parts = _parts(text)
    if parts is None:
        return f"{text!r} is no CF time"
    if calendar is not None and str(calendar).lower() not in CALENDARS:
        return f"calendar {calendar!r} is not known"
    word = parts[0].lower()
    name = CALENDARS["standard" if calendar is None else str(calendar).lower()]
    if word in VARYING and OF_ONE_CALENDAR.get(word, ("", 0))[0] != name:
        return f"{text!r}: {VARYING[word]}, so that such times cannot be converted exactly"
    if ALIASES.get(word + parts[1].lower(), ALIASES.get(word, word)) not in {*NANOSECONDS, *OF_ONE_CALENDAR}:
        return f"{text!r}: the unit {parts[0] + parts[1]!r} is not known"
    return f"{text!r}: the reference date {parts[2]!r} is not understood"


def is_time(text: object) -> bool:
    """Whether units look like those of a time, readable or not."""
    return _parts(text) is not None


def conversion(source: TimeUnits, target: TimeUnits) -> tuple[Fraction, Fraction]:
    """(a, b) such that ``value * a + b`` is the same time in the target's units."""
    return Fraction(source.unit, target.unit), Fraction(source.reference - target.reference, target.unit)


def common_calendar(units: Sequence[TimeUnits], values: Sequence[NDArray[Any]]) -> str | None:
    """The common calendar, or None. Standard and proleptic Gregorian agree for dates after the reform of 1582."""
    names = {u.calendar for u in units}
    if len(names) == 1:
        return units[0].calendar
    if names != {"standard", "proleptic_gregorian"}:
        return None
    for u, v in zip(units, values, strict=True):
        known = v[v == v]
        if u.reference < CHANGE_NS or (known.size and u.reference + float(known.min()) * u.unit < CHANGE_NS):
            return None
    return "standard"


def odd_calendars(units: Sequence[TimeUnits], names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The files whose calendar few others have, and a sentence that names each calendar and its files."""
    return by_value([u.calendar for u in units], names, "calendars differ")


def common_units(units: Sequence[TimeUnits], values: Sequence[NDArray[Any]]) -> TimeUnits:
    """Units in which all values are exact: the first file's, or finer ones. The first file's where there are none."""
    first = units[0]
    if target_fits(units, values, first):
        return first
    for word, unit in sorted(NANOSECONDS.items(), key=lambda item: -item[1]):
        if unit < first.unit:
            target = respelled(first, word, unit)
            if target_fits(units, values, target):
                return target
    return first


def target_fits(units: Sequence[TimeUnits], values: Sequence[NDArray[Any]], target: TimeUnits) -> bool:
    """Whether all values are exact in the target's units. Integers must be so whatever their values are."""
    distinct = {(u.unit, u.reference): u for u, v in zip(units, values, strict=True) if v.dtype.kind in "iu"}
    if not all(is_whole(conversion(u, target)) for u in distinct.values()):
        return False
    return all(exact(v, u, target) for u, v in zip(units, values, strict=True) if v.dtype.kind not in "iu")


def exact(values: NDArray[Any], source: TimeUnits, target: TimeUnits) -> bool:
    """Whether numbers are the same times in the target's units, without rounding.

    A number within its own precision of a whole one (7/24 of a day is 7 hours) is meant to be the whole one.
    """
    a, b = conversion(source, target)
    line = values.astype(np.float64)
    shift = float(b)
    if a == 1 and Fraction(shift) == b:
        total = line + shift
        if bool(((total - line == shift) & (total - shift == line)).all()):
            return True
    if b.denominator != 1 or abs(b) >= 2**52:
        return False
    scaled = line * a.numerator / a.denominator
    near = np.abs(scaled - np.rint(scaled)) <= 2 * np.spacing(np.abs(scaled))
    return bool((near & (np.abs(scaled) < 2**52)).all())


def respelled(units: TimeUnits, word: str, unit: int) -> TimeUnits:
    """The same reference with another unit."""
    parts = _parts(units.text)
    text = units.text if parts is None else f"{word}s since {parts[2]}"
    return TimeUnits(text, units.calendar, unit, units.reference)


def is_whole(pair: Iterable[Fraction]) -> bool:
    return all(f.denominator == 1 for f in pair)


def convert(values: NDArray[Any], source: TimeUnits, target: TimeUnits) -> NDArray[Any] | None:
    """``values`` in the target's units: int64 where integers stay whole, else float64; None when integers overflow."""
    a, b = conversion(source, target)
    if values.dtype.kind in "iu":
        if is_whole((a, b)):
            ends = [int(values.min()), int(values.max())] if values.size else []
            if any(abs(v * int(a)) >= 2**63 or abs(v * int(a) + int(b)) >= 2**63 for v in ends):
                return None
            return values.astype(np.int64) * np.int64(int(a)) + np.int64(int(b))
        values = values.astype(np.float64)
    result: NDArray[Any] = values.astype(np.float64)
    if a != 1:
        result = result * float(a) if a.denominator == 1 else result * a.numerator / a.denominator
    if exact(values, source, target) and not (a == 1 and b == 0):
        whole = np.rint(result)
        result = np.where(np.abs(result - whole) <= 2 * np.spacing(np.abs(result)), whole, result)
    return result + float(b) if b else result
