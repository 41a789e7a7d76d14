"""Scanning over HTTP on this machine, with 30 and 100 ms for every request: rounds, requests, bytes and wall time.

A round is the requests that begin before the first of them ends: what latency costs is rounds, not requests. A busy
machine sends requests late and so splits rounds; the smallest number seen counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np
from tests.bench.raster import cog
from tests.bench.report import Row
from tests.bench.scan import INDEXES, big, typical
from tests.slow_line import Web, rounds_of

LATENCIES = (0.03, 0.1)
STEPS, BY_VARIABLE = 159, "written variable by variable"
PEERS = ("byteatlas", "kerchunk, default", "kerchunk, blockcache", "VirtualiZarr")

CHILD = """
import sys, time, json
job, url = sys.argv[1:]
if job == "byteatlas":
    import byteatlas as ba
    import aiohttp
    from byteatlas.scanning.plugins import installed
    dict(installed()), ba.scan, ba.VirtualArray
    def run():
        found = ba.scan(url)
        [node.manifest.load() for _, node in found.walk() if isinstance(node, ba.VirtualArray)]
elif job.startswith("kerchunk"):
    import fsspec
    from kerchunk.hdf import SingleHdf5ToZarr
    options = {"cache_type": "blockcache"} if job.endswith("blockcache") else {}
    def run():
        with fsspec.open(url, **options) as file:
            SingleHdf5ToZarr(file, url, inline_threshold=0).translate()
else:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import HTTPStore
    from virtualizarr.parsers import HDFParser
    base = url.rpartition("/")[0]
    store = HTTPStore.from_url(base, client_options={"allow_http": True})
    registry = ObjectStoreRegistry({base: store})
    def run():
        HDFParser()(url, registry)
begin = time.perf_counter()
run()
print(json.dumps(time.perf_counter() - begin))
"""


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``rounds`` (3), ``scan_chunks`` (200,000), ``indexes`` (2 of 4), ``latencies`` (2) can be chosen."""
    rounds, chunks = scale.get("rounds", 3), scale.get("scan_chunks", 200_000)
    rows: list[Row] = []
    for k, latency in enumerate(LATENCIES[: scale.get("latencies", len(LATENCIES))]):
        ms = f"over HTTP, {latency * 1000:.0f} ms a request"
        file = typical(folder, 1)[0]
        rows += measure(f"scan a netCDF-4 file of 24 variables {ms}", file, latency, rounds, PEERS)
        file = large(folder, BY_VARIABLE)
        rows += measure(f"scan a netCDF-4 file of 24 variables, {BY_VARIABLE}, {ms}", file, latency, rounds, PEERS)
        rows += measure(f"scan a GeoTIFF (COG) {ms}", pyramid(folder), latency, rounds, PEERS[:1])
        if k:
            continue  # what follows says the same for a longer line
        file = large(folder, "written step by step")
        rows += measure(f"scan a netCDF-4 file of 24 variables, written step by step, {ms}", file, latency, 1, PEERS)
        rows += measure(f"scan a paged HDF5 file of 24 variables {ms}", paged(folder), latency, 1, PEERS)
        for index in INDEXES[: scale.get("indexes", 2)]:
            file = big(folder, index, chunks)
            rows += measure(f"scan {chunks:,} chunks, {index}, {ms}", file, latency, 1, (PEERS[0], *PEERS[2:]))
    return rows


def measure(job: str, file: Path, latency: float, rounds: int, peers: Sequence[str]) -> list[Row]:
    """Everybody in turn, several rounds; the median, and the fewest rounds."""
    web = Web([file], latency)
    walls: dict[str, list[float]] = {peer: [] for peer in peers}
    told: dict[str, tuple[int, str]] = {}
    try:
        for k in range(rounds):
            for peer in peers:
                if k and (peer == PEERS[1] or (latency > LATENCIES[0] and peer != PEERS[0])):
                    continue  # it waits for tens of round trips, which take the same time whenever they are made
                web.ask("clear")
                command = [sys.executable, "-W", "ignore", "-c", CHILD, peer, f"{web.base}/{file.name}"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"  {peer}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    walls[peer].append(float("nan"))
                    continue
                walls[peer].append(json.loads(done.stdout))
                log = web.log()
                megabytes = sum(size for _, _, size in log) / 1e6
                count = rounds_of(log)
                text = f"{len(log)} requests in {count} rounds, {megabytes:.1f} MB"
                told[peer] = min(told.get(peer, (count, text)), (count, text))
    finally:
        web.close()
    base = statistics.median(walls["byteatlas"])
    job = f"{job}, {file.stat().st_size / 1e6:.1f} MB"
    return [
        Row(job, f"{p}: {told[p][1] if p in told else 'failed'}", statistics.median(w), base) for p, w in walls.items()
    ]


def large(folder: Path, order: str) -> Path:
    """A netCDF-4 file of 24 variables and 90 MB: written variable by variable, as tools that convert do, or step by
    step after all have been defined, as models do. Variables, attributes and chunks are those of `typical`.
    """
    import netCDF4

    path = folder / f"{order.replace(' ', '_')}.nc"
    if path.exists():
        return path
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts({f"global_{i}": f"some text of a usual length {i}" for i in range(14)})
        for name, n in (("time", None), ("lat", 128), ("lon", 256)):
            file.createDimension(name, n)
            file.createVariable(name, "f8", (name,)).setncatts({"units": name, "axis": name[0].upper()})
        file["lat"][:], file["lon"][:] = np.linspace(-90, 90, 128), np.arange(256) * 1.4
        file["time"][:] = np.arange(STEPS)
    values = np.random.default_rng(0).normal(280, 5, (128, 256)).astype("f4").round(0)
    chunk = zlib.compress(values.view("u1").reshape(-1, 4).T.tobytes(), 1)
    variables = [f"var{i:02d}" for i in range(21)]
    for names in [[v] for v in variables] if order == BY_VARIABLE else [variables]:
        with netCDF4.Dataset(path, "a") as file:
            for name in names:
                made = file.createVariable(
                    name, "f4", ("time", "lat", "lon"), zlib=True, complevel=1, shuffle=True, chunksizes=(1, 128, 256)
                )
                made.setncatts({f"attribute_{j}": f"text {name} {j}" for j in range(4)})
                made.setncatts({"units": "K", "long_name": f"variable {name}", "valid_min": np.float32(1)})
        with h5py.File(path, "r+") as h5:
            for name in names:
                h5[name].resize((STEPS, 128, 256))
            for step in range(STEPS):
                for name in names:
                    h5[name].id.write_direct_chunk((step, 0, 0), chunk)
    return path


def paged(folder: Path) -> Path:
    """24 variables in a file whose metadata are in pages of 4 MiB, as ``h5repack -S PAGE -G 4194304`` writes them."""
    path = folder / "paged.h5"
    if not path.exists():
        with h5py.File(path, "w", libver=("v110", "v110"), fs_strategy="page", fs_page_size=4 << 20) as file:
            for k in range(24):
                values = np.random.default_rng(k).normal(280, 5, (140, 64, 128)).astype("f4").round(1)
                made = file.create_dataset(f"v{k}", data=values, chunks=(1, 64, 128), compression=1, shuffle=True)
                for i in range(6):
                    made.attrs[f"attribute_{i}"] = f"text {k} {i}"
    return path


def pyramid(folder: Path) -> Path:
    """A cloud-optimised GeoTIFF of about 10,000 tiles."""
    path = folder / "cog_10000.tif"
    if not path.exists():
        path.write_bytes(cog(10_000))
    return path
