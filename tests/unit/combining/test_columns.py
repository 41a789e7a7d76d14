"""Columns of manifests, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byteatlas.manifest.columns import concatenated_manifests, end_to_end
from byteatlas.manifest.merged_sources import SourceMemo
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo, single_source


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [np.arange(3, dtype=np.uint64), np.arange(0, dtype=np.uint64), np.arange(2, dtype=np.uint64)],
        [np.arange(8, dtype=np.uint64)[::2], np.arange(3, dtype=np.uint64)],
        [np.arange(3, dtype=np.uint64), np.arange(4, dtype=np.uint32)],
        [np.arange(3, dtype=">u8"), np.arange(4, dtype=np.uint64)],
    ],
)
def test_end_to_end(columns: list[Any]) -> None:
    dtype = np.dtype(np.uint64)
    line = end_to_end(columns, dtype)
    assert line.dtype == dtype
    assert line.tolist() == [int(v) for c in columns for v in c]


def manifest(name: str, count: int, missing: list[int]) -> ChunkManifest:
    offset = np.arange(count, dtype=np.uint64)
    holes = np.isin(np.arange(count), missing)
    return single_source((count,), SourceInfo(name), offset, offset + np.uint64(1), missing=holes)


def test_variables_of_the_same_files_share_the_table_of_sources() -> None:
    memo = SourceMemo()
    names, counts = ("a", "b", "a"), (2, 3, 1)
    first, second = (
        concatenated_manifests((6,), [manifest(n, c, []) for n, c in zip(names, counts, strict=True)], memo)
        for _ in range(2)
    )
    assert first.sources == (SourceInfo("a"), SourceInfo("b"))
    assert first.source.tolist() == [0, 0, 1, 1, 1, 0]
    assert second.source is first.source
    assert not first.source.flags.writeable
    # Other lengths, and chunks that are missing, get columns of their own.
    longer = concatenated_manifests((9,), [manifest(n, 3, []) for n in names], memo)
    assert longer.source.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    holed = concatenated_manifests((9,), [manifest(n, 3, [1]) for n in names], memo)
    assert holed.source.tolist() == [0, MISSING, 0, 1, MISSING, 1, 0, MISSING, 0]
    assert longer.source.tolist() == [0, 0, 0, 1, 1, 1, 0, 0, 0]
    others = concatenated_manifests((6,), [manifest(n, 2, []) for n in ("c", "a", "b")], memo)
    assert [others.sources[i].url for i in others.source] == ["c", "c", "a", "a", "b", "b"]
