"""Reference maps of a million and more references: writing, opening to the first value, reading all of it.

Ten variables over a thousand source files. Every figure comes from a fresh child process: its clock and the growth of
its peak memory start behind imports and behind making the input. CPU seconds are compared: nothing waits for a network
here, and they repeat where others use the machine. The map opened is the same text for everybody.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.report import Row, show

VARIABLES, FILES = 10, 1000


def columns(folder: Path, count: int) -> tuple[list[str], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """URLs of the files; offsets and lengths of one variable's chunks, (files, chunks per file)."""
    per = count // VARIABLES // FILES
    rng = np.random.default_rng(0)
    length = rng.integers(1000, 90_000, (FILES, per)).astype(np.uint64)
    length[:, 0] = 40
    offset = np.uint64(4096) + np.cumsum(length, axis=1) - length
    return [f"{folder}/source/product/file_{i:05d}.nc" for i in range(FILES)], offset, length


def our_tree(folder: Path, count: int) -> Any:
    from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
    from byteatlas.meta.dtypes import from_numpy
    from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid

    urls, offset, length = columns(folder, count)
    per = offset.shape[1]
    meta = ArrayMeta(
        (FILES, per * 10),
        from_numpy(np.dtype("f4")),
        RegularGrid((1, 10)),
        (Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        np.float32(0),
        ("t", "x"),
    )
    sources = tuple(map(SourceInfo, urls))
    which = np.repeat(np.arange(FILES, dtype=np.int32), per)
    made = ChunkManifest((FILES, per), sources, which, offset.ravel(), length.ravel())
    return VirtualGroup(arrays={f"var{v}": VirtualArray(meta, made) for v in range(VARIABLES)})


def peers_dict(folder: Path, count: int) -> dict[str, Any]:
    urls, offset, length = columns(folder, count)
    per = offset.shape[1]
    zarray = {
        "zarr_format": 2,
        "shape": [FILES, per * 10],
        "chunks": [1, 10],
        "dtype": "<f4",
        "compressor": None,
        "filters": None,
        "order": "C",
        "fill_value": 0,
    }
    refs: dict[str, Any] = {".zgroup": '{"zarr_format":2}'}
    where, size = offset.tolist(), length.tolist()
    for v in range(VARIABLES):
        refs[f"var{v}/.zarray"] = json.dumps(zarray)
        refs[f"var{v}/.zattrs"] = '{"_ARRAY_DIMENSIONS":["t","x"]}'
        for i, url in enumerate(urls):
            refs |= {f"var{v}/{i}.{j}": [url, where[i][j], size[i][j]] for j in range(per)}
    return refs


def virtualizarr_dataset(folder: Path, count: int) -> Any:
    import xarray as xr
    from virtualizarr.manifests import ChunkManifest, ManifestArray
    from virtualizarr.manifests.utils import create_v3_array_metadata

    urls, offset, length = columns(folder, count)
    per = offset.shape[1]
    meta = create_v3_array_metadata(
        shape=(FILES, per * 10),
        data_type=np.dtype("f4"),
        chunk_shape=(1, 10),
        fill_value=0.0,
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}],
        dimension_names=("t", "x"),
    )
    paths = np.array([f"file://{u}" for u in urls], dtype=np.dtypes.StringDType()).repeat(per).reshape(FILES, per)
    made = ChunkManifest.from_arrays(paths=paths, offsets=offset, lengths=length)
    return xr.Dataset(
        {f"var{v}": (("t", "x"), ManifestArray(metadata=meta, chunkmanifest=made)) for v in range(VARIABLES)}
    )


def fsspec_first(targets: tuple[str, str], **more: Any) -> Callable[[], Any]:
    import fsspec
    import zarr
    from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
    from fsspec.implementations.reference import LazyReferenceMapper, ReferenceFileSystem
    from zarr.storage import FsspecStore

    def first(target: str) -> Any:
        fo: Any = target
        if "engine" in more:
            fo = LazyReferenceMapper(target, fsspec.filesystem("file"), engine=more["engine"])
        system = ReferenceFileSystem(fo, remote_protocol="file", skip_instance_cache=True)
        store = FsspecStore(AsyncFileSystemWrapper(system, asynchronous=True), read_only=True)
        return zarr.open_group(store, mode="r", zarr_format=2)["var0"][0, 0:10]

    first(targets[0])
    return lambda: first(targets[1])


def ours_first(targets: tuple[str, str]) -> Callable[[], Any]:
    import byteatlas as ba

    def first(target: str) -> Any:
        return ba.open(target)["var0"][0, 0:10]

    first(targets[0])
    return lambda: first(targets[1])


def warm(folder: Path, name: str) -> tuple[str, str]:
    """A map of the same form with few references, and the map: the first read of the one takes all imports."""
    from byteatlas.manifest.references import write_references

    small = folder / f"small-{name}"
    write_references(our_tree(folder, VARIABLES * FILES), small)
    return str(small), str(folder / name)


