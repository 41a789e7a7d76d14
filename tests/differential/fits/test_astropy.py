"""FITS files written by astropy: compressed images, tables and units read as astropy reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba

fits = pytest.importorskip("astropy.io.fits")

SHAPES = [
    ((64, 64), (16, 64)),
    ((50, 65), (33, 20)),
    ((37, 5), (37, 5)),
    ((3, 20, 31), (1, 9, 31)),
    ((40, 33), (1, 33)),
]
QUANTISED = ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1")
ALGORITHMS: list[tuple[str, dict[str, Any]]] = [
    ("RICE_1", {}),
    ("GZIP_1", {}),
    ("GZIP_2", {}),
    ("PLIO_1", {}),
    ("NOCOMPRESS", {}),
    ("HCOMPRESS_1", {}),
    ("HCOMPRESS_1", {"hcomp_scale": 4}),
    ("HCOMPRESS_1", {"hcomp_scale": 8, "hcomp_smooth": 1}),
]


def read(path: Path, hdu: Any) -> tuple[np.ndarray, np.ndarray]:
    """An image as astropy writes and reads it, and as we do."""
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path, overwrite=True)
    with fits.open(path) as file:
        theirs = np.array(file[1].data)
    root: Any = ba.open(str(path))
    return np.asarray(root["COMPRESSED_IMAGE/data"][...]), theirs


def pattern(shape: tuple[int, ...]) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.asarray(rng.normal(120, 9, shape) + np.arange(shape[-1]) / 3)


CASES = [
    (shape, tile, name, options, kind)
    for name, options in ALGORITHMS
    for shape, tile in (SHAPES[:3] if name == "HCOMPRESS_1" else SHAPES)
    for kind in ("u1", "i2", "u2", "i4")
    if (name, kind) != ("PLIO_1", "u2")  # a mask has no negative numbers, as which these are stored
]


@pytest.mark.parametrize(("shape", "tile", "name", "options", "kind"), CASES)
def test_compressed_integers(
    tmp_path: Path, shape: tuple[int, ...], tile: tuple[int, ...], name: str, options: dict[str, Any], kind: str
) -> None:
    values = pattern(shape).astype(kind)
    hdu = fits.CompImageHDU(values, compression_type=name, tile_shape=tile, **options)
    ours, theirs = read(tmp_path / "a.fits", hdu)
    assert ours.dtype == theirs.dtype.newbyteorder("=")
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("shape", "tile", "name"),
    [(s, t, n) for n in QUANTISED for s, t in SHAPES if n != "HCOMPRESS_1" or (s, t) in SHAPES[:3]],
)
@pytest.mark.parametrize("method", [-1, 1, 2])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_quantised_numbers(
    tmp_path: Path, shape: tuple[int, ...], tile: tuple[int, ...], name: str, method: int, kind: str
) -> None:
    values = pattern(shape).astype(kind)
    values.reshape(-1)[::17], values.reshape(-1)[5::19] = np.nan, 0
    seed = 9990 if method > 0 else 0
    hdu = fits.CompImageHDU(
        values, compression_type=name, tile_shape=tile, quantize_level=16, quantize_method=method, dither_seed=seed
    )
    ours, theirs = read(tmp_path / "a.fits", hdu)
    assert ours.dtype == theirs.dtype.newbyteorder("=")
    np.testing.assert_array_equal(ours, theirs)


def test_dithering_needs_its_seed(tmp_path: Path) -> None:
    """Libraries differ on what the first random number is where the header does not say it."""
    hdu = fits.CompImageHDU(
        pattern((40, 50)).astype("f4"), compression_type="RICE_1", quantize_method=1, quantize_level=16, dither_seed=5
    )
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(), hdu]).writeto(path)
    path.write_bytes(path.read_bytes().replace(b"ZDITHER0", b"ZDITHERX"))
    (item,) = [i for i in ba.scan(str(path), on_refusal="ignore").report if i.path.endswith("data")]
    assert (item.status, item.reason) == ("refused", "corrupt")


def test_tiles_that_could_not_be_quantised(tmp_path: Path) -> None:
    """They are in a column of their own, without loss."""
    values = pattern((40, 50)).astype("f4")
    values[7] = 1e30 * np.arange(50)
    hdu = fits.CompImageHDU(values, compression_type="RICE_1", tile_shape=(1, 50), quantize_level=16, quantize_method=1)
    ours, theirs = read(tmp_path / "a.fits", hdu)
    np.testing.assert_array_equal(ours, theirs)


def test_tables(tmp_path: Path) -> None:
    n = 30
    ragged = np.empty(n, object)
    ragged[:] = [np.arange(k % 5, dtype="i2") for k in range(n)]
    columns = [
        fits.Column("LOGICAL", "L", array=np.arange(n) % 3 == 0),
        fits.Column("BITS", "11X", array=np.arange(n * 11).reshape(n, 11) % 3 == 0),
        fits.Column("UNSIGNED", "J", bzero=2**31, array=np.arange(n, dtype="u4") + 2**31),
        fits.Column("TEXT", "7A", array=[f"row {k}" for k in range(n)]),
        fits.Column("CUBE", "24E", dim="(4,3,2)", array=np.arange(24 * n, dtype="f4").reshape(n, 2, 3, 4)),
        fits.Column("COMPLEX", "M", array=np.arange(n) * (1 + 2j)),
        fits.Column("RAGGED", "PI()", array=ragged),
    ]
    text = [
        fits.Column("INT", "I8", array=np.arange(n) - 7, ascii=True),
        fits.Column("REAL", "D23.15", array=np.arange(n) / 7, ascii=True),
        fits.Column("WORD", "A5", array=[f"w{k}" for k in range(n)], ascii=True),
    ]
    path = tmp_path / "a.fits"
    units = [fits.BinTableHDU.from_columns(columns, name="B"), fits.TableHDU.from_columns(text, name="A")]
    fits.HDUList([fits.PrimaryHDU(), *units]).writeto(path, checksum=True)
    checked = ba.ScanOptions(extra={"fits": {"unpack_columns": True, "checksums": True}})
    root: Any = ba.open(ba.scan(str(path), options=checked))
    with fits.open(path, character_as_bytes=True) as file:
        for group, number in (("B", 1), ("A", 2)):
            for name in file[number].columns.names:
                theirs, ours = file[number].data[name], root[group][name][...]
                if name == "RAGGED":
                    assert [list(row) for row in ours] == [list(row) for row in theirs]
                else:
                    np.testing.assert_array_equal(ours, np.asarray(theirs))
    assert ba.verify(str(path)).ok
