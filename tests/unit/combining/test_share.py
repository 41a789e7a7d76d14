"""Equal parts of many files are kept once, and what differs stays as it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.maps import array_at

import byteatlas as ba
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare.intern import MOST, Sharing
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid


def one_file(i: int, *, fill: object = np.float32(0), level: int = 4, units: object = "K") -> VirtualGroup:
    meta = ArrayMeta(
        (2, 3),
        from_numpy(np.dtype("f4")),
        RegularGrid((1, 3)),
        (Encoding((CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.zlib", {"level": level}))),),
        fill,
        ("time", "x"),
        {"units": units},
    )
    where = np.arange(2, dtype=np.uint64) * np.uint64(10)
    data = VirtualArray(meta, single_source((2, 1), SourceInfo(f"/f{i}.nc"), where, np.full(2, 10, np.uint64)))
    x = inline_array(np.arange(3.0), ("x",), {})
    time = inline_array(np.arange(2.0) + 2 * i, ("time",), {"units": "days since 2000-01-01"})
    below = VirtualGroup(GroupMeta(), {"a": data})
    return VirtualGroup(GroupMeta({"number": i}), {"a": data, "x": x, "time": time}, {"below": below})


@pytest.mark.parametrize("fill", [np.float32(0), np.float32("nan"), None])
def test_equal_parts_are_one_object(fill: object) -> None:
    sharing = Sharing()
    first, second = (sharing.group(one_file(i, fill=fill)) for i in range(2))
    for path in ("a", "time", "below/a"):
        assert array_at(first, path).meta is array_at(second, path).meta
        assert array_at(first, path).manifest is not array_at(second, path).manifest
    assert array_at(first, "x") is array_at(second, "x")  # the same bytes in the map
    assert second.attributes == {"number": 1}
    assert array_at(second, "a").manifest.sources == (SourceInfo("/f1.nc"),)
    assert array_at(second, "time").manifest.inline(0) == np.array([2.0, 3.0]).tobytes()


@pytest.mark.parametrize(
    "other",
    [{"fill": np.float32(1)}, {"fill": None}, {"fill": np.float64(0)}, {"level": 5}, {"units": "degC"}],
)
def test_what_differs_stays(other: dict[str, object]) -> None:
    sharing = Sharing()
    sharing.group(one_file(0))
    new = one_file(1, **other)  # type: ignore[arg-type]
    assert array_at(sharing.group(new), "a").meta is array_at(new, "a").meta
    again = one_file(2, **other)  # type: ignore[arg-type]
    assert array_at(sharing.group(again), "a").meta is array_at(new, "a").meta


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), ([0], [False]), (0.0, -0.0), ({"a": 1}, {"a": True})])
def test_attributes_are_compared_with_their_types(one: object, other: object) -> None:
    sharing = Sharing()
    first = sharing.group(one_file(0, units=one))
    second = sharing.group(one_file(1, units=other))
    for group, value in ((first, one), (second, other)):
        assert repr(array_at(group, "a").meta.attributes["units"]) == repr(value)
        assert repr(array_at(group, "below/a").meta.attributes["units"]) == repr(value)


def test_few_descriptions_are_remembered() -> None:
    sharing = Sharing()
    for level in range(30):
        sharing.group(one_file(level, level=level))
    assert {len(seen) for seen in sharing.known.values()} <= set(range(MOST + 1))


def test_shared_and_not_shared_combine_alike() -> None:
    files = [one_file(i, level=4 + i % 2, units="K") for i in range(6)]
    files[3] = replace(files[3], arrays={**files[3].arrays, "a": array_at(one_file(3, fill=np.float32(7)), "a")})
    sharing = Sharing()
    own = ba.combine(files, "time")
    shared = ba.combine([sharing.group(f) for f in files], "time")
    for path, node in own.walk():
        if isinstance(node, VirtualArray):
            other, mine = array_at(shared, path), node.manifest.load()
            theirs = other.manifest.load()
            assert other.meta == node.meta
            assert theirs.sources == mine.sources
            assert dict(theirs.inlined) == dict(mine.inlined)
            for name in ("source", "offset", "length"):
                np.testing.assert_array_equal(getattr(theirs, name), getattr(mine, name))
            assert (theirs.encoding is None) == (mine.encoding is None)
            if theirs.encoding is not None and mine.encoding is not None:
                np.testing.assert_array_equal(theirs.encoding, mine.encoding)
