"""Reading into the caller's memory takes little beside it: measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest
from tests.http_server import serve

import byteatlas as ba
from byteatlas.array.reading.fetching.pool import Budget, Decoders, ReadScratch
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.errors import CorruptChunk
from byteatlas.store.directory import DirectoryStore

MOST = 64 << 20
SHAPE = (4096, 7168)  # 112 MiB of float32
READ = """
import json, sys, threading, time
import numpy as np
import byteatlas as ba

page = 4096
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * page

found = {}
for url in sys.argv[1:]:
    array = ba.open(url)
    array = array if isinstance(array, ba.Array) else array["x"]
    array[0, 0]
    out = np.empty(array.shape, array.dtype)
    out.fill(-1)
    before, peak, done = resident(), [0], threading.Event()
    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], resident())
            time.sleep(0.001)
    thread = threading.Thread(target=watch)
    thread.start()
    array.read(out=out)
    done.set()
    thread.join()
    found[url] = [peak[0] - before, float(out[-1, -1])]
print(json.dumps(found))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from Linux's proc")
def test_out_takes_at_most_64_mib_more(tmp_path: Path) -> None:
    values = (np.arange(SHAPE[0] * SHAPE[1], dtype="u4").reshape(SHAPE) * np.uint32(2654435761) >> 8).astype("f4")
    last = float(values[-1, -1])
    create_array(
        DirectoryStore(tmp_path / "raw.zarr", writable=True),
        "",
        array_meta(SHAPE, "f4", chunks=(1024, 1024), compression=()),
    )[...] = values
    values //= 4096  # deflate is slow on noise
    with h5py.File(tmp_path / "deflate.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(2048, 1792), shuffle=True, compression=1)
    with h5py.File(tmp_path / "contiguous.h5", "w") as file:
        file.create_dataset("x", data=values)
    files = {f"/{p.relative_to(tmp_path).as_posix()}": p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    names = ("raw.zarr", "deflate.h5", "contiguous.h5")
    with serve(files) as web:
        urls = [str(tmp_path / name) for name in names] + [f"{web.url}/{name}" for name in names]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        done = subprocess.run([sys.executable, "-c", READ, *urls], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert set(found) == set(urls)
    for url, (extra, value) in found.items():
        assert value == (last if "raw.zarr" in url else last // 4096)
        assert extra <= MOST, f"{url}: {extra >> 20} MiB beside the result"


def test_large_chunks_are_decoded_by_fewer_threads() -> None:
    options = ba.ReadOptions(threads=16)
    assert options.decoders(1 << 20) == 16
    assert options.decoders(4 << 20) == 5
    assert options.decoders(64 << 20) == 1
    assert options.without_bound().decoders(64 << 20) == 16
    assert options.without_bound().fetched() == options.in_flight
    assert options.fetched() <= MOST // 2


def test_the_budget_learns_sizes() -> None:
    budget = Budget(100, 60)
    with budget.fetched() as first:
        first(0)  # a missing chunk
    with budget.fetched() as one:
        one(30)
        with budget.fetched() as two, budget.fetched() as three:  # 30 + 30 + 30 fit
            blocked = threading.Thread(target=lambda: budget.fetched().__enter__())
            blocked.start()
            blocked.join(0.05)
            assert blocked.is_alive()
            two(10)
            blocked.join(5)
            assert not blocked.is_alive()
            three(30)
    large = Budget(10, 60)
    with large.fetched() as known:  # one is always allowed
        known(500)


def test_errors_of_decoding_threads_are_the_readers() -> None:
    decoders = Decoders(2, 1 << 20)

    def fails(scratch: ReadScratch) -> None:
        raise CorruptChunk("no")

    with pytest.raises(CorruptChunk):
        decoders.run(fails)
    found: list[int] = []
    decoders.run(lambda scratch: found.append(len(scratch.block(8))))
    assert found == [8]
