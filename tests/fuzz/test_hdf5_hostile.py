"""Damaged and hostile HDF5 files: a value or a `ByteatlasError`, in bounded time. `run_hdf5` is the long version."""

from __future__ import annotations

import random
import struct
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from fixtures.hdf5.make_structure import WRITERS
from tests.fuzz.run_hdf5 import mutate
from tests.scanning import scan_bytes

from byteatlas.errors import ByteatlasError
from byteatlas.manifest.model import VirtualGroup
from byteatlas_scanners.hdf5 import SCANNER

MUTANTS = 60
SECONDS = 20


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("hostile")
    names = ("links", "dimensions", "phony", "virtual", "groups_earliest", "groups_latest")
    small = {name: WRITERS[name](folder).read_bytes() for name in names}
    path = folder / "mixed.h5"
    with h5py.File(path, "w", libver="latest") as file:
        values = np.arange(600, dtype="<i4").reshape(30, 20)
        for name, most in {"fixed": (30, 20), "extensible": (None, 20), "tree": (None, None)}.items():
            file.create_dataset(name, data=values, chunks=(4, 5), maxshape=most, compression="gzip")
        file["text"] = np.array(["a", "bb"], dtype=object)
    return small | {"mixed": path.read_bytes()}


def scan(data: bytes) -> VirtualGroup | None:
    begin = time.process_time()  # other programs may be busy
    try:
        return scan_bytes(SCANNER, data)
    except ByteatlasError:
        return None
    finally:
        assert time.process_time() - begin < SECONDS


def test_mutants(originals: dict[str, bytes]) -> None:
    read = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, data in originals.items():
            for number in range(MUTANTS):
                found = scan(mutate(data, random.Random(f"{name}/{number}")))
                read += found is not None
                for item in found.report if found is not None else ():
                    assert item.status in ("virtual", "inlined") or (item.reason and item.detail)
    assert read > MUTANTS  # most mutations hit one dataset, not the file


def test_every_prefix_of_a_file(originals: dict[str, bytes]) -> None:
    data = originals["phony"]
    for length in range(0, len(data), 7):
        if length:
            scan(data[:length])


def _places(data: bytes, signature: bytes) -> Iterator[int]:
    at = data.find(signature)
    while at >= 0:
        yield at
        at = data.find(signature, at + 1)


def test_a_group_tree_that_points_at_itself(originals: dict[str, bytes]) -> None:
    data = bytearray(originals["phony"])
    for at in _places(bytes(data), b"TREE\0"):
        data[at + 5] = 1  # a level above the leaves
        struct.pack_into("<Q", data, at + 32, at)
    assert scan(bytes(data)) is None


def test_groups_that_hold_each_other(tmp_path: Path) -> None:
    path = tmp_path / "diamonds.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("g0")
        for depth in range(1, 40):  # 2 ** 40 paths
            below = file.create_group(f"g{depth}")
            group["left"], group["right"] = below, below
            group = below
        group["d"] = np.arange(3)
    found = scan(path.read_bytes())
    assert found is not None
    assert any(item.reason == "link" for item in found.report)


def test_deep_nesting(tmp_path: Path) -> None:
    path = tmp_path / "deep.h5"
    with h5py.File(path, "w") as file:
        group = file
        for _ in range(300):
            group = group.create_group("g")
        group["d"] = 1
    found = scan(path.read_bytes())
    assert found is not None
    assert [item.reason for item in found.report] == ["link"]


def test_a_small_file_cannot_claim_a_huge_grid(tmp_path: Path) -> None:
    path = tmp_path / "huge.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("d", shape=(1 << 40,), chunks=(1,), dtype="i1")
        file.create_dataset("fine", data=np.arange(3))
    found = scan(path.read_bytes())
    assert found is not None
    assert {i.path: i.reason for i in found.report} == {"d": "too-large", "fine": None}


def test_chunks_out_of_order_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "order.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=np.arange(40, dtype="<i4"), chunks=(4,))
    data = bytearray(path.read_bytes())
    (at,) = _places(bytes(data), b"TREE\x01")
    first = at + 24 + 8  # the first key's position
    assert struct.unpack_from("<Q", data, first + 32 + 0)[0] in (0, 4)
    struct.pack_into("<Q", data, first, 400)
    found = scan(bytes(data))
    assert found is not None
    assert [item.reason for item in found.report] == ["corrupt"]


def test_many_empty_grids_together_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "grids.h5"
    with h5py.File(path, "w") as file:
        for number in range(40):
            file.create_dataset(f"d{number}", shape=(1 << 20,), chunks=(1,), dtype="i1")
    found = scan(path.read_bytes())
    assert found is not None
    assert {item.reason for item in found.report} == {None, "too-large"}


def test_a_key_with_a_byte_in_the_element_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("d", data=np.arange(40, dtype="<i4"), chunks=(4,))
    data = bytearray(path.read_bytes())
    (at,) = _places(bytes(data), b"TREE\x01")
    struct.pack_into("<Q", data, at + 24 + 2 * 32 + 16, 1 << 62)  # a search for the third chunk would not find it
    found = scan(bytes(data))
    assert found is not None
    assert [item.reason for item in found.report] == ["corrupt"]
