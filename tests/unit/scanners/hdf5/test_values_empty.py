"""Attributes without elements: their shape as JSON, as long as that is not absurd."""

from __future__ import annotations

import struct
from pathlib import Path

import h5py
import numpy as np

import byteatlas as ba


def test_empty_attributes_keep_their_shape_within_reason(tmp_path: Path) -> None:
    path = tmp_path / "empty.h5"
    with h5py.File(path, "w", libver=("earliest", "v108")) as file:
        file["data"] = np.arange(3)
        file["data"].attrs["empty"] = np.empty((1234, 0), "i4")
    assert ba.scan(path)["data"].meta.attributes["empty"] == [[]] * 1234
    data = path.read_bytes()
    dims = struct.pack("<QQ", 1234, 0)
    assert data.count(dims) >= 1
    path.write_bytes(data.replace(dims, struct.pack("<QQ", 1 << 40, 0)))
    found = ba.scan(path, on_refusal="ignore")
    assert "empty" not in found["data"].meta.attributes
    assert any("empty" in item.detail for item in found.report)
