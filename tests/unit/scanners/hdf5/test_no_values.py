"""Datasets that have no values: never written with an undefined fill value, null dataspaces. Their attributes stay."""

from __future__ import annotations

from pathlib import Path

import h5py
import pytest

import byteatlas as ba

DEFINED, UNDEFINED = bytes([2, 2, 2, 1]), bytes([2, 2, 2, 0])
"""The fill value message, version 2: late and incremental allocation, written if set, and whether it is defined."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="earliest") as made:
        made.create_dataset("late", (3,), "i4").attrs["units"] = "K"
        made.create_dataset("bare", (3,), "i4")
        made.create_dataset("chunked", (3,), "i4", chunks=(2,)).attrs["units"] = "m"
        made["null"] = h5py.Empty("f4")
        made["null"].attrs["units"] = "s"
        made["written"] = [1, 2]
    data = path.read_bytes()
    for allocation in (2, 3):
        data = data.replace(bytes([2, allocation, *DEFINED[2:]]), bytes([2, allocation, *UNDEFINED[2:]]))
    path.write_bytes(data)
    return path


def test_reason_and_attributes(file: Path) -> None:
    with h5py.File(file) as theirs, pytest.raises(OSError, match="no data can be read"):
        theirs["late"][()]
    group = ba.scan(file, on_refusal="ignore")
    assert {i.path: (i.status, i.reason) for i in group.report} == {
        "late": ("refused", "never-written"), "bare": ("refused", "never-written"), "null": ("refused", "dataspace"),
        "chunked": ("refused", "never-written"), "written": ("virtual", None),
    }  # fmt: skip
    root = ba.open(group)
    assert isinstance(root, ba.Group)
    assert {path: node.attrs.get("units") for path, node in root.walk()} == {
        "written": None, "late": "K", "chunked": "m", "null": "s",
    }  # fmt: skip


def test_the_map_keeps_them(file: Path, tmp_path: Path) -> None:
    ba.write(ba.scan(file, on_refusal="ignore"), tmp_path / "m.json")
    assert ba.open(tmp_path / "m.json")["late"].attrs == {"units": "K"}
