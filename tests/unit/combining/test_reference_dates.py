"""Reference dates of times: what xarray reads is read, and as xarray reads it; what readers disagree on is not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from byteatlas.combining.coordinates.times import conversion, parse_units

xr = pytest.importorskip("xarray")
cftime = pytest.importorskip("cftime")

READ = [
    "2019-01-01 00:00:00 0:00", "2019-01-01 00:00:00.0 00:00", "2000/01/01", "2000/1/1 06:00", "20000101",
    "20000101 06:00", "2000-01-01 0", "2000-01-01 00:00:00 0", "2000-01-01 06:00 (UTC)", "2000-01-01 UTC",
    "2000-01-01, 06:00:00", "2000-01-01 06:00:00,5", "2000-01-01 06:00:00 -6:00", "2000-01-01 06:00:00 +0530",
    "2000-01-01 06", "2000-01", "2000-01-01T06:00:00.000Z", "+2000-01-01", "0001-01-01 00:00:00", "1-1-1 00:00:0.0",
]  # fmt: skip
REFUSED = [
    "01-01-2000", "15-01-2000", "2000-01-01 -6:00", "2000-01-01 06:00:00 6:00", "2000-01-01 06:00:00 EST", "2000",
    "Jan 1 2000", "2000-01-01 24:00:00", "2000-01-01 12:00 AM", "2000-01-01 06:00:00 0:30",
    "2000-01-01 06:00:00 0:00", "",
]  # fmt: skip
IN_TWO_WAYS = [
    "2000-01-01 06", "2000-01-01, 06:00:00", "2000-01-01 06:00:00,5", "2000-01-01 06:00:00 -6:00",
    "2000-01-01 06:00:00 +5",
]  # fmt: skip
"""Dates that cftime, which reads other calendars, reads in part only."""


def seconds_since_2000(text: str, calendar: str = "standard") -> float | None:
    ours = parse_units(f"seconds since {text}", calendar)
    plain = parse_units("seconds since 2000-01-01", calendar)
    assert plain is not None
    return None if ours is None else float(conversion(ours, plain)[1])


@pytest.mark.parametrize("text", READ)
def test_dates_that_xarray_reads(text: str) -> None:
    attributes = {"units": f"seconds since {text}", "calendar": "standard"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = xr.decode_cf(xr.Dataset({"t": ("t", np.array([0.0]), attributes)})).t.values[0]
    if isinstance(value, np.datetime64):
        want = (value.astype("M8[ms]") - np.datetime64("2000-01-01", "ms")).astype(float) / 1000
    else:
        want = cftime.date2num(value, "seconds since 2000-01-01", "standard")
    assert seconds_since_2000(text) == want


@pytest.mark.parametrize("text", REFUSED)
def test_dates_that_are_not_understood(text: str) -> None:
    assert seconds_since_2000(text) is None


@pytest.mark.parametrize("text", IN_TWO_WAYS)
def test_dates_that_readers_of_other_calendars_take_differently(text: str) -> None:
    assert seconds_since_2000(text, "noleap") is None
    assert seconds_since_2000(text.replace("2000", "1500"), "standard") is None
    assert seconds_since_2000(text) is not None


@pytest.mark.parametrize("calendar", ["standard", "julian", "proleptic_gregorian", "noleap"])
@pytest.mark.parametrize("text", ["-4713-01-01", "-0001-03-01 06:00:00"])
def test_years_before_the_first(text: str, calendar: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        date = cftime.num2date(0, "seconds since 2000-01-01", calendar)
        want = -cftime.date2num(date, f"seconds since {text}", calendar)
    assert seconds_since_2000(text, calendar) == want


def test_there_is_no_year_zero_in_the_standard_calendar() -> None:
    assert seconds_since_2000("0000-01-01") is None
    assert seconds_since_2000("0000-01-01", "noleap") is not None
