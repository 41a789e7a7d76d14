"""Selections that lie in one chunk go a way of their own: same values, same errors."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import byteatlas as ba
from byteatlas.array import Array
from byteatlas.array.reading import one_chunk
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.errors import ByteatlasError, CorruptChunk
from byteatlas.meta.model import CodecSpec
from byteatlas.store.directory import DirectoryStore

ZSTD = (CodecSpec("zstd", {"level": 1, "checksum": False}),)
DATA = np.arange(37 * 50, dtype="i4").reshape(37, 50)
SELECTIONS: tuple[Any, ...] = (
    (0, 0), (36, 49), (-1, -1), (slice(0, 8), slice(10, 20)), (slice(3, 7), 12), (5, slice(11, 19, 3)),
    (slice(32, 37), slice(40, 50)), (slice(8, 16, 7), slice(20, 30, 9)), (slice(7, 9), 3), (slice(7, 3, -1), 3),
    (slice(20, 24), ...),
)  # fmt: skip


def stored(folder: Path, shards: tuple[int, int] | None) -> Array:
    meta = array_meta(DATA.shape, DATA.dtype, chunks=(8, 10), shards=shards, compression=ZSTD, fill_value=7)
    made = create_array(DirectoryStore(folder, writable=True), "", meta)
    made[:24] = DATA[:24]
    opened = ba.open(str(folder))
    assert isinstance(opened, Array)
    return opened


def expected() -> np.ndarray[Any, Any]:
    found = DATA.copy()
    found[24:] = 7
    return found


def in_hdf5(folder: Path) -> Array:
    with h5py.File(folder / "a.h5", "w") as file:
        made = file.create_dataset("d", DATA.shape, "i4", chunks=(8, 10), compression=1, fillvalue=7)
        made[:24] = DATA[:24]
    opened = ba.open(ba.scan(str(folder / "a.h5")))["d"]
    assert isinstance(opened, Array)
    return opened


@pytest.mark.parametrize("kind", ["chunks", "shards", "manifest"])
def test_values(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    array = in_hdf5(tmp_path) if kind == "manifest" else stored(tmp_path, (16, 20) if kind == "shards" else None)
    taken: list[bool] = []

    def noted(*given: Any) -> bool:
        taken.append(one_chunk.read_one(*given))
        return taken[-1]

    monkeypatch.setattr("byteatlas.array.array.read_one", noted)
    for selection in SELECTIONS:
        want = expected()[selection]
        np.testing.assert_array_equal(array[selection], want)
        out = np.empty((*want.shape[:-1], 2 * (want.shape[-1] if want.ndim else 1)), "i4")[..., ::2]
        if want.ndim:
            np.testing.assert_array_equal(array.read(selection, out), want)
    assert taken.count(True) >= 8
    assert taken.count(False) >= 3


def test_damage_is_named_as_ever(tmp_path: Path) -> None:
    array = stored(tmp_path, None)
    path = tmp_path / "c/0/1"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorruptChunk) as caught:
        array[2, 12]
    assert caught.value.chunk == (0, 1)
    assert caught.value.url == str(path)


@pytest.mark.parametrize("damage", ["index", "chunk", "short"])
def test_damaged_shards(tmp_path: Path, damage: str) -> None:
    array = stored(tmp_path, (16, 20))
    path = tmp_path / "c/0/0"
    data = bytearray(path.read_bytes())
    data[{"index": -10, "chunk": 0, "short": 0}[damage]] ^= 255
    path.write_bytes(data[:20] if damage == "short" else data)
    with pytest.raises(ByteatlasError) as caught:
        array[0, 0]
    assert str(path) in str(caught.value)


def test_a_shard_that_is_written_anew_is_read_anew(tmp_path: Path) -> None:
    array = stored(tmp_path, (16, 20))
    assert array[3, 4] == DATA[3, 4]
    shard = tmp_path / "c/0/0"
    before = shard.stat()
    ba.open_writable(str(tmp_path))[0:16, 0:20] = -DATA[0:16, 0:20]
    os.utime(shard, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert array[3, 4] == -DATA[3, 4]


def test_an_array_without_axes(tmp_path: Path) -> None:
    made = create_array(DirectoryStore(tmp_path, writable=True), "", array_meta((), "i4", compression=ZSTD))
    made[...] = 5
    found = ba.open(str(tmp_path))
    assert isinstance(found, Array)
    assert found[()] == 5
