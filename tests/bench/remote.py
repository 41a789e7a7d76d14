"""Reading over HTTP, with 30 and 100 ms a request and over a line of 10 Mbit/s: references into HDF5 files, beside
zarr-python over fsspec. The requests, and the bytes wanted and fetched, stand beside each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from operator import getitem
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tests.bench.reading import _fsspec_zarr, field, hdf5_file
from tests.bench.report import Row, interleaved
from tests.slow_line import Web, rounds_of

import byteatlas as ba
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup

SLABS: Mapping[str, Any] = {
    "data[0:32], 128 chunks of about 280 KB": np.s_[0:32],
    "data[0], 64 chunks of about 18 KB": np.s_[0],
}
LATENCIES, SLOW = (0.03, 0.1), 1_250_000
"""Seconds a request; bytes per second of a slow line."""
AT_ONCE = 128
"""Requests under way at a time for zarr-python, beside its own setting (``async.concurrency``, 10)."""


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``rounds`` (3) can be chosen."""
    rounds = scale.get("rounds", 3)
    large, small, series = files(folder)
    rows: list[Row] = []
    for latency in LATENCIES:
        ms = f"{latency * 1000:.0f} ms a request"
        for path, (name, selection) in zip((large, small), SLABS.items(), strict=True):
            rows += against_zarr(folder, path, f"{ms}: {name}", selection, Line(latency), rounds)
        rows += against_zarr(folder, series, f"{ms}: a time series, 500 chunks", np.s_[:, 5, 5], Line(latency), rounds)
        rows += opening(folder, large, latency, rounds)
        rows += gaps(folder, series, Line(latency), rounds)
    return rows + gaps(folder, series, Line(LATENCIES[0], SLOW), 1)


class Line:
    """What requests go over: seconds for each, bytes per second (0: as fast as it goes)."""

    def __init__(self, latency: float, rate: int = 0) -> None:
        self.latency, self.rate = latency, rate

    def __str__(self) -> str:
        return (
            f"{self.latency * 1000:.0f} ms a request, {self.rate * 8 / 1e6:.0f} Mbit/s"
            if self.rate
            else (f"{self.latency * 1000:.0f} ms a request")
        )


def files(folder: Path) -> tuple[Path, Path, Path]:
    filters = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
    large = hdf5_file(folder, "remote", lambda: field(256), (4, 256, 256), **filters)
    small = hdf5_file(folder, "remote_small", lambda: field(64), (1, 128, 128), **filters)
    series = folder / "remote_series.h5"
    if not series.exists():
        rng = np.random.default_rng(0)
        with h5py.File(series, "w") as file:
            made = file.create_dataset("data", (500, 128, 128), "f4", chunks=(1, 64, 64), compression=1, shuffle=True)
            for t in range(500):
                made[t] = rng.normal(size=(128, 128))
            file.create_dataset("raw", data=np.arange(3_000_000.0))
    return large, small, series


@contextmanager
def served(folder: Path, path: Path, line: Line, name: str = "data") -> Iterator[tuple[Web, Path]]:
    """A server of the file, and a local map of one of its arrays."""
    refs = folder / "refs.json"
    node = ba.scan(str(path))[name]
    assert isinstance(node, VirtualArray)
    manifest = node.manifest.load()
    web = Web([path], line.latency, line.rate)
    try:
        where = (SourceInfo(f"{web.base}/{path.name}"),)
        columns = manifest.source.copy(), manifest.offset.copy(), manifest.length.copy()
        there = ChunkManifest(manifest.grid_shape, where, *columns)
        ba.write(VirtualGroup(arrays={"data": VirtualArray(node.meta, there)}), str(refs))
        yield web, refs
    finally:
        web.close()


