"""Object storage with 30 and 100 ms a request: small ranges, random chunks, and many files at once, beside the peers.

The server is a process of its own that answers sooner than any client asks. The peers have as many requests under way
as we have: zarr-python's ``async.concurrency``, s3fs's ``max_pool_connections``.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from tests.bench.report import Row, interleaved
from tests.s3_servers import Bucket, boto_client

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.manifest.model import VirtualArray
from byteatlas.types import ByteRange

RANGES, LENGTH = 1000, 4096
LATENCIES, AT_ONCE = (0.03, 0.1), 128
"""Seconds a request; requests that the peers have under way at a time."""
SERVER = """
import sys, time
from tests.s3_servers import s3_subset
with s3_subset(latency=float(sys.argv[1])) as bucket:
    print(bucket.url, flush=True)
    sys.stdin.read()
"""


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``rounds`` (3), ``files`` (2,000) and ``latencies`` (2) can be chosen."""
    import zarr

    rounds, rows = scale.get("rounds", 3), []
    with zarr.config.set({"async.concurrency": AT_ONCE}):
        for latency in LATENCIES[: scale.get("latencies", len(LATENCIES))]:
            with served(latency) as bucket:
                ms = f"{latency * 1000:.0f} ms a request"
                rows += _ranges(bucket, ms, rounds) + _chunks(folder, bucket, ms, rounds)
    for latency in (0.0, LATENCIES[0]):
        with served(latency) as bucket:
            rows += _files(folder, bucket, latency, scale.get("files", 2000))
    return rows


@contextmanager
def served(latency: float) -> Iterator[Bucket]:
    """The tests' own server, in a process of its own."""
    command = [sys.executable, "-c", SERVER, str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Bucket(process.stdout.readline().strip(), "bucket")
        process.communicate("")


def _put(bucket: Bucket, key: str, data: bytes) -> None:
    boto_client(bucket).put_object(Bucket=bucket.name, Key=key, Body=data)


def _tuned(bucket: Bucket) -> dict[str, Any]:
    """Storage options with which s3fs does what it can."""
    return bucket.options(config_kwargs={"max_pool_connections": AT_ONCE})


def _ranges(bucket: Bucket, ms: str, rounds: int) -> list[Row]:
    """1,000 small ranges of one object, none of which can be merged."""
    data = np.random.default_rng(0).bytes(16 << 20)
    _put(bucket, "large.bin", data)
    starts = np.random.default_rng(1).permutation(np.arange(RANGES) * (len(data) // RANGES)).tolist()
    ranges = [ByteRange(s, LENGTH) for s in starts]
    obstore = Access(bucket.options(), backend="obstore").open(bucket.at("large.bin"))
    s3fs = Access(bucket.options(), backend="fsspec").open(bucket.at("large.bin"))
    fs = fsspec.filesystem("s3", **_tuned(bucket), skip_instance_cache=True)
    path, ends = f"{bucket.name}/large.bin", [s + LENGTH for s in starts]
    timed: dict[str, Any] = {
        "byteatlas, obstore": lambda: obstore.read(ranges),
        "byteatlas, s3fs": lambda: s3fs.read(ranges),
        "fsspec cat_ranges": lambda: fs.cat_ranges([path] * RANGES, starts, ends, batch_size=AT_ONCE),
    }
    assert [bytes(d) for d in timed["byteatlas, obstore"]()] == timed["fsspec cat_ranges"]()
    return interleaved(f"1,000 ranges of 4 KiB over S3, {ms}", timed, rounds, per=RANGES)


def _chunks(folder: Path, bucket: Bucket, ms: str, rounds: int) -> list[Row]:
    """1,000 random chunks of an array of 20,000, through a map."""
    import h5py

    path, count, size = folder / "cloud.h5", 20_000, 256
    with h5py.File(path, "w") as file:
        values = np.arange(count * size, dtype="f4")
        file.create_dataset("data", data=values, chunks=(size,), compression="gzip", compression_opts=1)
    _put(bucket, "cloud.h5", path.read_bytes())
    how = Access(bucket.options())
    group = ba.scan(bucket.at("cloud.h5"), access=how)
    refs = folder / "cloud.json"
    ba.write(group, str(refs))
    wanted = np.sort(np.random.default_rng(2).choice(count, 1000, replace=False)) * size + 7
    ours: Any = ba.open(str(refs), access=how)
    timed = {"byteatlas": lambda: ours["data"].oindex[wanted]}
    for name, made in (
        ("zarr-python, fsspec", _through_fsspec(refs, bucket)),
        ("zarr-python, VirtualiZarr's obstore store", _through_virtualizarr(group, bucket)),
    ):
        timed[name] = lambda made=made: made.oindex[wanted]  # type: ignore[misc]
        np.testing.assert_array_equal(timed[name](), timed["byteatlas"]())
    return interleaved(f"1,000 random chunks over S3, {ms}", timed, rounds, per=1000)


def _through_fsspec(refs: Path, bucket: Bucket) -> Any:
    import zarr
    from fsspec.implementations.reference import ReferenceFileSystem
    from zarr.storage import FsspecStore

    options = {**_tuned(bucket), "asynchronous": True}
    fs = ReferenceFileSystem(fo=str(refs), remote_protocol="s3", remote_options=options, asynchronous=True)
    return zarr.open_group(FsspecStore(fs, read_only=True), mode="r")["data"]


def _through_virtualizarr(group: Any, bucket: Bucket) -> Any:
    import zarr
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import S3Store
    from virtualizarr.parsers import HDFParser

    options = bucket.options()
    store = S3Store(
        bucket.name, endpoint=options["endpoint_url"], access_key_id=options["key"], region="us-east-1",
        secret_access_key=options["secret"], client_options={"allow_http": True},
    )  # fmt: skip
    registry = ObjectStoreRegistry({f"s3://{bucket.name}": store})
    manifests = HDFParser()(url=bucket.at("cloud.h5"), registry=registry)
    assert isinstance(group["data"], VirtualArray)
    return zarr.open_group(manifests, mode="r")["data"]


def _files(folder: Path, bucket: Bucket, latency: float, count: int) -> list[Row]:
    """Files listed, scanned and combined; processor seconds show what limits."""
    import h5py

    for k in range(count):
        path = folder / f"many_{k:05d}.h5"
        if not path.exists():
            with h5py.File(path, "w") as file:
                file["time"] = np.array([k], "i4")
                file["time"].make_scale()
                file["x"] = np.full((1, 16), float(k))
                file["x"].dims[0].attach_scale(file["time"])
    client = boto_client(bucket)
    for k in range(count):
        data = (folder / f"many_{k:05d}.h5").read_bytes()
        client.put_object(Bucket=bucket.name, Key=f"many/{k:05d}.h5", Body=data)
    how = Access(bucket.options())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, busy = time.perf_counter(), time.process_time()
    tree: Any = ba.combine(bucket.at("many/*.h5"), "time", access=how)
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    assert tree["x"].meta.shape == (count, 16)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    told = f"{latency * 1000:.0f} ms a request, {grown >> 10} MiB more memory, {how.counters.requests} requests"
    job = f"{count} files listed, scanned and combined over S3 ({told})"
    return [Row(job, "byteatlas", seconds, seconds, per=count, cpu=cpu)]
