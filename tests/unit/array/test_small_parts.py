"""Limits of results, selections in any order, pictures of trees, and reports under their titles."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest
from tests.maps import array

import byteatlas as ba
from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.planning.axes import _plan_take
from byteatlas.errors import InvalidMetadata, NotFound
from byteatlas.manifest.model import VirtualGroup
from byteatlas.meta.model import RegularGrid
from byteatlas.verifying import VerifyReport


def test_how_much_a_result_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert ReadOptions().result_limit() == whole // 5 * 4
    assert ReadOptions(most_result=7).result_limit() == 7
    monkeypatch.delattr(os, "sysconf")
    assert ReadOptions().result_limit() == 1 << 40


@pytest.mark.parametrize("at", [[5, 0, 4, 0], [0, 1, 2], [7, 7, 0], [3], []])
def test_each_chunk_is_planned_once(at: list[int]) -> None:
    plan = _plan_take(np.array(at, np.int64), 8, RegularGrid((2,)), 0)
    assert plan.chunk.tolist() == sorted({i // 2 for i in at})


@pytest.mark.parametrize("at", [[5, 0, 4, 0], [7, 7, 0], [3], [6, 1]])
def test_elements_in_any_order(at: list[int]) -> None:
    data = np.arange(8, dtype="<f4")
    made = array((8,), (2,), references={(i,): data[2 * i : 2 * i + 2].tobytes() for i in range(4)})
    opened: Any = ba.open(VirtualGroup(arrays={"x": made}))
    assert opened["x"].oindex[(np.array(at),)].tolist() == [float(i) for i in at]


def test_a_picture_of_a_tree() -> None:
    inner = VirtualGroup(arrays={"x": array((8,), (4,))})
    opened: Any = ba.open(VirtualGroup(arrays={"a": array((2,), (2,))}, groups={"g": inner}))
    lines = opened.tree().splitlines()
    assert lines[0] == "/"
    assert [line.split()[0] for line in lines[1:]] == ["a", "g/", "x"]
    assert [len(line) - len(line.lstrip()) for line in lines[1:]] == [2, 2, 4]
    with pytest.raises(NotFound, match="no array or group 'b'; known: a, g"):
        opened["b"]


def test_reports_have_the_name_of_what_was_verified() -> None:
    pytest.importorskip("jinja2")
    assert "some map.json" in ba.report(VerifyReport("some map.json", ()))
    assert "another title" in ba.report(VerifyReport("some map.json", ()), title="another title")


@pytest.mark.parametrize("many", [1, 9])
def test_arrays_inside_of_arrays(many: int) -> None:
    plain = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<i4", "compressor": None, "fill_value": 0}
    document = json.dumps({**plain, "order": "C", "filters": None})
    refs = {".zgroup": '{"zarr_format": 2}', **{f"{n}/.zarray": document for n in range(many)}}
    assert ba.open({"version": 1, "refs": refs}) is not None
    with pytest.raises(InvalidMetadata, match="array '0/x' lies inside array '0'"):
        ba.load({"version": 1, "refs": {**refs, "0/x/.zarray": document}})
