"""Tile-compressed images as arrays (FITS 4.0, section 10).

Each tile is a chunk, with an encoding for each different set of numbers, and for tiles at the edges. Where tiles are
small and each has numbers of its own, a chunk is several tiles that lie behind each other, and its encoding has a list
of their lengths and numbers.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import ChunkManifest, SourceInfo, VirtualArray, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, ByteRange, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.fits.columns import binary_columns, column_names, field_count
from byteatlas_scanners.fits.compressed import Compressed, described, parameter
from byteatlas_scanners.fits.hdus import Hdu
from byteatlas_scanners.fits.images import check_inside, image_attributes
from byteatlas_scanners.fits.numbers import blank, scaling
from byteatlas_scanners.fits.tile_table import GZIP, MAIN, NO_BLANK, TileColumns, TileTable
from byteatlas_scanners.fits.wcs import dimension_names

CODEC = "byteatlas.fits_tile"
MOST_TABLE = 256 << 20
"""Bytes of the table of tiles."""
GROUPED = 256 << 10
"""Decoded bytes of a chunk of several tiles."""
FEW = 64
"""So many encodings of single tiles are no burden."""


@dataclass(frozen=True, slots=True)
class TileLayout:
    """The chunks of an image."""

    chunk: Shape
    encodings: tuple[Encoding, ...]
    manifest: ChunkManifest


def tile_array(unit: Hdu, source: SourceInfo) -> Parse[VirtualArray]:
    """The image of a unit. Raises `CorruptFile`, `Unsupported`."""
    image, header = described(unit), unit.header
    if len(unit.shape) != 2 or header.integer("BITPIX") != 8:
        raise CorruptFile(unit.data, "a compressed image that is no binary table")
    rows, stride = unit.shape
    count = prod(image.grid)
    if rows < count:
        raise CorruptFile(unit.data, f"{rows} tiles in the table, {count} in the image")
    if count * stride > MOST_TABLE:
        raise Unsupported(Reason.TOO_LARGE, f"a table of tiles of {count * stride} bytes")
    check_inside(unit, unit.data + unit.size, source)
    names = [name.upper() for name in column_names(header, field_count(header))]
    columns = dict(zip(names, binary_columns(header, stride), strict=True))
    raw = (yield from one(ByteRange(unit.data, count * stride))) if count else b""
    tiles = TileTable(image, columns, bytes(raw), count, stride).tiles(unit)
    layout = lay_out(image, tiles, source)
    meta = ArrayMeta(
        shape=image.shape,
        data_type=from_numpy(image.dtype),
        grid=RegularGrid(layout.chunk),
        encodings=layout.encodings,
        dimension_names=dimension_names(header, image.shape),
        attributes=_attributes(image),
        zarr_format=3,
    )
    return VirtualArray(meta, layout.manifest)


def _attributes(image: Compressed) -> dict[str, JSON]:
    header = image.header
    found = image_attributes(header)
    if not image.unsigned:
        found |= scaling(header.number("BSCALE"), header.number("BZERO"))
    key = "ZBLANK" if "ZBLANK" in header.first else "BLANK"
    fill = blank(header, key, image.stored, image.dtype)
    return found if fill is None else {**found, "_FillValue": fill}


def lay_out(image: Compressed, tiles: TileColumns, source: SourceInfo) -> TileLayout:
    """Chunks of one tile each, or of several. Raises `Unsupported`."""
    _check_numbers(image, tiles)
    first, number = _different(image, tiles)
    axis = _grouping_axis(image, tiles)
    if len(first) > FEW and axis is not None:
        return _grouped(image, tiles, source, axis)
    if len(first) > MOST_ENCODINGS:
        raise Unsupported(Reason.TOO_LARGE, f"{len(first)} different sets of numbers for the tiles of one image")
    edges = _edges(image)
    made = []
    for row in first.tolist():
        codec = CodecSpec(CODEC, {**_base(image, tiles, row), **_numbers(image, tiles, row)})
        made.append(Encoding((codec,), chunk_shape=_corner(image.shape, image.tile, int(edges[row]))))
    offset, length = tiles.offset.astype(np.uint64), tiles.length.astype(np.uint64)
    column = number.astype(np.uint16) if len(made) > 1 else None
    encodings = tuple(made) or (Encoding((CodecSpec(CODEC, {"algorithm": image.algorithm}),)),)
    return TileLayout(image.tile, encodings, single_source(image.grid, source, offset, length, encoding=column))


def _check_numbers(image: Compressed, tiles: TileColumns) -> None:
    """Which algorithms hold floating-point numbers as they are."""
    integers_only = image.algorithm in ("RICE_1", "PLIO_1", "HCOMPRESS_1")
    if image.stored.kind == "f" and tiles.scale is None and integers_only and bool((tiles.form == MAIN).any()):
        raise Unsupported(Reason.COMPRESSION, f"{image.algorithm} of floating-point numbers that are not quantised")


def _different(image: Compressed, tiles: TileColumns) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One tile of each kind, and for each tile the number of its kind. Compared by bytes: NaN equals itself."""
    if not len(tiles.form):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    columns = [tiles.form, _edges(image), tiles.start, tiles.blank]
    if tiles.scale is not None and tiles.zero is not None:
        columns += [tiles.scale.view(np.int64), tiles.zero.view(np.int64)]
    key = np.ascontiguousarray(np.stack(columns, axis=1)).view([("", np.int64)] * len(columns)).reshape(-1)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    return first, number.reshape(-1)


