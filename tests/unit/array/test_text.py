"""How arrays and groups look when they are printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.errors import InvalidMetadata
from byteatlas.manifest.model import ReportItem, VirtualArray, VirtualGroup

LINE = inline_array(np.arange(3, dtype="f4"), ("time",), {})


def test_an_array_is_one_line() -> None:
    assert repr(LINE) == "<VirtualArray float32 (time 3), grid of 1 chunk, 0 files>"


def test_a_group_lists_all_levels() -> None:
    below = VirtualGroup(arrays={"level": LINE})
    group = VirtualGroup(arrays={"t": LINE}, groups={"deep": below}, report=(ReportItem("x", "refused", "vlen"),))
    assert repr(group).splitlines() == [
        "<VirtualGroup: 2 arrays, 1 group, 1 refused>",
        "  t           float32 (time 3)",
        "  deep/",
        "  deep/level  float32 (time 3)",
    ]


def test_large_groups_are_cut_short() -> None:
    lines = repr(VirtualGroup(arrays={f"v{i}": LINE for i in range(1000)})).splitlines()
    assert len(lines) == 42
    assert lines[-1] == "  ... and 960 more"


class Damaged(Mapping[str, VirtualArray]):
    def __getitem__(self, name: str) -> VirtualArray:
        raise InvalidMetadata(name, "no shape")

    def __iter__(self) -> Iterator[str]:
        return iter(("v",))

    def __len__(self) -> int:
        return 1


def test_what_cannot_be_read_is_said_in_its_line() -> None:
    assert "no shape" in repr(VirtualGroup(arrays=Damaged()))
