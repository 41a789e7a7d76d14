"""What the header of a binary table says of the compressed image in it (FITS 4.0, section 10.1)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass
from byteatlas_scanners.fits.hdus import MOST_AXES, Hdu
from byteatlas_scanners.fits.header import FitsHeader
from byteatlas_scanners.fits.images import check_rank
from byteatlas_scanners.fits.numbers import TYPES, other_sign

ALGORITHMS: Mapping[str, str] = {
    name: name for name in ("RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1", "NOCOMPRESS")
} | {"RICE_ONE": "RICE_1"}
DITHERS: Mapping[str, int] = {
    "": 0, "NONE": 0, "NO_DITHER": 0, "SUBTRACTIVE_DITHER_1": 1, "SUBTRACTIVE_DITHER_2": 2,
}  # fmt: skip
MOST_PARAMETERS = 999
MOST_PIXELS = 1 << 28
"""Of one tile."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """What the header says of a compressed image.

    Attributes:
        tile: shape of a tile, the slowest axis first.
        stored: type of the stored numbers.
        dtype: native type of the array.
    """

    header: FitsHeader
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

    @property
    def dither(self) -> int:
        """The dithering method: 0 for none, and for images of integers. Raises `Unsupported`."""
        name = self.header.text("ZQUANTIZ").upper()
        if self.stored.kind != "f":
            return 0
        if name not in DITHERS:
            raise Unsupported(Reason.COMPRESSION, f"ZQUANTIZ is {name!r}")
        return DITHERS[name]


def is_compressed_image(unit: Hdu) -> bool:
    return unit.kind == "BINTABLE" and unit.header.first.get("ZIMAGE") is True


def described(unit: Hdu) -> Compressed:
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
    if prod(tile) > MOST_PIXELS:
        raise Unsupported(Reason.TOO_LARGE, f"tiles of {prod(tile)} pixels")
    name = header.text("ZCMPTYPE").upper()
    if name not in ALGORITHMS:
        raise Unsupported(Reason.COMPRESSION, f"ZCMPTYPE is {name!r}")
    stored = TYPES[bits]
    flipped = other_sign(stored, header.number("BSCALE"), header.number("BZERO"))
    return Compressed(header, shape, tile, ALGORITHMS[name], stored, flipped or stored.newbyteorder("="))


def parameter(header: FitsHeader, name: str, default: int) -> int:
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
