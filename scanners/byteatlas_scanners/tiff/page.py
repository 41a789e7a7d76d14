"""One image: a directory's tags, checked and given meaning (TIFF 6.0 sections 3 to 8 and 15)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace
from byteatlas_scanners.tiff.ifd import Ifd
from byteatlas_scanners.tiff.peek import Peek
from byteatlas_scanners.tiff.tags import Tag

UINT, INT, FLOAT, VOID, COMPLEX_INT, COMPLEX = 1, 2, 3, 4, 5, 6
NONE, OLD_JPEG, JPEG, LOSSY_JPEG, ALT_JPEG, PACKBITS = 1, 6, 7, 34892, 33007, 32773
JPEGS = frozenset({OLD_JPEG, JPEG, LOSSY_JPEG, ALT_JPEG})
JPEG_2000 = frozenset({33003, 33004, 33005, 34712})
JPEG_XR, JPEG_XL = frozenset({22610, 34934}), frozenset({50002, 52546})
PNG, LERC, WEBP, OLD_WEBP = 34933, 34887, 50001, 34927
IMAGES = JPEGS | JPEG_2000 | JPEG_XR | JPEG_XL | {PNG, WEBP, OLD_WEBP}
"""Compressions of whole images, which know of their colours themselves."""
MINISWHITE, MINISBLACK, RGB, PALETTE, MASK, SEPARATED, YCBCR = 0, 1, 2, 3, 4, 5, 6
MAX_SAMPLES = 65535
LARGE_TILE = 64 << 20
"""Bytes of a tile that may be larger than its image; beyond them its size is not believed."""
MOST_BYTES = 1 << 62
"""Of one tile or strip: what NumPy can still count."""
MOST_PARTS = 1 << 20
"""Tiles or strips of an old-style JPEG image that does not list them."""
REDUCED, MASK_BIT = 1, 4
"""Bits of NewSubfileType."""


@dataclass(frozen=True, slots=True)
class Page:
    """One image as its tags describe it.

    Attributes:
        bits: bits of one sample; all samples have the same.
        depth: images along z in a volume (ImageDepth); 1 for nearly all files.
        chunk_height, chunk_width: of a tile; a strip is as wide as the image. Not cut at the image's edge.
        planar: samples are stored as separate planes.
        jfif: its JPEG streams carry a JFIF marker (they know their colour space).
        offsets, counts: one per tile or strip in file order: plane by plane, row by row, left to right. A missing one
            has offset or count 0.
        stream: where an old-style JPEG image has a whole JPEG stream, or None.
        parts: an old-style JPEG image of which libtiff puts tables and data together.
    """

    ifd: Ifd
    width: int
    height: int
    samples: int
    bits: int
    sample_format: int
    compression: int
    predictor: int
    photometric: int
    fill_order: int
    planar: bool
    tiled: bool
    chunk_height: int
    chunk_width: int
    offsets: NDArray[np.uint64]
    counts: NDArray[np.uint64]
    subfile: int
    extra_samples: int
    jfif: bool = False
    stream: int | None = None
    parts: bool = False

    @property
    def subsampled(self) -> bool:
        """YCbCr with fewer colour samples than pixels, in units of several pixels (TIFF 6.0 section 21)."""
        if self.photometric != YCBCR or self.samples != 3 or self.compression in IMAGES:
            return False
        factors = self.ifd.array(Tag.YCBCR_SUBSAMPLING)
        return factors is None or factors.dtype.kind != "u" or factors.ravel()[:2].tolist() != [1, 1]

    @property
    def shape(self) -> Shape:
        """``(y, x)``, ``(y, x, sample)``, or ``(sample, y, x)`` for separate planes."""
        if self.samples == 1:
            return (self.height, self.width)
        if self.planar:
            return (self.samples, self.height, self.width)
        return (self.height, self.width, self.samples)

    @property
    def dims(self) -> tuple[str, ...]:
        if self.samples == 1:
            return ("y", "x")
        return ("band", "y", "x") if self.planar else ("y", "x", "band")

    def chunk_shape(self, rows: int | None = None) -> Shape:
        """The shape that one tile or strip decodes to; ``rows`` for the last strip."""
        height = self.chunk_height if rows is None else rows
        if self.samples == 1:
            return (height, self.chunk_width)
        if self.planar:
            return (1, height, self.chunk_width)
        return (height, self.chunk_width, self.samples)

    @property
    def contiguous_samples(self) -> int:
        """Samples that follow each other within a pixel."""
        return 1 if self.planar else self.samples

    @property
    def row_bytes(self) -> int:
        """Decoded bytes of one row of a tile or strip; rows end on a byte."""
        return -(-self.chunk_width * self.contiguous_samples * self.bits // 8)

    @property
    def last_rows(self) -> int:
        """Rows of the last strip (all of them for tiles, which are stored whole)."""
        if self.tiled:
            return self.chunk_height
        return self.height - (self.height - 1) // self.chunk_height * self.chunk_height

    @property
    def edge_rows(self) -> int:
        """Rows that the lowest tiles or strips surely decode to.

        Tiles are stored whole, but some writers leave out the rows below the image of PackBits tiles.
        """
        if self.tiled and self.compression != PACKBITS:
            return self.chunk_height
        return self.height - (self.height - 1) // self.chunk_height * self.chunk_height

    @property
    def is_reduced(self) -> bool:
        return bool(self.subfile & REDUCED)

    @property
    def is_mask(self) -> bool:
        return bool(self.subfile & MASK_BIT) or self.photometric == MASK


def to_page(ifd: Ifd, size: int, seen: Peek | None = None) -> Page:
    """Interpret a directory; ``seen``: what its JPEG stream begins with. Raises `CorruptFile` or `Unsupported`."""
    width, height = ifd.first(Tag.IMAGE_WIDTH, 0), ifd.first(Tag.IMAGE_LENGTH, 0)
    if width <= 0 or height <= 0:
        raise CorruptFile(ifd.offset, f"an image of {width} x {height} pixels")
    if ifd.first(Tag.IMAGE_DEPTH, 1) != 1 or ifd.first(Tag.TILE_DEPTH, 1) != 1:
        raise Unsupported(Reason.LAYOUT, "volumes (ImageDepth, TileDepth) are not supported", ifd.name)
    samples = ifd.first(Tag.SAMPLES_PER_PIXEL, _usual_samples(ifd))
    if not 0 < samples <= MAX_SAMPLES:
        raise CorruptFile(ifd.offset, f"{samples} samples per pixel")
    compression = ifd.first(Tag.COMPRESSION, NONE)
    bits, sample_format = _uniform(ifd, Tag.BITS_PER_SAMPLE, samples), _uniform(ifd, Tag.SAMPLE_FORMAT, samples)
    planar = ifd.first(Tag.PLANAR_CONFIGURATION, 1) == 2 and samples > 1
    tiled = Tag.TILE_WIDTH in ifd
    chunk_height, chunk_width = _chunk(ifd, tiled, width, height)
    across, down = -(-width // chunk_width), -(-height // chunk_height)
    total = across * down * (samples if planar else 1)
    extra = ifd.array(Tag.EXTRA_SAMPLES)
    page = Page(
        ifd=ifd,
        width=width,
        height=height,
        samples=samples,
        bits=bits,
        sample_format=sample_format if UINT <= sample_format <= COMPLEX else UINT,  # libtiff ignores unknown ones
        compression=compression,
        predictor=1 if compression == NONE else ifd.first(Tag.PREDICTOR, 1),  # libtiff: it is part of compressions
        photometric=ifd.first(Tag.PHOTOMETRIC, MINISWHITE if bits == 1 else MINISBLACK),
        fill_order=ifd.first(Tag.FILL_ORDER, 1),
        planar=planar,
        tiled=tiled,
        chunk_height=chunk_height,
        chunk_width=chunk_width,
        offsets=_offsets(ifd, tiled, total),
        counts=np.zeros(0, np.uint64),
        subfile=_subfile(ifd),
        extra_samples=0 if extra is None else len(extra),
        jfif=seen is not None and seen.jfif,
    )
    chunk_bytes = page.chunk_height * page.row_bytes
    if chunk_bytes > MOST_BYTES:
        raise CorruptFile(ifd.offset, f"tiles or strips of {chunk_bytes} bytes")
    if tiled and chunk_bytes > LARGE_TILE and chunk_bytes > 4 * page.height * -(-width * samples * bits // 8):
        why = f"tiles of {chunk_width} x {chunk_height} pixels in an image of {width} x {height}"
        raise Unsupported(Reason.TOO_LARGE, why, ifd.name)
    return replace(page, counts=_counts(page, ifd, page.offsets, size))


GEOMETRY = frozenset((
    Tag.NEW_SUBFILE_TYPE, Tag.SUBFILE_TYPE, Tag.IMAGE_WIDTH, Tag.IMAGE_LENGTH, Tag.IMAGE_DEPTH, Tag.TILE_DEPTH,
    Tag.BITS_PER_SAMPLE, Tag.SAMPLE_FORMAT, Tag.SAMPLES_PER_PIXEL, Tag.PLANAR_CONFIGURATION, Tag.COMPRESSION,
    Tag.PREDICTOR, Tag.PHOTOMETRIC, Tag.FILL_ORDER, Tag.EXTRA_SAMPLES, Tag.TILE_WIDTH, Tag.TILE_LENGTH,
    Tag.ROWS_PER_STRIP, Tag.YCBCR_COEFFICIENTS, Tag.YCBCR_SUBSAMPLING, Tag.YCBCR_POSITIONING,
    Tag.REFERENCE_BLACK_WHITE, Tag.T4_OPTIONS, Tag.T6_OPTIONS, Tag.LERC_PARAMETERS, Tag.JPEG_TABLES,
    Tag.COLOR_MAP, Tag.MODEL_PIXEL_SCALE, Tag.MODEL_TIEPOINT, Tag.MODEL_TRANSFORMATION, Tag.GEO_KEY_DIRECTORY,
    Tag.GEO_DOUBLE_PARAMS, Tag.GEO_ASCII_PARAMS, Tag.GDAL_NODATA, Tag.GDAL_METADATA,
))  # fmt: skip
"""The tags that an image's presentation depends on, all but where its data lie."""


