"""Damage everything that is read: ``python -m tests.fuzz.run --minutes N [--seed S] [--only WHAT]``.

WHAT is a codec, a kind of map or container (`run_maps.KINDS`), a format of files (`FORMATS`, ``hdf5``,
``hdf5-structures``), or what callers hand in (``arguments``, ``methods``, ``command-lines``: once, whatever the seed).
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.fuzz import mistakes, run_maps, run_raster
from tests.fuzz.chunks import apart
from tests.fuzz.examples import ALL, NOT_BUILT
from tests.places import FIXTURES

BATCH = 400
FILES = 100
FORMATS = ("netcdf3", "tiff", "grib", "fits", "hdf4")


def chunks(name: str, seed: int, cases: int) -> list[str]:
    return apart(name, seed, cases)


def documents(name: str, seed: int, cases: int) -> list[str]:
    return apart(name, seed, cases, run_maps.attack)


def files(name: str, seed: int, cases: int) -> list[str]:
    """Compared with the formats' own libraries, where there are such."""
    counts = run_raster.run(name, min(cases, FILES), seed)
    return [f"{name}: {said} ({count})" for said, count in counts.items() if said.startswith("FAULT")]


def hdf5(name: str, seed: int, cases: int) -> list[str]:
    """Compared with h5py: bytes of files, or single fields of structures whose checksums are right again."""
    folder = [str(FIXTURES)] if name == "hdf5" else []
    command = [sys.executable, "-m", "tests.fuzz.run_hdf5", *folder, "--seed", str(seed), "--cases", str(FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return [f"{name}: {line}" for line in done.stdout.splitlines()] if done.returncode else []


def handed_in(name: str, seed: int, cases: int) -> list[str]:
    """What callers hand in by mistake: all of it, the same for every seed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return [f"{name}: {case}: {said}" for case, said in mistakes.FOUND[name](Path(folder))]


JOBS: Mapping[str, Callable[[str, int, int], list[str]]] = {
    **{name: chunks for name in ALL if name not in NOT_BUILT},
    **dict.fromkeys(run_maps.KINDS, documents),
    **dict.fromkeys(FORMATS, files),
    **dict.fromkeys(mistakes.FOUND, handed_in),
    "hdf5": hdf5,
    "hdf5-structures": hdf5,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", action="append", choices=JOBS, metavar="WHAT")
    parser.add_argument("--batch", type=int, default=BATCH)
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.minutes
    seed, bad, told, done = options.seed, 0, set[str](), collections.Counter[str]()
    while time.monotonic() < end:
        for name in options.only or JOBS:
            if time.monotonic() > end:
                break
            begin, job = time.monotonic(), JOBS[name]
            if job is handed_in and seed != options.seed:
                continue
            for line in job(name, seed, options.batch):
                bad += 1
                if line[:60] not in told:
                    told.add(line[:60])
                    print(line[:600], flush=True)
            if time.monotonic() - begin > 60:
                print(f"slow: {name}, {time.monotonic() - begin:.0f} s", flush=True)
            done["chunks" if job is chunks else name] += options.batch if job in (chunks, documents) else FILES
        seed += 1
    print(f"{dict(done)} mutants, seeds from {options.seed}: {bad} findings")
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main())
