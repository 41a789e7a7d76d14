"""How long it takes to scan large TIFF and netCDF-3 files, beside tifffile's reference writer.

Run it as ``python -m tests.bench.raster [--tiles N]``; prints one line a measurement (best of several runs).
"""

from __future__ import annotations

import argparse
import io
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fixtures.netcdf3.make_netcdf3 import Var, build
from fixtures.tiff.raw_tiff import Raw, gray, write

from byteatlas import api

TILE = 512


def cog(tiles: int) -> bytes:
    """A pyramid whose full resolution has about so many deflated tiles; directories first, tiny tiles."""
    across = max(2, round(tiles**0.5))
    width = across * TILE
    pages = []
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


def best(run: Callable[[], object], times: int = 5) -> float:
    """Seconds of the fastest run."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def tifffile_references(path: Path) -> str:
    """What tifffile writes for the same file."""
    import tifffile

    out = io.StringIO()
    with tifffile.TiffFile(path) as tif, tif.series[0].aszarr() as store:
        store.write_fsspec(out, url=path.parent.as_uri())
    return out.getvalue()


def measure(tiles: int, records: int, folder: Path) -> dict[str, float]:
    """Seconds by measurement."""
    image, table, refs = folder / "cog.tif", folder / "records.nc", folder / "refs.json"
    image.write_bytes(cog(tiles))
    netcdf3(table, records)
    return {
        "scan TIFF": best(lambda: api.scan(str(image))),
        "scan TIFF and write JSON": best(lambda: api.write(api.scan(str(image)), str(refs))),
        "tifffile's references": best(lambda: tifffile_references(image), 2),
        "scan netCDF-3": best(lambda: api.scan(str(table))),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tiles", type=int, default=100_000)
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(options.tiles, options.records, Path(folder))
    for name, seconds in found.items():
        print(f"{name:30s} {1e3 * seconds:10.2f} ms")
    ratio = found["tifffile's references"] / found["scan TIFF and write JSON"]
    print(f"{'tifffile / scan and write':30s} {ratio:10.1f} x")


if __name__ == "__main__":
    main()
