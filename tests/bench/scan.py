"""Scanning local HDF5 files: 200,000 chunks under each of the four big indexes, and a typical netCDF-4 file.

Every measurement is a child process of its own that does the job once; what counts is CPU seconds from after the
imports to the end, the median of the rounds, everybody in turn. kerchunk makes its dict, VirtualiZarr its manifest
arrays, hidefix its index (it reads no attributes and makes no metadata).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import h5py
import numpy as np
from tests.bench.report import Row, interleaved

INDEXES = ("v1 B-tree", "fixed array", "extensible array", "v2 B-tree")

CHILD = """
import gc, sys, time, json
job, paths = sys.argv[1], sys.argv[2:]
if job == "byteatlas":
    import byteatlas as ba
    from byteatlas.scanning.plugins import installed
    dict(installed()), ba.scan, ba.VirtualArray  # imports are not what is measured
    def run(path):
        found = ba.scan(path)
        arrays = [node for _, node in found.walk() if isinstance(node, ba.VirtualArray)]
        return sum(len(a.manifest.load().offset) for a in arrays)
elif job == "kerchunk":
    from kerchunk.hdf import SingleHdf5ToZarr
    def run(path):
        refs = SingleHdf5ToZarr(path, inline_threshold=0).translate()["refs"]
        return sum(isinstance(r, list) for r in refs.values())
elif job == "byteatlas.kerchunk":
    from byteatlas.kerchunk.hdf import SingleHdf5ToZarr
    from byteatlas.scanning.plugins import installed
    import byteatlas.manifest.references
    dict(installed())
    def run(path):
        refs = SingleHdf5ToZarr(path, inline_threshold=0).translate()["refs"]
        return sum(isinstance(r, list) for r in refs.values())
elif job == "VirtualiZarr":
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr.parsers import HDFParser
    import numpy as np
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    parser = HDFParser()
    def run(path):
        def count(group):
            own = sum(int(np.prod(a.manifest.shape_chunk_grid)) for a in group.arrays.values())
            return own + sum(map(count, group.groups.values()))
        return count(parser("file://" + path, registry)._group)
elif job == "hidefix":
    from hidefix import Index
    def run(path):
        return len(Index(path).datasets())
gc.collect()  # what imports leave behind is not a scan's to clear away
begin = time.process_time()
counts = [run(path) for path in paths]
print(json.dumps([time.process_time() - begin, counts]))
"""


def child(job: str, paths: list[Path]) -> tuple[float, list[int]]:
    """CPU seconds of one fresh process, and what it found in each file."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, job, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr.strip().splitlines()[-1:]}")
    seconds, counts = json.loads(done.stdout)
    return seconds, counts


def measure(job: str, paths: list[Path], rounds: int, per: int) -> list[Row]:
    """Everybody in turn, several rounds; the median per file."""
    peers = ("byteatlas", "byteatlas.kerchunk", "hidefix", "VirtualiZarr", "kerchunk")
    seconds: dict[str, list[float]] = {peer: [] for peer in peers}
    for _ in range(rounds):
        for peer in peers:
            if not seconds[peer] or not np.isnan(seconds[peer][-1]):
                try:
                    found, _ = child(peer, paths)
                except RuntimeError as error:
                    print(f"  {job}: {error}", file=sys.stderr)
                    found = float("nan")
                seconds[peer].append(found / len(paths))
    base = statistics.median(seconds["byteatlas"])
    return [Row(job, f"{p} (CPU)", statistics.median(s), base, per=per) for p, s in seconds.items()]


def big(folder: Path, index: str, chunks: int) -> Path:
    """One dataset of ``chunks`` chunks of some 650 bytes, deflate and shuffle, under one kind of index."""
    path = folder / f"scan_{index.replace(' ', '_')}_{chunks}.h5"
    if path.exists():
        return path
    side = 250
    rows = chunks // side
    old = index == "v1 B-tree"
    most = {"extensible array": (None, side * 256), "v2 B-tree": (None, None)}.get(index)
    values = np.random.default_rng(1).normal(280, 10, 256).astype("f4").round(1)
    shuffled = values.view("u1").reshape(-1, 4).T.tobytes()
    data = zlib.compress(shuffled, 4)
    with h5py.File(path, "w", libver=("earliest", "v108") if old else ("v110", "v110")) as file:
        made = file.create_dataset(
            "data", (rows, side * 256), "f4", chunks=(1, 256), maxshape=most, compression="gzip", shuffle=True
        )
        for row in range(rows):
            for column in range(side):
                made.id.write_direct_chunk((row, column * 256), data)
    return path