def against_zarr(folder: Path, path: Path, name: str, selection: Any, line: Line, rounds: int) -> list[Row]:
    import zarr

    with served(folder, path, line) as (web, refs):
        ours = ba.open(str(refs))["data"]
        theirs = _fsspec_zarr(refs, remote_protocol="http", remote_options={"asynchronous": True})
        counts: dict[str, str] = {}

        def tuned() -> Any:
            with zarr.config.set({"async.concurrency": AT_ONCE}):
                return theirs[selection]

        timed = {
            "byteatlas": counted("byteatlas", partial(getitem, ours, selection), web, counts),
            "zarr-python, fsspec references": counted("zarr", partial(getitem, theirs, selection), web, counts),
            f"zarr-python, fsspec references, {AT_ONCE} requests at once": counted("tuned", tuned, web, counts),
        }
        np.testing.assert_array_equal(timed["byteatlas"](), timed["zarr-python, fsspec references"]())
        found = interleaved(name, timed, rounds)
    job = f"over HTTP, {name} ({counts['byteatlas']}; zarr-python {counts['zarr']})"
    return [Row(job, r.who, r.seconds, r.base) for r in found]


def opening(folder: Path, path: Path, latency: float, rounds: int) -> list[Row]:
    """A map that is on the server too, to the first metadata."""
    import zarr
    from zarr.storage import FsspecStore

    with served(folder, path, Line(latency)) as (_, refs):
        web = Web([refs], latency)
        url = f"{web.base}/{refs.name}"
        counts: dict[str, str] = {}

        def theirs() -> Any:
            import fsspec

            options = {"fo": url, "asynchronous": True, "remote_protocol": "http", "skip_instance_cache": True}
            options["remote_options"] = {"asynchronous": True}
            return zarr.open_group(FsspecStore(fsspec.filesystem("reference", **options), read_only=True), mode="r")

        timed = {
            "byteatlas": counted("byteatlas", lambda: ba.open(url)["data"], web, counts),
            "zarr-python, fsspec references": counted("zarr", lambda: theirs()["data"], web, counts),
        }
        try:
            found = interleaved("", timed, rounds)
        finally:
            web.close()
    job = f"over HTTP, {latency * 1000:.0f} ms a request: open a JSON map ({counts['byteatlas']}; {counts['zarr']})"
    return [Row(job, r.who, r.seconds, r.base) for r in found]


def gaps(folder: Path, path: Path, line: Line, rounds: int) -> list[Row]:
    """What measuring the line changes, beside the same gaps always."""
    rows: list[Row] = []
    points = np.random.default_rng(1).integers(0, 3_000_000, 1000)
    kinds: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
        ("a time series, 500 chunks", "data", lambda a: a[:, 5, 5]),
        ("1,000 random points of a raw array", "raw", lambda a: a.vindex[points]),
    )
    for name, array, read in kinds:
        with served(folder, path, line, array) as (web, refs):
            counts: dict[str, str] = {}
            measured, fixed = (ba.open(str(refs), access=ba.Access(gaps=g))["data"] for g in ("measured", "fixed"))
            timed = {
                "gaps as measured": counted("measured", partial(read, measured), web, counts),
                "gaps of 128 KiB": counted("fixed", partial(read, fixed), web, counts),
            }
            cold = timed["gaps as measured"]()
            first = counts["measured"]
            np.testing.assert_array_equal(cold, read(ba.open(str(path))[array]))
            job = f"over HTTP, {line}: {name} (first read {first}"
            found = interleaved(job, timed, rounds)
        job += f", then {counts['measured']}; fixed {counts['fixed']})"
        rows += [Row(job, r.who, r.seconds, r.base) for r in found]
    return rows


def counted(who: str, read: Callable[[], Any], web: Web, counts: dict[str, str]) -> Callable[[], Any]:
    def call() -> Any:
        web.ask("clear")
        got = read()
        log = web.log()
        megabytes = sum(size for _, _, size in log) / 1e6
        counts[who] = f"{len(log)} requests in {rounds_of(log)} rounds, {megabytes:.2f} MB"
        return got

    return call
