"""Entries of small arrays, written row by row, are those that columns give."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest

from byteatlas.manifest.json import write
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, GroupMeta, RegularGrid

RAW = (Encoding((CodecSpec("bytes", {"endian": "little"}),)),)


def tree(counts: tuple[int, ...], files: int, keys: ChunkKeys, zarr_format: Any) -> VirtualGroup:
    total = int(np.prod(counts, dtype=int))
    meta = ArrayMeta(
        tuple(2 * n for n in counts), from_numpy(np.dtype("i4")), RegularGrid((2,) * len(counts)), RAW, 0,
        keys=keys, zarr_format=zarr_format,
    )  # fmt: skip
    rng = np.random.default_rng(total)
    manifest = ChunkManifest(
        counts,
        tuple(SourceInfo(f'/data/ä "{i}".nc', 1 << 40, "1") for i in range(files)),
        rng.integers(0, files, total).astype(np.int32),
        rng.integers(0, 2**50, total).astype(np.uint64),
        rng.integers(1, 2**30, total).astype(np.uint64),
    )
    return VirtualGroup(GroupMeta(zarr_format=zarr_format), {"ö/x".replace("/", "-"): VirtualArray(meta, manifest)})


@pytest.mark.parametrize("counts", [(), (1,), (7,), (2, 3), (4, 4, 4, 4)])
@pytest.mark.parametrize("files", [1, 3])
@pytest.mark.parametrize(("keys", "form"), [(ChunkKeys("v2", "."), 2), (ChunkKeys("v2", "/"), 2), (ChunkKeys(), 3)])
def test_the_same_text(
    counts: tuple[int, ...], files: int, keys: ChunkKeys, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = tree(counts, files, keys, form)
    rows, columns = BytesIO(), BytesIO()
    write.write_json(node, rows, MapWriteOptions())
    monkeypatch.setattr(write, "FEW", -1)
    write.write_json(node, columns, MapWriteOptions())
    assert rows.getvalue() == columns.getvalue()
    assert rows.getvalue().count(b'.nc",') == int(np.prod(counts, dtype=int))


def test_blocks_that_are_smaller_than_the_array() -> None:
    node = tree((3, 5), 2, ChunkKeys(), 3)
    whole, blocks = BytesIO(), BytesIO()
    write.write_json(node, whole, MapWriteOptions())
    write.write_json(node, blocks, MapWriteOptions(block=4))
    assert blocks.getvalue() == whole.getvalue()
