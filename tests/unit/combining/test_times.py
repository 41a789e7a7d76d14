"""CF times against cftime; coordinate order; what the plan says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteatlas.array import open_node
from byteatlas.combining import ByOrder, CombineOptions, FromVariable, Values, combine, plan_combine
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.coordinates.calendars import CALENDARS
from byteatlas.combining.coordinates.order import arrange
from byteatlas.combining.coordinates.times import (
    common_calendar,
    common_units,
    convert,
    is_time,
    parse_units,
)
from byteatlas.combining.model import Finding, scalar_json
from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray, VirtualGroup

cftime = pytest.importorskip("cftime")

WORDS = {"days": 1, "hours": 24, "minutes": 1440, "seconds": 86400, "h": 24, "msec": 86_400_000, "d": 1, "Day": 1}
REFERENCES = ["1850-01-01", "2000-1-1 12:00", "1900-02-28T06:30:15", "2000-03-01 00:00:00.25", "1583-1-1", "400-01-01"]


@given(
    st.sampled_from(sorted(CALENDARS)),
    st.sampled_from(["days", "hours", "minutes", "seconds"]),
    st.sampled_from(REFERENCES),
    st.sampled_from(["days", "hours", "seconds"]),
    st.sampled_from(REFERENCES),
    st.integers(-100_000, 100_000),
)
def test_conversion_agrees_with_cftime(
    calendar: str, word: str, reference: str, other: str, second: str, value: int
) -> None:
    a, b = f"{word} since {reference}", f"{other} since {second}"
    source, target = parse_units(a, calendar), parse_units(b, calendar)
    assert source is not None
    assert target is not None
    got = convert(np.array([value]), source, target)
    assert got is not None
    try:
        want = cftime.date2num(cftime.num2date(value, a.replace("T", " "), calendar), b.replace("T", " "), calendar)
    except ValueError:
        return  # a date that this calendar does not have
    assert got[0] == pytest.approx(want, rel=1e-12, abs=1e-6)


@pytest.mark.parametrize("word", WORDS)
def test_spellings(word: str) -> None:
    units = parse_units(f"{word} since 2000-01-01")
    assert units is not None
    assert units.unit * WORDS[word] == 86_400_000_000_000


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("hours since 2000-01-01 00:00:00 +02:00", -2),
        ("hours since 2000-01-01T00:00:00Z", 0),
        ("hours since 2000-01-01 00:00 -6", 6),
        ("hours since 2000-01-01 00:00:00 UTC", 0),
        ("hours since 2000-01-01 0:0:0.0 +0530", -5.5),
    ],
)
def test_time_zones(text: str, hours: float) -> None:
    units, plain = parse_units(text), parse_units("hours since 2000-01-01")
    assert units is not None
    assert plain is not None
    assert (units.reference - plain.reference) / 3.6e12 == hours


NO_TIMES = ["months since 2000-01-01", "years since 2000-01-01", "days", "K", None, 3]


@pytest.mark.parametrize("text", [*NO_TIMES, "days since yesterday", "days since 2000-13-01"])
def test_no_times(text: Any) -> None:
    assert parse_units(text) is None
    assert not is_time(text) or str(text).split()[1] == "since"


def test_unknown_calendar() -> None:
    assert parse_units("days since 2000-01-01", "mayan") is None


def units(text: str, calendar: str = "standard") -> Any:
    found = parse_units(text, calendar)
    assert found is not None
    return found


def test_common_units_are_exact_for_integers() -> None:
    days, noon = units("days since 2000-01-01"), units("days since 2000-01-02 12:00")
    whole = [np.array([0, 1]), np.array([0, 1])]
    target = common_units([days, noon], whole)
    assert target.text == "hours since 2000-01-01"
    assert [convert(v, u, target).tolist() for v, u in zip(whole, (days, noon), strict=True)] == [[0, 24], [36, 60]]  # type: ignore[union-attr]
    fractions = [np.array([0.5]), np.array([0.0])]
    assert common_units([days, noon], fractions).text == days.text
    assert convert(fractions[1], noon, days).tolist() == [1.5]  # type: ignore[union-attr]


def test_numbers_that_are_meant_to_be_whole_hours_are_exact() -> None:
    a, b = units("days since 1850-01-01"), units("hours since 1950-01-01")
    values = [np.array([0.0, 7 / 24]), np.array([1.0, 31.0])]
    target = common_units([a, b], values)
    assert target.text == "hours since 1850-01-01"
    first, second = (convert(v, u, target) for v, u in zip(values, (a, b), strict=True))
    assert first is not None
    assert second is not None
    assert [*first, *second] == [0, 7, 36524 * 24 + 1, 36524 * 24 + 31]
    odd = [np.array([np.pi]), np.array([np.e])]
    assert common_units([a, b], odd).text == a.text


@pytest.mark.parametrize(
    ("text", "calendar", "days"),
    [("months since 2000-01-01", "360_day", 30), ("common_years since 2000-01-01", "365_day", 365)],
)
def test_units_of_one_calendar(text: str, calendar: str, days: int) -> None:
    cftime = pytest.importorskip("cftime")
    own, target = units(text, calendar), units("days since 1999-12-01", calendar)
    values = np.arange(-5, 30)
    converted = convert(values, own, target)
    assert converted is not None
    theirs = cftime.date2num(cftime.num2date(values, text, calendar), target.text, calendar)
    np.testing.assert_array_equal(converted, theirs)
    assert own.unit == days * 86_400_000_000_000
    assert common_units([own, target], [values, values]).text.startswith("days since 2000-01-01")
    for other in {"standard", "noleap", "360_day", "julian", "all_leap"} - {own.calendar}:
        assert parse_units(text, other) is None


@pytest.mark.parametrize(
    ("date", "calendar"),
    [
        ("2001-02-29", "standard"), ("1900-02-29", "standard"), ("2000-02-29", "noleap"), ("2000-02-31", "360_day"),
        ("1500-02-29", "proleptic_gregorian"), ("2001-04-31", "all_leap"), ("0000-01-01", "standard"),
        ("0000-01-01", "julian"), ("2000-01-01 24:00", "standard"), ("2000-01-01 00:00:60", "standard"),
    ],
)  # fmt: skip
def test_dates_that_the_calendar_does_not_have(date: str, calendar: str) -> None:
    assert parse_units(f"days since {date}", calendar) is None


def test_dates_that_the_calendar_has() -> None:
    for date, calendar in (("1500-02-29", "standard"), ("1900-02-29", "julian"), ("2001-02-30", "360_day")):
        units(f"days since {date}", calendar)


def timed(units: str, values: list[Any], **more: Any) -> VirtualGroup:
    return VirtualGroup(arrays={"time": inline_array(np.array(values), ("time",), {"units": units, **more})})


def both(*groups: VirtualGroup, **options: Any) -> Any:
    combined = combine(groups, CombineOptions(concat=("time",), **options), read=never)
    opened: Any = open_node(combined)
    return opened["time"]


def test_units_in_other_words_are_kept() -> None:
    """The same units spelled in two ways: nothing is converted, and they must not be lost."""
    time = both(timed("days since 2000-01-01", [0]), timed("days since 2000-01-01 00:00:00", [1]))
    assert (time.attrs["units"], time[...].tolist()) == ("days since 2000-01-01", [0, 1])
    time = both(*(timed("days since 2000-01-01", [k], calendar=c) for k, c in enumerate(("noleap", "365_day"))))
    assert time.attrs["calendar"] == "noleap"


def test_packed_times_in_other_units_are_unpacked_first() -> None:
    packed = {"scale_factor": 0.5, "add_offset": 1.0}
    time = both(timed("days since 2000-01-01", [0, 2], **packed), timed("days since 2000-01-03", [2, 4], **packed))
    assert time[...].tolist() == [1, 2, 4, 5]
    assert not packed.keys() & time.attrs.keys()


def test_equal_values_of_other_types_are_one_place() -> None:
    time = both(timed("days", [0, 1]), timed("days", [0.0, 1.0]), timed("days", [2]))
    assert time[...].tolist() == [0, 1, 2]


def test_values_that_no_type_holds_are_refused() -> None:
    large = 2**53 + 1
    files = [timed("counts", [large, large + 2]), timed("counts", [0.5, 1.5])]
    plan = plan_combine(files, CombineOptions(concat=("time",)), read=never)
    assert codes(list(plan.findings)) == ["dtype"]


def test_raw_values_in_other_units_are_refused() -> None:
    files = [timed("days since 2000-01-01", [0]), timed("hours since 2000-01-01", [30])]
    raw = CombineOptions(concat=("time",), coords={"time": FromVariable(decode=False)})
    assert codes(list(plan_combine(files, raw, read=never).findings)) == ["units"]


def test_heights_that_go_the_other_way_are_refused() -> None:
    files = [timed("m", [k], positive=way) for k, way in enumerate(("up", "down"))]
    plan = plan_combine(files, CombineOptions(concat=("time",)), read=never)
    assert codes(list(plan.findings)) == ["attributes"]


def test_no_overflow_in_silence() -> None:
    far, near = units("days since 1-1-1"), units("nanoseconds since 2000-01-01")
    assert convert(np.array([10**6]), far, near) is None


def test_calendars_that_agree_after_the_reform() -> None:
    a, b = units("days since 2000-01-01"), units("days since 1990-01-01", "proleptic_gregorian")
    assert common_calendar([a, b], [np.array([1.0]), np.array([2.0])]) == "standard"
    assert common_calendar([a, b], [np.array([1.0]), np.array([-200_000.0])]) is None
    assert common_calendar([a, units("days since 2000-01-01", "noleap")], [np.array([1.0])] * 2) is None
    early = units("days since 1-1-1"), units("days since 1-1-1", "proleptic_gregorian")
    assert common_calendar(early, [np.array([730_000.0])] * 2) is None


def codes(found: list[Finding]) -> list[str]:
    return [f.code for f in found if f.level == "conflict"]


@pytest.mark.parametrize(
    ("runs", "blocks", "expected"),
    [
        ([[2, 3], [0, 1]], (1, 0), []),
        ([[1, 0], [3, 2]], (1, 0), []),
        ([[5]], (0,), []),
        ([[5], [4], [6]], (1, 0, 2), []),
        ([[0, 1], [0, 1], [2, 3]], (0, 0, 1), []),
        ([[0, 2], [1, 3]], None, ["interleaved"]),
        ([[0, 1, 2], [2, 3]], None, ["overlap"]),
        ([[0, 1], [3, 2]], None, ["order"]),
        ([[0, 0], [1, 2]], None, ["order"]),
        ([[0, 9], [3, 4], [20, 30]], None, ["interleaved"]),
        ([[0.0, float("nan")], [2.0, 3.0]], None, ["order"]),
        ([["b"], ["a"]], (1, 0), []),
        ([[], [1, 2], []], (1, 0, 1), []),
        ([[], [1, 2], [2, 3]], None, ["overlap"]),
    ],
)
def test_order(runs: list[list[Any]], blocks: tuple[int, ...] | None, expected: list[str]) -> None:
    kind = np.str_ if isinstance(runs[0] and runs[0][0], str) else np.float64
    arranged, found = arrange("t", [np.array(r, kind) for r in runs], [f"f{i}" for i in range(len(runs))], "coordinate")
    assert codes(found) == expected, found
    if blocks is not None:
        assert arranged.block_of == blocks
        flat = [scalar_json(v) for b in arranged.blocks for v in b]
        assert flat in (sorted(flat), sorted(flat)[::-1])


def test_given_order_is_kept() -> None:
    arranged, found = arrange("t", [np.array([3.0]), np.array([1.0])], ["a", "b"], "given")
    assert (arranged.block_of, found, arranged.direction) == ((0, 1), [], "given")


def test_many_names_are_shortened() -> None:
    finding = Finding("conflict", "units", "v", tuple(f"f{i}" for i in range(9)), "units differ")
    assert finding.sentence() == "variable 'v': units differ (f0, f1, f2 and 6 more) [units]"


def months(units: str, values: list[int], **more: str) -> VirtualGroup:
    time = inline_array(np.array(values), ("time",), {"units": units, **more})
    other = inline_array(np.array(values), ("time",), {"units": units, **more})
    return VirtualGroup(arrays={"time": time, "forecast": other})


def never(array: VirtualArray) -> Any:
    raise AssertionError("nothing has to be read")


@pytest.mark.parametrize(
    ("units", "reason"),
    [
        ("months since 2000-01-01", "months have a fixed length in the calendar 360_day only"),
        ("years since 2000-01-01", "years have no fixed length"),
        ("common_years since 2000-01-01", "in the calendars noleap and 365_day only"),
        ("fortnights since 2000-01-01", "'fortnights' is not known"),
        ("days since yesterday", "reference date 'yesterday'"),
    ],
)
def test_times_that_cannot_be_converted_say_why(units: str, reason: str) -> None:
    assert parse_units(units) is None
    files = [months(units, [0, 1]), months("days since 2000-03-01", [0, 1])]
    plan = plan_combine(files, CombineOptions(concat=("time",)), read=never)
    assert [f.code for f in plan.conflicts] == ["units"]
    assert reason in plan.conflicts[0].detail
    plan = plan_combine(files, CombineOptions(concat=("time",), coords={"time": ByOrder()}), read=never)
    assert {f.variable for f in plan.conflicts} == {"time", "forecast"}
    assert all(reason in f.detail for f in plan.conflicts)


def test_months_in_equal_units_stay_as_they_are() -> None:
    units = "months since 2000-01-01"
    both = combine([months(units, [2, 3]), months(units, [0, 1])], CombineOptions(concat=("time",)), read=never)
    time = both.arrays["time"]
    assert time.meta.attributes["units"] == units
    opened: Any = open_node(both)
    assert opened["time"][...].tolist() == [0, 1, 2, 3]


def test_an_unknown_calendar_is_named() -> None:
    files = [months("days since 2000-01-01", [0], calendar=c) for c in ("lunar", "standard")]
    plan = plan_combine(files, CombineOptions(concat=("time",)), read=never)
    assert "calendar 'lunar' is not known" in plan.conflicts[0].detail


def one_each(values: Sequence[Any]) -> Any:
    groups = [VirtualGroup(arrays={"v": inline_array(np.array([float(k)]), ("x",), {})}) for k in range(len(values))]
    chosen = CombineOptions(concat=("time",), coords={"time": Values(tuple(values))})
    opened: Any = open_node(combine(groups, chosen, read=never))
    return opened["time"]


def test_dates_given_for_files() -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    time = one_each([dt.datetime(2000, 1, 1, 2, tzinfo=east), dt.datetime(2000, 1, 2)])
    assert (time.attrs["units"], time[...].tolist()) == ("days since 1970-01-01", [10957, 10958])
    time = one_each([np.datetime64("2000-01-01T00:00:00.5"), np.datetime64("2000-01-01")])
    assert time[...].tolist() == [10957 * 86_400_000_000, 10957 * 86_400_000_000 + 500_000]
    for odd in (np.datetime64("NaT", "D"), np.datetime64("2000-01-01T00:00:00.000000001")):
        with pytest.raises(BadRequest):
            one_each([np.datetime64("2000-01-01"), odd])


def test_dates_of_other_calendars_given_for_files() -> None:
    cftime = pytest.importorskip("cftime")
    given = [cftime.datetime(2000, 2, 30, calendar="360_day"), cftime.datetime(2000, 3, 1, 12, calendar="360_day")]
    time = one_each(given)
    assert time.attrs["calendar"] == "360_day"
    assert cftime.num2date(time[...], time.attrs["units"], "360_day").tolist() == given
    with pytest.raises(BadRequest, match="one calendar"):
        one_each([given[0], cftime.datetime(2000, 1, 1, calendar="noleap")])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["010", "9"], [9, 10]), (["1.5", "-2"], [-2, 1.5]), (["1_0", "2"], ["1_0", "2"]), (["nan", "1"], ["1", "nan"]),
        (["99999999999999999999", "1"], [1, 1e20]),
    ],
)  # fmt: skip
def test_texts_that_are_numbers(texts: list[str], expected: list[Any]) -> None:
    assert one_each(texts)[...].tolist() == expected
