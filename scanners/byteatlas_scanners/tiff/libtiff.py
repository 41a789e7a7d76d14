"""Pages that libtiff itself decodes: the tags that it needs, for the codec ``byteatlas.tiff_libtiff``.

Old-style JPEG (TIFF 6.0 section 22) leaves open how tables and data lie, and libtiff's way is the one that counts: the
image becomes one chunk, from the first to the last byte of anything that belongs to it, and positions in tags become
relative to its begin.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas.values import replace
from byteatlas_scanners.tiff.page import FLOAT, INT, MINISBLACK, UINT, VOID, YCBCR, Page
from byteatlas_scanners.tiff.peek import Peek
from byteatlas_scanners.tiff.tags import RATIONALS, Tag

NEXT, THUNDERSCAN, PIXARLOG, SGILOG, SGILOG24 = 32766, 32809, 32909, 34676, 34677
LOGL, LOGLUV = 32844, 32845
LEVELS = {NEXT: 2, THUNDERSCAN: 4}
"""Compressions of one grey sample of so many bits."""
SHORT, LONG, RATIONAL = 3, 4, 5
JPEG_TABLE_SIZES = {Tag.JPEG_Q_TABLES: 64, Tag.JPEG_DC_TABLES: 16 + 256, Tag.JPEG_AC_TABLES: 16 + 256}
"""The most bytes of one table."""
COLOURS = (Tag.YCBCR_COEFFICIENTS, Tag.YCBCR_SUBSAMPLING, Tag.YCBCR_POSITIONING, Tag.REFERENCE_BLACK_WHITE)
"""What the conversion from YCbCr to RGB depends on."""
OLD_JPEG_TAGS = (
    Tag.STRIP_OFFSETS, Tag.STRIP_BYTE_COUNTS, Tag.ROWS_PER_STRIP, Tag.TILE_WIDTH, Tag.TILE_LENGTH, Tag.TILE_OFFSETS,
    Tag.TILE_BYTE_COUNTS, Tag.PLANAR_CONFIGURATION, Tag.JPEG_PROC, Tag.JPEG_INTERCHANGE_FORMAT,
    Tag.JPEG_INTERCHANGE_FORMAT_LENGTH, Tag.JPEG_RESTART_INTERVAL, *JPEG_TABLE_SIZES,
)  # fmt: skip
POSITIONS = frozenset({Tag.STRIP_OFFSETS, Tag.TILE_OFFSETS, Tag.JPEG_INTERCHANGE_FORMAT, *JPEG_TABLE_SIZES})
CODEC = "byteatlas.tiff_libtiff"


def old_jpeg(page: Page) -> CodecSpec:
    """The codec of an old-style JPEG image that is one chunk."""
    base = int(page.offsets[0])
    grey = page.samples == 1
    rows = [*_geometry(page, page.height, MINISBLACK if grey else page.photometric)]
    for tag in (*OLD_JPEG_TAGS, *COLOURS):
        row = _row(page, tag, base if tag in POSITIONS else 0)
        if row is not None:
            rows.append(row)
    configuration: dict[str, JSON] = {"tags": [*rows], "order": "<", "output": "levels" if grey else "rgb"}
    if page.stream is not None and not grey:
        configuration["stream"] = page.stream - base
    return CodecSpec(CODEC, configuration)


def strip(page: Page, rows: int) -> CodecSpec:
    """The codec of a strip or tile of ``rows`` rows. Raises `Unsupported`."""
    photometric, output = MINISBLACK, "samples"
    if page.subsampled:
        photometric, output = page.photometric, "rgb"
    elif page.compression in LEVELS:
        output = "levels"
        if (page.bits, page.contiguous_samples) != (LEVELS[page.compression], 1):
            raise Unsupported(Reason.SAMPLES, f"{page.contiguous_samples} samples of {page.bits} bits", page.ifd.name)
    elif page.compression in (SGILOG, SGILOG24):
        photometric = page.photometric
    _check(page, output)
    tags = [*_geometry(page, rows, photometric), [int(Tag.ROWS_PER_STRIP), LONG, [rows]]]
    if output == "samples":
        kind = page.sample_format if page.sample_format == FLOAT else INT if page.compression == SGILOG else UINT
        tags.append([int(Tag.SAMPLE_FORMAT), SHORT, [kind]])
    if page.predictor != 1:
        tags.append([int(Tag.PREDICTOR), SHORT, [page.predictor]])
    if page.fill_order == 2:
        tags.append([int(Tag.FILL_ORDER), SHORT, [2]])
    if output == "rgb":
        tags += [row for tag in COLOURS if (row := _row(page, tag, 0)) is not None]
    return CodecSpec(CODEC, {"tags": [*tags], "order": page.ifd.order, "output": output})


def _check(page: Page, output: str) -> None:
    """Whether libtiff has this kind of samples for the compression. Raises `Unsupported`."""
    kinds = {
        PIXARLOG: {(8, UINT), (16, UINT), (8, VOID), (16, VOID), (32, FLOAT)},
        SGILOG: {(16, INT), (16, UINT), (16, VOID), (32, FLOAT)},
    }
    if output == "rgb" and (page.bits != 8 or page.samples != 3 or page.sample_format not in (UINT, VOID)):
        raise Unsupported(Reason.SAMPLES, f"subsampled YCbCr of {page.samples} samples", page.ifd.name)
    if output != "samples":
        return
    if (page.bits, page.sample_format) not in kinds.get(page.compression, {(32, FLOAT)}):
        why = f"compression {page.compression} with {page.bits}-bit samples in format {page.sample_format}"
        raise Unsupported(Reason.SAMPLES, why, page.ifd.name)
    if page.compression in (SGILOG, SGILOG24):
        samples = {LOGL: 1, LOGLUV: 3}.get(page.photometric)
        luminance = page.photometric == LOGL and page.compression == SGILOG
        if samples != page.contiguous_samples or not (luminance or (page.bits == 32 and samples == 3)):
            why = f"LogLuv with photometric {page.photometric}, {page.samples} samples of {page.bits} bits"
            raise Unsupported(Reason.SAMPLES, why, page.ifd.name)


def _geometry(page: Page, rows: int, photometric: int) -> Iterator[list[JSON]]:
    samples = page.contiguous_samples
    yield [int(Tag.IMAGE_WIDTH), LONG, [page.chunk_width]]
    yield [int(Tag.IMAGE_LENGTH), LONG, [rows]]
    yield [int(Tag.BITS_PER_SAMPLE), SHORT, [page.bits] * samples]
    yield [int(Tag.COMPRESSION), SHORT, [page.compression]]
    yield [int(Tag.PHOTOMETRIC), SHORT, [photometric]]
    yield [int(Tag.SAMPLES_PER_PIXEL), SHORT, [samples]]


def _row(page: Page, tag: Tag, base: int) -> list[JSON] | None:
    """A tag for the codec's configuration, None when it is not there or not of whole numbers."""
    values = page.ifd.array(tag)
    if values is None or values.dtype.kind not in "u" or not values.size:
        return None
    kind = RATIONAL if page.ifd.fields[tag].type in RATIONALS else SHORT if values.dtype.itemsize == 2 else LONG
    if tag in POSITIONS:
        kind = LONG
    numbers = [int(v) - base for v in values.ravel()]
    if min(numbers) < 0 or max(numbers) >= 1 << 31:
        if tag in POSITIONS:
            return None  # outside of the file: libtiff does without
        raise CorruptFile(page.ifd.offset, f"tag {tag.name} of {numbers[:3]}")
    return [int(tag), kind, [*numbers]]


