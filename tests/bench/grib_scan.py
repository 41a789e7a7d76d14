"""Scanning a local GRIB file of 500 MB and 700 messages: each round of everybody is a fresh process.

What counts is the time from after the imports to the end. kerchunk makes its dicts of references (`scan_grib`),
gribberish its mapping of a file's messages (`parse_grib_mapping`).
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tests.bench.report import Row

MESSAGES, SIDE = 700, 600

CHILD = """
import gc, sys, time, json
peer, path = sys.argv[1:]
if peer == "byteatlas":
    import byteatlas as ba
    from byteatlas.scanning.plugins import installed
    dict(installed()), ba.scan, ba.VirtualArray  # imports are not what is measured
    def run():
        found = ba.scan(path)
        arrays = [node for _, node in found.walk() if isinstance(node, ba.VirtualArray)]
        return sum(int((a.manifest.load().source >= 0).sum()) for a in arrays)
elif peer == "kerchunk":
    from kerchunk.grib2 import scan_grib
    def run():
        return len(scan_grib(path))
elif peer == "gribberish":
    import gribberish
    def run():
        with open(path, "rb") as file:
            return len(gribberish.parse_grib_mapping(file.read()))
gc.collect()
begin = time.perf_counter()
count = run()
print(json.dumps([time.perf_counter() - begin, count]))
"""


def made(path: Path) -> Path:
    """Fields of one parameter: 100 steps on 7 levels."""
    import eccodes as ec

    rng = np.random.default_rng(0)
    handle = ec.codes_grib_new_from_samples("regular_ll_pl_grib2")
    ec.codes_set(handle, "Ni", SIDE)
    ec.codes_set(handle, "Nj", SIDE)
    ec.codes_set(handle, "bitsPerValue", 16)
    ec.codes_set_values(handle, rng.normal(280, 10, SIDE * SIDE))
    with path.open("wb") as file:
        for number in range(MESSAGES):
            ec.codes_set(handle, "level", 100 + 100 * (number % 7))
            ec.codes_set(handle, "step", number // 7)
            file.write(ec.codes_get_message(handle))
    ec.codes_release(handle)
    return path


def child(peer: str, path: Path) -> float:
    """Seconds of one fresh process; not a number when it fails."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD, peer, str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"  {peer}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return float("nan")
    seconds, count = json.loads(done.stdout)
    if count < MESSAGES:
        print(f"  {peer}: {count} of {MESSAGES} messages", file=sys.stderr)
    return float(seconds)


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """A row for each reader; kerchunk, which takes half a minute, runs once."""
    path = made(folder / "forecasts.grib2")
    seconds: dict[str, list[float]] = {"byteatlas": [], "gribberish": []}
    for _ in range(scale.get("rounds", 3)):
        for peer, found in seconds.items():
            found.append(child(peer, path))
    seconds["kerchunk"] = [child("kerchunk", path)]
    path.unlink()
    base = statistics.median(seconds["byteatlas"])
    size = f"{MESSAGES * SIDE * SIDE * 2 / 1e6:.0f} MB"
    job = f"scan GRIB, {size} in {MESSAGES} messages"
    return [Row(job, peer, statistics.median(found), base, per=MESSAGES) for peer, found in seconds.items()]
