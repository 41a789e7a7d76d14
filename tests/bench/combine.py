"""Combining many files along time: manifests in memory, five variables of 60 chunks each, all checks included.

Everybody gets what its own scanner gives, in memory: byteatlas virtual groups, kerchunk references as dicts,
VirtualiZarr manifest arrays in xarray datasets with the coordinates loaded, and every check that can be switched off
switched off. byteatlas is measured twice: with groups that were loaded together, which share the descriptions that
are equal (as the command and ``combine`` of paths do), and with groups that share nothing. Each measurement has a
process of its own; the parties take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.report import Row, show

from byteatlas.combining import CombineOptions, combine
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.compare.intern import Sharing
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, single_source
from byteatlas.manifest.references import write_references
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid

STEPS, VARIABLES = 60, 5
LAT, LON = np.linspace(-90, 90, 180), np.linspace(0, 359, 360)
UNITS = {"units": "days since 2000-01-01", "calendar": "standard"}


def url(i: int) -> str:
    return f"/data/archive/file_{i:06d}.nc"


def ours(i: int) -> VirtualGroup:
    """One file's virtual group, nothing shared with other files (inside a file, equal chains of codecs are shared)."""
    chain = (
        CodecSpec("bytes", {"endian": "little"}),
        CodecSpec("numcodecs.shuffle", {"elementsize": 4}),
        CodecSpec("numcodecs.zlib", {"level": 4}),
    )
    encodings = (Encoding(chain),)
    source = SourceInfo(url(i), 1_000_000, f"stamp {i}")
    arrays = {}
    for k in range(VARIABLES):
        meta = ArrayMeta(
            (STEPS, 180, 360),
            from_numpy(np.dtype("f4")),
            RegularGrid((1, 180, 360)),
            encodings,
            np.float32(0),
            ("time", "lat", "lon"),
            {"units": "K", "long_name": f"variable {k}", "standard_name": "air_temperature"},
        )
        offset = np.arange(STEPS, dtype=np.uint64) * np.uint64(1000) + np.uint64(k * 60_000)
        arrays[f"v{k}"] = VirtualArray(
            meta, single_source((STEPS, 1, 1), source, offset, np.full(STEPS, 1000, np.uint64))
        )
    arrays["time"] = inline_array(np.arange(STEPS) + float(STEPS * i), ("time",), dict(UNITS))
    arrays["lat"] = inline_array(LAT, ("lat",), {"units": "degrees_north"})
    arrays["lon"] = inline_array(LON, ("lon",), {"units": "degrees_east"})
    return VirtualGroup(GroupMeta({"title": "archive", "history": f"made {i}"}), arrays)


def never(array: VirtualArray) -> Any:
    raise AssertionError("nothing has to be read")


def run_ours(inputs: list[VirtualGroup]) -> VirtualGroup:
    return combine(inputs, CombineOptions(concat=("time",)), read=never)


def kerchunk_refs(i: int) -> dict[str, Any]:
    """The same file as kerchunk's scanner gives it."""
    import base64

    def zarray(shape: list[int], chunks: list[int], dtype: str, packed: bool) -> str:
        return json.dumps(
            {
                "shape": shape,
                "chunks": chunks,
                "dtype": dtype,
                "fill_value": 0,
                "order": "C",
                "filters": [{"id": "shuffle", "elementsize": 4}] if packed else None,
                "compressor": {"id": "zlib", "level": 4} if packed else None,
                "zarr_format": 2,
            }
        )

    refs: dict[str, Any] = {".zgroup": '{"zarr_format":2}', ".zattrs": json.dumps({"title": "archive"})}
    for k in range(VARIABLES):
        refs[f"v{k}/.zarray"] = zarray([STEPS, 180, 360], [1, 180, 360], "<f4", True)
        refs[f"v{k}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time", "lat", "lon"], "units": "K"})
        for t in range(STEPS):
            refs[f"v{k}/{t}.0.0"] = [url(i), t * 1000 + k * 60_000, 1000]
    for name, values, attrs in (
        ("time", np.arange(STEPS) + float(STEPS * i), UNITS),
        ("lat", LAT, {"units": "degrees_north"}),
        ("lon", LON, {"units": "degrees_east"}),
    ):
        refs[f"{name}/.zarray"] = zarray([len(values)], [len(values)], "<f8", False)
        refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": [name], **attrs})
        refs[f"{name}/0"] = "base64:" + base64.b64encode(values.astype("<f8").tobytes()).decode()
    return {"version": 1, "refs": refs}


def run_kerchunk(inputs: list[dict[str, Any]]) -> Any:
    from kerchunk.combine import MultiZarrToZarr

    return MultiZarrToZarr(
        inputs, concat_dims=["time"], identical_dims=["lat", "lon"], remote_protocol="file"
    ).translate()


def virtualizarr_dataset(i: int) -> Any:
    """The same file as an xarray dataset of manifest arrays."""
    import xarray as xr
    from virtualizarr.manifests import ChunkManifest, ManifestArray
    from virtualizarr.manifests.utils import create_v3_array_metadata

    data = {}
    for k in range(VARIABLES):
        meta = create_v3_array_metadata(
            shape=(STEPS, 180, 360),
            data_type=np.dtype("f4"),
            chunk_shape=(1, 180, 360),
            fill_value=0.0,
            codecs=[
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}},
                {"name": "numcodecs.zlib", "configuration": {"level": 4}},
            ],
            dimension_names=("time", "lat", "lon"),
        )
        manifest = ChunkManifest.from_arrays(
            paths=np.full((STEPS, 1, 1), "file://" + url(i), dtype=np.dtypes.StringDType()),
            offsets=(np.arange(STEPS, dtype=np.uint64) * np.uint64(1000) + np.uint64(k * 60_000)).reshape(-1, 1, 1),
            lengths=np.full((STEPS, 1, 1), 1000, np.uint64),
        )
        data[f"v{k}"] = xr.Variable(("time", "lat", "lon"), ManifestArray(metadata=meta, chunkmanifest=manifest))
    coords = {"time": ("time", np.arange(STEPS) + float(STEPS * i), UNITS), "lat": ("lat", LAT), "lon": ("lon", LON)}
    return xr.Dataset(data, coords=coords, attrs={"title": "archive"})


