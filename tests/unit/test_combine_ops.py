"""Operations on virtual groups that touch no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.array_support import RAW, ZLIB, opener, virtual

from byteatlas.array import open_node
from byteatlas.combine.inline import inline_array
from byteatlas.combine.ops import drop, rechunk, rename, select, transpose
from byteatlas.errors import BadRequest, BadSelection, NotFound, Unsupported
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.meta.model import Encoding, RectilinearGrid, RegularGrid


def tree(chain: Any = RAW) -> tuple[VirtualGroup, Any, Any]:
    """A group with a coordinate, a variable over (time, x) and a subgroup; the opener; the values."""
    from dataclasses import replace

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
    from byteatlas.combine.ops import select_array

    part: Any = open_node(select_array(array, 0, 3, 9), opener(file))
    np.testing.assert_array_equal(part[...], expected[3:9])
