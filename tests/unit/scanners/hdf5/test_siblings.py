"""What sibling datasets repeat is decoded once, small chunk indexes in a way of their own: the result is the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas_scanners.hdf5.chunks import btree1
from byteatlas_scanners.hdf5.format import attributes


def scanned(path: Path) -> ba.VirtualGroup:
    found = ba.scan(path)
    assert isinstance(found, ba.VirtualGroup)
    return found


def test_equal_attributes_are_no_common_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        for name in "ab":
            made = file.create_dataset(name, data=np.zeros(3), track_order=True)
            made.attrs["pair"] = [1, 2]
            made.attrs["units"] = "K"
            made.attrs["point"] = np.array([(1, [2, 3])], [("x", "i4"), ("y", "i4", (2,))])
            made.attrs["own"] = f"text {name}"
    a, b = (dict(scanned(path).arrays[name].meta.attributes) for name in "ab")
    pair: Any = a["pair"]
    point: Any = a["point"]
    pair.append(3)
    point["y"].append(4)
    assert b == {"pair": [1, 2], "units": "K", "point": {"x": 1, "y": [2, 3]}, "own": "text b"}
    assert a["own"] == "text a"


def test_no_more_attributes_are_kept_than_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for k in range(5):
            file.create_dataset(f"d{k}", data=k).attrs.update({"same": 1.5, "other": f"text {k}"})
    expected = {f"d{k}": {"same": 1.5, "other": f"text {k}"} for k in range(5)}
    for most in (attributes.MOST_KEPT, 3, 0):
        monkeypatch.setattr(attributes, "MOST_KEPT", most)
        assert {n: dict(a.meta.attributes) for n, a in scanned(path).arrays.items()} == expected


def test_small_trees_are_read_as_large_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one chunk to a dozen, some of them missing, skipped filters, datasets that shrank."""
    path, rng = tmp_path / "a.h5", np.random.default_rng(3)
    with h5py.File(path, "w", libver=("earliest", "v108")) as file:
        for k in range(60):
            shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
            chunk = tuple(int(n) for n in rng.integers(1, 5, len(shape)))
            made = file.create_dataset(
                f"d{k}", shape, "i4", chunks=chunk, maxshape=(None,) * len(shape), compression=1 if k % 3 else None
            )
            for _ in range(rng.integers(0, 9)):
                at = tuple(int(rng.integers(0, -(-n // c))) * c for n, c in zip(shape, chunk, strict=True))
                data = rng.integers(0, 9, chunk, "i4")
                if k % 3:
                    made[tuple(slice(a, a + c) for a, c in zip(at, chunk, strict=True))] = data[
                        tuple(slice(0, n - a) for n, a in zip(shape, at, strict=True))
                    ]
                else:
                    made.id.write_direct_chunk(at, data.tobytes())
            if k % 3 == 2 and k % 5:
                made.id.write_direct_chunk((0,) * len(shape), np.ones(chunk, "i4").tobytes(), filter_mask=1)
            if k % 5 == 0:
                made.resize(tuple(-(-n // 2) for n in shape))
    small = scanned(path)
    monkeypatch.setattr(btree1, "SMALL_NODE", 0)
    large = scanned(path)
    assert len(small.arrays) == 60
    opened: Any = ba.open(small)
    for name, array in small.arrays.items():
        mine, theirs = array.manifest.load(), large.arrays[name].manifest.load()
        for column in ("source", "offset", "length", "encoding"):
            np.testing.assert_array_equal(getattr(mine, column), getattr(theirs, column), f"{name} {column}")
        assert array.meta.encodings == large.arrays[name].meta.encodings
        with h5py.File(path) as file:
            np.testing.assert_array_equal(opened[name][...], file[name][...])
