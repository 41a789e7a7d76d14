"""Values that nothing is selected by, and options of combining that make no sense: class and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.combining import plan_combine
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.select.labels import LabelledAxis, span_of
from byteatlas.combining.select.region import select_by_value
from byteatlas.errors import BadRequest, BadSelection
from byteatlas.manifest.model import VirtualArray, VirtualGroup

NUMBERS = LabelledAxis("x", np.array([0.0, 1.0, 2.0, 1.0]), None)
TEXTS = LabelledAxis("x", np.array(["a", "b"]), None)

LABELS: Mapping[str, tuple[LabelledAxis, Any, str]] = {
    "step": (NUMBERS, slice(0, 2, 1), "'x': a slice of values has no step"),
    "nothing": (NUMBERS, 0.5, "no 'x' is 0.5; "),
    "beyond": (NUMBERS, slice(7, 9), "no 'x' is from 7 to 9; "),
    "scattered": (NUMBERS, 1.0, "the values of 'x' that are 1.0 are not next to each other"),
    "backwards": (NUMBERS, slice(2, 0), "'x': nothing is from 2 to 0"),
    "text": (NUMBERS, "abc", "'x' has no value 'abc'; numbers are needed (or dates, for a time)"),
    "not a number": (NUMBERS, float("nan"), "'x' has no value nan; numbers are needed (or dates, for a time)"),
    "truth": (NUMBERS, True, "'x' has no value True; numbers are needed (or dates, for a time)"),
    "number": (TEXTS, 3, "'x' has text values, not 3"),
}


@pytest.mark.parametrize("name", LABELS)
def test_values_that_are_not_there(name: str) -> None:
    axis, wanted, words = LABELS[name]
    with pytest.raises(BadSelection) as refused:
        span_of(axis, wanted)
    assert words in str(refused.value)


def test_values_that_are() -> None:
    assert span_of(NUMBERS, slice(None)) == (0, 4)
    assert span_of(NUMBERS, slice(0, 2)) == (0, 4)
    assert span_of(NUMBERS, "2") == (2, 3)
    assert span_of(TEXTS, "b") == (1, 2)
    assert span_of(LabelledAxis("x", np.array([2, 1, 0]), None), slice(0, 1)) == (1, 3)


def read(found: VirtualArray) -> Any:
    opened: Any = ba.open(found)
    return opened[...]


def test_coordinates_that_select_nothing() -> None:
    plane = inline_array(np.zeros((2, 2)), ("y", "x"), {})
    with pytest.raises(BadRequest) as refused:
        select_by_value(VirtualGroup(arrays={"x": plane}), {"x": 1}, read=read)
    assert "the coordinate 'x' has 2 dimensions; values of one dimension are needed" in str(refused.value)
    line = inline_array(np.arange(2), ("lat",), {})
    with pytest.raises(BadRequest, match=r"^nothing to select by: .*'lat'"):
        select_by_value(VirtualGroup(arrays={"lat": line}), {"lta": 1}, read=read)


named: Callable[..., ba.FromName] = ba.FromName
make: Callable[..., ba.CombineOptions] = ba.CombineOptions
OPTIONS: Mapping[str, tuple[Callable[[], object], str]] = {
    "number": (lambda: make(concat=3), "concat is int; a name or a list of names was expected"),
    "numbers": (lambda: make(concat=(3,)), "concat"),
    "empty": (lambda: make(concat=("",)), "concat has an empty name; a dimension has a name"),
    "order": (lambda: make(concat=("t",), order="up"), "order is 'up'; known: coordinate, given"),
    "coords": (lambda: make(concat=("t",), coords=3), "coords is "),
    "pattern": (lambda: named("("), "'(' is not a regular expression: "),
    "bytes": (lambda: named(re.compile(b"a")), "a regular expression of text was expected"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_that_make_no_sense(name: str) -> None:
    act, words = OPTIONS[name]
    with pytest.raises(BadRequest) as refused:
        act()
    assert words in str(refused.value)


def test_a_dimension_named_twice() -> None:
    group = VirtualGroup(arrays={"t": inline_array(np.arange(2), ("t",), {})})
    with pytest.raises(BadRequest) as refused:
        plan_combine([group, group], make(concat=("t", "t")), read=read)
    assert str(refused.value) == "a dimension is named twice: t, t"
