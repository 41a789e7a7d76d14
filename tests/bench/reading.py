"""Reading: whole arrays, tiny chunks, remote. Each peer reads the same bytes; the best of several rounds counts.

Files are made once per directory. Peers run interleaved in this process; those that are not installed are left out.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.decoders import baselines
from tests.bench.report import Row, interleaved

import byteatlas as ba
from byteatlas.array import Array
from byteatlas.codecs import build_pipeline
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta import v3
from byteatlas.meta.model import ChunkKeys, RegularGrid

Timed = Callable[[], Any]


def field(mib: int) -> np.ndarray[Any, Any]:
    """A smooth field with some noise: shuffle and deflate shrink it to about a quarter."""
    planes = max(4, mib // 4)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:1024, 0:1024].astype("f4") / 128
    base = (np.sin(x) * np.cos(y) * 40).astype("f4")
    out = np.empty((planes, 1024, 1024), "f4")
    for k in range(planes):
        out[k] = np.round(base + k / 10 + rng.normal(0, 0.05, base.shape).astype("f4"), 1)
    return out


def hdf5_file(folder: Path, name: str, data: Callable[[], np.ndarray[Any, Any]], chunks: Any, **filters: Any) -> Path:
    import h5py

    path = folder / f"{name}.h5"
    if not path.exists():
        part = path.with_suffix(".part")
        with h5py.File(part, "w") as file:
            file.create_dataset("data", data=data(), chunks=chunks, **filters)
        part.rename(path)
    return path


def native_store(folder: Path, name: str, node: VirtualArray) -> Path:
    """The same chunk bytes as a Zarr v3 directory store."""
    path = folder / f"{name}.zarr"
    if (path / "zarr.json").exists():
        return path
    path.mkdir(parents=True, exist_ok=True)
    from dataclasses import replace

    from byteatlas.io.open import SourcePool
    from byteatlas.store.directory import DirectoryStore
    from byteatlas.store.reference import ReferenceStore

    meta = replace(node.meta, zarr_format=3, keys=ChunkKeys("default", "/"), fill_value=np.float32(0))
    source = ReferenceStore(VirtualArray(meta, node.manifest), SourcePool())
    target = DirectoryStore(path, writable=True)
    for key in source.list_keys():
        if key != "zarr.json":
            target.set(key, source.get(key) or b"")
    (path / "zarr.json").write_text(json.dumps(v3.dump_array(meta)))
    return path


def _alone(node: VirtualArray, path: Path, result: np.ndarray[Any, Any]) -> Mapping[str, Timed]:
    manifest = node.manifest.load()
    data = path.read_bytes()
    assert isinstance(node.meta.grid, RegularGrid)
    pipeline = build_pipeline(node.meta.encodings[0], node.meta.data_type, node.meta.grid.chunk_shape, None)
    chunks = [data[o : o + n] for o, n in zip(manifest.offset.tolist(), manifest.length.tolist(), strict=True)]
    return baselines(pipeline, chunks, result)


def _fsspec_zarr(refs: Path, **options: Any) -> Any:
    import zarr
    from fsspec.implementations.reference import ReferenceFileSystem
    from zarr.storage import FsspecStore

    fs = ReferenceFileSystem(fo=str(refs), asynchronous=True, **options)
    return zarr.open_group(FsspecStore(fs, read_only=True), mode="r")["data"]


def large(folder: Path, mib: int, rounds: int) -> list[Row]:
    """A large float32 array in 1 MiB chunks of deflate + shuffle, in HDF5 through references."""
    chunks = (4, 256, 256)
    path = hdf5_file(
        folder, f"szlib{mib}", lambda: field(mib), chunks, compression="gzip", compression_opts=4, shuffle=True
    )
    group = ba.scan(str(path))
    node = group["data"]
    assert isinstance(node, VirtualArray)
    refs = folder / f"szlib{mib}.json"
    ba.write(group, str(refs))
    ours = ba.open(str(refs))["data"]
    assert isinstance(ours, Array)
    out = np.empty(ours.shape, ours.dtype)
    out[...] = 0
    timed: dict[str, Timed] = {"byteatlas": lambda: ours.read(out=out)}
    timed.update(_alone(node, path, out))
    timed.update(_h5py_reader(path, out))
    timed.update(_zarr_readers(folder, refs, native_store(folder, f"szlib{mib}", node)))
    return interleaved(f"read {out.nbytes >> 20} MiB, shuffle + deflate, 1 MiB chunks", timed, rounds, out.nbytes)


def _h5py_reader(path: Path, out: np.ndarray[Any, Any]) -> Mapping[str, Timed]:
    import h5py

    def read() -> None:
        with h5py.File(path) as file:
            file["data"].read_direct(out)

    return {"h5py": read}


def _zarr_readers(folder: Path, refs: Path, store: Path) -> Mapping[str, Timed]:
    timed: dict[str, Timed] = {}
    through = _fsspec_zarr(refs)
    timed["zarr-python, fsspec references"] = lambda: through[...]
    native = ba.open(str(store))
    timed["byteatlas, native store"] = lambda: native[...]  # type: ignore[index]
    try:
        import zarr
        import zarrs  # noqa: F401
    except ImportError:
        return timed

    def with_zarrs() -> None:
        with zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"}):
            zarr.open_array(str(store), mode="r")[...]

    timed["zarrs pipeline, native store"] = with_zarrs
    return timed


def tiny(folder: Path, count: int, rounds: int) -> list[Row]:
    """Very many chunks of 256 bytes, deflated and raw."""
    rows: list[Row] = []
    values = np.arange(count * 64, dtype="i4") // 7
    for name, filters in (("deflate", {"compression": "gzip"}), ("raw", {})):
        path = hdf5_file(folder, f"tiny_{name}{count}", lambda: values, (64,), **filters)
        group = ba.scan(str(path))
        node = group["data"]
        assert isinstance(node, VirtualArray)
        ours = ba.open(group)["data"]
        assert isinstance(ours, Array)
        store = native_store(folder, f"tiny_{name}{count}", node)
        native = ba.open(str(store))
        assert isinstance(native, Array)
        timed: dict[str, Timed] = {
            "byteatlas": ours.read,
            "byteatlas, native store": native.read,
        }
        timed.update(_h5py_reader(path, np.empty(count * 64, "i4")))
        timed.update(_tensorstore(store, name))
        np.testing.assert_array_equal(ours[...], values)
        rows += interleaved(f"read {count} chunks of 256 bytes, {name}", timed, rounds, values.nbytes, per=count)
    return rows


def _tensorstore(store: Path, name: str) -> Mapping[str, Timed]:
    """tensorstore reads version 2 stores with zlib; its v3 driver has no deflate without the gzip frame."""
    try:
        import tensorstore as ts
    except ImportError:
        return {}
    second = store.with_suffix(".v2.zarr")
    if not (second / ".zarray").exists():
        second.mkdir(exist_ok=True)
        meta = json.loads((store / "zarr.json").read_text())
        level = {"id": "zlib", "level": 4} if name == "deflate" else None
        document = {
            "zarr_format": 2,
            "shape": meta["shape"],
            "chunks": meta["chunk_grid"]["configuration"]["chunk_shape"],
            "dtype": "<i4",
            "compressor": level,
            "filters": None,
            "fill_value": 0,
            "order": "C",
        }
        for file in (store / "c").iterdir():
            (second / file.name).hardlink_to(file)
        (second / ".zarray").write_text(json.dumps(document))

    def read() -> Any:
        spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": str(second)}}
        return ts.open(spec, open=True).result().read().result()

    return {"tensorstore, native store": read}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    rounds = scale.get("rounds", 3)
    rows = large(folder, scale.get("mib", 256), rounds)
    return rows + tiny(folder, scale.get("chunks", 100_000), rounds)


def timed_once(call: Timed) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
