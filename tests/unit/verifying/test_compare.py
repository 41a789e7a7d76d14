"""When two libraries' values are the same: numbers, text, records, packed numbers, attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byteatlas.types import JSON, JSONObject
from byteatlas.verifying.compare import first_difference, first_difference_meant, meant, same_attribute
from byteatlas.verifying.native.attributes import as_json

PAIR = [("a", "i4"), ("b", "i4")]


def test_the_first_place_and_both_values_are_told() -> None:
    ours = np.array([[1, 2, 3], [4, 5, 6]])
    theirs = np.array([[1, 2, 3], [4, 7, 8]])
    assert first_difference(ours, theirs) == "at (1, 1): 5, the library reads 7 (2 of 6 values differ)"
    assert first_difference(np.array(3), np.array(4)) == "at (): 3, the library reads 4 (1 of 1 values differ)"


def test_long_values_are_cut() -> None:
    word = "x" * 100
    said = first_difference(np.array([word], object), np.array(["y" * 20], object))
    assert said == f"at (0,): '{'x' * 56}..., the library reads '{'y' * 20}' (1 of 1 values differ)"
    exact = "z" * 58  # sixty characters with the quotation marks
    said = first_difference(np.array([exact], object), np.array(["z" * 57], object))
    assert said == f"at (0,): '{'z' * 56}..., the library reads '{'z' * 57}' (1 of 1 values differ)"


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        ("f4", "f8", None),
        ("i4", "u4", None),
        ("?", "u1", None),
        ("i4", "f4", "dtype int32, the library has float32"),
        ("f4", "c8", "dtype float32, the library has complex64"),
        (">i4", "<i4", None),
        (">f8", "f4", None),
    ],
)
def test_kinds_of_numbers(ours: str, theirs: str, said: str | None) -> None:
    assert first_difference(np.ones(2, ours), np.ones(2, theirs)) == said


def test_not_a_number_is_equal_to_itself_only() -> None:
    nan = np.array([np.nan, 1.0])
    assert first_difference(nan, nan.astype("f4")) is None
    assert first_difference(nan, np.array([0.0, 1.0])) is not None
    assert first_difference(np.array([0.0, 1.0]), nan) is not None
    assert first_difference(np.array([complex(np.nan, 1)]), np.array([complex(np.nan, 1)])) is None


def test_raw_bytes_and_byte_order() -> None:
    raw = np.frombuffer(b"abcdef", "V3")
    assert first_difference(raw, raw.copy()) is None
    assert first_difference(raw, np.frombuffer(b"abcdeg", "V3")) == (
        "at (1, 2): 102, the library reads 103 (1 of 6 values differ)"
    )
    assert first_difference(raw, np.ones(2, "i4")) == "dtype |V3, the library has int32"
    assert first_difference(raw[:1].view("V1"), np.array([97, 98, 99], "u1")) == "dtype |V1, the library has uint8"
    assert first_difference(raw, np.frombuffer(b"abcdefgh", "V4")) == "dtype |V3, the library has |V4"
    big = np.array([1, 256], ">i2")
    assert first_difference(big, np.array([1, 256], "<i2")) is None
    assert first_difference(big, np.array([1, 1], "<i2")) is not None


def test_fields_of_records() -> None:
    one = np.array([(1, 2)], PAIR)
    assert first_difference(one, one.copy()) is None
    assert first_difference(one, np.array([1])) == f"dtype {one.dtype}, the library has int64"
    assert first_difference(np.array([1]), one) == f"dtype int64, the library has {one.dtype}"
    other = np.array([(1, 2)], [("a", "i4"), ("c", "i4")])
    assert first_difference(one, other) == "fields ('a', 'b'), the library has ('a', 'c')"
    assert first_difference(one, np.array([(1, 3)], PAIR)) == (
        "field 'b' at (0,): 2, the library reads 3 (1 of 1 values differ)"
    )


def test_text_in_all_its_forms() -> None:
    words = np.array(["a", "bc"], object)
    assert first_difference(words, np.array([b"a\0\0", b"bc"])) is None
    assert first_difference(words, np.array(["a\0", "bc"], object)) is None
    assert first_difference(words, np.array(["a", "bd"])) is not None
    ragged, same = np.empty(2, object), np.empty(2, object)
    ragged[:] = [np.array([1, 2]), [b"x\0"]]
    same[:] = [(1, 2), ["x"]]
    assert first_difference(ragged, same) is None
    same[0] = (1, 3)
    assert first_difference(ragged, same) == "at (0,): (1, 2), the library reads (1, 3) (1 of 2 values differ)"
    assert first_difference(np.empty((0,), "S1"), np.empty((0,), object)) is None


@pytest.mark.parametrize(
    ("stored", "attributes", "wanted"),
    [
        (np.array([-1, 5], "i1"), {"_Unsigned": "true"}, [255.0, 5.0]),
        (np.array([255, 5], "u1"), {"_Unsigned": "false"}, [-1.0, 5.0]),
        (np.array([255, 5], "u1"), {"_Unsigned": "True", "_FillValue": 255}, [np.nan, 5.0]),
        (np.array([255, 5], "u1"), {"_FillValue": -1}, [np.nan, 5.0]),  # written as a signed number
        (np.array([1.5, 2.0]), {"_Unsigned": "true"}, [1.5, 2.0]),
        (np.array([-1, 5], "i1"), {"_Unsigned": "perhaps"}, [-1.0, 5.0]),
        (np.array([3, 4, 5], "i2"), {"_FillValue": 3, "missing_value": [4, 9]}, [np.nan, np.nan, 5.0]),
        (np.array([3, 4], "i2"), {"_FillValue": 1 << 20}, [3.0, 4.0]),
        (np.array([3, 4], "i2"), {"_FillValue": "4"}, [3.0, 4.0]),
        (np.array([2, 4], "i2"), {"scale_factor": 0.5, "add_offset": [10]}, [11.0, 12.0]),
        (np.array([2, 4], "i2"), {"scale_factor": 0.5, "_FillValue": 4}, [1.0, np.nan]),
        (np.array([-128, 127], "i1"), {"_FillValue": -128}, [np.nan, 127.0]),
        (np.array([-128, 127], "i1"), {"_FillValue": 127}, [-128.0, np.nan]),
    ],
)
def test_what_packed_numbers_stand_for(stored: Any, attributes: JSONObject, wanted: list[float]) -> None:
    found = meant(stored, attributes)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, wanted)


def test_packed_numbers_of_two_kinds() -> None:
    half: JSONObject = {"scale_factor": 0.5}
    a, b = np.array([2, 4], "i2"), np.array([1, 2], "i4")
    assert first_difference_meant(a, half, b, {}) is None
    assert first_difference_meant(a, half, np.array([1, 3], "i4"), {}) == (
        "at (1,): 2.0, the library reads 3.0 (1 of 2 values differ)"
    )
    assert first_difference_meant(a, {}, b[:1], {}) == "shape (2,), the library has (1,)"
    text = np.array(["a"], object)
    assert first_difference_meant(text, {}, text.copy(), {}) is None
    assert first_difference_meant(text, {}, np.array(["b"], object), {}) is not None
    assert first_difference_meant(a, {}, np.array(["b", "c"], object), {}) is not None


@pytest.mark.parametrize(
    ("dtype", "apart", "same"),
    [
        ("f8", 1e-13, True),
        ("f8", 1e-11, False),
        ("f4", 2e-7, True),
        ("f4", 3e-6, False),
        ("f2", 1e-3, True),
        ("f2", 1e-2, False),
    ],
)
def test_as_near_as_the_narrower_type_can_say(dtype: str, apart: float, same: bool) -> None:
    exact, near = np.array([100.0]), np.array([100.0 * (1 + apart)])
    narrow = np.array([100.0], dtype)
    found = first_difference_meant(near, {}, narrow, {})
    assert (found is None) == same
    assert (first_difference_meant(exact, {"scale_factor": 1 + apart}, narrow, {}) is None) == same


def test_nothing_is_near_to_zero_but_zero() -> None:
    assert first_difference_meant(np.array([0.0]), {}, np.array([1e-30]), {}) is not None


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ([5], 5, True),
        (5, [5], True),
        ([5], [5], True),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1, 2, 3], False),
        ([1, "NaN"], [1, float("nan")], True),
        ("Infinity", float("inf"), True),
        ("-inf", float("inf"), False),
        ("word", 1.5, False),
        (1.5, 1.5, True),
        (1.5, float("nan"), False),
        (float("nan"), 1.5, False),
        (1, 1.0, True),
        (1, 2, False),
        ("a", "a", True),
        ("a", 1, False),
        ("km\xb2", "km\udcb2", True),
        ("km\xb3", "km\udcb2", False),
        ([1], [1, 2], False),
        (None, 0, False),
    ],
)
def test_attributes(ours: JSON, theirs: JSON, same: bool) -> None:
    assert same_attribute(ours, theirs) is same


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (b"ab\0\0", "ab"),
        (b"\xb2", "\udcb2"),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.bytes_(b"x"), "x"),
        (np.array([1, 2], "u2"), [1, 2]),
        (np.array(7), 7),
        (np.array(["a", b"b"], object), ["a", "b"]),
        ([np.int8(1), b"z"], [1, "z"]),
        ("word", "word"),
        (None, NotImplemented),
        (1j, NotImplemented),
        ([1, None], NotImplemented),
        (np.array([1j]), NotImplemented),
        (np.array([None], object), NotImplemented),
        (np.zeros(1, PAIR), NotImplemented),
    ],
)
def test_attribute_values_as_json(value: Any, plain: Any) -> None:
    found = as_json(value)
    assert found is NotImplemented if plain is NotImplemented else (found == plain and type(found) is type(plain))