def _edges(image: Compressed) -> NDArray[np.int64]:
    """For each tile which axes it is cut short along, a bit for each."""
    found = np.zeros(image.grid, np.int64)
    for axis, (n, c) in enumerate(zip(image.shape, image.tile, strict=True)):
        if n % c:
            last = [slice(None)] * len(image.grid)
            last[axis] = slice(-1, None)
            found[tuple(last)] |= 1 << axis
    return found.reshape(-1)


def _corner(shape: Shape, chunk: Shape, bits: int) -> Shape | None:
    """The shape of chunks that are cut short along some axes; None for whole ones."""
    if not bits:
        return None
    pairs = zip(shape, chunk, strict=True)
    return tuple(n % c if bits >> axis & 1 else c for axis, (n, c) in enumerate(pairs))


# --------------------------------------------------------------------------------------- configurations


def _base(image: Compressed, tiles: TileColumns, row: int) -> dict[str, JSON]:
    """What the codec of a tile must know, without its numbers. Raises `Unsupported`."""
    form, header = int(tiles.form[row]), image.header
    found: dict[str, JSON] = {"algorithm": image.algorithm}
    if form != MAIN:
        found = {"algorithm": "GZIP_1" if form == GZIP else "NOCOMPRESS"}
    elif image.algorithm == "RICE_1":
        pixel = parameter(header, "BYTEPIX", 4)
        if pixel not in (1, 2, 4):
            raise Unsupported(Reason.COMPRESSION, f"RICE_1 of pixels of {pixel} bytes")
        found |= {"bytepix": pixel, "blocksize": parameter(header, "BLOCKSIZE", 32)}
    elif image.algorithm == "HCOMPRESS_1" and parameter(header, "SMOOTH", 0):
        found["smooth"] = True
    if image.unsigned:
        found["unsigned"] = True
    if image.dither and form == MAIN and tiles.scale is not None:
        found["dither"] = image.dither
    return found


def _numbers(image: Compressed, tiles: TileColumns, row: int) -> dict[str, JSON]:
    """The numbers of one tile."""
    if tiles.scale is None or tiles.zero is None or tiles.form[row] != MAIN:
        return {}
    found: dict[str, JSON] = {"scale": float(tiles.scale[row]), "zero": float(tiles.zero[row])}
    if image.dither:
        found["start"] = int(tiles.start[row])
    if tiles.blank[row] != NO_BLANK:
        found["blank"] = int(tiles.blank[row])
    return found


# --------------------------------------------------------------------------------------- several tiles a chunk


def _grouping_axis(image: Compressed, tiles: TileColumns) -> int | None:
    """The axis along which neighbours in the table are neighbours in the image; None: tiles do not go together."""
    axes = [axis for axis, n in enumerate(image.grid) if n > 1]
    size = prod(image.tile) * image.dtype.itemsize
    if not axes or 2 * size > GROUPED or tiles.scale is None:
        return None
    behind = tiles.offset[1:] == tiles.offset[:-1] + tiles.length[:-1]
    return axes[-1] if bool(behind.all()) else None


def _grouped(image: Compressed, tiles: TileColumns, source: SourceInfo, axis: int) -> TileLayout:
    """Chunks of several tiles: one range, one encoding each."""
    along = image.grid[axis]
    many = min(along, max(2, GROUPED // (prod(image.tile) * image.dtype.itemsize)))
    chunk = (*image.tile[:axis], image.tile[axis] * many, *image.tile[axis + 1 :])
    grid = tuple(-(-n // c) for n, c in zip(image.shape, chunk, strict=True))
    runs = np.arange(len(tiles.form)).reshape(-1, along)
    begins = runs[:, ::many].reshape(-1)
    ends = np.minimum(runs[:, ::many] + many, runs[:, :1] + along).reshape(-1)
    if len(begins) > MOST_ENCODINGS:
        raise Unsupported(Reason.TOO_LARGE, f"{len(begins)} sets of numbers for the tiles of one image")
    last = tiles.offset[ends - 1] + tiles.length[ends - 1]
    offset, length = tiles.offset[begins], last - tiles.offset[begins]
    sides = list(zip(image.shape, chunk, strict=True))
    shapes = [tuple(min(c, n - i * c) for i, (n, c) in zip(at, sides, strict=True)) for at in np.ndindex(grid)]
    common = _base(image, tiles, int(np.argmin(tiles.form)))
    made = []
    for begin, end, shape in zip(begins.tolist(), ends.tolist(), shapes, strict=True):
        parts = [_part(image, tiles, row, common) for row in range(begin, end)]
        configuration = {**common, "axis": axis, "step": image.tile[axis], "parts": parts}
        made.append(Encoding((CodecSpec(CODEC, configuration),), chunk_shape=None if shape == chunk else shape))
    places = offset.astype(np.uint64), length.astype(np.uint64)
    column = np.arange(len(made), dtype=np.uint16) if len(made) > 1 else None
    return TileLayout(chunk, tuple(made), single_source(grid, source, *places, encoding=column))


def _part(image: Compressed, tiles: TileColumns, row: int, common: dict[str, JSON]) -> dict[str, JSON]:
    """One tile of a chunk: its bytes, its numbers, and what differs from the others."""
    found: dict[str, JSON] = {"length": int(tiles.length[row]), **_numbers(image, tiles, row)}
    if tiles.form[row] != MAIN:
        found["algorithm"] = _base(image, tiles, row)["algorithm"]
    return found
