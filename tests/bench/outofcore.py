"""Maps that are larger than memory: many Parquet maps of a million references each, combined into one Parquet map.

Ten variables of 100,000 chunks in each map, a coordinate of 100 values, a table of ten files with their sizes. The
maps share the bytes of their part files (hard links): they name their files relative to themselves, so that each map
leads to files of its own. Everything is one child process that opens all maps, combines and writes; another one then
opens the result and reads one value. What counts is the time for each reference and the peak of memory, which must not
grow with the number of maps. ``python -m tests.bench outofcore maps=1000`` needs about 10 GB of disk.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from tests.bench.report import Row, show

VARIABLES, STEPS, PER_STEP, FILES = 10, 100, 1000, 10
PER_MAP = VARIABLES * STEPS * PER_STEP
SIZE = 10_000_000_000
"""Bytes of each file; the only one that is there is all hole."""


def input_maps(folder: Path, maps: int) -> list[Path]:
    """The maps; only the first one and the coordinates of the others are really written."""
    from byteatlas.combining.chunks.small_arrays import inline_array
    from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
    from byteatlas.manifest.options import MapWriteOptions
    from byteatlas.manifest.references import write_references
    from byteatlas.meta.dtypes import from_numpy
    from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid

    found = [folder / f"in{i:05d}" / "map.parquet" for i in range(maps)]
    rng = np.random.default_rng(0)
    length = rng.integers(1000, 90_000, (VARIABLES, STEPS * PER_STEP)).astype(np.uint64)
    length[:, 0] = 40
    offset = np.uint64(4096) + np.cumsum(length, axis=1) - length
    meta = ArrayMeta(
        (STEPS, PER_STEP * 10),
        from_numpy(np.dtype("f4")),
        RegularGrid((1, 10)),
        (Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        np.float32(0),
        ("time", "x"),
    )
    which = np.repeat(np.arange(FILES, dtype=np.int32), STEPS * PER_STEP // FILES)
    sources = tuple(SourceInfo(str(found[0].parent / f"file_{i}.nc"), SIZE) for i in range(FILES))
    arrays = {
        f"var{v}": VirtualArray(meta, ChunkManifest((STEPS, PER_STEP), sources, which, offset[v], length[v]))
        for v in range(VARIABLES)
    }
    options = MapWriteOptions(relative=True)
    for i, target in enumerate(found):
        target.parent.mkdir(parents=True, exist_ok=True)
        values = np.arange(STEPS, dtype="f8") + STEPS * i
        arrays["time"] = inline_array(values, ("time",), {"units": "hours since 2000-01-01"})
        if not i:
            write_references(VirtualGroup(arrays=arrays), target, options=options)
            continue
        write_references(VirtualGroup(arrays={"time": arrays["time"]}), target, options=options)
        (target / ".zmetadata").unlink()
        os.link(found[0] / ".zmetadata", target / ".zmetadata")
        for v in range(VARIABLES):
            (target / f"var{v}").mkdir()
            os.link(found[0] / f"var{v}" / "refs.0.parq", target / f"var{v}" / "refs.0.parq")
    with (found[0].parent / "file_0.nc").open("wb") as file:
        file.truncate(SIZE)  # the first chunk lies here
    return found


def memory(field: str) -> float:
    """``VmHWM`` (peak) or ``VmRSS`` of this process, in MB."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(field))
    return int(line.split()[1]) / 1024


def child(folder: Path, job: str) -> None:
    """One job in this process; prints what it took as JSON."""
    import byteatlas as ba

    target = folder / "all.parquet"
    wall, cpu = time.perf_counter(), time.process_time()
    if job == "combine":
        ba.write(ba.combine(str(folder / "in*" / "map.parquet"), "time"), target)
    else:
        ba.open(folder / "in00000" / "map.parquet")["var0"][0, 0:10]  # imports do not count
        wall, cpu = time.perf_counter(), time.process_time()
        ba.open(target)["var0"][0, 0:10]
    used = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": used[0], "cpu": used[1], "mb": memory("VmHWM")}))


def measured(folder: Path, job: str) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.outofcore", "--one", str(folder), job]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job}: {done.stderr[-1500:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """Rows for a tenth of the maps and for all of them (``maps=``, 40 as a rule): both per reference."""
    most = scale.get("maps", 40)
    rows: list[Row] = []
    base = 0.0
    for maps in dict.fromkeys((max(most // 10, 1), most)):
        place = folder / f"outofcore-{maps}"
        try:
            input_maps(place, maps)
            combined, first = measured(place, "combine"), measured(place, "first")
        finally:
            shutil.rmtree(place, ignore_errors=True)
        count = maps * PER_MAP
        base = base or combined["wall"] / count
        job = f"Parquet maps of {PER_MAP:,} references: combined into one (wall; ratio of time per reference)"
        who = f"{maps:,} maps (peak {combined['mb']:.0f} MB, CPU {combined['cpu']:.1f} s)"
        rows.append(Row(job, who, combined["wall"], base * count, per=count))
        who = f"first value of the {count:,} references (peak {first['mb']:.0f} MB)"
        rows.append(Row(job, who, first["wall"], first["wall"]))
    return rows


def main(arguments: list[str]) -> None:
    """``python -m tests.bench.outofcore [maps=40]``, or one job in this process."""
    if arguments[:1] == ["--one"]:
        child(Path(arguments[1]), arguments[2])
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        print(show(run(Path(folder), {k: int(v) for k, v in (a.split("=") for a in arguments)})))


if __name__ == "__main__":
    main(sys.argv[1:])
