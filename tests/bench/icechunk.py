"""Icechunk: a million references written, and one file's added to ten million (needs icechunk 2).

Every figure comes from a fresh child process. CPU seconds are compared, of all of icechunk's threads. What icechunk
takes alone is one call of ``set_virtual_refs_arr`` for each array, with everything ready, and the commit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
from tests.bench.references import columns, our_tree, virtualizarr_dataset
from tests.bench.report import Row, show

ADDED = 300
"""References of the file that is added."""
Call = Callable[[], Any]


def new(folder: Path, name: str) -> Path:
    where = folder / name
    rmtree(where, ignore_errors=True)
    return where


def stamped(folder: Path, count: int) -> Any:
    """The tree of the other benchmarks; each source has a time of its own."""
    from byteatlas.manifest.ops.common import map_arrays
    from byteatlas.values import replace

    def change(path: str, array: Any) -> Any:
        m = array.manifest
        infos = tuple(replace(s, size=1 << 20, stamp=str((i + 1) * 10**12)) for i, s in enumerate(m.sources))
        return replace(array, manifest=replace(m, sources=infos))

    return map_arrays(our_tree(folder, count), change)


def ours(folder: Path, count: int) -> Call:
    import icechunk

    from byteatlas.manifest.foreign.icechunk import write_icechunk

    assert icechunk
    tree, where = stamped(folder, count), new(folder, "ours")
    return lambda: write_icechunk(tree, where)


def alone(folder: Path, count: int) -> Call:
    import icechunk
    import zarr

    urls, offset, length = columns(folder, count)
    names = np.repeat(np.array([f"file://{u}" for u in urls], object), offset.shape[1]).tolist()
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(f"{folder}/source/")
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{folder}/source/", store))
    storage = icechunk.local_filesystem_storage(str(new(folder, "alone")))
    session = icechunk.Repository.create(storage, config).writable_session("main")
    group = zarr.open_group(session.store, mode="a")
    for v in range(10):
        group.create_array(f"var{v}", shape=(offset.shape[0], offset.shape[1] * 10), chunks=(1, 10), dtype="f4")
    starts, sizes = np.ascontiguousarray(offset.ravel()), np.ascontiguousarray(length.ravel())

    def write() -> None:
        for v in range(10):
            session.store.set_virtual_refs_arr(f"/var{v}", offset.shape, names, starts, sizes)
        session.commit("all")

    return write


def virtualizarr(folder: Path, count: int) -> Call:
    import icechunk

    dataset = virtualizarr_dataset(folder, count)
    config = icechunk.RepositoryConfig.default()
    store = icechunk.local_filesystem_store(f"{folder}/source/")
    config.set_virtual_chunk_container(icechunk.VirtualChunkContainer(f"file://{folder}/source/", store))
    storage = icechunk.local_filesystem_storage(str(new(folder, "virtualizarr")))
    session = icechunk.Repository.create(storage, config).writable_session("main")

    def write() -> None:
        dataset.vz.to_icechunk(session.store)
        session.commit("all")

    return write


def archive(folder: Path, layers: int, begin: int = 0) -> Any:
    """One variable with a coordinate; ``ADDED`` chunks for each step of time, which is a file."""
    from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup, inline_manifest
    from byteatlas.meta.dtypes import from_numpy
    from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid

    plain = (Encoding((CodecSpec("bytes", {"endian": "little"}),)),)
    where = [f"{folder}/source/product/file_{begin + i:06d}.nc" for i in range(layers)]
    infos = tuple(SourceInfo(u, 1 << 20, str((begin + i + 1) * 10**12)) for i, u in enumerate(where))
    meta = ArrayMeta(
        (layers, ADDED), from_numpy(np.dtype("f4")), RegularGrid((1, 1)), plain, np.float32(0), ("time", "x")
    )
    total = layers * ADDED
    start = (np.arange(total, dtype=np.uint64) % np.uint64(ADDED)) * np.uint64(4)
    m = ChunkManifest(
        (layers, ADDED), infos, np.repeat(np.arange(layers, dtype=np.int32), ADDED), start, np.full(total, 4, np.uint64)
    )
    time_meta = ArrayMeta(
        (layers,), from_numpy(np.dtype("f8")), RegularGrid((layers,)), plain, np.float64(0), ("time",)
    )
    values = (begin + np.arange(layers, dtype="<f8")).tobytes()
    times = VirtualArray(time_meta, inline_manifest((1,), {0: values}))
    return VirtualGroup(arrays={"time": times, "v": VirtualArray(meta, m)})


def add(folder: Path, count: int) -> Call:
    import byteatlas as ba
    from byteatlas.manifest.foreign.icechunk import write_icechunk

    layers = 10 * count // ADDED
    where = new(folder, "grown")
    write_icechunk(archive(folder, layers), where)
    file = archive(folder, 1, layers)
    return lambda: ba.append(f"icechunk:{where}", [file], "time")


WHO: Mapping[str, Mapping[str, Callable[[Path, int], Call]]] = {
    "write": {"byteatlas": ours, "icechunk alone": alone, "VirtualiZarr to_icechunk": virtualizarr},
    f"add {ADDED} references to ten times as many": {"byteatlas": add},
}


def child(folder: Path, count: int, job: str, who: str) -> None:
    """One measurement, printed as JSON."""
    warnings.simplefilter("ignore")
    call = WHO[job][who](folder, count)
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))


def measured(folder: Path, count: int, job: str, who: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.icechunk", str(folder), str(count), job, who]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job}, {who}: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """All jobs; ``references`` and ``rounds`` of ``scale`` say how many."""
    count, rounds = scale.get("references", 1_000_000), scale.get("rounds", 3)
    (folder / "source" / "product").mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for job, who in WHO.items():
        best: dict[str, float] = {}
        for _ in range(rounds):
            for name in who:
                best[name] = min(best.get(name, np.inf), measured(folder, count, job, name)["cpu"])
        title = f"Icechunk, {count:,} references: {job} (CPU)"
        rows += [Row(title, name, cpu, best["byteatlas"], per=count) for name, cpu in best.items()]
    return rows


def main(arguments: list[str]) -> None:
    """With four arguments one measurement in this process; else all jobs in a folder."""
    if len(arguments) == 4:
        child(Path(arguments[0]), int(arguments[1]), arguments[2], arguments[3])
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(show(run(Path(folder), {k: int(v) for k, v in (a.split("=") for a in arguments)})))


if __name__ == "__main__":
    main(sys.argv[1:])
