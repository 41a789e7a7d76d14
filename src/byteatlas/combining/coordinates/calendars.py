"""The calendars of CF times, and their day counts (CF conventions 1.11, section 4.4.1)."""

from __future__ import annotations

CALENDARS = {
    "gregorian": "standard",
    "standard": "standard",
    "proleptic_gregorian": "proleptic_gregorian",
    "noleap": "noleap",
    "365_day": "noleap",
    "all_leap": "all_leap",
    "366_day": "all_leap",
    "360_day": "360_day",
    "julian": "julian",
}
CUMULATIVE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def day_number(calendar: str, year: int, month: int, day: int) -> int:
    """Days since some day long ago, by the calendar's own rules.

    >>> day_number("standard", 1582, 10, 15) - day_number("standard", 1582, 10, 4)
    1
    >>> day_number("noleap", 2001, 1, 1) - day_number("noleap", 2000, 1, 1)
    365
    """
    match calendar:
        case "360_day":
            return year * 360 + (month - 1) * 30 + day - 1
        case "noleap":
            return year * 365 + CUMULATIVE[month - 1] + day - 1
        case "all_leap":
            return year * 366 + CUMULATIVE[month - 1] + (month > 2) + day - 1
        case "julian":
            return julian_day(year, month, day, gregorian=False)
        case "standard":
            return julian_day(year, month, day, gregorian=(year, month, day) >= (1582, 10, 15))
        case _:
            return julian_day(year, month, day, gregorian=True)


def days_in(calendar: str, year: int, month: int) -> int:
    """The days of a month.

    >>> days_in("noleap", 2000, 2), days_in("standard", 1500, 2), days_in("proleptic_gregorian", 1500, 2)
    (28, 29, 28)
    """
    if calendar == "360_day":
        return 30
    if month != 2:
        return 30 if month in (4, 6, 9, 11) else 31
    if calendar in ("noleap", "all_leap"):
        return 29 if calendar == "all_leap" else 28
    by_julius = calendar == "julian" or (calendar == "standard" and year <= 1582)
    return 29 if year % 4 == 0 and (by_julius or year % 100 != 0 or year % 400 == 0) else 28


def julian_day(year: int, month: int, day: int, *, gregorian: bool) -> int:
    """The Julian day number (Fliegel and Van Flandern's integer form, with floor division)."""
    a = (14 - month) // 12
    y, m = year + 4800 - a, month + 12 * a - 3
    leap = y // 4 - y // 100 + y // 400 - 32045 if gregorian else y // 4 - 32083
    return day + (153 * m + 2) // 5 + 365 * y + leap
