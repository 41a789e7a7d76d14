"""Write ``tiff.md`` and ``netcdf3.md`` by asking the scanners: ``python docs/status/make_raster.py``. A test compares.

The tables of compressions, samples and types are made by calling the code with each case; only their first column and
the notes are written here.
"""

# ruff: noqa: E501  (rows of tables)
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from byteatlas.codecs.core.table import BUILTIN
from byteatlas.errors import ByteatlasError, Unsupported
from byteatlas.meta.model import CodecSpec
from byteatlas_scanners.netcdf3.header import TYPES, VERSIONS
from byteatlas_scanners.tiff import page as pages
from byteatlas_scanners.tiff import samples
from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.methods import METHODS
from byteatlas_scanners.tiff.ifd import Ifd, TagEntry
from byteatlas_scanners.tiff.libtiff import LEVELS, LOGLUV, SGILOG, SGILOG24
from byteatlas_scanners.tiff.page import Page
from byteatlas_scanners.tiff.tags import Tag

COMPRESSIONS: Mapping[int, str] = {
    1: "none", 2: "CCITT modified Huffman (RLE)", 3: "CCITT Group 3", 4: "CCITT Group 4", 5: "LZW, new and old bit order",
    6: "JPEG, old style", 7: "JPEG, tables in the tag or in the stream", 8: "deflate", 32773: "PackBits", 32946: "deflate, old number",
    22610: "JPEG XR (NDPI)", 33003: "JPEG 2000 (Aperio)", 33004: "JPEG 2000", 33005: "JPEG 2000 (Aperio)", 34712: "JPEG 2000",
    34887: "LERC, alone, with deflate, with zstd", 34892: "JPEG, lossy (DNG)", 34925: "LZMA", 34933: "PNG", 34934: "JPEG XR",
    50000: "Zstandard", 50001: "WebP", 50002: "JPEG XL", 52546: "JPEG XL (DNG)",
    34926: "Zstandard, old number", 34927: "WebP, old number", 50013: "deflate (PIXTIFF)", 32766: "NeXT", 32771: "CCITT RLE, word aligned",
    32809: "ThunderScan", 32908: "PixarFilm", 32909: "PixarLog", 33007: "JPEG, private number", 34661: "JBIG",
    34676: "SGI LogLuv", 34677: "SGI LogLuv, 24 bits", 34715: "JBIG2", 65000: "EER",
}  # fmt: skip

SAMPLES: tuple[tuple[str, int, int], ...] = (
    ("unsigned integers", pages.UINT, 8), ("unsigned integers", pages.UINT, 16), ("unsigned integers", pages.UINT, 32),
    ("unsigned integers", pages.UINT, 64), ("packed unsigned integers", pages.UINT, 1), ("packed unsigned integers", pages.UINT, 2),
    ("packed unsigned integers", pages.UINT, 4), ("packed unsigned integers", pages.UINT, 10), ("packed unsigned integers", pages.UINT, 12),
    ("packed unsigned integers", pages.UINT, 14), ("packed unsigned integers", pages.UINT, 24), ("packed unsigned integers", pages.UINT, 31),
    ("signed integers", pages.INT, 8), ("signed integers", pages.INT, 16), ("signed integers", pages.INT, 32),
    ("signed integers", pages.INT, 64), ("packed signed integers", pages.INT, 12), ("floats", pages.FLOAT, 16), ("floats", pages.FLOAT, 24),
    ("floats", pages.FLOAT, 32), ("floats", pages.FLOAT, 64), ("undefined", pages.VOID, 8), ("undefined", pages.VOID, 16),
    ("complex integers", pages.COMPLEX_INT, 32), ("complex integers", pages.COMPLEX_INT, 64), ("complex floats", pages.COMPLEX, 64),
    ("complex floats", pages.COMPLEX, 128),
)  # fmt: skip

