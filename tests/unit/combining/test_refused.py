"""Every refusal of combining and selecting, by its class and its words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, opener, virtual
from tests.maps import array

import byteatlas as ba
from byteatlas.array import open_node
from byteatlas.combining import FromVariable, Values, combine, plan_combine
from byteatlas.combining.append import append
from byteatlas.combining.chunks import common_borders, stacking
from byteatlas.combining.chunks.common_borders import split_chunks, with_explicit_shapes
from byteatlas.combining.chunks.layout import edges_of
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.coordinates.sources import name_value, typed, value_from
from byteatlas.combining.inputs import flatten
from byteatlas.combining.kerchunk import with_name
from byteatlas.combining.model import CombineOptions
from byteatlas.combining.select import ops
from byteatlas.combining.select.labels import period_of
from byteatlas.combining.select.ops import mask, select
from byteatlas.combining.select.region import mask_by_value, select_by_value
from byteatlas.combining.select.restructure import rechunk, transpose
from byteatlas.errors import BadRequest, BadSelection, Conflict, InvalidMetadata, Unsupported
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas.values import replace

TIMES = {"units": "days since 2000-01-01"}


def read(found: VirtualArray) -> Any:
    opened: Any = open_node(found)
    return opened[...]


def of_times(*values: int, name: str = "v", **attributes: Any) -> VirtualGroup:
    time = inline_array(np.array(values), ("time",), {**TIMES, **attributes})
    data = inline_array(np.array(values) * 10, ("time",), {})
    return VirtualGroup(arrays={"time": time, name: data})


def test_nothing_to_combine() -> None:
    with pytest.raises(BadRequest, match="nothing to combine"):
        flatten([], None)
    with pytest.raises(BadRequest, match="1 inputs, but 2 names"):
        flatten([VirtualGroup()], ["a", "b"])
    assert [i.name for i in flatten([VirtualGroup(), VirtualGroup()], ["a", "b"])] == ["a", "b"]


def combined(groups: list[VirtualGroup], **options: Any) -> VirtualGroup:
    return combine(groups, CombineOptions(**options), read=read)


def test_coordinates_that_are_not_there() -> None:
    two = [of_times(1), of_times(2)]
    with pytest.raises(BadRequest, match="no input has a variable 'when' for the coordinate of 'time'"):
        combined(two, concat=("time",), coords={"time": FromVariable("when")})
    with pytest.raises(BadRequest, match="units 'moons' are not those of a CF time"):
        combined(two, concat=("time",), units="moons")
    with pytest.raises(BadRequest, match="1 coordinate values for more inputs"):
        combined(two, concat=("run",), coords={"run": Values((1,))})
    flat = [VirtualGroup(arrays={"v": array((2, 2), (2, 2), dimension_names=("a", "b"))}) for _ in range(2)]
    with pytest.raises(BadRequest, match="several dimensions need coordinate values for each; there are none for a, b"):
        combined(flat, concat=("a", "b"))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([[1 + 2j]], "coordinate values must be numbers, dates or text"),
        ([np.zeros((2, 2))], "coordinate values must be numbers, dates or text"),
        ([[(1 << 63) + 1], [-1]], "no type holds all coordinate values: uint64, int64"),
        ([[(1 << 53) + 1], [0.5]], "no type holds all coordinate values: int64, float64"),
        ([None, None], "coordinate values must be numbers, dates or text, not None, None"),
        ([1j], "coordinate values must be numbers, dates or text, not 1j"),
    ],
)
def test_values_that_are_no_coordinates(raw: list[Any], why: str) -> None:
    with pytest.raises(BadRequest) as refused:
        typed(raw)
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("raw", "values"),
    [
        ([[1, 2], [3]], [1, 2, 3]),
        ([[1], [0.5]], [1.0, 0.5]),
        (["1", "-2"], [1, -2]),
        (["1", "2.5e1"], [1.0, 25.0]),
        (["1", "b"], ["1", "b"]),
        ([True, False], [True, False]),
    ],
)
def test_values_of_one_type(raw: list[Any], values: list[Any]) -> None:
    found = np.concatenate(typed(raw)[0])
    assert found.tolist() == values
    assert [type(v) for v in found.tolist()] == [type(v) for v in values]


def test_values_of_names() -> None:
    import re

    assert name_value(re.compile(r"a(\d+)"), None, "xa12.nc") == "12"
    assert name_value(re.compile(r"\d+"), None, "xa12.nc") == "12"
    assert name_value(re.compile(r"(a)(?P<value>\d+)"), None, "xa12.nc") == "12"
    assert name_value(re.compile(r"b(\d+)"), None, "xa12.nc") is None
    assert name_value(re.compile(r"\d+"), "%Y", "x12.nc") is None
    assert getattr(name_value(re.compile(r"\d+"), "%Y", "x2012.nc"), "year", None) == 2012
    assert value_from(Values((7,)), 0, flatten([VirtualGroup()], ["a"])[0]) == 7


def test_values_of_variable_length_are_no_chunk() -> None:
    with pytest.raises(BadRequest, match="values of variable length cannot be kept in a map as one chunk"):
        inline_array(np.array(["a"], object), ("x",), {})


def test_chunks_after_splitting(monkeypatch: pytest.MonkeyPatch) -> None:
    found = array((8,), (4,))
    own, common = np.array([0, 4, 8]), np.array([0, 2, 4, 6, 8])
    assert split_chunks(found, 0, own, common).manifest.grid_shape == (4,)
    monkeypatch.setattr(common_borders, "MOST_CHUNKS", 3)
    with pytest.raises(Unsupported) as refused:
        split_chunks(found, 0, own, common)
    assert (refused.value.reason, refused.value.detail) == ("chunks", "too many chunks after cutting")
    monkeypatch.undo()
    monkeypatch.setattr(common_borders, "MOST_PARTS", 1)
    with pytest.raises(Unsupported, match=r"parts of chunks of 2 kinds \[chunks\]"):
        split_chunks(found, 0, own, common)
    grid = RectilinearGrid(((3, 5),))
    monkeypatch.setattr(common_borders, "MOST_ENCODINGS", 1)
    with pytest.raises(Unsupported, match=r"chunks of 2 shapes, some of which would be cut \[chunks\]"):
        with_explicit_shapes(replace(found, meta=replace(found.meta, grid=grid)))


def test_chunks_outside_of_the_array() -> None:
    assert edges_of(RectilinearGrid(((3, 5),)), 8, 0).logical == (3, 5)
    assert edges_of(RectilinearGrid(((3, 5),)), 7, 0).logical == (3, 4)
    with pytest.raises(Unsupported, match=r"chunks that lie wholly outside the array \[chunks\]"):
        edges_of(RectilinearGrid(((3, 5),)), 3, 0)


def test_names_of_variables() -> None:
    item = flatten([VirtualGroup(arrays={"v": array((4,), (4,)), "w": array((4,), (4,))})], ["file"])[0]
    for name in (None, "", "a/b", 1):
        with pytest.raises(BadRequest, match="is no name of a variable"):
            with_name(item, name, frozenset({"w"}))
    with pytest.raises(BadRequest, match="file has a variable 'w' already"):
        with_name(item, "w", frozenset({"w"}))
    assert list(with_name(item, "v", frozenset({"w"})).arrays) == ["v", "w"]
    assert list(with_name(item, "u", frozenset({"w"})).arrays) == ["u", "w"]


def test_what_nothing_can_be_appended_to() -> None:
    one = CombineOptions(concat=("time",))
    with pytest.raises(BadRequest, match="appending needs exactly one dimension"):
        append(of_times(1), [of_times(2)], CombineOptions(concat=("time", "x")), read=read, names=["b"])
    with pytest.raises(BadRequest, match="appending takes coordinate values from the files' variables"):
        append(of_times(1), [of_times(2)], replace(one, coords={"time": Values((1,))}), read=read, names=["b"])
    plane = VirtualGroup(arrays={"time": inline_array(np.zeros((2, 2)), ("time", "x"), {})})
    with pytest.raises(BadRequest, match="the map's variable 'time' has not one dimension"):
        append(plane, [of_times(2)], one, read=read, names=["b"])
    line_of_x = VirtualGroup(arrays={"v": array((4,), (4,), dimension_names=("x",))})
    with pytest.raises(BadRequest, match="the map does not have"):
        append(line_of_x, [of_times(2)], one, read=read, names=["b"])


def test_two_files_for_the_same_values() -> None:
    known = of_times(1, 2, 3)
    new = [of_times(2, name="v", comment="a"), of_times(2, name="v", comment="b")]
    changed = [
        replace(n, arrays={**n.arrays, "v": inline_array(np.array([k]), ("time",), {})}) for k, n in enumerate(new)
    ]
    with pytest.raises(Conflict, match=r"and another file replace the same 'time' values \[duplicate\]"):
        append(known, changed, CombineOptions(concat=("time",)), read=read, names=["b", "c"], replacing=True)


@pytest.mark.parametrize(
    ("label", "calendar", "why"),
    [
        ("2001-01-01T24", "standard", "'2001-01-01T24' is no time of day"),
        ("2001-01-01T23:60", "standard", "'2001-01-01T23:60' is no time of day"),
        ("2001-01-01T23:59:60", "standard", "'2001-01-01T23:59:60' is no time of day"),
        ("2001-02-29", "standard", "the calendar standard has no 2001-02-29"),
        ("2000-02-29", "noleap", "the calendar noleap has no 2000-02-29"),
        ("2001-13", "standard", "the calendar standard has no 2001-13"),
        ("2001-00", "standard", "the calendar standard has no 2001-00"),
        ("2001-01-00", "standard", "the calendar standard has no 2001-01-00"),
        ("2001-01-31", "360_day", "the calendar 360_day has no 2001-01-31"),
        ("soon", "standard", "'soon' is no date such as 2001, 2001-03, 2001-03-05 or 2001-03-05T06:30"),
    ],
)
def test_what_is_no_date(label: str, calendar: str, why: str) -> None:
    with pytest.raises(BadSelection) as refused:
        period_of(label, calendar)
    assert str(refused.value) == why


DAY = 86_400 * 10**9


@pytest.mark.parametrize(
    ("label", "calendar", "length"),
    [
        ("2000", "standard", 366 * DAY),
        ("2000", "noleap", 365 * DAY),
        ("2001-12", "standard", 31 * DAY),
        ("2000-02", "standard", 29 * DAY),
        ("2001-12-31", "standard", DAY),
        ("2001-12-31T23", "standard", DAY // 24),
        ("2001-12-31T23:59", "standard", 60 * 10**9),
        ("2001-12-31T23:59:59", "standard", 10**9),
        ("2001-12-31T23:59:59.25", "standard", 10**7),
        (np.datetime64("2001-12"), "standard", 31 * DAY),
    ],
)
def test_what_a_date_leaves_open(label: Any, calendar: str, length: int) -> None:
    found = period_of(label, calendar)
    assert found is not None
    assert found[1] - found[0] == length


def test_a_time_of_day_begins_where_it_says() -> None:
    day, hour, second = (period_of(f"2001-03-05{t}", "standard") for t in ("", "T06:30", "T06:30:15.5"))
    assert day is not None
    assert hour is not None
    assert second is not None
    assert hour[0] - day[0] == 390 * 60 * 10**9
    assert second[0] - hour[0] == 15 * 10**9 + 5 * 10**8
    assert period_of(5, "standard") is None


def masked_of(**meta: Any) -> VirtualGroup:
    found = array((4,), (2,), "<i2", references={(0,): ("/a", 0, 4)}, dimension_names=("x",))
    return VirtualGroup(arrays={"v": replace(found, meta=replace(found.meta, **meta))})


def test_masks_need_a_fill_value() -> None:
    none = masked_of(fill_value=None)
    with pytest.raises(Unsupported, match=r"v has no fill value for what is outside of the region; give one \[fill\]"):
        mask(none, {"x": (0, 2)})
    with pytest.raises(Unsupported, match=r"v has missing chunks, which a fill value would change \[fill\]"):
        mask(none, {"x": (0, 2)}, fill=1)
    full = array((4,), (2,), "<i2", dimension_names=("x",))
    whole = VirtualGroup(arrays={"v": replace(full, meta=replace(full.meta, fill_value=None))})
    with pytest.raises(Unsupported, match=r"v: 1\.5 is no value of int16 \[fill\]"):
        mask(whole, {"x": (0, 2)}, fill=1.5)
    assert mask(whole, {"x": (0, 2)}, fill=7).arrays["v"].meta.fill_value == 7


def test_positions_inside_of_large_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    group = VirtualGroup(arrays={"v": array((8,), (4,), dimension_names=("x",))})
    with pytest.raises(BadSelection, match="v: position 1 is inside of a chunk, and there is no way to read it"):
        select(group, "x", 1, 5)
    monkeypatch.setattr(ops, "SMALL", 31)
    with pytest.raises(BadSelection, match="v: position 1 is inside of a chunk; chunks cannot be cut in front"):
        select(group, "x", 1, 5)
    for start, stop in ((-1, 4), (5, 4), (0, 9)):
        with pytest.raises(BadSelection, match=f"v: {start}:{stop} is not inside of 0:8"):
            select(group, "x", start, stop)


def encoded(found: VirtualArray, **encoding: Any) -> VirtualArray:
    return replace(found, meta=replace(found.meta, encodings=(replace(found.meta.encodings[0], **encoding),)))


def test_arrays_that_cannot_be_transposed() -> None:
    plane = array((4, 2), (2, 2), dimension_names=("x", "y"))
    cast = encoded(plane, cast=(CodecSpec("cast_value", {}),))
    with pytest.raises(Unsupported, match="an array whose values are converted when read cannot be transposed"):
        transpose(cast, (1, 0))
    odd = encoded(plane, codecs=(CodecSpec("transpose", {"order": "C"}), *plane.meta.encodings[0].codecs))
    with pytest.raises(Unsupported, match=r"transpose order 'C' \[codecs\]"):
        transpose(odd, (1, 0))


def test_arrays_that_cannot_be_rechunked() -> None:
    found = array((8,), (4,))
    assert rechunk(found, (2,)).manifest.load().offset.tolist() == [100, 108, 116, 124]
    for given, why in (
        (
            array((8,), (4,), references={(0,): b"1" * 16, (1,): b"1" * 16}),
            "inline chunks cannot be re-chunked virtually",
        ),
        (array((8,), (4,), references={(0,): ("/a", 0, 15)}), "a chunk is not as long as its shape says"),
        (encoded(found, codecs=(*found.meta.encodings[0].codecs, *ZLIB[1:])), "only uncompressed data in C order"),
    ):
        with pytest.raises(Unsupported, match=why) as refused:
            rechunk(given, (2,))
        assert refused.value.reason == "chunks"
    with pytest.raises(Unsupported, match="only arrays of one regular grid and one encoding"):
        rechunk(found, (2, 2))


def test_a_map_whose_record_size_is_none(tmp_path: Path) -> None:
    ba.write(of_times(1), tmp_path / "m.parquet")
    metadata = tmp_path / "m.parquet" / ".zmetadata"
    from byteatlas.combining.update import update_parquet

    for size in (0, True, "9", None):
        metadata.write_text(json.dumps({**json.loads(metadata.read_text()), "record_size": size}))
        with pytest.raises(InvalidMetadata) as refused:
            update_parquet(of_times(1), str(tmp_path / "m.parquet"))
        assert refused.value.where == str(metadata)
        assert refused.value.why == f"record_size {size!r} is not a number of rows"


BYTES: dict[str, Any] = {"name": "bytes"}
SHARDS: dict[str, Any] = {"chunk_shape": [2], "codecs": [{"name": "bytes"}, "crc32c"], "index_codecs": ["crc32c"]}


@pytest.mark.parametrize(
    ("codec", "lifted"),
    [
        (CodecSpec("bytes"), CodecSpec("bytes")),
        (CodecSpec("transpose", {"order": [1, 0]}), CodecSpec("transpose", {"order": [0, 2, 1]})),
        (CodecSpec("transpose", {"order": "F"}), None),
        (
            CodecSpec("byteatlas.crop", {"origin": [3], "shape": [4]}),
            CodecSpec("byteatlas.crop", {"origin": [0, 3], "shape": [1, 4]}),
        ),
        (
            CodecSpec("sharding_indexed", SHARDS),
            CodecSpec(
                "sharding_indexed", {**SHARDS, "chunk_shape": [1, 2], "codecs": [{"name": "bytes"}, {"name": "crc32c"}]}
            ),
        ),
        (CodecSpec("sharding_indexed", {**SHARDS, "index_codecs": [{"name": "transpose"}]}), None),
        (
            CodecSpec(
                "sharding_indexed", {**SHARDS, "codecs": [{"name": "transpose", "configuration": {"order": "F"}}]}
            ),
            None,
        ),
    ],
)
def test_codecs_with_one_more_axis(codec: CodecSpec, lifted: CodecSpec | None) -> None:
    assert stacking.lifted([codec]) == (None if lifted is None else (lifted,))


def test_stacked_arrays_read_one_after_the_other() -> None:
    values = np.arange(8, dtype="f4")
    found, file, _ = virtual(values, RegularGrid((4,)), [Encoding(RAW)])
    both = stacking.stacked([found, found])
    assert both is not None
    opened: Any = open_node(both, opener(file))
    np.testing.assert_array_equal(opened[...], np.stack([values, values]))
    assert stacking.stacked([encoded(found, codecs=(CodecSpec("transpose", {"order": "F"}),))]) is None
    uneven = replace(found, meta=replace(found.meta, grid=RectilinearGrid(((4, 4),))))
    two = stacking.stacked([uneven, uneven])
    assert two is not None
    assert two.meta.grid == RectilinearGrid(((1, 1), (4, 4)))


@pytest.mark.parametrize(
    ("values", "gaps"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20], 1),  # ten steps: at most two are gaps
        ([0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 28], 2),
        ([0, 10, 20, 30, 31, 32, 33, 34, 35, 36, 37, 38], 0),
        ([0, 1, 2, 3], 0),
        ([0, 1, 2, 10], 1),
        ([0, 10], 0),
    ],
)
def test_gaps_between_files(values: list[int], gaps: int) -> None:
    found = plan_combine([of_times(v) for v in values], CombineOptions(concat=("time",)), read=read)
    assert len([f for f in found.findings if "gap in 'time'" in f.detail]) == gaps


def test_arrays_are_as_long_as_their_coordinate() -> None:
    x = inline_array(np.arange(4), ("x",), {})
    group = VirtualGroup(arrays={"x": x, "v": array((8,), (1,), dimension_names=("x",))})
    for by_value in (select_by_value, mask_by_value):
        with pytest.raises(BadSelection, match="v has length 8 along 'x', its coordinate 4"):
            by_value(group, {"x": slice(1, 2)}, read=read)
