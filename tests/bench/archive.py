"""A whole archive, from its files to one map: small netCDF-4 files scanned, combined along time and written as Parquet.

Every party does the job once in a fresh process; what counts is CPU seconds after its imports. kerchunk scans each
file, combines with `MultiZarrToZarr` and writes; VirtualiZarr opens them all with the coordinates loaded and every
check that can be switched off switched off; byteatlas makes all of its checks, and compares the coordinates.

``python -m tests.bench archive [archive_files=300]``; kerchunk and VirtualiZarr take long enough to say so.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from tests.bench.report import Row

STEPS, VARIABLES = 60, 5
CHILD = """
import glob, json, sys, time
who, folder, target = sys.argv[1:]
paths = sorted(glob.glob(folder + "/*.nc"))
if who == "byteatlas":
    import byteatlas as ba
    from byteatlas.scanning.plugins import installed
    import pyarrow.parquet
    dict(installed()), ba.scan, ba.open
    def run():
        ba.write(ba.combine(paths, "time"), target)
elif who == "kerchunk":
    from kerchunk.hdf import SingleHdf5ToZarr
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.df import refs_to_dataframe
    def run():
        maps = [SingleHdf5ToZarr(path, inline_threshold=0).translate() for path in paths]
        one = MultiZarrToZarr(maps, concat_dims=["time"], identical_dims=["lat", "lon"], remote_protocol="file")
        refs_to_dataframe(one.translate(), target)
else:
    import xarray as xr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_mfdataset
    from virtualizarr.parsers import HDFParser
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    def run():
        found = open_virtual_mfdataset(
            ["file://" + path for path in paths], registry, HDFParser(), concat_dim="time", combine="nested",
            coords="minimal", data_vars="minimal", compat="override", join="override",
            loadable_variables=["time", "lat", "lon"], decode_times=False,
        )
        found.vz.to_kerchunk(target, format="parquet")
begin = time.process_time()
run()
print(json.dumps(time.process_time() - begin))
"""


def archive(folder: Path, count: int) -> Path:
    """``count`` files of five variables of 60 chunks each, along time."""
    import netCDF4

    folder = folder / f"archive_{count}"
    folder.mkdir(exist_ok=True)
    data = np.random.default_rng(1).normal(280, 10, (STEPS, 18, 36)).astype("f4")
    for i in range(count):
        path = folder / f"file_{i:05d}.nc"
        if path.exists():
            continue
        with netCDF4.Dataset(path, "w") as file:
            file.setncatts({"title": "archive", "history": f"made {i}"})
            for name, n, units in (("time", None, "days since 2000-01-01"), ("lat", 18, ""), ("lon", 36, "")):
                file.createDimension(name, n)
                file.createVariable(name, "f8", (name,), chunksizes=(STEPS,) if n is None else None).units = units
            file["lat"][:], file["lon"][:] = np.linspace(-85, 85, 18), np.arange(36) * 10.0
            file["time"][:] = np.arange(STEPS) + STEPS * i
            for k in range(VARIABLES):
                made = file.createVariable(
                    f"v{k}", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, shuffle=True, chunksizes=(1, 18, 36)
                )
                made.setncatts({"units": "K", "long_name": f"variable {k}", "standard_name": "air_temperature"})
                made[:] = data + i
    return folder


def seconds(who: str, folder: Path, target: Path) -> float:
    """CPU seconds of one party in a fresh process."""
    command = [sys.executable, "-W", "ignore", "-c", CHILD, who, str(folder), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{who}: {done.stderr.strip().splitlines()[-1:]}")
    found: float = json.loads(done.stdout.splitlines()[-1])
    return found


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """One job: everybody with the same files."""
    count = scale.get("archive_files", 300)
    files = archive(folder, count)
    job = f"from {count} netCDF-4 files of {STEPS * VARIABLES} chunks to one map in Parquet"
    found = {w: seconds(w, files, folder / f"{w}.parquet") for w in ("byteatlas", "VirtualiZarr", "kerchunk")}
    base = found["byteatlas"]
    return [Row(job, f"{who} (CPU)", spent, base, per=count) for who, spent in found.items()]
