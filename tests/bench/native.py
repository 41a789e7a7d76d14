"""Whole reads of equal Zarr v3 stores, codec by codec and in two shapes of 1 MiB chunks, beside the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.decoders import baselines
from tests.bench.reading import field
from tests.bench.report import Row, interleaved

from byteatlas.array import Array, open_store
from byteatlas.array.writing.create import array_meta
from byteatlas.array.writing.write import create_array
from byteatlas.codecs import build_pipeline
from byteatlas.meta.model import CodecSpec
from byteatlas.store.directory import DirectoryStore

CHUNKS: Mapping[str, tuple[int, int, int]] = {"tiles": (4, 256, 256), "rows": (1, 256, 1024)}
"""Two shapes of 1 MiB: one that is scattered over the result in runs of 1 KiB, one that is a run of it."""
CODECS: Mapping[str, tuple[CodecSpec, ...]] = {
    "none": (),
    "zstd": (CodecSpec("zstd", {"level": 3, "checksum": False}),),
    "blosc-lz4": (
        CodecSpec("blosc", {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 4, "blocksize": 0}),
    ),
    "gzip": (CodecSpec("gzip", {"level": 4}),),
}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    rows: list[Row] = []
    mib = scale.get("mib", 256)
    data = field(mib)
    for name, codecs in CODECS.items():
        for kind, shape in CHUNKS.items():
            path = folder / f"native_{name}_{kind}_{mib}"
            if not (path / "zarr.json").exists():
                meta = array_meta(data.shape, data.dtype, chunks=shape, compression=codecs, fill_value=0)
                create_array(DirectoryStore(path, writable=True), "", meta)[...] = data
            rows += _one(f"{name}, {kind} of 1 MiB", path, data, scale.get("rounds", 3))
    return rows


def _one(name: str, path: Path, data: np.ndarray[Any, Any], rounds: int) -> list[Row]:
    ours = open_store(str(path))
    assert isinstance(ours, Array)
    out = np.zeros(ours.shape, ours.dtype)
    timed: dict[str, Callable[[], Any]] = {"byteatlas": lambda: ours.read(out=out), "byteatlas, new array": ours.read}
    timed.update(_alone(ours, path, out))
    timed.update(_tensorstore(path))
    timed.update(_zarrs(path))
    ours.read(out=out)
    np.testing.assert_array_equal(out, data)
    return interleaved(f"read {out.nbytes >> 20} MiB, native store, {name}", timed, rounds, out.nbytes)


def _alone(array: Array, path: Path, result: np.ndarray[Any, Any]) -> Mapping[str, Callable[[], Any]]:
    meta = array.meta
    pipeline = build_pipeline(meta.encodings[0], meta.data_type, array.chunks, meta.fill_value)
    counts = tuple(n // c for n, c in zip(array.shape, array.chunks, strict=True))
    chunks = [(path / "c" / "/".join(map(str, index))).read_bytes() for index in np.ndindex(*counts)]
    return baselines(pipeline, chunks, result)


def _tensorstore(path: Path) -> dict[str, Callable[[], Any]]:
    try:
        import tensorstore as ts
    except ImportError:
        return {}
    spec = {"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}}
    return {"tensorstore": lambda: ts.open(spec, open=True).result().read().result()}


def _zarrs(path: Path) -> dict[str, Callable[[], Any]]:
    try:
        import zarr
        import zarrs  # noqa: F401
    except ImportError:
        return {}

    def read(pipeline: str) -> Any:
        with zarr.config.set({"codec_pipeline.path": pipeline}):
            return zarr.open_array(str(path), mode="r")[...]

    return {
        "zarrs pipeline": lambda: read("zarrs.ZarrsCodecPipeline"),
        "zarr-python": lambda: read("zarr.core.codec_pipeline.BatchedCodecPipeline"),
    }
