"""Images as they are stored: one block of big-endian numbers, cut along the slowest axis (FITS 4.0, section 5)."""

from __future__ import annotations

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.kinds.strided import contiguous
from byteatlas.manifest.model import SourceInfo, VirtualArray
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas_scanners.fits.hdus import Hdu
from byteatlas_scanners.fits.header import FitsHeader
from byteatlas_scanners.fits.numbers import TYPES, blank, other_sign, scaling
from byteatlas_scanners.fits.wcs import dimension_names

MAX_RANK = 64
"""NumPy's own limit."""


def check_inside(unit: Hdu, end: int, source: SourceInfo) -> None:
    """A unit's data up to ``end`` are in the file. Raises `CorruptFile`."""
    if end > (source.size or 0):
        raise CorruptFile(unit.data, f"its data end at byte {end}, the file at byte {source.size}")


def check_rank(count: int) -> None:
    """Raises `Unsupported` for more axes than an array can have."""
    if count > MAX_RANK:
        raise Unsupported(Reason.DATASPACE, f"{count} axes; at most {MAX_RANK} are possible")


def image_attributes(header: FitsHeader) -> dict[str, JSON]:
    """What the header says of the values."""
    unit = header.text("BUNIT")
    return {"units": unit} if unit else {}


def image_array(unit: Hdu, source: SourceInfo, options: ScanOptions) -> VirtualArray:
    """The image of a unit. Raises `CorruptFile` (data beyond the end of the file), `Unsupported`."""
    header, shape = unit.header, unit.shape
    check_rank(len(shape))
    if header.first.get("PCOUNT", 0) or header.first.get("GCOUNT", 1) != 1:
        raise Unsupported(Reason.LAYOUT, "an image with parameters or groups")
    check_inside(unit, unit.data + unit.size, source)
    stored = TYPES[header.integer("BITPIX")]
    scale, zero = header.number("BSCALE"), header.number("BZERO")
    flipped = other_sign(stored, scale, zero)
    presented = stored.newbyteorder("=") if flipped is None else flipped
    attributes = image_attributes(header)
    if flipped is None:
        attributes |= scaling(scale, zero)
    fill = blank(header, "BLANK", stored, presented)
    if fill is not None:
        attributes["_FillValue"] = fill
    plain = CodecSpec("bytes", {} if stored.itemsize == 1 else {"endian": "big"})
    codecs = (plain if flipped is None else CodecSpec("byteatlas.fits_unsigned"),)
    layout = contiguous(shape, stored.itemsize, unit.data, source, options.target_chunk)
    encodings = [Encoding(codecs)]
    if layout.tail is not None:
        encodings.append(Encoding(codecs, chunk_shape=layout.tail))
    meta = ArrayMeta(
        shape=shape,
        data_type=from_numpy(presented),
        grid=RegularGrid(layout.chunk_shape),
        encodings=tuple(encodings),
        dimension_names=dimension_names(header, shape),
        attributes=attributes,
        zarr_format=2 if layout.tail is None and flipped is None else 3,
    )
    return VirtualArray(meta, layout.manifest)