def ours_columns(target: str) -> Callable[[], Any]:
    import pyarrow.compute  # noqa: F401

    from byteatlas.manifest.references import read_references

    def whole() -> Any:
        return [array.manifest.load() for array in read_references(target).arrays.values()]  # type: ignore[union-attr]

    return whole


def fsspec_columns(target: str) -> Callable[[], Any]:
    from fsspec.implementations.reference import ReferenceFileSystem

    return lambda: ReferenceFileSystem(target, remote_protocol="file", skip_instance_cache=True)


def ours_write(folder: Path, count: int, name: str) -> Callable[[], Any]:
    import pyarrow.parquet  # noqa: F401

    from byteatlas.manifest.references import write_references

    tree = our_tree(folder, count)
    return lambda: write_references(tree, folder / name)


def kerchunk_parquet(folder: Path, count: int) -> Callable[[], Any]:
    import fastparquet  # noqa: F401
    import kerchunk.df

    refs = peers_dict(folder, count)
    return lambda: kerchunk.df.refs_to_dataframe(refs, str(folder / "kerchunk.parquet"), record_size=100_000)


def ujson_dump(folder: Path, count: int) -> Callable[[], Any]:
    import ujson

    refs = peers_dict(folder, count)

    def dump() -> None:
        with (folder / "ujson.json").open("w") as file:
            ujson.dump({"version": 1, "refs": refs}, file)

    return dump


def virtualizarr_write(folder: Path, count: int, form: str) -> Callable[[], Any]:
    dataset = virtualizarr_dataset(folder, count)
    return lambda: dataset.vz.to_kerchunk(str(folder / f"vz.{form}"), format=form)


Maker = Callable[[Path, int], Callable[[], Any]]
WHO: Mapping[str, Mapping[str, Maker]] = {
    "write Parquet (CPU)": {
        "byteatlas": lambda d, n: ours_write(d, n, "ours.parquet"),
        "kerchunk refs_to_dataframe": kerchunk_parquet,
        "VirtualiZarr to_kerchunk": lambda d, n: virtualizarr_write(d, n, "parquet"),
    },
    "write JSON (CPU)": {
        "byteatlas": lambda d, n: ours_write(d, n, "ours.json"),
        "ujson.dump of a ready dict": ujson_dump,
        "VirtualiZarr to_kerchunk": lambda d, n: virtualizarr_write(d, n, "json"),
    },
    "JSON, open to first value (CPU)": {
        "byteatlas": lambda d, n: ours_first(warm(d, "ours.json")),
        "fsspec + zarr-python": lambda d, n: fsspec_first(warm(d, "ours.json")),
    },
    "JSON, all references (CPU)": {
        "byteatlas": lambda d, n: ours_columns(f"{d}/ours.json"),
        "fsspec": lambda d, n: fsspec_columns(f"{d}/ours.json"),
    },
    "Parquet, open to first value (CPU)": {
        "byteatlas": lambda d, n: ours_first(warm(d, "ours.parquet")),
        "fsspec (fastparquet) + zarr-python": lambda d, n: fsspec_first(warm(d, "ours.parquet"), engine="fastparquet"),
        "fsspec (pyarrow) + zarr-python": lambda d, n: fsspec_first(warm(d, "ours.parquet"), engine="pyarrow"),
    },
}


def memory(field: str) -> float:
    """``VmHWM`` (peak) or ``VmRSS`` of this process, in MB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) / 1024


def child(folder: Path, count: int, job: str, who: str) -> None:
    """One measurement, printed as JSON: seconds, CPU seconds, growth of the peak memory in MB."""
    warnings.simplefilter("ignore")
    call = WHO[job][who](folder, count)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before, wall, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
    kept = call()
    used = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": used[0], "cpu": used[1], "mb": memory("VmHWM") - before}))
    del kept


def measured(folder: Path, count: int, job: str, who: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.references", str(folder), str(count), job, who]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job}, {who}: {done.stderr[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """All jobs; ``references`` and ``rounds`` of ``scale`` say how many."""
    count, rounds = scale.get("references", 1_000_000), scale.get("rounds", 3)
    source = folder / "source" / "product" / "file_00000.nc"
    source.parent.mkdir(parents=True, exist_ok=True)
    with source.open("wb") as file:
        file.truncate(1 << 20)  # the first chunk lies here
    rows: list[Row] = []
    for job, who in WHO.items():
        found: dict[str, dict[str, float]] = {}
        for _ in range(rounds):
            for name in who:
                if name in found and found[name]["wall"] > 8:
                    continue  # slow ones once
                new = measured(folder, count, job, name)
                old = found.get(name, new)
                found[name] = {k: min(new[k], old[k]) for k in new}
        base = found["byteatlas"]["cpu"]
        title = f"{count:,} references: {job}"
        rows += [Row(title, f"{n} (+{f['mb']:.0f} MB)", f["cpu"], base, per=count) for n, f in found.items()]
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