def geometry(ifd: Ifd) -> tuple[object, ...]:
    """What two directories must share to be pages of one stack: the raw values of `GEOMETRY`."""
    found: list[object] = [ifd.order]
    for tag, entry in ifd.fields.items():
        if tag in GEOMETRY:
            raw = entry.raw
            found += (tag, entry.type, raw if type(raw) is bytes else None if raw is None else bytes(raw))
    return tuple(found)


def like(template: Page, ifd: Ifd, size: int) -> Page:
    """The page of a directory that has the template's `geometry`. Raises `CorruptFile`."""
    offsets = _offsets(ifd, template.tiled, len(template.offsets))
    return replace(template, ifd=ifd, offsets=offsets, counts=_counts(template, ifd, offsets, size))


def _usual_samples(ifd: Ifd) -> int:
    """Samples per pixel where the tag is missing: 1, but for old-style JPEG in colour libtiff takes 3."""
    old = ifd.first(Tag.COMPRESSION, NONE) == OLD_JPEG
    return 3 if old and ifd.first(Tag.PHOTOMETRIC, YCBCR) in (RGB, YCBCR) else 1


def _uniform(ifd: Ifd, tag: Tag, samples: int) -> int:
    """A per-sample tag of which all values must agree; 1 when it is not there."""
    values = ifd.array(tag)
    if values is None:
        return 1
    sound = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iuf"
    if not sound or not np.isfinite(values[:samples]).all():
        raise CorruptFile(ifd.offset, f"tag {tag.name} holds no numbers")
    found = {int(v) for v in values[:samples].tolist()}
    if len(found) != 1:
        raise Unsupported(Reason.SAMPLES, f"samples differ in {tag.name}: {sorted(found)}", ifd.name)
    return found.pop()


