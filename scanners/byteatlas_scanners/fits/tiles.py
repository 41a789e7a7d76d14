"""Tile-compressed images: a binary table with a tile in the heap for each row (FITS 4.0, section 10.1).

Each tile is a chunk. Its descriptor, scale, zero and blank value stand in the table, which is read while scanning;
numbers that differ from tile to tile make encodings of their own, tiles at the edges as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.model import SourceInfo, VirtualArray, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import one
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, ByteRange, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.fits.columns import BinaryColumn, binary_columns, column_names
from byteatlas_scanners.fits.hdus import MOST_AXES, Unit
from byteatlas_scanners.fits.header import Header
from byteatlas_scanners.fits.images import check_inside, check_rank, image_attributes
from byteatlas_scanners.fits.numbers import TYPES, blank, other_sign, scaling
from byteatlas_scanners.fits.wcs import dimension_names

ALGORITHMS: Mapping[str, str] = {
    name: name for name in ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")
} | {"RICE_ONE": "RICE_1"}
DITHERS: Mapping[str, int] = {
    "": 0, "NONE": 0, "NO_DITHER": 0, "SUBTRACTIVE_DITHER_1": 1, "SUBTRACTIVE_DITHER_2": 2,
}  # fmt: skip
RANDOM_NUMBERS = 10_000
MOST_TABLE = 256 << 20
"""Bytes of the table of tiles."""
MOST_PARAMETERS = 999
MAIN, GZIP, PLAIN = 0, 1, 2
"""Which column a tile is in."""
DATA_COLUMNS = ("COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA")


@dataclass(frozen=True, slots=True)
class Compressed:
    """What the header says of a compressed image.

    Attributes:
        tile: shape of a tile, the slowest axis first.
        stored: type of the stored numbers.
        dtype: native type of the array.
    """

    header: Header
    shape: Shape
    tile: Shape
    algorithm: str
    stored: np.dtype[np.generic]
    dtype: np.dtype[np.generic]

    @property
    def grid(self) -> Shape:
        return tuple(-(-n // c) for n, c in zip(self.shape, self.tile, strict=True))

    @property
    def unsigned(self) -> bool:
        return self.dtype != self.stored.newbyteorder("=")


def is_compressed_image(unit: Unit) -> bool:
    return unit.kind == "BINTABLE" and unit.header.first.get("ZIMAGE") is True


def described(unit: Unit) -> Compressed:
    """The image that a unit holds. Raises `CorruptFile`, `Unsupported`."""
    header = unit.header
    bits, count = header.integer("ZBITPIX"), header.integer("ZNAXIS")
    if bits not in TYPES or not 0 < count <= MOST_AXES:
        raise CorruptFile(header.at, f"ZBITPIX is {bits}, ZNAXIS is {count}")
    check_rank(count)
    shape = tuple(header.integer(f"ZNAXIS{i}") for i in range(count, 0, -1))
    tile = tuple(header.integer(f"ZTILE{i}", shape[-1] if i == 1 else 1) for i in range(count, 0, -1))
    if any(n < 0 for n in shape) or any(n < 1 for n in tile):
        raise CorruptFile(header.at, f"an image of {shape} in tiles of {tile}")
    tile = tuple(min(c, max(1, n)) for c, n in zip(tile, shape, strict=True))
    name = header.text("ZCMPTYPE").upper()
    if name not in ALGORITHMS:
        raise Unsupported(Reason.COMPRESSION, f"ZCMPTYPE is {name!r}")
    stored = TYPES[bits]
    flipped = other_sign(stored, header.number("BSCALE"), header.number("BZERO"))
    return Compressed(header, shape, tile, ALGORITHMS[name], stored, flipped or stored.newbyteorder("="))


def parameter(header: Header, name: str, default: int) -> int:
    """A parameter of the algorithm (ZNAMEn, ZVALn)."""
    for i in range(1, MOST_PARAMETERS):
        label = header.text(f"ZNAME{i}")
        if not label:
            return default
        if label.upper() == name:
            value = header.number(f"ZVAL{i}")
            if value is None or int(value) != value:
                raise CorruptFile(header.at, f"ZVAL{i} is no integer")
            return int(value)
    return default


def tile_array(unit: Unit, source: SourceInfo) -> Parse[VirtualArray]:
    """The image of a unit. Raises `CorruptFile`, `Unsupported`."""
    image = described(unit)
    if len(unit.shape) != 2 or unit.header.integer("BITPIX") != 8:
        raise CorruptFile(unit.data, "a compressed image that is no binary table")
    rows, stride = unit.shape
    tiles = prod(image.grid)
    if rows < tiles:
        raise CorruptFile(unit.data, f"{rows} tiles in the table, {tiles} in the image")
    if tiles * stride > MOST_TABLE:
        raise Unsupported(Reason.TOO_LARGE, f"a table of tiles of {tiles * stride} bytes")
    check_inside(unit, unit.data + unit.size, source)
    columns = dict(zip(column_names(unit.header, MOST_PARAMETERS), binary_columns(unit.header, stride), strict=False))
    raw = (yield from one(ByteRange(unit.data, tiles * stride))) if tiles else b""
    table = TileTable(image, {name.upper(): c for name, c in columns.items()}, bytes(raw), tiles, stride)
    return table.array(unit, source)


@dataclass(frozen=True, slots=True)
class TileTable:
    """The rows of the table."""

    image: Compressed
    columns: Mapping[str, BinaryColumn]
    raw: bytes
    tiles: int
    stride: int

    def array(self, unit: Unit, source: SourceInfo) -> VirtualArray:
        image, header = self.image, self.image.header
        form, offset, length = self.places(unit)
        encodings, numbers = self.encodings(form)
        attributes = image_attributes(header)
        if not image.unsigned:
            attributes |= scaling(header.number("BSCALE"), header.number("BZERO"))
        key = "ZBLANK" if "ZBLANK" in header.first else "BLANK"
        fill = blank(header, key, image.stored, image.dtype)
        if fill is not None:
            attributes["_FillValue"] = fill
        meta = ArrayMeta(
            shape=image.shape,
            data_type=from_numpy(image.dtype),
            grid=RegularGrid(image.tile),
            encodings=encodings,
            dimension_names=dimension_names(header, image.shape),
            attributes=attributes,
            zarr_format=3,
        )
        return VirtualArray(meta, single_source(image.grid, source, offset, length, encoding=numbers))

    # ----------------------------------------------------------------------------------- where tiles are

    def places(self, unit: Unit) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
        """For each tile which column it is in, its place in the file and its bytes. Raises `CorruptFile`."""
        form = np.full(self.tiles, -1, np.int64)
        offset, length = np.zeros(self.tiles, np.int64), np.zeros(self.tiles, np.int64)
        for number, name in enumerate(DATA_COLUMNS):
            column = self.columns.get(name)
            if column is None:
                continue
            if not column.variable or not column.repeat:
                raise Unsupported(Reason.LAYOUT, f"column {name} is not of variable length")
            count, place = self._descriptors(column)
            here = (form < 0) & (count != 0)
            form[here], offset[here] = number, place[here]
            length[here] = count[here] * column.stored.itemsize
        if bool((form < 0).any()):
            raise CorruptFile(unit.data, f"tile {int(np.flatnonzero(form < 0)[0])} has no data")
        heap = unit.header.integer("THEAP", unit.shape[0] * self.stride)
        room = unit.size - heap
        if bool(((offset < 0) | (length < 0) | (offset > room) | (length > room - offset)).any()) or heap < 0:
            raise CorruptFile(unit.data, f"tiles outside of a heap of {room} bytes")
        begins = (offset + (unit.data + heap)).astype(np.uint64)
        return form, begins, length.astype(np.uint64)

    def _descriptors(self, column: BinaryColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        word = np.dtype(">i8" if column.variable == "Q" else ">i4")
        shape, strides = (self.tiles, 2), (self.stride, word.itemsize)
        pairs = np.ndarray(shape, word, self.raw, column.offset, strides).astype(np.int64)
        # Products with the size of an element must not overflow; so long a tile is in no file.
        return np.clip(pairs[:, 0], -1, 1 << 48), np.clip(pairs[:, 1], -1, 1 << 60)

    # ----------------------------------------------------------------------------------- how tiles are encoded

    def encodings(self, form: NDArray[np.int64]) -> tuple[tuple[Encoding, ...], NDArray[np.uint16] | None]:
        """The different ways in which tiles are encoded, and for each tile the number of its way."""
        image = self.image
        edge = self._edges()
        scale, zero, blanks = self.quantities()
        start = self._starts()
        key = np.stack([form, edge, start, blanks], axis=1) if self.tiles else np.zeros((1, 4), np.int64)
        parts = [key.astype(np.int64).view(np.uint8).reshape(len(key), -1)]
        if scale is not None and zero is not None:
            plain = form != MAIN
            scale, zero = np.where(plain, 0.0, scale), np.where(plain, 0.0, zero)
            bad = ~(np.isfinite(scale) & np.isfinite(zero))
            if bool(bad.any()):
                raise CorruptFile(image.header.at, f"tile {int(np.flatnonzero(bad)[0])} has no scale")
            parts += [np.ascontiguousarray(v).view(np.uint8).reshape(len(key), -1) for v in (scale, zero)]
        _, first, number = np.unique(np.hstack(parts), axis=0, return_index=True, return_inverse=True)
        if len(first) > MOST_ENCODINGS:
            raise Unsupported(Reason.TOO_LARGE, f"{len(first)} different sets of numbers for the tiles of one image")
        made = []
        for row in first.tolist():
            which, corner, begin, none = key[row].tolist()
            numbers = None if scale is None or zero is None else (float(scale[row]), float(zero[row]))
            configuration = self._configuration(which, numbers, begin, none)
            codec = CodecSpec("byteatlas.fits_tile", configuration)
            made.append(Encoding((codec,), chunk_shape=self._corner(corner)))
        return tuple(made), number.reshape(-1).astype(np.uint16) if len(made) > 1 else None

    def _edges(self) -> NDArray[np.int64]:
        """For each tile which axes it is cut short along, a bit for each."""
        image = self.image
        found = np.zeros(image.grid, np.int64)
        for axis, (n, c) in enumerate(zip(image.shape, image.tile, strict=True)):
            if n % c:
                last = [slice(None)] * len(image.grid)
                last[axis] = slice(-1, None)
                found[tuple(last)] |= 1 << axis
        return found.reshape(-1)

    def _corner(self, bits: int) -> Shape | None:
        """The shape of tiles that are cut short along some axes; None for whole ones."""
        if not bits:
            return None
        pairs = zip(self.image.shape, self.image.tile, strict=True)
        return tuple(n % c if bits >> axis & 1 else c for axis, (n, c) in enumerate(pairs))

    def quantities(
        self,
    ) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.int64]]:
        """Scale, zero (None: numbers are stored as they are) and blank value of each tile; 2**62: no blank value."""
        header, image = self.image.header, self.image
        scale, zero = self._numbers("ZSCALE", None), self._numbers("ZZERO", 0.0)
        blanks = np.full(self.tiles, NO_BLANK, np.int64)
        column = self.columns.get("ZBLANK")
        value = header.first.get("ZBLANK", header.first.get("BLANK"))
        if image.stored.kind == "f" and scale is not None:
            if column is not None:
                blanks = self._column(column).astype(np.int64)
            elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < NO_BLANK:
                blanks[:] = value
            return scale, zero, blanks
        if scale is not None:
            raise Unsupported(Reason.COMPRESSION, "integers with a scale for each tile")
        if column is not None and bool((self._column(column) != value).any()):
            raise Unsupported(Reason.COMPRESSION, "integers with a blank value for each tile")
        if "NULL_PIXEL_MASK" in self.columns and bool(self._descriptors(self.columns["NULL_PIXEL_MASK"])[0].any()):
            raise Unsupported(Reason.COMPRESSION, "pixels without a value are in a mask of their own")
        return None, None, blanks

    def _numbers(self, name: str, default: float | None) -> NDArray[np.float64] | None:
        column, value = self.columns.get(name), self.image.header.number(name)
        if column is not None:
            return self._column(column).astype(np.float64)
        if value is None:
            value = default
        return None if value is None else np.full(self.tiles, value, np.float64)

    def _column(self, column: BinaryColumn) -> NDArray[np.generic]:
        """A column of one number a row."""
        if column.variable or column.repeat != 1 or column.code not in "BIJKED":
            raise Unsupported(Reason.LAYOUT, f"column {column.number} of the table of tiles is no column of numbers")
        return np.ndarray((self.tiles,), column.stored, self.raw, column.offset, (self.stride,))

    def _starts(self) -> NDArray[np.int64]:
        """For each tile its place in the random numbers (section 10.2, equation 9 ff.)."""
        if not self._dither():
            return np.zeros(self.tiles, np.int64)
        seed = self.image.header.integer("ZDITHER0", 1)
        if seed < 1:
            raise CorruptFile(self.image.header.at, f"ZDITHER0 is {seed}")
        return (np.arange(self.tiles, dtype=np.int64) + (seed - 1) % RANDOM_NUMBERS) % RANDOM_NUMBERS

    def _dither(self) -> int:
        """The method, 0 for none and for images of integers."""
        name = self.image.header.text("ZQUANTIZ").upper()
        if self.image.stored.kind != "f":
            return 0
        if name not in DITHERS:
            raise Unsupported(Reason.COMPRESSION, f"ZQUANTIZ is {name!r}")
        return DITHERS[name]

    def _configuration(self, form: int, numbers: tuple[float, float] | None, start: int, none: int) -> dict[str, JSON]:
        header, algorithm = self.image.header, self.image.algorithm
        if form != MAIN:
            found: dict[str, JSON] = {"algorithm": "GZIP_1" if form == GZIP else "NOCOMPRESS"}
            return {**found, "unsigned": True} if self.image.unsigned else found
        found = {"algorithm": algorithm}
        if algorithm == "RICE_1":
            found |= {
                "bytepix": parameter(header, "BYTEPIX", 4),
                "blocksize": parameter(header, "BLOCKSIZE", 32),
            }
            if found["bytepix"] not in (1, 2, 4):
                raise Unsupported(Reason.COMPRESSION, f"RICE_1 of pixels of {found['bytepix']} bytes")
        if algorithm == "HCOMPRESS_1" and parameter(header, "SMOOTH", 0):
            found["smooth"] = True
        if self.image.unsigned:
            found["unsigned"] = True
        if numbers is None:
            if self.image.stored.kind == "f" and algorithm in ("RICE_1", "PLIO_1", "HCOMPRESS_1"):
                raise Unsupported(Reason.COMPRESSION, f"{algorithm} of floating-point numbers that are not quantised")
            return found
        found |= {"scale": numbers[0], "zero": numbers[1]}
        if self._dither():
            found |= {"dither": self._dither(), "start": start}
        return found if none == NO_BLANK else {**found, "blank": none}


NO_BLANK = 1 << 62
