"""Arrays travel to other processes without what is open in this one."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
from tests.array_support import ZLIB, virtual

from byteatlas.array import Array, open_node, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.writable import WritableArray
from byteatlas.array.writing.write import create_array
from byteatlas.io.open import SourcePool
from byteatlas.meta.model import Encoding, RegularGrid
from byteatlas.store.directory import DirectoryStore


def test_virtual_arrays(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    node, file, expected = virtual(np.arange(100, dtype="i4"), RegularGrid((7,)), [Encoding(ZLIB)], url=str(path))
    path.write_bytes(file)
    array = open_node(node, SourcePool())
    assert isinstance(array, Array)
    np.testing.assert_array_equal(array[...], expected)
    again = pickle.loads(pickle.dumps(array))
    np.testing.assert_array_equal(again[3:50:2], expected[3:50:2])


def test_stored_arrays(tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path, writable=True)
    made = create_array(store, "g/x", array_meta((10, 10), "f4", chunks=(4, 4), shards=(8, 8)))
    made[...] = np.arange(100).reshape(10, 10)
    read = open_store(str(tmp_path))["g/x"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(read))[...], made[...])
    writable = pickle.loads(pickle.dumps(made))
    assert isinstance(writable, WritableArray)
    writable[0, 0] = 5
    assert made[0, 0] == 5
