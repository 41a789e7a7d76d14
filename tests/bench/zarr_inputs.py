"""A Zarr store of many chunks as virtual input, against VirtualiZarr's parser: a fresh child process each."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.references import memory
from tests.bench.report import Row

WIDTH = 1000


def store(folder: Path, count: int) -> Path:
    """A version 3 store with ``count`` chunks of one byte."""
    root = folder / f"{count}.zarr"
    if (root / "zarr.json").exists():
        return root
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [count // WIDTH, WIDTH],
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {},
        "dimension_names": ["y", "x"],
    }
    for i in range(count // WIDTH):
        layer = root / "v" / "c" / str(i)
        layer.mkdir(parents=True)
        for j in range(WIDTH):
            (layer / str(j)).write_bytes(b"x")
    (root / "v" / "zarr.json").write_text(json.dumps(array))
    (root / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {}}))
    return root


def ours(root: str) -> Callable[[], Any]:
    import byteatlas as ba
    from byteatlas.scanning.stores import read

    assert read
    return lambda: ba.load(root)


def virtualizarr(root: str) -> Callable[[], Any]:
    from obstore.store import LocalStore
    from virtualizarr.parsers import ZarrParser

    try:
        from obspec_utils.registry import ObjectStoreRegistry
    except ImportError:
        from virtualizarr.registry import ObjectStoreRegistry
    registry = ObjectStoreRegistry({"file://": LocalStore()})
    return lambda: ZarrParser()(f"file://{root}", registry)


WHO: dict[str, Callable[[str], Callable[[], Any]]] = {"byteatlas": ours, "VirtualiZarr ZarrParser": virtualizarr}


def child(root: str, who: str) -> None:
    """One measurement, printed as JSON: CPU seconds, growth of the peak memory in MB."""
    warnings.simplefilter("ignore")
    call = WHO[who](root)
    Path("/proc/self/clear_refs").write_text("5")
    before, cpu, wall = memory("VmRSS"), time.process_time(), time.perf_counter()
    kept = call()
    used = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    print(json.dumps({**used, "mb": memory("VmHWM") - before}))
    del kept


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """``zarr_chunks`` of ``scale`` says how many."""
    count = scale.get("zarr_chunks", 1_000_000)
    root = store(folder, count)
    rows: list[Row] = []
    base = 0.0
    for who in WHO:
        command = [sys.executable, "-m", "tests.bench.zarr_inputs", str(root), who]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{who}: {done.stderr[-500:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        base = base or found["cpu"]
        name = f"{who} (+{found['mb']:.0f} MB)"
        rows.append(
            Row(f"{count:,} chunks of a Zarr store as virtual input (CPU)", name, found["cpu"], base, per=count)
        )
    return rows


if __name__ == "__main__":
    child(sys.argv[1], sys.argv[2])