def run_virtualizarr(inputs: list[Any]) -> Any:
    import xarray as xr

    return xr.combine_nested(
        inputs, concat_dim="time", coords="minimal", data_vars="minimal", compat="override", join="override",
        combine_attrs="override",
    )  # fmt: skip


def write_ours(inputs: list[VirtualGroup], target: Path) -> None:
    write_references(run_ours(inputs), target)


def write_virtualizarr(inputs: list[Any], target: Path) -> None:
    run_virtualizarr(inputs).vz.to_kerchunk(str(target), format="parquet")


def write_kerchunk(inputs: list[dict[str, Any]], target: Path) -> None:
    from kerchunk.df import refs_to_dataframe

    refs_to_dataframe(run_kerchunk(inputs), str(target))


PARTIES: Mapping[str, tuple[str, Callable[[int], Any], Callable[[list[Any]], Any], Callable[..., None]]] = {
    "shared": ("byteatlas", ours, run_ours, write_ours),
    "own": ("byteatlas, nothing shared", ours, run_ours, write_ours),
    "virtualizarr": ("VirtualiZarr + xarray", virtualizarr_dataset, run_virtualizarr, write_virtualizarr),
    "kerchunk": ("kerchunk", kerchunk_refs, run_kerchunk, write_kerchunk),
}
"""Who takes part: a label, what makes one file's input, combining, combining and writing."""


def made(who: str, count: int) -> list[Any]:
    """The inputs of one party. ``shared``: as files and maps are that byteatlas loads together."""
    sharing = Sharing()
    make = PARTIES[who][1]
    if who != "shared":
        return [make(i) for i in range(count)]
    return [sharing.group(make(i)) for i in range(count)]


def measured(who: str, count: int, rounds: int, write: bool) -> dict[str, float]:
    """CPU seconds of the best of some rounds, and by how many MB the first one let the process grow at most."""
    _, _, call, call_and_write = PARTIES[who]
    best, grown = float("inf"), 0.0
    with tempfile.TemporaryDirectory() as folder:

        def job(inputs: list[Any], name: str) -> Callable[[], Any]:
            return partial(call_and_write, inputs, Path(folder) / name) if write else partial(call, inputs)

        job(made(who, 2), "imports do not count.parquet")()
        inputs = made(who, count)
        for n in range(rounds):
            run = job(inputs, f"{n}.parquet")
            before = memory("VmRSS")
            Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high water mark starts anew
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
            grown = grown or memory("VmHWM") - before
    return {"seconds": best, "megabytes": grown}


def memory(name: str) -> float:
    """What Linux says of this process's memory, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def in_turn(parties: Sequence[str], count: int, write: bool = False, turns: int = 2) -> list[Row]:
    """Everybody in a fresh process, in turn, some times over; the best of each."""
    found: dict[str, dict[str, float]] = {}
    for turn in range(turns):
        for who in parties:
            if turn and who == "kerchunk":  # takes long, and does not vary that much
                continue
            rounds = "3" if who in ("shared", "own") or (count <= 1000 and who != "kerchunk" and not write) else "1"
            task = [sys.executable, "-W", "ignore", "-m", "tests.bench.combine", "--one", who, str(count), rounds]
            done = subprocess.run([*task, str(int(write))], check=True, capture_output=True, text=True)
            new = json.loads(done.stdout.splitlines()[-1])
            old = found.setdefault(who, new)
            found[who] = {k: min(v, old[k]) for k, v in new.items()}
    job = f"combine {count} files of {VARIABLES * STEPS} references" + (" and write Parquet" if write else "")
    base = found[parties[0]]["seconds"]
    return [
        Row(job, f"{PARTIES[who][0]} (+{f['megabytes']:.0f} MB)", f["seconds"], base, per=count)
        for who, f in found.items()
    ]


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """Rows for 1,000 files and 10,000 files (``files=`` for one other number alone); ``kerchunk=0`` leaves it out."""
    everybody = [who for who in PARTIES if who != "kerchunk" or scale.get("kerchunk", 1)]
    few = scale.get("files", 1000)
    rows = in_turn(everybody, few)
    if "files" in scale:
        return rows
    many = in_turn([who for who in everybody if who != "kerchunk"], 10 * few)
    if scale.get("kerchunk", 1):
        slow = next(r for r in rows if r.who.startswith("kerchunk"))
        label = f"kerchunk, extrapolated from {few} files"
        many.append(Row(many[0].job, label, slow.seconds * 10, many[0].seconds, per=10 * few))
    rows += many
    return rows + in_turn([who for who in everybody if who != "own"], few, write=True, turns=1)


def main(arguments: list[str]) -> None:
    """``python -m tests.bench.combine [files=1000 kerchunk=0]``."""
    if arguments[:1] == ["--one"]:
        who, *numbers = arguments[1:]
        count, rounds, write = map(int, numbers)
        print(json.dumps(measured(who, count, rounds, bool(write))))
        return
    scale = {k: int(v) for k, _, v in (a.partition("=") for a in arguments)}
    with tempfile.TemporaryDirectory() as folder:
        print(show(run(Path(folder), scale)))


if __name__ == "__main__":
    main(sys.argv[1:])
