"""Whole processes: what a command or a short script costs from its start to its end, imports and all.

The first row of each table is the process that the others are compared with: h5py's listing, netCDF4's opening.

Every measurement is a fresh process that does one job once and ends. Everybody takes turns; wall and CPU seconds are
the medians of the rounds, by the operating system's account of the finished process. Compiled bytecode is kept in a
folder of this benchmark and made by a first round that does not count, as it is in any installation.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.bench.report import Row

KERCHUNK = """
import ujson
from kerchunk.hdf import SingleHdf5ToZarr
with open({map!r}, "w") as out:
    ujson.dump(SingleHdf5ToZarr({file!r}, inline_threshold=0).translate(), out)
"""

VIRTUALIZARR = """
import virtualizarr
from obspec_utils.registry import ObjectStoreRegistry
from obstore.store import LocalStore
from virtualizarr.parsers import HDFParser
with virtualizarr.open_virtual_dataset("file://" + {file!r}, ObjectStoreRegistry({{"file://": LocalStore()}}),
                                       HDFParser(), loadable_variables=[]) as found:
    found.vz.to_kerchunk({map!r}, format="json")
"""

H5PY = """
import h5py
with h5py.File({file!r}) as file:
    file.visititems(lambda name, node: print(name, getattr(node, "shape", ""), getattr(node, "dtype", "")))
"""

XARRAY = """
import xarray
{alone}
with xarray.open_dataset({file!r}, engine={engine!r}) as found:
    print(found.sizes)
"""

ALONE = """
import xarray.backends.plugins as plugins
announced = plugins.entry_points
plugins.entry_points = lambda group: [point for point in announced(group=group) if point.name == "byteatlas"]
"""
"""xarray imports the engines of all installed packages when one of them is asked for: here ours is the only one."""

ARRAYS = """
import byteatlas as ba
print(ba.open({file!r})["var0"][0, 0])
"""


@dataclass(frozen=True, slots=True)
class Process:
    """A command line, and what it is called in the table."""

    who: str
    command: tuple[str, ...]


def python(who: str, script: str) -> Process:
    """A short script in this interpreter."""
    return Process(who, (sys.executable, "-W", "ignore", "-c", script))


def command(*arguments: str) -> Process:
    """Our command line, as it is installed."""
    script = Path(sys.executable).with_name("byteatlas")
    start = (str(script),) if script.exists() else (sys.executable, "-m", "byteatlas")
    return Process("byteatlas " + arguments[0], (*start, *arguments))


def seconds(process: Process, environment: Mapping[str, str]) -> tuple[float, float]:
    """Wall and CPU seconds of one run. Raises `RuntimeError` when it fails."""
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begin = time.perf_counter()
    pid = os.posix_spawn(process.command[0], process.command, environment, file_actions=silent)
    _, status, used = os.wait4(pid, 0)
    wall = time.perf_counter() - begin
    if status:
        raise RuntimeError(f"{process.who}: exit status {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime


def measure(job: str, processes: Sequence[Process], rounds: int, folder: Path) -> list[Row]:
    """Everybody in turn, after one round that does not count; the medians. Ratios are to the first one."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    runs: dict[str, list[tuple[float, float]]] = {process.who: [] for process in processes}
    for round_ in range(rounds + 1):
        for process in processes:
            found = seconds(process, environment)
            if round_:
                runs[process.who].append(found)
    walls = {who: statistics.median(wall for wall, _ in found) for who, found in runs.items()}
    busy = {who: statistics.median(cpu for _, cpu in found) for who, found in runs.items()}
    base = next(iter(walls.values()))
    return [Row(job, who, wall, base, cpu=busy[who]) for who, wall in walls.items()]


def small_file(folder: Path) -> Path:
    """A netCDF-4 file of 11 variables, 244 chunks and 50 attributes."""
    import netCDF4

    path = folder / "startup.nc"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts({f"global_{i}": f"some text of a usual length {i}" for i in range(8)})
        for name, n in (("time", 30), ("lat", 64), ("lon", 128)):
            file.createDimension(name, n)
            file.createVariable(name, "f8", (name,)).setncatts({"units": "m", "axis": name[0].upper()})
            file[name][:] = np.arange(n)
        file["time"].units = "days since 2001-01-01"
        for i in range(8):
            made = file.createVariable(
                f"var{i}", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, shuffle=True, chunksizes=(1, 64, 128)
            )
            made.setncatts({"units": "K", "long_name": f"variable {i}", "standard_name": f"name_{i}", "note": "text"})
            made[:] = rng.normal(280, 5, (30, 64, 128)).astype("f4").round(1)
    return path


def maps(file: Path) -> tuple[Path, Path]:
    """The file's map as JSON and as Parquet."""
    import byteatlas as ba

    found = ba.scan(file)
    targets = file.with_suffix(".map.json"), file.with_suffix(".map.parquet")
    for target in targets:
        ba.write(found, target)
    return targets


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``rounds`` (10) can be chosen."""
    rounds = scale.get("rounds", 10)
    file = small_file(folder)
    as_json, as_parquet = maps(file)
    names = {"file": str(file), "map": str(folder / "startup_peer.json")}
    floor = [
        python("python alone", ""),
        command("--help"),
        python("import byteatlas", "import byteatlas"),
        python("import numpy", "import numpy"),
        python("import click", "import click"),
    ]
    scans = [
        python("h5py lists it", H5PY.format(**names)),
        python("ba.scan", f"import byteatlas as ba; ba.scan({str(file)!r})"),
        command("info", str(file)),
        command("scan", str(file), "-o", str(folder / "startup_ours.json")),
        python("kerchunk scans it to JSON", KERCHUNK.format(**names)),
        python("VirtualiZarr scans it to JSON", VIRTUALIZARR.format(**names)),
    ]
    opens = [
        python(f"{what}, engine={engine}{', alone' if alone else ''}", script)
        for what, engine, path, alone in (
            ("the file itself", "netcdf4", file, ""),
            ("Parquet map", "byteatlas", as_parquet, ""),
            ("JSON map", "byteatlas", as_json, ""),
            ("Parquet map", "byteatlas", as_parquet, ALONE),
            ("JSON map", "byteatlas", as_json, ALONE),
            ("the file itself", "byteatlas", file, ALONE),
        )
        for script in [XARRAY.format(file=str(path), engine=engine, alone=alone)]
    ]
    reads = [
        python("netCDF4", f"import netCDF4; print(netCDF4.Dataset({str(file)!r})['var0'][0, 0])"),
        python("h5py", f"import h5py; print(h5py.File({str(file)!r})['var0'][0, 0])"),
        python("JSON map, ba.open", ARRAYS.format(file=str(as_json))),
        python("Parquet map, ba.open", ARRAYS.format(file=str(as_parquet))),
    ]
    jobs = {
        "a process that does nothing": floor,
        "a process that indexes a netCDF-4 file of 11 variables": scans,
        "a process that opens a dataset in xarray": opens,
        "a process that opens an array and reads a row of it": reads,
    }
    return [row for job, processes in jobs.items() for row in measure(job, processes, rounds, folder)]
