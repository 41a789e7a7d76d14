"""Days of calendars: reference dates are those of cftime, and days that a month does not have are none."""

from __future__ import annotations

import pytest

from byteatlas.combining.coordinates.calendars import CALENDARS, day_number, days_in
from byteatlas.combining.coordinates.times import conversion, parse_units

cftime = pytest.importorskip("cftime")

YEARS = [1499, 1500, 1582, 1600, 1900, 1999, 2000, 2004, 2100]
LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]


def first_of(calendar: str, year: int, month: int, day: int = 1) -> float | None:
    """Days since 2000-01-01, negated: how far a time moves whose reference date this is."""
    ours = parse_units(f"days since {year:04d}-{month:02d}-{day:02d}", calendar)
    plain = parse_units("days since 2000-01-01", calendar)
    assert plain is not None
    return None if ours is None else float(conversion(ours, plain)[1])


@pytest.mark.parametrize("calendar", sorted(CALENDARS))
@pytest.mark.parametrize("month", range(1, 13))
def test_reference_dates_of_each_month(calendar: str, month: int) -> None:
    for year in YEARS:
        for day in (1, 28):
            date = cftime.datetime(year, month, day, calendar=calendar)
            assert first_of(calendar, year, month, day) == cftime.date2num(date, "days since 2000-01-01", calendar)


@pytest.mark.parametrize("calendar", sorted(set(CALENDARS.values())))
def test_days_of_months(calendar: str) -> None:
    for year in YEARS:
        for month in range(1, 13):
            last = days_in(calendar, year, month)
            cftime.datetime(year, month, last, calendar=calendar)  # it is a date
            with pytest.raises(ValueError, match="invalid day"):
                cftime.datetime(year, month, last + 1, calendar=calendar)
            assert first_of(calendar, year, month, last) is not None
            assert first_of(calendar, year, month, last + 1) is None
            assert first_of(calendar, year, month, 0) is None
    assert first_of(calendar, 2001, 13) is None
    assert first_of(calendar, 2001, 0) is None


@pytest.mark.parametrize("calendar", ["noleap", "all_leap", "360_day", "julian", "proleptic_gregorian"])
def test_days_follow_each_other(calendar: str) -> None:
    before = None
    for year in (1999, 2000, 2001):
        for month in range(1, 13):
            for day in range(1, days_in(calendar, year, month) + 1):
                number = day_number(calendar, year, month, day)
                assert before is None or number == before + 1
                before = number


def test_the_day_after_the_fourth_of_october_1582() -> None:
    assert day_number("standard", 1582, 10, 15) == day_number("standard", 1582, 10, 4) + 1
    assert day_number("standard", 1582, 10, 16) == day_number("standard", 1582, 10, 15) + 1
    assert day_number("standard", 1583, 1, 1) == day_number("proleptic_gregorian", 1583, 1, 1)
    assert day_number("standard", 1582, 10, 4) == day_number("julian", 1582, 10, 4)


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("+1", 3600), ("-1", -3600), ("+0130", 5400), ("-01:30", -5400), ("+10", 36000), ("+1:05", 3900), ("+130", 5400)],
)
def test_time_zones(zone: str, seconds: int) -> None:
    ours = parse_units(f"seconds since 2000-01-01 06:00 {zone}", "standard")
    plain = parse_units("seconds since 2000-01-01 06:00", "standard")
    assert ours is not None
    assert plain is not None
    assert float(conversion(ours, plain)[1]) == -seconds


@pytest.mark.parametrize("text", ["23:59:59", "00:00:00.123456789", "23:00"])
def test_the_latest_times_of_day(text: str) -> None:
    assert parse_units(f"seconds since 2000-01-01 {text}", "standard") is not None


@pytest.mark.parametrize("text", ["24:00", "23:60", "23:59:60", "00:00:00.1234567891"])
def test_times_that_no_day_has(text: str) -> None:
    assert parse_units(f"seconds since 2000-01-01 {text}", "standard") is None