LAYOUTS: tuple[tuple[str, str, str], ...] = (
    ("tiles, also at the edges", "one chunk each", "every reader"),
    ("strips of equal height", "one chunk each", "every reader"),
    ("uncompressed strips behind each other", "one block, cut into chunks of `target_chunk` bytes", "every reader"),
    ("uncompressed last strip, shorter", "reads on into what follows; cropped", "every reader"),
    ("compressed last strip, shorter", "an encoding of its own (`byteatlas.encodings`)", "byteatlas"),
    ("PackBits tiles at the lower edge", "an encoding of their own", "byteatlas"),
    ("separate planes", "axis `band` first, one chunk a plane and tile", "every reader"),
    ("chunky samples", "axis `band` last", "every reader"),
    ("tiles with offset or size 0", "missing: GDAL's nodata value, else 0", "every reader"),
    ("same-shaped pages", "stacked along `page`", "every reader"),
    ("ImageJ hyperstacks, OME-TIFF, tifffile's series", "stacked along t, z, c", "every reader"),
    ("pages that differ", "groups `image_0`, `image_1` ...", "every reader"),
    ("reduced-resolution pages, SubIFDs", "groups `overview_1` ..., attribute `multiscales`", "every reader"),
    ("masks (NewSubfileType 4)", "array `mask`, named in `ancillary_variables`", "every reader"),
    ("masks beside the file (`.msk`)", "the same, with the option `sidecar_masks` of format `tiff`", "every reader"),
    ("volumes (ImageDepth, TileDepth)", "refused (`layout`)", ""),
)


def page(
    compression: int = 1, sample_format: int = pages.UINT, bits: int = 8, predictor: int = 1, photometric: int = 1
) -> Page:
    """A tiled one-sample image with these properties."""
    fields: dict[int, TagEntry] = {Tag.LERC_PARAMETERS: TagEntry(4, 2, 0, bytes(8))}
    one = np.ones(1, np.uint64)
    return Page(
        Ifd("page/0", 0, "<", fields), 16, 16, 1, bits, sample_format, compression, predictor, photometric, 1, False, True,
        16, 16, one, one, 0, 0,
    )  # fmt: skip


def ask(make: Callable[..., str], *arguments: Any) -> str:
    """What the code says: a cell, or the refusal."""
    try:
        return make(*arguments)
    except Unsupported as error:
        return f"refused (`{error.reason}`)"
    except ByteatlasError as error:
        return f"error: {error}"


def codecs(found: tuple[CodecSpec, ...]) -> str:
    """Codec names, in the order of decoding. Raises KeyError for one that byteatlas does not have."""
    for codec in found:
        BUILTIN[codec.name]
    return ", ".join(f"`{c.name}`" for c in found[:0:-1]) or "none needed"


def table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def decoding(of: Page) -> str:
    return codecs(samples.chain(of, 16))


def compression_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    few = {**dict.fromkeys(samples.CCITT, 1), **LEVELS}
    for number, name in COMPRESSIONS.items():
        of = page(number, bits=few.get(number, 8))
        if number in (SGILOG, SGILOG24):
            of = page(number, pages.FLOAT, 32, photometric=LOGLUV)
            of = replace(of, samples=3)
        rows.append((str(number), name, ask(decoding, of)))
    return rows


def sample_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, kind, bits in SAMPLES:
        of = page(sample_format=kind, bits=bits)
        rows.append((name, str(bits), ask(lambda p: str(samples.sample_type(p)), of), ask(decoding, of)))
    return rows


def predictor_rows() -> list[tuple[str, ...]]:
    cases = [(2, pages.UINT, 16), (2, pages.FLOAT, 32), (3, pages.FLOAT, 16), (3, pages.FLOAT, 64),
             (2, pages.UINT, 12), (3, pages.FLOAT, 24), (2, pages.COMPLEX, 64)]  # fmt: skip
    names = {pages.UINT: "integers", pages.FLOAT: "floats", pages.COMPLEX: "complex floats"}
    return [(str(p), f"{bits}-bit {names[kind]}", ask(decoding, page(5, kind, bits, p))) for p, kind, bits in cases]


