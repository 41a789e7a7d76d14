"""Times as dates, for tables on pages and in terminals."""

from __future__ import annotations

import re

from byteatlas.types import JSON

SINCE = re.compile(
    r"^(second|minute|hour|day)s?\s+since\s+(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.0*)?)?)?Z?$"
)
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
GREGORIAN = 1583
"""From this year on these calendars are one."""


def time_text(value: JSON, units: str | None, calendar: str | None) -> str:
    """A time as a date; as it is where its units or calendar are unusual.

    >>> time_text(59, "days since 2001-01-01", "standard"), time_text(1.5, "hours since 2001-01-01 12:00:00", None)
    ('2001-03-01', '2001-01-01 13:30')
    >>> time_text(5, "K", None), time_text(59, "days since 2001-01-01", "360_day")
    ('5', '59')
    """
    found = SINCE.match((units or "").strip())
    if found is None or (calendar or "standard") not in CALENDARS or isinstance(value, (bool, str)):
        return str(value)
    if not isinstance(value, (int, float)) or int(found[2]) < GREGORIAN:
        return str(value)
    import numpy as np

    year, month, day, hour, minute, second = (int(found[i] or 0) for i in range(2, 8))
    try:
        start = np.datetime64(f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}", "s")
        moment = start + np.timedelta64(round(value * SECONDS[found[1]]), "s")
    except (ValueError, OverflowError):
        return str(value)
    if not GREGORIAN <= moment.astype("datetime64[Y]").astype(int) + 1970 <= 9999:
        return str(value)
    return str(moment).replace("T", " ").removesuffix(":00").removesuffix(" 00:00")
