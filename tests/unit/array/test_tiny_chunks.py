"""Parts of many tiny chunks, which are put into the result together, say what the whole array says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.meta.model import CodecSpec

COMPRESSORS = {"raw": [], "gzip": [CodecSpec("gzip", {"level": 1})]}
SELECTIONS: dict[str, tuple[Any, ...]] = {
    "column": (slice(None), 3),
    "last column": (slice(None), -1),
    "steps": (slice(None, None, 3), slice(1, 9, 2)),
    "backwards": (slice(None, None, -1), slice(8, 2, -3)),
    "middle of each": (slice(3, 41), slice(2, 6)),
    "one row": (17, slice(None)),
    "everything": (slice(None), slice(None)),
}


@pytest.mark.parametrize("chunks", [(1, 10), (2, 5), (4, 4), (3, 10), (1, 1)], ids=str)
@pytest.mark.parametrize("codec", COMPRESSORS)
def test_parts_of_tiny_chunks(tmp_path: Path, chunks: tuple[int, int], codec: str) -> None:
    data = np.arange(430, dtype="<i4").reshape(43, 10)
    meta = ba.array_meta(data.shape, data.dtype, chunks=chunks, compression=COMPRESSORS[codec], fill_value=-1)
    array = ba.create_array(tmp_path / "a.zarr", "x", meta)
    array[:] = data
    gone = tmp_path / "a.zarr" / "x" / "c" / "2" / "0"
    gone.unlink()
    data[2 * chunks[0] : 3 * chunks[0], : chunks[1]] = -1
    read = ba.open(tmp_path / "a.zarr")["x"]
    assert isinstance(read, ba.Array)
    for name, where in SELECTIONS.items():
        np.testing.assert_array_equal(read[where], data[where], err_msg=name)
