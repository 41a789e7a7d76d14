"""Parts of arrays: slabs, series, index arrays, points and shards, beside h5py, zarr-python and tensorstore.

Every strategy of `byteatlas.array.reading.strategies` names the rows here (or in ``reading`` or ``native``) that pay
for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.reading import field, hdf5_file
from tests.bench.report import Row, interleaved

import byteatlas as ba
from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.meta.model import CodecSpec
from byteatlas.store.directory import DirectoryStore

Read = Callable[[Any], Any]
PLANES = 16
TILES, SHARDS = (4, 256, 256), (4, 512, 512)
RNG = np.random.default_rng(1)
ROWS = np.sort(RNG.choice(1024, 60, replace=False))
POINTS = (RNG.integers(0, PLANES, 5000), RNG.integers(0, 1024, 5000), RNG.integers(0, 1024, 5000))
LAYOUTS: Mapping[str, tuple[tuple[int, int, int] | None, Mapping[str, Any]]] = {
    "contiguous": (None, {}),
    "uncompressed chunks of 1 MiB": (TILES, {}),
    "deflated chunks of 1 MiB": (TILES, {"compression": "gzip", "compression_opts": 4, "shuffle": True}),
}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """Sizes are fixed; ``rounds``: how often everybody reads."""
    rounds = scale.get("rounds", 3)
    rows: list[Row] = []
    data = field(4 * PLANES)
    for name, (chunks, filters) in LAYOUTS.items():
        path = hdf5_file(folder, f"selections_{name.replace(' ', '_')}", lambda: data, chunks, **filters)
        rows += _in_hdf5(name, path, data, rounds)
    for name, codecs in (("zstd", (CodecSpec("zstd", {"level": 3, "checksum": False}),)), ("uncompressed", ())):
        path = folder / f"selections_shards_{name}"
        if not (path / "zarr.json").exists():
            meta = array_meta(
                data.shape, data.dtype, chunks=(4, 64, 64), shards=SHARDS, compression=codecs, fill_value=0
            )
            create_array(DirectoryStore(path, writable=True), "", meta)[...] = data
        rows += _in_shards(f"shards of 64 inner chunks, {name}", path, data, rounds)
    return rows + _sparse(folder, rounds)


def _in_hdf5(name: str, path: Path, data: np.ndarray[Any, Any], rounds: int) -> list[Row]:
    import h5py

    ours = ba.open(ba.scan(str(path)))["data"]
    assert isinstance(ours, Array)
    file = h5py.File(path)
    theirs = file["data"]
    rows: list[Row] = []
    jobs: dict[str, tuple[Any, Read, Read | None]] = {
        "slab [:, 100:110]": (data[:, 100:110], lambda a: a[:, 100:110], lambda d: d[:, 100:110]),
        "series [:, 5, 7]": (data[:, 5, 7], lambda a: a[:, 5, 7], lambda d: d[:, 5, 7]),
        "steps [::3, ::5, ::7]": (data[::3, ::5, ::7], lambda a: a[::3, ::5, ::7], lambda d: d[::3, ::5, ::7]),
        "oindex of 60 rows": (data[:, ROWS], lambda a: a.oindex[:, ROWS], lambda d: d[:, ROWS]),
        "5000 points": (data[POINTS], lambda a: a.vindex[POINTS], None),  # h5py has no points
    }
    for job, (expected, read, peer) in jobs.items():
        np.testing.assert_array_equal(read(ours), expected)
        timed: dict[str, Callable[[], Any]] = {"byteatlas": partial(read, ours)}
        if peer is not None:
            timed["h5py"] = partial(peer, theirs)
        rows += interleaved(f"{name}: {job}", timed, rounds, expected.nbytes)
    file.close()
    return rows


def _in_shards(name: str, path: Path, data: np.ndarray[Any, Any], rounds: int) -> list[Row]:
    ours = open_store(str(path))
    assert isinstance(ours, Array)
    peers = store_peers(path)
    rows: list[Row] = []
    jobs: dict[str, tuple[Any, Read]] = {
        "all of it": (data, lambda a: a[...]),
        "slab [:, 100:110]": (data[:, 100:110], lambda a: a[:, 100:110]),
        "one inner chunk": (data[0:4, 64:128, 64:128], lambda a: a[0:4, 64:128, 64:128]),
    }
    for job, (expected, read) in jobs.items():
        np.testing.assert_array_equal(read(ours), expected)
        timed: dict[str, Callable[[], Any]] = {"byteatlas": partial(read, ours)}
        for who, peer in peers.items():
            timed[who] = partial(peer, read)
        rows += interleaved(f"{name}: {job}", timed, rounds, expected.nbytes)
    points = {"byteatlas": lambda: ours.vindex[POINTS]}
    np.testing.assert_array_equal(points["byteatlas"](), data[POINTS])
    return rows + interleaved(f"{name}: 5000 points", points, rounds)


def store_peers(path: Path) -> dict[str, Callable[[Read], Any]]:
    """Who reads a Zarr v3 store, opened, besides us."""
    found: dict[str, Callable[[Read], Any]] = {}
    try:
        import zarr

        theirs = zarr.open_array(str(path), mode="r")
        found["zarr-python"] = lambda read: read(theirs)
    except ImportError:
        pass
    try:
        import tensorstore as ts

        opened = ts.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}, open=True).result()
        found["tensorstore"] = lambda read: read(opened).read().result()
    except ImportError:
        pass
    return found


def _sparse(folder: Path, rounds: int) -> list[Row]:
    """An array of which one chunk in fifty was written."""
    path = folder / "selections_sparse"
    if not (path / "zarr.json").exists():
        meta = array_meta((4000, 4000), "f4", chunks=(200, 200), compression=(), fill_value=1)
        made = create_array(DirectoryStore(path, writable=True), "", meta)
        for k in range(0, 400, 50):
            i, j = divmod(k, 20)
            made[i * 200 : i * 200 + 200, j * 200 : j * 200 + 200] = k
    ours = open_store(str(path))
    assert isinstance(ours, Array)
    timed: dict[str, Callable[[], Any]] = {"byteatlas": lambda: ours[...]}
    timed |= {who: partial(peer, lambda a: a[...]) for who, peer in store_peers(path).items()}
    return interleaved("sparse: 8 of 400 chunks are there", timed, rounds, ours.nbytes)