def typical(folder: Path, files: int) -> list[Path]:
    """netCDF-4 files of 24 variables, some 3,350 chunks and 160 attributes."""
    import netCDF4

    paths = []
    for k in range(files):
        path = folder / f"typical_{k}.nc"
        paths.append(path)
        if path.exists():
            continue
        rng = np.random.default_rng(k)
        with netCDF4.Dataset(path, "w") as file:
            file.setncatts({f"global_{i}": f"some text of a usual length {i}" for i in range(14)})
            for name, n in (("time", None), ("lat", 64), ("lon", 128)):
                file.createDimension(name, n)
            for name in ("time", "lat", "lon"):
                file.createVariable(name, "f8", (name,)).setncatts({"units": name, "axis": name[0].upper()})
            file["lat"][:], file["lon"][:] = np.linspace(-90, 90, 64), np.arange(128) * 2.8
            file["time"][:] = np.arange(159)
            for i in range(21):
                made = file.createVariable(
                    f"var{i:02d}", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, shuffle=True,
                    chunksizes=(1, 64, 128),
                )  # fmt: skip
                made.setncatts({f"attribute_{j}": f"text {i} {j}" for j in range(4)})
                made.setncatts({"units": "K", "long_name": f"variable {i}", "valid_min": np.float32(i)})
                made[:] = rng.normal(280, 5, (1, 64, 128)).astype("f4").round(0).repeat(159, 0)
    return paths


def many_small(folder: Path, datasets: int) -> Path:
    """A file of datasets with two chunks each, under v1 B-trees, and a dozen attributes each in a fractal heap."""
    path = folder / f"scan_small_{datasets}.h5"
    if not path.exists():
        with h5py.File(path, "w", libver=("earliest", "v108")) as file:
            for k in range(datasets):
                file.create_dataset(f"d{k}", data=np.zeros(40), chunks=(20,), compression=1, track_order=True)
                for i in range(12):
                    file[f"d{k}"].attrs[f"attribute_{i}"] = f"text {k} {i}"
    return path


def wide(folder: Path, variables: int) -> Path:
    """A netCDF-4 file of many variables with four chunks and four attributes each."""
    import netCDF4

    path = folder / f"wide_{variables}.nc"
    if path.exists():
        return path
    values = np.random.default_rng(0).random((24, 50, 60)).astype("f4")
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("time", 24), ("lat", 50), ("lon", 60)):
            file.createDimension(name, n)
            file.createVariable(name, "f8", (name,)).units = "days since 2000-01-01" if name == "time" else "degrees"
            file[name][:] = np.arange(n)
        for i in range(variables):
            made = file.createVariable(
                f"v{i}", "f4", ("time", "lat", "lon"), zlib=True, shuffle=True, chunksizes=(6, 50, 60)
            )
            made.setncatts(
                {"long_name": f"variable {i}", "units": "K", "standard_name": "air", "cell_methods": "time: mean"}
            )
            made[:] = values
    return path


def opening(path: Path, rounds: int) -> list[Row]:
    """Warm, in one process: a scan beside netCDF4 opening the file and reading all attributes; xarray with both."""
    import netCDF4
    import xarray

    import byteatlas as ba

    def attributes() -> int:
        with netCDF4.Dataset(path) as file:
            return sum(len({n: v.getncattr(n) for n in v.ncattrs()}) for v in file.variables.values())

    def opened(engine: str) -> None:
        xarray.open_dataset(path, engine=engine).close()

    job = f"{path.stem.removeprefix('wide_')} variables, warm"
    scans: dict[str, Callable[[], object]] = {
        "byteatlas scans it": lambda: ba.scan(path),
        "netCDF4 opens it and reads all attributes": attributes,
    }
    datasets: dict[str, Callable[[], object]] = {
        f"engine={name}": partial(opened, name) for name in ("byteatlas", "netcdf4")
    }
    for call in (*scans.values(), *datasets.values()):
        call()
    return interleaved(job, scans, rounds) + interleaved(f"{job}: xarray.open_dataset", datasets, rounds)


def many_files(folder: Path, files: int, rounds: int) -> list[Row]:
    """Many files of 21 variables, on one worker and on two; starting the workers counts."""
    import byteatlas as ba

    paths = [str(p) for p in typical(folder, 10)]
    some = []
    for k in range(files):  # links: each is a file to a scan, and they take no room
        link = folder / f"many_{k}.nc"
        if not link.exists():
            link.symlink_to(paths[k % len(paths)])
        some.append(str(link))
    timed = {who: partial(ba.scan_many, some, who) for who in ("serial", "threads:2", "processes:2")}
    return interleaved(f"scan {files} files of 24 variables", timed, rounds, per=files)


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``scan_chunks`` (200,000), ``scan_files`` (10) and ``rounds`` (3) can be chosen."""
    chunks, files, rounds = scale.get("scan_chunks", 200_000), scale.get("scan_files", 10), scale.get("rounds", 3)
    rows = []
    for index in INDEXES:
        rows += measure(f"scan {chunks:,} chunks, {index}", [big(folder, index, chunks)], rounds, chunks)
    # Each file several times: what a process does once should not count as what it does for a file.
    rows += measure("scan 300 datasets of two chunks, 12 attributes each", [many_small(folder, 300)] * 10, rounds, 0)
    rows += measure("scan a netCDF-4 file, 24 variables, 3,342 chunks", typical(folder, files) * 4, rounds, 0)
    rows += opening(wide(folder, 300), scale.get("wide_rounds", 15))
    return rows + many_files(folder, scale.get("many_files", 200), rounds)