def whole(page: Page, seen: Peek | None, size: int) -> Page:
    """An old-style JPEG image as one chunk: a JPEG stream, or all that it has. Raises `Unsupported`."""
    start = None if seen is None else seen.start
    if seen is not None and len(page.offsets) > 1 and seen.streams.issuperset(int(at) for at in page.offsets[:2]):
        return page  # streams in every strip or tile, as in new-style JPEG
    if start is not None and page.photometric != YCBCR and page.samples in (1, 3) and _follow(page, start):
        length = page.ifd.first(Tag.JPEG_INTERCHANGE_FORMAT_LENGTH, 0)
        return _one(page, start, min(size, max(start + max(0, length), int(page.offsets[-1]) + int(page.counts[-1]))))
    if page.samples not in (1, 3) or page.bits != 8 or page.sample_format not in (UINT, VOID):
        why = f"old-style JPEG of {page.samples} samples of {page.bits} bits"
        raise Unsupported(Reason.COMPRESSION, why, page.ifd.name)
    spans = [(at, at + length) for at, length in _spans(page, size) if 0 < at < size]
    if not spans:
        raise Unsupported(Reason.COMPRESSION, "old-style JPEG without data", page.ifd.name)
    low, high = min(low for low, _ in spans), min(size, max(high for _, high in spans))
    if high - low > 4 * sum(b - a for a, b in spans) + MOST_APART:
        raise Unsupported(Reason.COMPRESSION, "old-style JPEG whose parts lie far apart", page.ifd.name)
    inside = start if start is not None and low <= start < high else None
    return replace(_one(page, low, high), chunk_width=page.width, tiled=False, stream=inside, parts=True)


MOST_APART = 16 << 20
"""Bytes that may lie between the parts of an old-style JPEG image."""


def _follow(page: Page, start: int) -> bool:
    """Whether the strips follow each other inside of the stream that begins at ``start``."""
    ends = page.offsets[:-1] + page.counts[:-1]
    behind = bool((page.offsets[1:] == ends).all()) and int(page.offsets[0]) >= start
    return not page.tiled and (behind or len(page.offsets) == 1)


def _one(page: Page, start: int, end: int) -> Page:
    offsets, counts = np.array([start], np.uint64), np.array([max(0, end - start)], np.uint64)
    return replace(page, chunk_height=page.height, offsets=offsets, counts=counts)


def _spans(page: Page, size: int) -> Iterator[tuple[int, int]]:
    """Where the image's parts lie: offset and length."""
    yield from ((int(a), int(n)) for a, n in zip(page.offsets, page.counts, strict=True))
    start = page.ifd.first(Tag.JPEG_INTERCHANGE_FORMAT, 0)
    length = page.ifd.first(Tag.JPEG_INTERCHANGE_FORMAT_LENGTH, 0)
    yield start, length if length > 0 else 0 if page.offsets.any() else size
    for tag, most in JPEG_TABLE_SIZES.items():
        values = page.ifd.array(tag)
        if values is not None and values.ndim == 1 and values.dtype.kind in "u":
            yield from ((int(at), most) for at in values.tolist())
