"""Virtual datasets of random pieces of random sources, and of each other: what h5py reads, or a refusal."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.array.array import Array

Shape = tuple[int, ...]


def write_source(path: Path, rng: random.Random, shape: Shape, kind: str) -> None:
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["chunks"] = tuple(rng.randint(1, n) for n in shape)
        options["compression"] = rng.choice([None, "gzip"])
    with h5py.File(path, "w") as file:
        values = np.random.default_rng(rng.randint(0, 99)).normal(size=shape) * 100
        file.create_dataset("x", data=values.astype(kind), fillvalue=9, **options)


def part(rng: random.Random, lengths: Shape, counts: Shape) -> tuple[slice, ...]:
    """For each axis so many of the indices below its length: neighbours, or every second one."""
    found = []
    for length, count in zip(lengths, counts, strict=True):
        step = 2 if 2 * count - 1 <= length and rng.random() < 0.3 else 1
        span = (count - 1) * step + 1
        start = rng.randint(0, length - span)
        found.append(slice(start, start + span, step))
    return tuple(found)


def write_virtual(path: Path, rng: random.Random) -> None:
    """A file of virtual datasets beside its sources."""
    kind, rank = rng.choice(["<f8", ">f4", "<i4"]), rng.randint(1, 3)
    sources: dict[str, Shape] = {}
    for i in range(3):
        sources[f"s{i}.h5"] = tuple(rng.randint(1, 9) for _ in range(rank))
        write_source(path.with_name(f"s{i}.h5"), rng, sources[f"s{i}.h5"], kind)
    with h5py.File(path, "w") as file:
        shapes: dict[str, Shape] = {}
        for number in range(8):
            shape = tuple(rng.randint(2, 12) for _ in range(rank))
            layout = h5py.VirtualLayout(shape, kind)
            for _ in range(rng.randint(1, 2)):
                where = "." if shapes and rng.random() < 0.4 else rng.choice(list(sources))
                name = rng.choice(list(shapes)) if where == "." else "x"
                there = shapes[name] if where == "." else sources[where]
                counts = tuple(rng.randint(1, min(a, b)) for a, b in zip(shape, there, strict=True))
                source = h5py.VirtualSource(where, name, there)[part(rng, there, counts)]
                layout[part(rng, shape, counts)] = source
            file.create_virtual_dataset(f"v{number}", layout, fillvalue=9)
            shapes[f"v{number}"] = shape


@pytest.mark.parametrize("seed", range(25))
def test_random_pieces(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "all.h5"
    write_virtual(path, random.Random(seed))
    virtual = ba.scan(str(path), on_refusal="ignore")
    reasons = {item.reason for item in virtual.report if item.status == "refused"}
    assert reasons <= {"virtual-dataset"}
    root: Any = ba.open(virtual)
    arrays = {name: node for name, node in root.walk() if isinstance(node, Array)}
    assert arrays
    with h5py.File(path) as file:
        for name, node in arrays.items():
            np.testing.assert_array_equal(node[...], file[name][...], err_msg=name)
