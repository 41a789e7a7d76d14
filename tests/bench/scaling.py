"""How the cost of combining grows: files of 10,000 references, from one million references to a hundred million.

``python -m tests.bench.scaling [MILLIONS ...] [--save FILE]``. CPU seconds for the combination with all its checks, and
for writing the result as Parquet; most memory that the process had. Each size runs in a process of its own.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.bench.combine import UNITS, run_ours, url

from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, single_source
from byteatlas.manifest.references import write_references
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid

STEPS, VARIABLES, CHUNK = 2000, 5, 1 << 20


def made(i: int) -> VirtualGroup:
    """One file's virtual group: five variables of 2,000 chunks, whose lengths differ as compressed ones do."""
    source = SourceInfo(url(i), STEPS * VARIABLES * CHUNK, f"stamp {i}")
    arrays = {}
    length = np.random.default_rng(i).integers(CHUNK // 2, CHUNK, (VARIABLES, STEPS), dtype=np.uint64)
    offset = (np.cumsum(length.reshape(-1)) - length.reshape(-1)).reshape(VARIABLES, STEPS)
    chain = (CodecSpec("bytes", {"endian": "little"}), CodecSpec("numcodecs.zlib", {"level": 4}))
    for k in range(VARIABLES):
        meta = ArrayMeta(
            (STEPS, 512, 512),
            from_numpy(np.dtype("f4")),
            RegularGrid((1, 512, 512)),
            (Encoding(chain),),
            np.float32(0),
            ("time", "y", "x"),
            {"units": "K", "long_name": f"variable {k}"},
        )
        arrays[f"v{k}"] = VirtualArray(
            meta, single_source((STEPS, 1, 1), source, offset[k].astype(np.uint64), length[k].copy())
        )
    arrays["time"] = inline_array(np.arange(STEPS) + float(STEPS * i), ("time",), dict(UNITS))
    return VirtualGroup(GroupMeta({"title": "archive"}), arrays)


def measured(millions: int) -> dict[str, float]:
    """One size: CPU seconds and gigabytes."""
    inputs = [made(i) for i in range(millions * 1_000_000 // (STEPS * VARIABLES))]
    start = time.process_time()
    group = run_ours(inputs)
    combined = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        write_references(group, Path(folder) / "all.parquet")
        written = time.process_time() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "million references": millions,
        "combine, CPU s": round(combined - start, 2),
        "write Parquet, CPU s": round(written, 2),
        "most memory, GiB": round(memory, 2),
    }


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["--one"]:
        print(json.dumps(measured(int(arguments[1]))))
        return
    target = Path(arguments.pop(arguments.index("--save") + 1)) if "--save" in arguments else None
    sizes = [int(a) for a in arguments if a != "--save"] or [1, 3, 10, 30, 100]
    rows = []
    for size in sizes:
        command = [sys.executable, "-m", "tests.bench.scaling", "--one", str(size)]
        rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(rows[-1], flush=True)
        if target is not None:
            target.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
