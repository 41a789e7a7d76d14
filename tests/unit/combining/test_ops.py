"""Operations on virtual groups that touch no data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, opener, virtual

import byteatlas as ba
from byteatlas.array import open_node
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.model import CombineOptions
from byteatlas.combining.select.ops import concat, mask, select
from byteatlas.combining.select.restructure import drop, rechunk, rename, transpose
from byteatlas.errors import BadRequest, BadSelection, Conflict, NotFound, Unsupported
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import Encoding, RectilinearGrid, RegularGrid


def tree(chain: Any = RAW) -> tuple[VirtualGroup, Any, Any]:
    """A group with a coordinate, a variable over (time, x) and a subgroup; the opener; the values."""
    values = np.arange(24, dtype="f4").reshape(6, 4)
    array, file, expected = virtual(values, RegularGrid((2, 4)), [Encoding(chain)], missing=0, inline=0)
    meta = replace(array.meta, dimension_names=("time", "x"), attributes={"coordinates": "time lat", "units": "K"})
    v = VirtualArray(meta, array.manifest)
    time = inline_array(np.arange(6), ("time",), {"units": "days since 2000-01-01"})
    return (
        VirtualGroup(arrays={"v": v, "time": time}, groups={"deep": VirtualGroup(arrays={"w": v})}),
        opener(file),
        expected,
    )


def test_select() -> None:
    group, files, expected = tree(ZLIB)
    part: Any = open_node(select(group, "time", 2, 5), files)
    np.testing.assert_array_equal(part["v"][...], expected[2:5])
    np.testing.assert_array_equal(part["deep/w"][...], expected[2:5])
    assert part["time"][...].tolist() == [2, 3, 4]
    whole: Any = open_node(select(group, "nothing", 0, 1), files)
    assert whole["v"].shape == (6, 4)


def test_select_inside_a_chunk() -> None:
    group, files, expected = tree()

    def read(array: VirtualArray) -> Any:
        opened: Any = open_node(array, files)
        return opened[...]

    with pytest.raises(BadSelection, match="inside of a chunk"):
        select(group, "time", 1, 5)
    part: Any = open_node(select(group, "time", 1, 5, read=read), files)
    np.testing.assert_array_equal(part["v"][...], expected[1:5])
    with pytest.raises(BadSelection):
        select(group, "time", 3, 9)


def test_rename_and_drop() -> None:
    group, files, expected = tree()
    new = rename(group, {"v": "tas", "lat": "latitude", "x": "lon"})
    assert list(new.arrays) == ["tas", "time"]
    assert new.arrays["tas"].meta.attributes["coordinates"] == "time latitude"
    assert new.arrays["tas"].meta.dimension_names == ("time", "lon")
    opened: Any = open_node(new, files)
    np.testing.assert_array_equal(opened["tas"][...], expected)
    with pytest.raises(BadRequest):
        rename(group, {"v": "time"})
    with pytest.raises(BadRequest):
        rename(group, {"x": "time"})
    assert [path for path, _ in drop(group, ["v", "deep/w"]).walk()] == ["time", "deep"]
    with pytest.raises(NotFound):
        drop(group, ["nothing"])


def test_rechunk_refuses_what_it_cannot_do() -> None:
    group, files, expected = tree()
    smaller: Any = open_node(rechunk(group.arrays["v"], (1, 2)), files)
    np.testing.assert_array_equal(smaller[...], expected)
    assert smaller.chunks == (1, 2)
    for chunks in ((2, 2), (3, 4), (4, 4), (0, 4), (2,)):
        with pytest.raises(Unsupported):
            rechunk(group.arrays["v"], chunks)
    packed, _, _ = tree(ZLIB)
    with pytest.raises(Unsupported, match="uncompressed"):
        rechunk(packed.arrays["v"], (1, 4))


def test_transpose() -> None:
    group, files, expected = tree(ZLIB)
    turned: Any = open_node(transpose(group.arrays["v"], (1, 0)), files)
    np.testing.assert_array_equal(turned[...], expected.T)
    assert turned.dims == ("x", "time")
    with pytest.raises(BadRequest):
        transpose(group.arrays["v"], (0, 0))


def test_rectilinear_selection() -> None:
    values = np.arange(10, dtype="i4")
    array, file, expected = virtual(values, RectilinearGrid(((3, 5, 2),)), [Encoding(RAW)], missing=0)
    from byteatlas.combining.select.ops import select_array

    part: Any = open_node(select_array(array, 0, 3, 9), opener(file))
    np.testing.assert_array_equal(part[...], expected[3:9])


def test_concat_keeps_the_order_and_takes_no_coordinate() -> None:
    group, files, expected = tree()
    first, last = select(group, "time", 0, 2), select(group, "time", 2, 6)
    both: Any = open_node(concat([last, first], "time"), files)
    np.testing.assert_array_equal(both["v"][...], np.concatenate([expected[2:], expected[:2]]))
    np.testing.assert_array_equal(both["deep/w"][...], both["v"][...])
    assert both["time"][...].tolist() == [2, 3, 4, 5, 0, 1]


def test_concat_along_a_new_dimension() -> None:
    group, files, expected = tree()
    both: Any = open_node(concat([group, group], "member"), files)
    np.testing.assert_array_equal(both["v"][...], np.stack([expected, expected]))
    assert both["v"].dims == ("member", "time", "x")


def test_concat_compares_what_does_not_have_the_dimension() -> None:
    def with_lat(values: list[float]) -> VirtualGroup:
        line = inline_array(np.array(values), ("lat",), {})
        return VirtualGroup(arrays={"n": inline_array(np.arange(2), ("time",), {}), "lat": line})

    same: Any = open_node(concat([with_lat([1, 2]), with_lat([1, 2])], "time"))
    assert same["n"][...].tolist() == [0, 1, 0, 1]
    with pytest.raises(Conflict, match="values differ"):
        concat([with_lat([1, 2]), with_lat([1, 3])], "time")
    group, _, _ = tree()
    with pytest.raises(BadRequest, match="read="):
        concat([group, VirtualGroup(arrays={"v": tree(ZLIB)[0].arrays["v"]})], "nowhere", options=trusting_nothing())


def test_a_forgotten_dimension_is_named() -> None:
    days = [VirtualGroup(arrays={"time": inline_array(np.arange(n, n + 2), ("time",), {})}) for n in (0, 2)]
    with pytest.raises(Conflict, match="--concat time"):
        ba.combine(days)


def trusting_nothing() -> CombineOptions:
    """No stacking, so that everything has to be the same."""
    return CombineOptions(stack=())


def test_mask_reads_fill_outside() -> None:
    group, files, expected = tree()
    boxed: Any = open_node(mask(group, {"time": (2, 4)}), files)
    fill = boxed["v"].fill_value
    want = np.full_like(expected, fill)
    want[2:4] = expected[2:4]
    np.testing.assert_array_equal(boxed["v"][...], want)
    np.testing.assert_array_equal(boxed["deep/w"][...], want)
    assert boxed["time"][...].tolist() == [0, 1, 2, 3, 4, 5]
    whole: Any = open_node(mask(group, {"time": (0, 6), "x": (0, 4)}), files)
    np.testing.assert_array_equal(whole["v"][...], expected)


def test_mask_cuts_no_chunks() -> None:
    group, files, expected = tree()
    with pytest.raises(BadSelection, match="cuts the chunk 2:4"):
        mask(group, {"time": (3, 6)})
    with pytest.raises(BadSelection, match="not inside"):
        mask(group, {"time": (2, 7)})
    boxed: Any = open_node(mask(group, {"time": (3, 6)}, keep_cut=True), files)
    np.testing.assert_array_equal(boxed["v"][2:], expected[2:])
    assert (boxed["v"][:2] == boxed["v"].fill_value).all()


def test_mask_needs_a_fill_value() -> None:
    values = np.arange(8, dtype="u2").reshape(4, 2)
    array, file, expected = virtual(values, RegularGrid((2, 2)), [Encoding(RAW)])
    meta = replace(array.meta, dimension_names=("y", "x"), fill_value=None)
    group = VirtualGroup(arrays={"v": VirtualArray(meta, array.manifest)})
    with pytest.raises(Unsupported, match="no fill value"):
        mask(group, {"y": (0, 2)})
    with pytest.raises(Unsupported, match="no value of uint16"):
        mask(group, {"y": (0, 2)}, fill=-1)
    boxed: Any = open_node(mask(group, {"y": (0, 2)}, fill=9), opener(file))
    assert boxed["v"][...].tolist() == [*expected[:2].tolist(), [9, 9], [9, 9]]
