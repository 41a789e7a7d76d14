"""Random HDF5 datatypes, nested at random, in random pipelines: read as h5py reads them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from h5py import h5d, h5p, h5s, h5t
from tests.hdf5_reading import plain, read_array, scan_file

COUNT = 11
NUMBERS = ("I8LE", "I16BE", "I32LE", "I64BE", "U8LE", "U16LE", "U32BE", "U64LE")


def number(rng: random.Random) -> Any:
    kind = getattr(h5t, f"STD_{rng.choice(NUMBERS)}").copy()
    bits = 8 * kind.get_size()
    if rng.random() < 0.4:
        precision = rng.randint(1, bits)
        kind.set_precision(precision)
        # The library refuses types of which more than the upper half is unused.
        kind.set_offset(rng.randint(max(0, bits // 2 - precision), bits - precision))
    return kind


def text(rng: random.Random) -> Any:
    kind = h5t.C_S1.copy()
    kind.set_size(rng.randint(1, 9))
    kind.set_strpad(rng.choice((h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD)))
    return kind


def compound(rng: random.Random, depth: int) -> Any:
    members, at = [], 0
    for i in range(rng.randint(1, 4)):
        member = datatype(rng, depth + 1)
        at += rng.choice((0, 0, 1, 3))
        members.append((f"m{i}", at, member))
        at += member.get_size()
    kind = h5t.create(h5t.COMPOUND, at + rng.choice((0, 0, 5)))
    order = list(members)
    rng.shuffle(order)
    for name, offset, member in order:
        kind.insert(name.encode(), offset, member)
    return kind


def datatype(rng: random.Random, depth: int = 0) -> Any:
    """A datatype of fixed size."""
    match rng.randint(0, 6 if depth < 3 else 3):
        case 0 | 1:
            return number(rng)
        case 2:
            return getattr(h5t, f"IEEE_F{rng.choice((16, 32, 64))}{rng.choice(('LE', 'BE'))}")
        case 3:
            return text(rng)
        case 4:
            return h5t.array_create(
                datatype(rng, depth + 1), tuple(rng.randint(1, 3) for _ in range(rng.randint(1, 2)))
            )
        case _:
            return compound(rng, depth)


def pipeline(rng: random.Random) -> Any:
    plist = h5p.create(h5p.DATASET_CREATE)
    if rng.random() < 0.3:
        return plist
    plist.set_chunk((rng.randint(1, COUNT),))
    steps = [plist.set_shuffle, plist.set_fletcher32, lambda: plist.set_deflate(rng.randint(1, 9))]
    rng.shuffle(steps)
    for step in steps[: rng.randint(0, 3)]:
        step()
    return plist


@pytest.mark.parametrize("seed", range(12))
def test_random_types_and_pipelines(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    path = tmp_path / "random.h5"
    with h5py.File(path, "w", libver=rng.choice(("earliest", "latest"))) as file:
        for i in range(25):
            kind = datatype(rng)
            size = kind.get_size()
            dataset = h5d.create(file.id, f"d{i}".encode(), kind, h5s.create_simple((COUNT,)), pipeline(rng))
            # Small bytes make numbers small, and text of it has NULs and blanks.
            raw = bytes(rng.choice((0, 1, 32, 65, rng.randrange(256))) for _ in range(size * COUNT))
            dataset.write(h5s.ALL, h5s.ALL, np.frombuffer(raw, f"V{size}").copy(), kind)
    group, data = scan_file(path)
    assert not [item for item in group.report if item.status == "refused"]
    with h5py.File(path) as file:
        for name in file:
            want = file[name][()]
            got = read_array(group.arrays[name], data)
            assert got.shape == want.shape, name
            assert plain(got) == plain(want), (name, file[name].dtype)
