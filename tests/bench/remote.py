"""Reading over HTTP with 30 ms per request: references into one HDF5 file, beside zarr-python over fsspec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.reading import _fsspec_zarr, field, hdf5_file
from tests.bench.report import Row, interleaved
from tests.http_server import serve

import byteatlas as ba
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup

JOBS: Mapping[str, Any] = {
    "data[0:32], 128 chunks of about 280 KB": np.s_[0:32],
    "data[0], 16 chunks": np.s_[0],
}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    filters = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
    path = hdf5_file(folder, "remote", lambda: field(256), (4, 256, 256), **filters)
    node = ba.scan(str(path))["data"]
    assert isinstance(node, VirtualArray)
    rows: list[Row] = []
    with serve({"/remote.h5": path.read_bytes()}, latency=0.03) as web:
        manifest = node.manifest.load()
        there = ChunkManifest(
            manifest.grid_shape,
            (SourceInfo(web.url + "/remote.h5"),),
            manifest.source.copy(),
            manifest.offset.copy(),
            manifest.length.copy(),
        )
        refs = folder / "remote.json"
        ba.write(VirtualGroup(arrays={"data": VirtualArray(node.meta, there)}), str(refs))
        ours, theirs = (
            ba.open(str(refs))["data"],
            _fsspec_zarr(refs, remote_protocol="http", remote_options={"asynchronous": True}),
        )
        for name, selection in JOBS.items():
            counts: dict[str, int] = {}
            timed = {
                "byteatlas": _counted("byteatlas", partial(getitem, ours, selection), web, counts),
                "zarr-python, fsspec references": _counted("zarr", partial(getitem, theirs, selection), web, counts),
            }
            np.testing.assert_array_equal(timed["byteatlas"](), timed["zarr-python, fsspec references"]())
            found = interleaved(name, timed, scale.get("rounds", 3))
            job = f"over HTTP, 30 ms a request: {name} ({counts['byteatlas']} requests, zarr-python {counts['zarr']})"
            rows += [Row(job, r.who, r.seconds, r.base) for r in found]
    return rows


def _counted(who: str, read: Callable[[], Any], web: Any, counts: dict[str, int]) -> Callable[[], Any]:
    def call() -> Any:
        before = len(web.requests)
        got = read()
        counts[who] = len(web.requests) - before
        return got

    return call
