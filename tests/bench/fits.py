"""FITS beside astropy and kerchunk: scanning a file of many units, and reading compressed images on one thread.

Run it as ``python -m tests.bench fits [units=200 rounds=3]``. Astropy's time is that of opening the file, reading
every value of the headers and every column, and, where images are read, of decompressing them. On a busy machine the
processor's seconds say more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits
from fixtures.fits.raw_fits import image, primary, table
from tests.bench.report import Row, interleaved

import byteatlas as ba

SIDE = 1000
IMAGES: tuple[tuple[str, str, tuple[int, int], dict[str, Any]], ...] = (
    ("RICE_1", "i2", (1, SIDE), {}),
    ("RICE_1", "f4", (1, SIDE), {"quantize_method": 1, "dither_seed": 5}),
    ("GZIP_2", "f4", (100, 100), {"quantize_level": 0}),
    ("PLIO_1", "i2", (1, SIDE), {}),
    ("HCOMPRESS_1", "i2", (200, 200), {}),
)


def units(path: Path, count: int) -> None:
    """As many images and tables, with thirty keywords each."""
    words = {f"KEY{i}": i / 7 for i in range(30)}
    columns = [(f"C{i}", "E") for i in range(12)]
    parts = [primary(**words)]
    for i in range(count):
        named: dict[str, Any] = {"EXTNAME": f"UNIT{i}", **words}
        parts.append(image(np.zeros((20, 30), "f4"), **named) if i % 2 else table(bytes(4800), 48, columns, **named))
    path.write_bytes(b"".join(parts))


def with_astropy(path: Path) -> None:
    """Every value of the headers and every column, which a scan gives too."""
    with fits.open(path) as file:
        for unit in file:
            list(unit.header.values())
            getattr(unit, "columns", None)


def image_of_astropy(path: Path) -> Any:
    with fits.open(path) as file:
        return file[1].data


def compressed(path: Path, name: str, kind: str, tile: tuple[int, int], options: Mapping[str, Any]) -> None:
    noise = np.random.default_rng(1).normal(1000, 30, (SIDE, SIDE))
    values = (noise > 1080).astype(kind) if name == "PLIO_1" else noise.astype(kind)
    unit = fits.CompImageHDU(values, compression_type=name, tile_shape=tile, **options)
    fits.HDUList([fits.PrimaryHDU(), unit]).writeto(path, overwrite=True)


def run(folder: Path, scale: dict[str, int]) -> list[Row]:
    """``units``: of the file that is scanned."""
    count, rounds = scale.get("units", 200), scale.get("rounds", 3)
    many = folder / "units.fits"
    units(many, count)
    timed: dict[str, Callable[[], Any]] = {
        "byteatlas": lambda: ba.scan(str(many)),
        "astropy": lambda: with_astropy(many),
    }
    rows = interleaved(f"scan of {count} FITS units", timed, rounds, per=count)
    for number, (name, kind, tile, options) in enumerate(IMAGES):
        path = folder / f"image{number}.fits"
        compressed(path, name, kind, tile, options)
        virtual = ba.scan(str(path))

        def ours(virtual: Any = virtual) -> Any:
            root: Any = ba.open(virtual)
            return root["COMPRESSED_IMAGE/data"][...]

        def theirs(path: Path = path) -> Any:
            return image_of_astropy(path)

        title = f"{name} of {kind}, tiles of {tile[0]} by {tile[1]}"
        rows += interleaved(title, {"byteatlas": ours, "astropy": theirs}, rounds)
    return rows
