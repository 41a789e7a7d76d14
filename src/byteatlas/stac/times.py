"""CF times as RFC 3339 (CF 1.11, section 4.4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np

from byteatlas.array import Array
from byteatlas.combining.coordinates.calendars import day_number, days_in, julian_day
from byteatlas.combining.coordinates.times import NANOSECONDS, is_time, parse_units
from byteatlas.stac.values import numbers, text_of
from byteatlas.types import JSON

DAY = NANOSECONDS["day"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_time_array(array: Array) -> bool:
    """Whether an array holds times: by its type, or by units such as ``days since 2000-01-01``."""
    return array.dtype.kind == "M" or is_time(array.attrs.get("units"))


def span(array: Array) -> tuple[str, str] | None:
    """The first and the last time of an array; None where there is none that can be told."""
    if array.dtype.kind == "M":
        return _span_of_dates(array)
    known = parse_units(array.attrs.get("units"), array.attrs.get("calendar"))
    values = numbers(array)
    if known is None or values is None or not len(values):
        return None
    ends = [_text(Fraction(float(v)) * known.unit + known.reference, known.calendar) for v in _ends(values)]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _ends(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def _span_of_dates(array: Array) -> tuple[str, str] | None:
    values = np.asarray(array[...]).reshape(-1)
    values = values[~np.isnat(values)]
    if not len(values):
        return None
    first, last = (int(v.astype("M8[us]").astype(np.int64)) for v in (values.min(), values.max()))
    ends = [_iso(1000 * v) for v in (first, last)]
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


def _text(nanoseconds: Fraction, calendar: str) -> str | None:
    """A time by the nanoseconds of its calendar's day count. A date that others do not have is their month's last."""
    whole = round(nanoseconds)
    if calendar in ("standard", "proleptic_gregorian"):
        return _iso(whole - julian_day(1970, 1, 1, gregorian=True) * DAY)
    day, rest = divmod(whole, DAY)
    year = day // 366 - 4800  # before it for sure: counts begin at the latest with the year 0
    while day_number(calendar, year + 1, 1, 1) <= day:
        year += max(1, (day - day_number(calendar, year + 1, 1, 1)) // 367)
    month = next(m for m in range(12, 0, -1) if day_number(calendar, year, m, 1) <= day)
    number = day - day_number(calendar, year, month, 1) + 1
    if not 1 <= year <= 9999:
        return None
    moment = datetime(year, month, min(number, days_in("proleptic_gregorian", year, month)), tzinfo=UTC)
    return _iso(((moment - EPOCH) // timedelta(days=1)) * DAY + rest)


def _iso(nanoseconds: int) -> str | None:
    try:
        moment = EPOCH + timedelta(microseconds=round(Fraction(nanoseconds, 1000)))
    except OverflowError:
        return None
    return moment.isoformat().replace("+00:00", "Z")


def describes(array: Array) -> bool:
    """Whether times are those of the data: not such as when a forecast began, or what has units by chance."""
    if not is_time_array(array) or array.ndim > 1:
        return False
    named = text_of(array, "standard_name") == "time" or text_of(array, "axis") == "T"
    return named or array.dims == (array.path.rpartition("/")[2],) or array.path.rpartition("/")[2] == "time"


def overall(spans: list[tuple[str, str]]) -> dict[str, JSON] | None:
    """STAC's properties of a time or a range of them; None where there is none."""
    if not spans:
        return None
    first, last = min(s[0] for s in spans), max(s[1] for s in spans)
    if first == last:
        return {"datetime": first}
    return {"datetime": None, "start_datetime": first, "end_datetime": last}
