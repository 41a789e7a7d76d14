"""Many small things: one element, one inner chunk, points, tiny chunks, walking a group, beside tensorstore and zarr.

CPU seconds say more than the clock here: ``cpu s`` of the printed table. Peers have their stores open, like ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.report import Row, interleaved
from tests.bench.selections import store_peers

from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array, create_group
from byteatlas.meta.model import CodecSpec
from byteatlas.store.directory import DirectoryStore

ZSTD = (CodecSpec("zstd", {"level": 3, "checksum": False}),)
RNG = np.random.default_rng(0)
SIDE, MEMBERS = 2000, 300
AT = RNG.integers(0, SIDE, 1000), RNG.integers(0, SIDE, 1000)
CROSS = np.sort(RNG.choice(SIDE, 200, replace=False)), np.sort(RNG.choice(SIDE, 200, replace=False))
Read = Callable[[Any], Any]
CHUNKS: Mapping[str, Read] = {
    "1000 points": lambda a: a.vindex[AT],
    "oindex of 200 x 200": lambda a: a.oindex[CROSS],
    "one element": lambda a: a[777, 777],
    "all of it": lambda a: a[...],
}
SHARDS: Mapping[str, Read] = {
    "1000 points": lambda a: a.vindex[AT],
    "one inner chunk": lambda a: a[100:200, 300:400],
}
TINY: Mapping[str, Read] = {"all of it": lambda a: a[...], "[::10]": lambda a: a[::10], "[:, 3]": lambda a: a[:, 3]}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``small_rounds`` (15): how often everybody reads."""
    rounds = scale.get("small_rounds", 15)
    data = np.cumsum(RNG.normal(size=(SIDE, SIDE)), axis=1).astype("f4")
    rows = _reads("400 zstd chunks", made(folder / "small_chunks", data, (100, 100), None, ZSTD), data, CHUNKS, rounds)
    path = made(folder / "small_shards", data, (100, 100), (500, 500), ZSTD)
    rows += _reads("16 shards of 25 zstd chunks", path, data, SHARDS, rounds)
    tiny = np.ascontiguousarray(data[:, :10])
    rows += _reads(
        "2000 raw chunks of 40 bytes", made(folder / "small_tiny", tiny, (1, 10), None, ()), tiny, TINY, rounds
    )
    return rows + _walks(folder, max(3, rounds // 3))


def made(
    path: Path,
    data: np.ndarray[Any, Any],
    chunks: tuple[int, int],
    shards: tuple[int, int] | None,
    codecs: tuple[CodecSpec, ...],
) -> Path:
    """A Zarr v3 array of these values."""
    if not (path / "zarr.json").exists():
        meta = array_meta(data.shape, data.dtype, chunks=chunks, shards=shards, compression=codecs, fill_value=0)
        create_array(DirectoryStore(path, writable=True), "", meta)[...] = data
    return path


def _reads(name: str, path: Path, data: np.ndarray[Any, Any], jobs: Mapping[str, Read], rounds: int) -> list[Row]:
    ours = open_store(str(path))
    assert isinstance(ours, Array)
    np.testing.assert_array_equal(ours[...], data)
    rows: list[Row] = []
    for job, read in jobs.items():
        timed: dict[str, Callable[[], Any]] = {"byteatlas": partial(read, ours)}
        timed |= {who: partial(peer, read) for who, peer in store_peers(path).items()}
        rows += interleaved(f"{name}: {job}", timed, rounds)
    return rows


def _walks(folder: Path, rounds: int) -> list[Row]:
    """Open a group and look at the shape of each of its arrays."""
    import zarr

    path = folder / "small_group"
    store = DirectoryStore(path, writable=True)
    if not (path / "zarr.json").exists():
        create_group(store, "")
        for i in range(MEMBERS):
            create_array(store, f"v{i}", array_meta((10, 10), "f4", chunks=(5, 5)))

    def ours(consolidated: bool) -> list[Any]:
        root: Any = open_store(str(path), consolidated=consolidated)
        return [root[f"v{i}"].shape for i in range(MEMBERS)]

    def theirs(consolidated: bool) -> list[Any]:
        root: Any = zarr.open_group(str(path), mode="r", use_consolidated=consolidated)
        return [root[f"v{i}"].shape for i in range(MEMBERS)]

    rows = interleaved(
        f"walk {MEMBERS} arrays", {"byteatlas": partial(ours, False), "zarr-python": partial(theirs, False)}, rounds
    )
    zarr.consolidate_metadata(str(path))
    timed = {"byteatlas": partial(ours, True), "zarr-python": partial(theirs, True)}
    return rows + interleaved(f"walk {MEMBERS} arrays, consolidated metadata", timed, rounds)