def tiff() -> str:
    return f"""# TIFF: layouts, samples, compressions, georeferencing

Made by `docs/status/make_raster.py` by asking the code. What is not listed is refused for the page that has it, with a
reason code; other pages of the file are unaffected. Codecs named `numcodecs.imagecodecs_*` are known to every Zarr
reader for which imagecodecs has registered its codecs with numcodecs; `byteatlas.*` only to byteatlas.

## Layouts

Classic TIFF and BigTIFF, both byte orders, both bit orders (FillOrder 2: one more codec, `numcodecs.imagecodecs_bitorder`).

{table(("in the file", "in the group", "who can read the references"), list(LAYOUTS))}

## Samples

{table(("format", "bits", "array", "codec"), sample_rows())}

Samples of different sizes in one pixel are refused (`samples`). MinIsWhite is not inverted, palettes are not applied,
orientation is not undone: they are attributes.

## Compressions

Decoders take as many rows as a tile needs and leave what follows; fewer are an error.

{table(("number", "compression", "codec"), compression_rows())}

JPEG in YCbCr gives RGB, as GDAL and tifffile do. Old-style JPEG that is one stream and not in YCbCr is decoded as that
stream; all other old-style JPEG (`byteatlas.tiff_libtiff`) is one chunk from the first to the last byte that belongs to
the image, and what libtiff makes of it, RGB. So are subsampled YCbCr without JPEG (RGB; in separate planes refused,
`samples`), LogLuv, ThunderScan, NeXT and PixarLog. LogLuv gives 16-bit integers (log luminance, u', v') or floats
(XYZ), as its tags say. One bit a sample is decoded as bytes of 0 and 1.

## Predictors

{table(("predictor", "samples", "codec"), predictor_rows())}

## Georeferencing

| fact | where it ends up |
|---|---|
| affine transform (scale and tie point, or a matrix; PixelIsPoint shifted once) | `GeoTransform` and `spatial:transform` of `spatial_ref` |
| unrotated grids | coordinate arrays `x` and `y`, cell centres, in the map; for each level its own |
| EPSG code | `proj:code`; `crs_wkt`, `spatial_ref` (WKT 2) and `projjson` for the {len(registry.codes("G")):,} geographic and {len(registry.codes("P")):,} projected systems of the EPSG dataset; for others `spatial_ref = EPSG:n` |
| user-defined systems | WKT 2, PROJJSON and CF attributes for the methods {", ".join(str(m) for m in METHODS)} of GeoTIFF's registry, and for ArcGIS's `ESRI PE String`; for others a local system (`ENGCRS`) of the name and unit that the keys give |
| GeoKeys | `geokeys` of `spatial_ref` |
| GDAL's nodata | `_FillValue` and the fill value; as text in `nodata` where the type cannot hold it |
| GDAL's scale, offset, description, unit | `scale_factor`, `add_offset`, `long_name`, `units` where all bands agree; else lists (`scale_factors`, `band_names` ...); names that tell all bands apart are also the coordinate `band` |
| ground control points, RPC | `gcps` (GeoJSON), `rpc` of `spatial_ref` |
| other items of GDAL's metadata, text tags | attributes under their names, `TIFFTAG_*` |
"""


def netcdf3() -> str:
    names = {1: "CDF-1 (classic)", 2: "CDF-2 (64-bit offset)", 5: "CDF-5 (64-bit data)"}
    versions = [(names[v], "yes") for v in VERSIONS]
    types = [
        (str(code), "text, one character each" if dtype.kind == "S" else str(dtype.newbyteorder("=")))
        for code, dtype in TYPES.items()
    ]
    return f"""# netCDF-3: the classic formats

Made by `docs/status/make_raster.py` by asking the code. Every array has one codec, `bytes`; all Zarr readers read the references.

{table(("version", "read"), versions)}

| type code | array |
|---|---|
{chr(10).join(f"| {code} | {name} |" for code, name in types)}

| in the file | in the group |
|---|---|
| fixed variables | one chunk; large ones chunks of about `target_chunk` bytes |
| record variables | one chunk a record, as base and stride: a million records cost nothing |
| the only record variable | its records lie behind each other without padding: chunks of `target_chunk` bytes |
| number of records left open (STREAMING) | counted from the size of the file |
| attributes | numbers as numbers, several as lists, text as text |
| `_FillValue` | attribute and fill value; the format's default fill values are not used (no chunk is ever missing, and Zarr readers would mask them) |
| data that reach beyond the end of the file | the variable is refused (`corrupt`), with the number of whole records |
| files that end before any data | all values are zero, as netCDF-C reads them; the report says so |
| bytes after the last record | ignored; the report says so |
| names that are no Zarr node names | refused (`name`) |
"""


FILES: Mapping[str, Callable[[], str]] = {"tiff.md": tiff, "netcdf3.md": netcdf3}

if __name__ == "__main__":
    for name, make in FILES.items():
        (Path(__file__).parent / name).write_text(make())
