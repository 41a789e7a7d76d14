"""How long it takes to scan large TIFF and netCDF-3 files, beside tifffile's reference writer.

Run it as ``python -m tests.bench.raster [--tiles N]``; the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import io
import struct
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fixtures.netcdf3.make_netcdf3 import Var, build
from fixtures.tiff.raw_tiff import Raw, gray, write
from tests.bench.report import Row, interleaved, show

import byteatlas as ba

TILE = 512


def cog(tiles: int) -> bytes:
    """A pyramid whose full resolution has about so many deflated tiles; directories first, tiny tiles."""
    across = max(2, round(tiles**0.5))
    width = across * TILE
    pages: list[Raw] = []
    while True:
        count = -(-width // TILE)
        tags = gray(width, width, 16, compression=8, tile_width=TILE, tile_length=TILE, subfile=int(bool(pages)))
        pages.append(Raw(tags, [b"x" * 20] * max(2, count * count), tiled=True))
        if count <= 1:
            return write(pages, directories_first=True)
        width = -(-width // 2)


def netcdf3(path: Path, records: int) -> None:
    """Five record variables; the data are a hole in the file."""
    head = build(5, {"t": None, "x": 2}, {n: Var(("t", "x"), np.zeros((1, 2), "f4")) for n in "abcde"})
    at = head.index(struct.pack(">Q", 1))
    with path.open("wb") as file:
        file.write(head[:at] + struct.pack(">Q", records) + head[at + 8 :])
        file.truncate(len(head) + (records - 1) * 40)


def tifffile_references(path: Path) -> str:
    """What tifffile writes for the same file."""
    import tifffile

    out = io.StringIO()
    with tifffile.TiffFile(path) as tif, tif.series[0].aszarr() as store:
        store.write_fsspec(out, url=path.parent.as_uri())
    return out.getvalue()


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """Ratios to tifffile for one pyramid; netCDF-3 alone (peers need the data too). ``tiles``, ``records``: sizes."""
    tiles, records = scale.get("tiles", 100_000), scale.get("records", 1_000_000)
    rounds = scale.get("rounds", 3)
    image, table, refs = folder / "cog.tif", folder / "records.nc", folder / "refs.json"
    image.write_bytes(cog(tiles))
    netcdf3(table, records)
    timed: dict[str, Callable[[], Any]] = {
        "byteatlas": lambda: ba.write(ba.scan(str(image)), str(refs)),
        "tifffile": lambda: tifffile_references(image),
    }
    rows = interleaved(f"references of a pyramid of {tiles} tiles", timed, rounds, per=tiles)
    scans: dict[str, Callable[[], Any]] = {"byteatlas": lambda: ba.scan(str(image))}
    rows += interleaved(f"scan of a pyramid of {tiles} tiles", scans, rounds, per=tiles)
    scans = {"byteatlas": lambda: ba.scan(str(table))}
    return rows + interleaved(f"scan of five netCDF-3 record variables, {records} records", scans, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(show(run(Path(folder), {"tiles": options.tiles, "records": options.records})))


if __name__ == "__main__":
    main()
