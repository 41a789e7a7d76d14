"""``python -m tests.soak --minutes 30``: 0 when nothing was stale and nothing grew.

Each process prints one line of JSON: what was done, what was wrong, and how much memory and how many handles it held in
the first and in the last part of the time.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.soak.work import PROCESSES, Soak

GROWTH = 1.05
WARM = 0.25
"""The part of the time after which nothing may grow any more."""


def sample() -> tuple[float, float]:
    """Resident memory in MiB, and open file descriptors, of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20), len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def watch(until: float, samples: list[tuple[float, float, float]]) -> None:
    begin = time.monotonic()
    while time.monotonic() < until:
        gc.collect()
        samples.append(((time.monotonic() - begin) / (until - begin), *sample()))
        time.sleep(max(0.2, (until - begin) / 400))


def worker(folder: Path, process: int, seconds: float) -> int:
    """One process: its line of JSON, and whether all was well."""
    soak = Soak(folder, process, seconds)
    samples: list[tuple[float, float, float]] = []
    watcher = threading.Thread(target=watch, args=(soak.end, samples))
    watcher.start()
    soak.run()
    watcher.join()
    early = [s for s in samples if WARM <= s[0] < 2 * WARM] or samples
    late = [s for s in samples if s[0] >= 1 - WARM] or samples
    held = {
        # Files that are being read come and go; those that nobody closes are there at every moment.
        "handles": (min(s[2] for s in early), min(s[2] for s in late)),
        "memory": tuple(round(statistics.median(s[1] for s in some), 1) for some in (early, late)),
    }
    grown = [name for name, (a, b) in held.items() if b > a * GROWTH]
    print(json.dumps({"process": process, **soak.counts, **held, "grown": grown, "wrong": soak.wrong}), flush=True)
    return 1 if soak.wrong else 3 if grown else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker is not None:
        return worker(given.folder, given.worker, given.minutes * 60)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-W", "ignore", "-m", "tests.soak", "--minutes", str(given.minutes)]
        children = [
            subprocess.Popen([*command, "--folder", folder, "--worker", str(n)], env=dict(os.environ))
            for n in range(PROCESSES)
        ]
        return max(child.wait() for child in children)


if __name__ == "__main__":
    sys.exit(main())
