"""The reference dates of CF times, in the spellings that are met in files.

CF takes the syntax of UDUNITS; readers take less or more of it. What readers understand in different ways is not
understood here.
"""

from __future__ import annotations

import re

from byteatlas.combining.coordinates.calendars import day_number, days_in

SPELLINGS = tuple(
    re.compile(
        date
        + r"(?:(?P<comma>,)?[T\s]+(?P<hour>\d{1,2})(?P<colon>:(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})"
        + r"(?:(?P<point>[.,])(?P<digits>\d*))?)?)?)?"
        + r"(?:\s*\(?(?:Z|UTC|GMT)\)?|(?<=\d)\s*(?P<zone>[+-]\d{1,2}(?::?\d{2})?)|\s+(?P<zero>0{1,2}(?::?00)?))?",
        re.IGNORECASE,
    )
    for date in (
        r"(?P<year>[+-]?\d{1,5})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?",
        r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})",
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
    )
)
"""A date, the time of day, and the time zone: a name of UTC, an offset, or an unsigned zero."""
WITHOUT_YEAR_ZERO = ("standard", "julian")
"""In these calendars the year -1 is the year before the year 1."""


def reference_ns(text: str, calendar: str) -> int | None:
    """Nanoseconds of a reference date on a calendar's day count; None when it is not understood."""
    match = next((m for spelling in SPELLINGS if (m := spelling.fullmatch(text)) is not None), None)
    if match is None:
        return None
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"] or 1)
    if read_differently(match, calendar, year):
        return None
    if calendar in WITHOUT_YEAR_ZERO:
        if year == 0:
            return None
        year += year < 0
    if not 1 <= month <= 12 or not 1 <= day <= days_in(calendar, year, month):
        return None
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    digits = (match["digits"] or "0").rstrip("0")
    if hour > 23 or minute > 59 or second > 59 or len(digits) > 9:
        return None
    fraction = int(digits.ljust(9, "0"))
    seconds = (day_number(calendar, year, month, day) * 24 + hour) * 3600 + minute * 60 + second
    return (seconds - zone_seconds(match["zone"])) * 1_000_000_000 + fraction


def read_differently(match: re.Match[str], calendar: str, year: int) -> bool:
    """Whether readers disagree on this text.

    An offset needs a time of day: ``01-02-2000`` is a date in another order, no offset of 20 hours. pandas takes
    ``06:00 0:00`` for midnight. Dates that pandas cannot hold are read by cftime, which passes over an hour without
    minutes, what stands behind a comma, and offsets whose hours have one digit.
    """
    late = any(int(match[name] or 0) for name in ("hour", "minute", "second", "digits"))
    if (match["zone"] is not None and match["hour"] is None) or (late and len(match["zero"] or "") > 2):
        return True
    if calendar in ("standard", "proleptic_gregorian") and year > 1582:
        return False
    hour = int(match["hour"] or 0)
    return (
        (match["colon"] is None and hour > 0)
        or (match["comma"] is not None and any(int(match[name] or 0) for name in ("hour", "minute", "second")))
        or (match["point"] == "," and int(match["digits"] or 0) > 0)
        or bool(zone_seconds(match["zone"]) and re.match(r"[+-]\d(?!\d)", match["zone"]))
    )


def zone_seconds(zone: str | None) -> int:
    """The offset of a time zone from UTC."""
    if zone is None:
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    return (-1 if zone[0] == "-" else 1) * (hours * 3600 + minutes * 60)
