"""Combining many files along time: manifests in memory, five variables of 60 chunks each, all checks included.

kerchunk and VirtualiZarr get what they take: kerchunk the same references as dicts, VirtualiZarr manifest arrays in
xarray datasets with the coordinates loaded and every check that can be switched off switched off.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.report import Row, show

from byteatlas.combine import CombineOptions, combine
from byteatlas.combine.inline import inline_array
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
    """One file's virtual group, nothing shared with other files."""
    source = SourceInfo(url(i), 1_000_000, f"stamp {i}")
    arrays = {}
    for k in range(VARIABLES):
        chain = (
            CodecSpec("bytes", {"endian": "little"}),
            CodecSpec("numcodecs.shuffle", {"elementsize": 4}),
            CodecSpec("numcodecs.zlib", {"level": 4}),
        )
        meta = ArrayMeta(
            (STEPS, 180, 360),
            from_numpy(np.dtype("f4")),
            RegularGrid((1, 180, 360)),
            (Encoding(chain),),
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
    import json

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


def written(folder: Path, count: int) -> list[Row]:
    """Combining and writing Parquet."""
    job = f"combine {count} files of {VARIABLES * STEPS} references and write Parquet"
    rows: list[Row] = []
    for who, make, call in (
        ("byteatlas", ours, write_ours),
        ("VirtualiZarr + xarray", virtualizarr_dataset, write_virtualizarr),
        ("kerchunk", kerchunk_refs, write_kerchunk),
    ):
        inputs: list[Any] = [make(i) for i in range(count)]
        target = folder / f"{who.split()[0]}.parquet"
        seconds = best(partial(call, inputs, target), 1)
        rows.append(Row(job, who, seconds, rows[0].seconds if rows else seconds, per=count))
    return rows


def memory() -> float:
    """Most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def best(call: Callable[[], Any], rounds: int) -> float:
    """The least CPU time of some rounds: everybody here works in one thread, and other programs do not count."""
    found = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        call()
        found = min(found, time.process_time() - start)
    return found


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """Rows for 1,000 files (and more with ``files=``)."""
    count = scale.get("files", 1000)
    rows: list[Row] = []
    job = f"combine {count} files of {VARIABLES * STEPS} references"
    base = 0.0
    for who, make, combined, rounds in (
        ("byteatlas", ours, run_ours, 5),
        ("VirtualiZarr + xarray", virtualizarr_dataset, run_virtualizarr, 3 if count <= 1000 else 1),
    ):
        inputs: list[Any] = [make(i) for i in range(count)]
        before = memory()
        seconds = best(partial(combined, inputs), rounds)
        base = base or seconds
        rows.append(Row(job, f"{who} (+{memory() - before:.0f} MB)", seconds, base, per=count))
        inputs.clear()
    some = min(count, scale.get("kerchunk", 1000))
    if some:
        refs = [kerchunk_refs(i) for i in range(some)]
        seconds = best(partial(run_kerchunk, refs), 1) * count / some
        label = "kerchunk" if some == count else f"kerchunk (x{count / some:g} from {some})"
        rows.append(Row(job, label, seconds, base, per=count))
    if scale.get("write"):
        rows += written(folder, scale["write"])
    return rows


def main() -> None:
    """``python -m tests.bench.combine [files=1000 kerchunk=1000 write=1000]``."""
    scale = {k: int(v) for k, _, v in (a.partition("=") for a in sys.argv[1:])}
    with tempfile.TemporaryDirectory() as folder:
        print(show(run(Path(folder), scale)))


if __name__ == "__main__":
    main()
