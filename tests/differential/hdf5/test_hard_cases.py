"""The hard cases of ``fixtures/hdf5/make_hard_cases.py``: every dataset reads as h5py reads it, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters with h5py)
import numpy as np
import pytest
from fixtures.hdf5.make_hard_cases import CASES

import byteatlas as ba
from byteatlas.array.array import Array
from byteatlas.array.group import Group

REFUSED = {
    ("null_space", "d"): "dataspace",
    ("dangling_soft_link", "zz"): "link",
}
"""What is refused, and why; everything else is read."""


def same(ours: Any, theirs: Any) -> None:
    """Equal values in equal shapes; text compares as text, sequences element by element."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    for a, b in zip(ours.reshape(-1), theirs.reshape(-1), strict=True):
        if isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert _plain(a) == _plain(b) or (a != a and b != b)


def _plain(value: Any) -> Any:
    if isinstance(value, np.void) and value.dtype.names:
        return [_plain(value[name]) for name in value.dtype.names]
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.void):
        return value.tobytes()
    if isinstance(value, bytes):
        return value.rstrip(b"\0").decode("utf-8")
    return value.item() if isinstance(value, np.generic) else value


def expected(dataset: h5py.Dataset) -> Any:
    """What h5py reads; references as the paths that they lead to."""
    kind = h5py.check_ref_dtype(dataset.dtype)
    values = dataset[...]
    if kind is None:
        return values
    paths = [dataset.file[r].name if r else "" for r in values.reshape(-1)]
    return np.array(paths, dtype=object).reshape(values.shape)


@pytest.mark.parametrize("name", sorted(CASES))
def test_case(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = CASES[name](tmp_path)
    monkeypatch.chdir(tmp_path)  # the library looks for external raw files in the working directory
    virtual = ba.scan(str(path), on_refusal="ignore")
    refused = {item.path: item.reason for item in virtual.report if item.status == "refused"}
    assert refused == {key[1]: reason for key, reason in REFUSED.items() if key[0] == name}
    root = ba.open(virtual)
    assert isinstance(root, Group)
    seen = 0
    with h5py.File(path) as file:
        for where, node in root.walk():
            if not isinstance(node, Array):
                continue
            dataset = file[where]
            np.testing.assert_equal(node.shape[: dataset.ndim], dataset.shape)
            same(node[...], expected(dataset))
            seen += 1
        listed: set[str] = set()
        file.visititems_links(lambda where, link: listed.add(where) if _is_dataset(file, where) else None)
    assert listed <= {item.path for item in virtual.report}
    assert seen == len(virtual.report) - len(refused)


def _is_dataset(file: h5py.File, where: str) -> bool:
    return isinstance(file.get(where), h5py.Dataset)


def test_attributes_of_every_kind(tmp_path: Path) -> None:
    attributes = ba.scan(str(CASES["attr_zoo"](tmp_path))).arrays["d"].meta.attributes
    assert attributes["nan"] != attributes["nan"]
    assert attributes["arr"] == [0, 1, 2]
    assert attributes["big"] == 2**63 + 1
    assert attributes["2d"] == [[0, 1], [2, 3]]
    assert attributes["strarr"] == ["a", "b"]
    assert attributes["bool"] is True
    assert attributes["cplx"] == [1.0, 2.0]
    assert attributes["cmp"] == {"a": 1, "b": 2.0}
    assert attributes["ref"] == "/d"
    assert attributes["bytes"] == "\xff\xfe"


def test_dense_attributes(tmp_path: Path) -> None:
    attributes = ba.scan(str(CASES["big_attr_dense"](tmp_path))).arrays["d"].meta.attributes
    assert attributes == {f"a{i}": "x" * 1000 for i in range(200)}


def test_two_scales_on_one_dimension(tmp_path: Path) -> None:
    array = ba.scan(str(CASES["multi_scales"](tmp_path))).arrays["d"]
    assert array.meta.dimension_names == ("s1",)
