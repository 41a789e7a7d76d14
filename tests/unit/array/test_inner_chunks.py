"""Shards exploded into their inner chunks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.array import inner_chunks as module
from byteatlas.cli.app import run
from byteatlas.meta.model import RegularGrid

zarr = pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore")
VALUES = np.arange(13 * 10, dtype="i4").reshape(13, 10)


def made(root: Path, location: str = "end", values: Any = VALUES) -> Path:
    """With an inner chunk and a shard that were never written."""
    group = zarr.open_group(root, mode="w", zarr_format=3)
    from zarr.codecs import BytesCodec, ShardingCodec, ZstdCodec

    codec = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()], index_location=location)
    array = group.create_array("g/x", shape=values.shape, chunks=(4, 6), dtype="i4", fill_value=-1, serializer=codec,
                               compressors=None, filters=None, dimension_names=("t", "x"))  # fmt: skip
    array[:8] = values[:8]
    array[9:10, :3] = values[9:10, :3]
    return root


def expected() -> Any:
    wanted = np.full(VALUES.shape, -1, "i4")
    wanted[:8] = VALUES[:8]
    wanted[9, :3] = VALUES[9, :3]
    return wanted


def test_a_shard_much_larger_than_the_array_takes_the_arrays_memory_only() -> None:
    shards = module._Shards((3, 5), (1 << 20, 1 << 20), (1, 2))
    (numbers,) = shards.blocks()
    assert numbers.tolist() == list(range(3 * 3))


@pytest.mark.parametrize("location", ["end", "start"])
@pytest.mark.parametrize("at_once", [1, 1 << 18])
def test_inner_chunks_are_ranges_of_shards(
    location: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    root = made(tmp_path / "s.zarr", location)
    node: Any = ba.load(root, shards="inner")
    array = node["g/x"]
    assert array.meta.grid == RegularGrid((2, 3))
    assert [codec.name for codec in array.meta.encodings[0].codecs] == ["bytes", "zstd"]
    opened: Any = ba.open(node)
    np.testing.assert_array_equal(opened["g/x"][...], expected())
    there = array.manifest.load().source >= 0
    assert int(there.sum()) == 4 * 4 + 1
    ba.write(node, tmp_path / "m.json")
    again: Any = zarr.open_group("reference://", storage_options={"fo": str(tmp_path / "m.json")}, mode="r")
    np.testing.assert_array_equal(again["g/x"][...], expected())


def test_they_combine_with_plain_chunks(tmp_path: Path) -> None:
    sharded = made(tmp_path / "s.zarr")
    plain = zarr.open_group(tmp_path / "p.zarr", mode="w", zarr_format=3)
    from zarr.codecs import BytesCodec, ZstdCodec

    array = plain.create_array("g/x", shape=(4, 10), chunks=(2, 3), dtype="i4", fill_value=-1, serializer=BytesCodec(),
                               compressors=[ZstdCodec()], dimension_names=("t", "x"))  # fmt: skip
    array[...] = VALUES[:4]
    nodes: list[Any] = [ba.load(tmp_path / "p.zarr"), ba.load(sharded, shards="inner")]
    combined: Any = ba.concat([node["g"] for node in nodes], "t")
    opened: Any = ba.open(combined)
    np.testing.assert_array_equal(opened["x"][...], np.concatenate([VALUES[:4], expected()]))


def test_shards_of_shards(tmp_path: Path) -> None:
    from zarr.codecs import BytesCodec, ShardingCodec

    inner = ShardingCodec(chunk_shape=(2, 2), codecs=[BytesCodec()])
    outer = ShardingCodec(chunk_shape=(4, 4), codecs=[inner])
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=3)
    array = group.create_array("x", shape=(10, 10), chunks=(8, 8), dtype="i2", serializer=outer, compressors=None)
    values = np.arange(100, dtype="i2").reshape(10, 10)
    array[...] = values
    node: Any = ba.load(tmp_path / "s.zarr", shards="inner")
    assert node["x"].meta.grid == RegularGrid((2, 2))
    opened: Any = ba.open(node)
    np.testing.assert_array_equal(opened["x"][...], values)


def test_a_damaged_index_is_an_error(tmp_path: Path) -> None:
    root = made(tmp_path / "s.zarr")
    shard = root / "g/x/c/0/0"
    data = bytearray(shard.read_bytes())
    data[-10] ^= 255
    stat = shard.stat()
    shard.write_bytes(bytes(data))
    os.utime(shard, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ba.CorruptChunk, match="g/x"):
        ba.load(root, shards="inner")
    shard.write_bytes(b"short")
    with pytest.raises(ba.CorruptChunk, match="cannot hold"):
        ba.load(root, shards="inner")


def test_maps_of_shards_too(tmp_path: Path) -> None:
    root = made(tmp_path / "s.zarr")
    assert run(["convert", str(root), str(tmp_path / "whole.json")]) == 0
    assert run(["convert", str(tmp_path / "whole.json"), str(tmp_path / "inner.parquet"), "--shards", "inner"]) == 0
    opened: Any = ba.open(tmp_path / "inner.parquet")
    assert opened["g/x"].chunks == (2, 3)
    np.testing.assert_array_equal(opened["g/x"][...], expected())
    wrong: Any = {"shards": "outer"}
    with pytest.raises(ba.BadRequest, match="whole, inner"):
        ba.load(root, **wrong)
