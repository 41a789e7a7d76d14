"""Streams of references are written block by block."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.maps import array, references

from byteatlas.errors import BadRequest
from byteatlas.manifest.kinds.sparse import SourceTable
from byteatlas.manifest.kinds.stream import StreamedManifest
from byteatlas.manifest.model import Remote, Rows, VirtualArray, VirtualGroup, reference_at
from byteatlas.manifest.options import Format
from byteatlas.manifest.references import read_references, write_references
from byteatlas.types import ByteRange


def stream(total: int, block: int) -> VirtualArray:
    """Chunk ``i`` lies at byte ``10 * i`` of file ``i // 1000``, 10 bytes long; every seventh is missing."""
    table = SourceTable()

    def blocks() -> Iterator[Rows]:
        for begin in range(0, total, block):
            i = np.arange(begin, min(begin + block, total))
            numbers = np.array([table.number(f"s3://b/{n:06}.nc") for n in range(int(i[-1]) // 1000 + 1)], np.int32)
            source = np.where(i % 7 == 6, np.int32(-1), numbers[i // 1000])
            yield Rows(source, (i * 10).astype(np.uint64), np.full(len(i), 10, np.uint64))

    small = array((8,), (1,), "<i8")
    from dataclasses import replace

    meta = replace(small.meta, shape=(total,))
    return VirtualArray(meta, StreamedManifest((total,), blocks(), table))


@pytest.mark.parametrize("name", ["m.json", "m.parquet"])
@pytest.mark.parametrize("block", [7, 1000, 100_000])
def test_a_stream_is_written_as_it_comes(tmp_path: Path, name: str, block: int) -> None:
    write_references(VirtualGroup(arrays={"x": stream(9_000, block)}), tmp_path / name)
    node = read_references(tmp_path / name)
    assert isinstance(node, VirtualGroup)
    found = node.arrays["x"]
    assert reference_at(found.manifest, (8_999,)) == Remote("s3://b/000008.nc", ByteRange(89_990, 10))
    assert references(VirtualArray(found.meta, found.manifest.load())) == references(
        VirtualArray(found.meta, stream(9_000, 99).manifest.load())
    )


def test_a_stream_goes_forward_only(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="gives chunk 0 next"):
        stream(10, 5).manifest.rows(np.array([3]))
    short = stream(10, 5).manifest
    assert isinstance(short, StreamedManifest)
    short.grid_shape = (20,)
    with pytest.raises(BadRequest, match="ends after 10 of 20"):
        short.load()


@pytest.mark.parametrize(("name", "form"), [("m.json", None), ("m.parquet", None), ("v0.json", "json-v0")])
def test_memory_does_not_grow_with_the_stream(tmp_path: Path, name: str, form: Format | None) -> None:
    peaks = []
    for total in (200_000, 800_000):
        tree = VirtualGroup(arrays={"x": stream(total, 50_000)})
        tracemalloc.start()
        write_references(tree, tmp_path / name, form)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (4 << 20)
