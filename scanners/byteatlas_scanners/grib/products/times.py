"""Units of time ranges (code table 4.4 of edition 2, 4 of edition 1), and dates."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, date
from functools import lru_cache

DAY = 86_400
SECONDS: Mapping[int, int] = {0: 60, 1: 3600, 2: DAY, 10: 3 * 3600, 11: 6 * 3600, 12: 12 * 3600, 13: 1}
"""Units of one length, in edition 2."""
SECONDS1: Mapping[int, int] = {**SECONDS, 13: 900, 14: 1800, 254: 1}
MONTHS: Mapping[int, int] = {3: 1, 4: 12, 5: 120, 6: 360, 7: 1200}
"""Units whose length depends on the calendar, in months."""
EPOCH = date(1970, 1, 1).toordinal()
PROCESSES: Mapping[int, str] = {
    0: "avg", 1: "accum", 2: "max", 3: "min", 4: "diff", 5: "rms", 6: "sd", 7: "cov", 8: "sdiff", 9: "ratio",
    10: "stdanom", 11: "sum", 100: "severity", 101: "mode", 102: "index",
}  # fmt: skip
"""Code table 4.10, by the names that ecCodes gives to the types of steps."""
INSTANT = "instant"


@lru_cache(maxsize=1024)
def moment(parts: tuple[int, int, int, int, int, int]) -> int | None:
    """Seconds since 1970 of year, month, day, hour, minute, second; None for what is no date.

    Hour 24 and second 60 are taken as they are meant: the beginning of what follows.
    """
    year, month, day, hour, minute, second = parts
    if not MINYEAR <= year <= MAXYEAR or hour > 24 or minute > 60 or second > 60:
        return None
    try:
        days = date(year, month, day).toordinal() - EPOCH
    except ValueError:
        return None
    return days * DAY + hour * 3600 + minute * 60 + second


def later(reference: int | None, count: int, unit: int, seconds: Mapping[int, int] = SECONDS) -> int:
    """Seconds from a reference time to so many units later. Months and years follow the calendar.

    Without a date a month has 30 days.
    """
    if unit in seconds:
        return count * seconds[unit]
    months = MONTHS.get(unit, 0) * count
    if reference is None:
        return months * 30 * DAY
    days, rest = divmod(reference, DAY)
    begin = date.fromordinal(days + EPOCH)
    year, month = divmod(begin.year * 12 + begin.month - 1 + months, 12)
    for day in (begin.day, 30, 29, 28):
        end = moment((year, month + 1, min(day, begin.day), 0, 0, 0))
        if end is not None:
            return end + rest - reference
    return months * 30 * DAY
