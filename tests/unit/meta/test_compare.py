"""When metadata are the same: types count, NaN is NaN, and what only encoders use does not matter to readers."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.meta.compare import (
    FIELDS,
    all_equal_in_value,
    all_identical,
    all_identical_documents,
    all_identical_scalars,
    codec_alike,
    differing_fields,
    equal_in_value,
    fingerprint,
    identical,
    identical_arrays,
    identical_scalars,
    nothing_ignored,
    read_alike,
)
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, RegularGrid

NAN = float("nan")
VALUES: list[Any] = [
    None, True, False, 0, 1, 0.0, -0.0, 1.0, NAN, "", "1", "nan", [], [1], [1.0], [True], [NAN], [[1]], {}, {"a": 1},
    {"a": True}, {"a": 1.0}, {"a": [NAN]}, {"b": 1}, 1 << 70, float(1 << 70),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(VALUES)))
def test_json_values_are_identical_to_themselves_alone(i: int) -> None:
    for k, other in enumerate(VALUES):
        assert identical(VALUES[i], other) is (i == k), (VALUES[i], other)
        assert (fingerprint(VALUES[i]) == fingerprint(other)) is (i == k)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1.0, True),
        (0.0, -0.0, True),
        ([0, 1], [0.0, 1.0], True),
        ((0, 1), [0.0, 1.0], True),
        (1 << 70, float(1 << 70), True),
        (NAN, float("nan"), True),
        (1, True, False),
        (0.0, False, False),
        ("1", 1, False),
        (None, 0, False),
        ({"a": 1}, {"a": 1.0}, True),
    ],
)
def test_equal_in_value(a: Any, b: Any, expected: bool) -> None:
    assert equal_in_value(a, b) is equal_in_value(b, a) is expected


def test_lists_and_tuples_are_one_type() -> None:
    assert identical((1, (2, 3)), [1, [2, 3]])


def test_deep_values_need_no_recursion() -> None:
    a: Any = 1
    b: Any = 1
    for _ in range(100_000):
        a, b = [a], [b]
    assert identical(a, b)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, NAN]) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner, max_size=2),
    max_leaves=4,
)
DOCUMENTS = st.dictionaries(st.sampled_from("pqr"), JSONS, max_size=3)


@given(JSONS, st.lists(JSONS, max_size=4))
def test_many_values_are_compared_as_one_by_one(first: Any, values: list[Any]) -> None:
    assert all_identical(first, values) == all(identical(first, v) for v in values)
    assert all_equal_in_value(first, values) == all(equal_in_value(first, v) for v in values)


@given(DOCUMENTS, st.lists(DOCUMENTS, max_size=3))
def test_many_documents_are_compared_as_one_by_one(first: dict[str, Any], documents: list[dict[str, Any]]) -> None:
    found = all_identical_documents(first, documents)
    assert found <= all(identical(first, d) for d in documents)
    if "nan" not in repr(first):
        assert found == all(identical(first, d) for d in documents)


PAIR = np.dtype([("a", "f4"), ("b", "i2", (2,))])
SCALARS: list[Any] = [
    None, np.int8(0), np.uint8(0), np.int32(0), np.float32(0), np.float32(-0.0), np.float64(0), np.float32("nan"),
    np.float64("nan"), np.bool_(False), np.bool_(True), np.complex64(complex(NAN, 1)), np.complex64(complex(NAN, 2)),
    np.datetime64("NaT", "s"), np.datetime64("NaT", "ms"), np.datetime64(1, "s"), np.bytes_(b"a"), np.str_("a"), "a",
    b"a", "", np.zeros((), PAIR)[()], np.array((NAN, (1, 2)), PAIR)[()], np.array((NAN, (1, 3)), PAIR)[()],
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(SCALARS)))
def test_fill_values_are_identical_to_themselves_alone(i: int) -> None:
    for k, other in enumerate(SCALARS):
        same = other.copy() if isinstance(other, np.generic) else other
        assert identical_scalars(SCALARS[i], same) is (i == k), (SCALARS[i], other)
        if not isinstance(other, np.void):
            assert all_identical_scalars(SCALARS[i], [same, same]) is (i == k) or (i == k and other != other)


def test_any_nan_is_nan() -> None:
    odd = np.array([0x7FC00001], np.uint32).view(np.float32)[0]
    assert identical_scalars(odd, np.float32("nan"))


def meta(**changes: Any) -> ArrayMeta:
    codecs = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.zlib", {"level": 1}))
    made = ArrayMeta((2, 3), from_numpy(np.dtype("f4")), RegularGrid((1, 3)), (Encoding(codecs),), np.float32(0))
    return replace(made, **changes)


def with_codec(name: str, **configuration: Any) -> tuple[Encoding, ...]:
    return (Encoding((CodecSpec("bytes", {"endian": "little"}), CodecSpec(name, configuration))),)


OTHER: dict[str, Any] = {
    "shape": (2, 4),
    "data_type": from_numpy(np.dtype("f8")),
    "grid": RegularGrid((2, 3)),
    "encodings": with_codec("numcodecs.zlib", level=True),
    "fill_value": None,
    "dimension_names": ("y", "x"),
    "attributes": {"units": "K"},
    "keys": ChunkKeys("default", "/"),
    "zarr_format": 3,
}


def test_every_field_of_the_metadata_is_compared() -> None:
    assert {f.name for f in fields(ArrayMeta)} == set(FIELDS)
    for name, value in OTHER.items():
        assert differing_fields(meta(), meta(**{name: value})) == [name]
        assert not identical_arrays(meta(), meta(**{name: value}))
    assert identical_arrays(meta(), meta())
    assert not differing_fields(meta(), meta())


def test_what_readers_need_is_compared_without_what_encoders_use() -> None:
    for name, value in OTHER.items():
        expected = name in ("dimension_names", "attributes", "keys", "zarr_format", "encodings")
        assert read_alike(meta(), meta(**{name: value}), decoding_ignores) is expected, name
    other = meta(encodings=with_codec("numcodecs.zlib", level=9))
    assert read_alike(meta(), other, decoding_ignores)
    assert not read_alike(meta(), other, nothing_ignored)


def test_raw_deflate_streams_are_not_those_with_a_header() -> None:
    raw, wrapped = (CodecSpec("numcodecs.imagecodecs_deflate", {"raw": r, "level": 3}) for r in (True, False))
    assert not codec_alike(raw, wrapped, decoding_ignores)
    assert codec_alike(raw, replace(raw, configuration={"raw": True, "level": 9}), decoding_ignores)
