"""Attributes of several files: which are kept, which are told of, and a grid mapping that nothing has."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.array.geo import georeference_of
from byteatlas.combining.compare.attributes import merged
from byteatlas.errors import Conflict
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import GroupMeta
from byteatlas.types import JSON


def part(number: int, attributes: Mapping[str, JSON], of_group: Mapping[str, JSON] | None = None) -> VirtualGroup:
    time = array(
        (1,), (1,), "<f8", references={(0,): np.float64(number).tobytes()}, dimension_names=("t",),
        attributes={"units": "days since 2000-01-01"},
    )  # fmt: skip
    values = array((1, 3), (1, 3), url=f"/data/{number}.nc", dimension_names=("t", "x"), attributes=dict(attributes))
    return VirtualGroup(GroupMeta(dict(of_group or {})), {"t": time, "v": values})


def joined(*attributes: Mapping[str, JSON], **options: Any) -> VirtualGroup:
    return ba.combine([part(i, a) for i, a in enumerate(attributes)], concat="t", **options)


def notes(group: VirtualGroup) -> list[str]:
    return [f.detail for f in group.report if getattr(f, "code", "") == "attributes"]


def test_attributes_of_the_second_file_only() -> None:
    found = joined({"same": 1}, {"same": 1, "more": 2})
    assert found.arrays["v"].meta.attributes == {"same": 1}
    kept = joined({"same": 1}, {"same": 1, "more": 2}, attributes="first")
    assert kept.arrays["v"].meta.attributes == {"same": 1}


def test_attributes_of_groups() -> None:
    parts = [part(0, {}, {"a": 1, "b": 2}), part(1, {}, {"a": 1, "b": 3, "c": 4})]
    assert ba.combine(parts, concat="t").meta.attributes == {"a": 1}
    assert ba.combine(parts, concat="t", attributes="first").meta.attributes == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("documents", "common", "differing"),
    [
        ([{"a": 1}, {"a": 1}], {"a": 1}, []),
        ([{"a": 1}, {"a": 2}], {}, ["a"]),
        ([{"a": 1}, {"a": 1, "b": 2}], {"a": 1}, ["b"]),
        ([{"a": 1, "b": 2}, {"a": 1}], {"a": 1}, ["b"]),
        ([{"a": 1, "b": 2}, {"a": 1, "c": 2}], {"a": 1}, ["b", "c"]),
        ([{}, {"a": 1}], {}, ["a"]),
        ([{"a": 1}, {"a": 1}, {"a": 1, "z": 0}, {"a": 1, "y": 0}], {"a": 1}, ["z", "y"]),
        ([{"a": 1}, {"a": True}], {}, ["a"]),
        ([{"a": 1}, {"a": 1.0}], {}, ["a"]),
        ([{"scale_factor": 1}, {"scale_factor": 1.0}], {"scale_factor": 1}, []),
    ],
)
def test_what_is_common(documents: list[dict[str, JSON]], common: dict[str, JSON], differing: list[str]) -> None:
    assert merged(documents, "common") == (common, differing)
    assert merged(documents, "first") == (dict(documents[0]), differing)


def test_a_grid_mapping_that_no_file_has() -> None:
    """The attribute stays as it is; nothing is made up for it, and reading does not stumble over it."""
    found = joined({"grid_mapping": "crs"}, {"grid_mapping": "crs"})
    assert found.arrays["v"].meta.attributes == {"grid_mapping": "crs"}
    assert set(found.arrays) == {"t", "v"}
    assert georeference_of(ba.open(found), "v").crs is None
    assert pickle.loads(pickle.dumps(found)).arrays.keys() == {"t", "v"}


def test_a_grid_mapping_that_only_the_second_file_names() -> None:
    found = joined({}, {"grid_mapping": "crs"})
    assert found.arrays["v"].meta.attributes == {}


def test_two_grid_mappings_do_not_go_together() -> None:
    with pytest.raises(Conflict, match="grid_mapping"):
        joined({"grid_mapping": "crs"}, {"grid_mapping": "other"})


def test_a_grid_mapping_that_only_one_file_has() -> None:
    """What it says is kept: the other file's data name it without having it."""
    crs = array((), (), "<i4", references={(): b"\0\0\0\0"}, attributes={"grid_mapping_name": "latitude_longitude"})
    one, two = part(0, {"grid_mapping": "crs"}), part(1, {"grid_mapping": "crs"})
    both = [replace(one, arrays={**one.arrays, "crs": crs}), two]
    found = ba.combine(both, concat="t")
    assert found.arrays["v"].meta.attributes == {"grid_mapping": "crs"}
    assert found.arrays["crs"].meta.attributes["grid_mapping_name"] == "latitude_longitude"
