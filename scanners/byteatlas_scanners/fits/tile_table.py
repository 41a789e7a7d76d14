"""The table of a compressed image, a tile in each row: where tiles are, and the numbers that each has of its own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.values import dataclass
from byteatlas_scanners.fits.columns import BinaryColumn
from byteatlas_scanners.fits.compressed import Compressed
from byteatlas_scanners.fits.hdus import Hdu

MAIN, GZIP, PLAIN = 0, 1, 2
"""Which column a tile is in."""
DATA_COLUMNS = ("COMPRESSED_DATA", "GZIP_COMPRESSED_DATA", "UNCOMPRESSED_DATA")
RANDOM_NUMBERS = 10_000
NO_BLANK = 1 << 62


@dataclass(frozen=True, slots=True)
class TileColumns:
    """Columns, a row for each tile.

    Attributes:
        form: `MAIN`, `GZIP` or `PLAIN`.
        offset, length: bytes in the file.
        start: its place in the random numbers (section 10.2).
        blank: the integer that stands for NaN; `NO_BLANK` where there is none.
        scale, zero: of quantised numbers; None where numbers are stored as they are.
    """

    form: NDArray[np.int64]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    start: NDArray[np.int64]
    blank: NDArray[np.int64]
    scale: NDArray[np.float64] | None
    zero: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class TileTable:
    """The rows of the table as bytes."""

    image: Compressed
    columns: Mapping[str, BinaryColumn]
    raw: bytes
    count: int
    stride: int

    def tiles(self, unit: Hdu) -> TileColumns:
        """All of it. Raises `CorruptFile`, `Unsupported`."""
        form, offset, length = self._places(unit)
        scale, zero, blank = self._quantities()
        if scale is not None and zero is not None:
            plain = form != MAIN
            scale, zero = np.where(plain, 0.0, scale), np.where(plain, 0.0, zero)
            bad = ~(np.isfinite(scale) & np.isfinite(zero))
            if bool(bad.any()):
                raise CorruptFile(unit.data, f"tile {int(np.flatnonzero(bad)[0])} has no scale")
        return TileColumns(form, offset, length, self._starts(), blank, scale, zero)

    # ----------------------------------------------------------------------------------- where tiles are

    def _places(self, unit: Hdu) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        form = np.full(self.count, -1, np.int64)
        offset, length = np.zeros(self.count, np.int64), np.zeros(self.count, np.int64)
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
        return form, offset + (unit.data + heap), length

    def _descriptors(self, column: BinaryColumn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        word = np.dtype(">i8" if column.variable == "Q" else ">i4")
        shape, strides = (self.count, 2), (self.stride, word.itemsize)
        pairs = np.ndarray(shape, word, self.raw, column.offset, strides).astype(np.int64)
        # Products with the size of an element must not overflow; so long a tile is in no file.
        return np.clip(pairs[:, 0], -1, 1 << 48), np.clip(pairs[:, 1], -1, 1 << 60)

    # ----------------------------------------------------------------------------------- numbers of each tile

    def _quantities(self) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None, NDArray[np.int64]]:
        """Scale, zero and blank value of each tile."""
        header = self.image.header
        scale, zero = self._numbers("ZSCALE", None), self._numbers("ZZERO", 0.0)
        blanks = np.full(self.count, NO_BLANK, np.int64)
        column = self.columns.get("ZBLANK")
        value = header.first.get("ZBLANK", header.first.get("BLANK"))
        if self.image.stored.kind == "f" and scale is not None:
            if column is not None:
                blanks = self._column(column).astype(np.int64)
            elif isinstance(value, int) and not isinstance(value, bool) and abs(value) < NO_BLANK:
                blanks[:] = value
            return scale, zero, blanks
        if scale is not None:
            raise Unsupported(Reason.COMPRESSION, "integers with a scale for each tile")
        if column is not None and bool((self._column(column) != value).any()):
            raise Unsupported(Reason.COMPRESSION, "integers with a blank value for each tile")
        mask = self.columns.get("NULL_PIXEL_MASK")
        if mask is not None and (not mask.variable or bool(self._descriptors(mask)[0].any())):
            raise Unsupported(Reason.COMPRESSION, "pixels without a value are in a mask of their own")
        return None, None, blanks

    def _numbers(self, name: str, default: float | None) -> NDArray[np.float64] | None:
        column, value = self.columns.get(name), self.image.header.number(name)
        if column is not None:
            return self._column(column).astype(np.float64)
        if value is None:
            value = default
        return None if value is None else np.full(self.count, value, np.float64)

    def _column(self, column: BinaryColumn) -> NDArray[np.generic]:
        """A column of one number a row."""
        if column.variable or column.repeat != 1 or column.code not in "BIJKED":
            raise Unsupported(Reason.LAYOUT, f"column {column.number} of the table of tiles is no column of numbers")
        return np.ndarray((self.count,), column.stored, self.raw, column.offset, (self.stride,))

    def _starts(self) -> NDArray[np.int64]:
        if not self.image.dither:
            return np.zeros(self.count, np.int64)
        seed = self.image.header.integer("ZDITHER0", 0)  # libraries differ on what begins where it is not there
        if seed < 1:
            raise CorruptFile(self.image.header.at, f"ZDITHER0 is {seed or 'not there'}")
        return (np.arange(self.count, dtype=np.int64) + (seed - 1) % RANDOM_NUMBERS) % RANDOM_NUMBERS
