"""Small files of every format, maps and stores of them, and what they hold: for the fault matrix."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from fixtures.hdf4.make_hdf4 import small

import byteatlas as ba

VALUES = np.arange(40 * 30, dtype="i4").reshape(40, 30)
FIXTURES = Path(__file__).parents[2] / "fixtures"
COPIED = {
    "a.nc": "netcdf3/cdf1.nc", "a.tif": "tiff/partial_strips.tif", "indexed.grib2": "grib/gfs.grib2",
    "indexed.grib2.idx": "grib/gfs.grib2.idx", "plain.grib2": "grib/hrrr.grib2", "a.fits": "fits/images.fits",
}  # fmt: skip
STORES: Mapping[str, ba.CopyOptions] = {
    "v2.zarr": ba.CopyOptions(zarr_format=2),
    "v3.zarr": ba.CopyOptions(),
    "s.zarr": ba.CopyOptions(shards={"v": (20, 20)}),
}


def files(folder: Path) -> dict[str, bytes]:
    """All files by their path below the folder, in which they are made."""
    for name, libver in (("v0.h5", "earliest"), ("v2.h5", "latest")):
        with h5py.File(folder / name, "w", libver=libver) as file:
            file.create_dataset("v", data=VALUES, chunks=(10, 10), compression="gzip")
            file["v"].attrs["units"] = "K"
            file.create_group("deep")["w"] = np.arange(3.0)
    for k in range(3):
        series(folder / f"t{k}.h5", k)
    for name, path in COPIED.items():
        (folder / name).write_bytes((FIXTURES / path).read_bytes())
    small(folder).rename(folder / "a.hdf")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.write(folder / "v0.h5", "in.h5")
    relative = ba.MapWriteOptions(relative=True)
    for name in ("a.json", "a.parquet"):
        ba.write(ba.scan(folder / "v0.h5"), folder / name, options=relative)
        ba.write(ba.scan(folder / "t0.h5"), folder / f"grown{name[1:]}", options=relative)
    for name, options in STORES.items():
        ba.copy(folder / "v0.h5", folder / name, options=options)
    _consolidated(folder)
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def series(path: Path, step: int) -> Path:
    """One time step."""
    with h5py.File(path, "w") as file:
        file["time"] = np.array([step], "i4")
        file["time"].make_scale()
        file["x"] = np.full((1, 4), float(step))
        file["x"].dims[0].attach_scale(file["time"])
    return path


def _consolidated(folder: Path) -> None:
    import zarr

    for name, zarr_format in (("c2.zarr", 2), ("c3.zarr", 3)):
        group = zarr.open_group(folder / name, mode="w", zarr_format=zarr_format)
        group.create_array("v", data=VALUES, chunks=(20, 20))
        zarr.consolidate_metadata(group.store)


def digests(node: Any) -> dict[str, str]:
    """What every array below a node is: shape, type, and a digest of its values."""
    found: dict[str, str] = {}
    for path, member in [("", node), *node.walk()] if hasattr(node, "walk") else [("", node)]:
        if hasattr(member, "walk"):
            found[f"{path}/"] = "group"
            continue
        values = np.asarray(member[...])
        data = repr(values.tolist()).encode() if values.dtype.hasobject else np.ascontiguousarray(values).tobytes()
        text = f"{values.shape} {values.dtype.str} {hashlib.sha256(data).hexdigest()[:16]}"
        found[path] = f"{text} {sorted(map(str, member.attrs))}"
    return found