def _subfile(ifd: Ifd) -> int:
    if Tag.NEW_SUBFILE_TYPE in ifd:
        return ifd.first(Tag.NEW_SUBFILE_TYPE, 0)
    return REDUCED if ifd.first(Tag.SUBFILE_TYPE, 1) == 2 else 0


def _chunk(ifd: Ifd, tiled: bool, width: int, height: int) -> tuple[int, int]:
    if tiled:
        size = ifd.first(Tag.TILE_LENGTH, 0), ifd.first(Tag.TILE_WIDTH, 0)
    else:
        rows = ifd.first(Tag.ROWS_PER_STRIP, height)
        size = (height if rows <= 0 else min(rows, height)), width
    if min(size) <= 0:
        raise CorruptFile(ifd.offset, f"tiles of {size[1]} x {size[0]} pixels")
    return size


def _numbers(ifd: Ifd, first: Tag, second: Tag) -> NDArray[np.uint64] | None:
    """The values of one of two tags as file positions or sizes."""
    for tag in (first, second):
        values = ifd.array(tag)
        if values is not None:
            if values.ndim != 1 or values.dtype.kind not in "iu":
                raise CorruptFile(ifd.offset, f"tag {tag.name} holds no positions")
            return values.astype(np.uint64)
    return None


def _offsets(ifd: Ifd, tiled: bool, total: int) -> NDArray[np.uint64]:
    tags = (Tag.TILE_OFFSETS, Tag.STRIP_OFFSETS)
    values = _numbers(ifd, *(tags if tiled else tags[::-1]))
    if values is None and ifd.first(Tag.COMPRESSION, NONE) == OLD_JPEG and Tag.JPEG_INTERCHANGE_FORMAT in ifd:
        if total > MOST_PARTS:
            raise CorruptFile(ifd.offset, f"none of {total} tiles or strips is listed")
        return np.zeros(total, np.uint64)
    if values is None:
        raise CorruptFile(ifd.offset, "no image data: neither strip nor tile offsets")
    if len(values) < total:
        raise CorruptFile(ifd.offset, f"{len(values)} tiles or strips are listed, the image has {total}")
    return values[:total]


