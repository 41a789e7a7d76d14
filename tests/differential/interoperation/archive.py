"""An archive of files that differ in everything: compression, filters, byte order, packing, and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray

import byteatlas as ba

UNEVEN = (31, 28, 31, 30, 31)
EVEN = (30, 30, 30, 30, 30)
KINDS: tuple[dict[str, Any], ...] = (
    {"zlib": True, "complevel": 1},
    {"zlib": True, "complevel": 9, "shuffle": True},
    {"endian": "big"},
    {"fletcher32": True, "zlib": True},
    {"compression": "zstd"},
)
PACKED = (None, (0.01, 250.0), (0.02, 240.0), None, (0.005, 260.0))


def _values(days: int, month: int) -> NDArray[np.float64]:
    return 250 + np.arange(days * 20, dtype="f8").reshape(days, 4, 5) % 97 / 2 + month


def write(folder: Path, days: Sequence[int]) -> list[Path]:
    """Five files, one a month."""
    found = []
    for month, (options, packing) in enumerate(zip(KINDS, PACKED, strict=True)):
        path = folder / f"month{month}.nc"
        with netCDF4.Dataset(path, "w") as file:
            for name, n in (("time", None), ("y", 4), ("x", 5)):
                file.createDimension(name, n)
            time = file.createVariable("time", "i4", ("time",), chunksizes=(512,))
            time.units = "days since 2001-01-01"
            start = sum(days[:month])
            time[:] = np.arange(start, start + days[month])
            order = ">" if options.get("endian") == "big" else "<"
            kind = f"{order}f8" if packing is None else f"{order}i2"
            made = file.createVariable("t", kind, ("time", "y", "x"), chunksizes=(days[month], 4, 5), **options)
            made.units = "K"
            if packing is not None:
                made.scale_factor, made.add_offset = packing
            made[:] = _values(days[month], month)
        found.append(path)
    return found


def combined(folder: Path, days: Sequence[int]) -> Any:
    """The five files as one map, without any values in it that could lie in the files."""
    return ba.combine([ba.scan(path) for path in write(folder, days)], concat="time", inline_uneven=0)
