"""``python -m tests.faults.exits [--waves 19] [--reads 300]``: processes that end as soon as they used object storage.

Native threads that come back to an interpreter which has ended take their process down. Here, many processes append to
maps on moto's S3, sixteen at a time, through both back ends; and many read a little, and end: at the end of the
program, by an error, beside threads that still read, or by Ctrl-C. None may abort, and every addition is there or its
process was told.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from tests.s3_servers import KEY, SECRET, Bucket, moto_s3, s3_subset

import byteatlas as ba

ACCESS = f"""
import sys, byteatlas as ba
from byteatlas.io.access import Access
options = {{"key": {KEY!r}, "secret": {SECRET!r}, "endpoint_url": sys.argv[1]}}
how = Access({{"s3://bucket/": options}}, ba.Policy(local=True), backend=sys.argv[2])
"""
APPEND = f"""{ACCESS}
try:
    ba.append(sys.argv[3], [sys.argv[4]], "time", access=how)
except ba.Conflict:
    sys.exit(5)
"""
READ = f"""{ACCESS}
from byteatlas.types import ByteRange
def read():
    print("begins", flush=True)
    source = how.open(sys.argv[3])
    while True:
        source.read([ByteRange(k * 7, 5) for k in range(40)])
        if sys.argv[4] != "interrupt":
            return
"""
ENDINGS = {
    "end": "read()",
    "error": "read()\nraise KeyError('on purpose')",
    "sys.exit": "read()\nsys.exit(3)",
    "thread": "import threading\nthreading.Thread(target=read, daemon=True).start()\nread()",
    "pool": "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(4)\n"
            "[pool.submit(read) for _ in range(4)]\nread()",
    "interrupt": "read()",
}  # fmt: skip
CODES = {"end": {0}, "error": {1}, "sys.exit": {3}, "thread": {0}, "pool": {0}, "interrupt": {-signal.SIGINT, 1, 130}}
COMBINATIONS = [("obstore", "json"), ("obstore", "parquet"), ("fsspec", "json"), ("fsspec", "parquet")]
AT_ONCE = 16


def archives(folder: Path, count: int) -> list[str]:
    found = []
    for i in range(count):
        path = folder / f"{i:03d}.h5"
        with h5py.File(path, "w") as f:
            f["time"] = np.array([i], "i4")
            f["time"].make_scale()
            f["x"] = np.array([float(i)])
            f["x"].dims[0].attach_scale(f["time"])
        found.append(str(path))
    return found


def wave(bucket: Bucket, number: int, files: list[str], backend: str, form: str) -> tuple[Counter[int], list[str]]:
    """So many processes append at once to a new map: their exit codes, and what is wrong with what is there then."""
    how = ba.Access({"s3://bucket/": bucket.options()}, ba.Policy(local=True))
    target = bucket.at(f"{number}.{form}")
    ba.write(ba.scan(files[0]), target, access=how)
    command = [sys.executable, "-c", APPEND, bucket.url, backend, target]
    running = [subprocess.Popen([*command, path], stderr=subprocess.PIPE) for path in files[1:]]
    said = [process.communicate(timeout=600)[1].decode()[-300:] for process in running]
    codes = [process.returncode for process in running]
    node: Any = ba.open(target, access=how)
    there = node["x"][...].tolist()
    expected = [0.0, *(float(k) for k, code in enumerate(codes, 1) if code == 0)]
    wrong = [f"{code}: {text}" for code, text in zip(codes, said, strict=True) if code not in (0, 5)]
    if there != expected:
        wrong.append(f"{target}: holds {there}, expected {expected}")
    return Counter(codes), wrong


def short_reader(bucket: Bucket, ending: str, backend: str) -> tuple[int, str]:
    """The exit code of a process that reads a little, and what it said."""
    command = [sys.executable, "-c", f"{READ}\n{ENDINGS[ending]}", bucket.url, backend, bucket.at("a.bin"), ending]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if ending == "interrupt":
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.uniform(0, 0.3))
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1].decode()[-400:]
    return process.returncode, said


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--waves", type=int, default=19)
    parser.add_argument("--reads", type=int, default=300)
    parser.add_argument("--side-by-side", type=int, default=4)
    asked = parser.parse_args()
    wrong: list[str] = []
    with s3_subset({"a.bin": bytes(range(256)) * 8}) as bucket, ThreadPoolExecutor(asked.side_by_side) as threads:
        endings = [
            (list(ENDINGS)[k % len(ENDINGS)], "fsspec" if k % 10 == 9 else "obstore") for k in range(asked.reads)
        ]
        ends: Counter[str] = Counter()
        for (ending, backend), (code, said) in zip(
            endings, threads.map(lambda e: short_reader(bucket, *e), endings), strict=True
        ):
            ends[f"{ending} {code}"] += 1
            if code not in CODES[ending]:
                wrong.append(f"{backend}: {ending}: exit code {code}: {said}")
                print(wrong[-1], flush=True)
        print(f"{asked.reads} short readers: {dict(sorted(ends.items()))}", flush=True)
    with tempfile.TemporaryDirectory() as folder, moto_s3() as bucket:
        files, codes = archives(Path(folder), AT_ONCE + 1), Counter[int]()
        for number in range(asked.waves):
            backend, form = COMBINATIONS[number % 4 if number < 8 else number % 2]
            found, errors = wave(bucket, number, files, backend, form)
            codes += found
            wrong += errors
            print(f"wave {number} of {AT_ONCE} ({backend}, {form}): {dict(found)}", *errors, flush=True)
    print(f"{codes.total()} appending processes: {dict(codes)} (0: added, 5: told); {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