def _counts(page: Page, ifd: Ifd, offsets: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Sizes of all tiles or strips: as listed; computed where they are not listed or cannot be right.

    ``page`` gives the geometry only.
    """
    tags = (Tag.TILE_BYTE_COUNTS, Tag.STRIP_BYTE_COUNTS)
    counts = _numbers(ifd, *(tags if page.tiled else tags[::-1]))
    total = len(offsets)
    # A single strip with an offset but no size was written all the same; one of many tiles was not (GDAL, libtiff).
    unsized = counts is not None and total == 1 and len(counts) > 0 and counts[0] == 0 and offsets[0] != 0
    if counts is None or len(counts) < total or unsized:
        whole = page.compression == NONE and not page.subsampled
        return plain_lengths(page) if whole else _up_to_next(offsets, size)
    return counts[:total]


def plain_lengths(page: Page) -> NDArray[np.uint64]:
    """The bytes that each tile or strip takes without compression."""
    lengths = np.full(len(page.offsets), page.chunk_height * page.row_bytes, np.uint64)
    if not page.tiled:
        per_plane = -(-page.height // page.chunk_height)
        lengths[per_plane - 1 :: per_plane] = page.last_rows * page.row_bytes
    return lengths


def _up_to_next(offsets: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """Bytes from each offset to the next higher one, or to the end of the file."""
    ends = np.append(np.sort(offsets), np.uint64(size))
    following = ends[np.searchsorted(ends, offsets, side="right").clip(max=len(offsets))]
    lengths: NDArray[np.uint64] = np.where(following > offsets, following - offsets, 0).astype(np.uint64)
    return lengths
