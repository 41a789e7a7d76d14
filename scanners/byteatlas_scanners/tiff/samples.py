"""How one tile or strip becomes samples: the NumPy type of an image and its codec chain.

Names under ``numcodecs.imagecodecs_`` are those that imagecodecs registers with numcodecs, so that other Zarr readers
that have it can read the references; what has no such name is a codec of our own (``byteatlas.tiff_*``).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

import numpy as np

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON
from byteatlas_scanners.tiff.libtiff import (
    LOGLUV,
    NEXT,
    PIXARLOG,
    SGILOG,
    SGILOG24,
    THUNDERSCAN,
    old_jpeg,
    strip,
)
from byteatlas_scanners.tiff.page import (
    COMPLEX,
    COMPLEX_INT,
    FLOAT,
    INT,
    JPEG_2000,
    JPEG_XL,
    JPEG_XR,
    JPEGS,
    LERC,
    MINISBLACK,
    NONE,
    OLD_WEBP,
    PNG,
    RGB,
    UINT,
    VOID,
    WEBP,
    YCBCR,
    Page,
)
from byteatlas_scanners.tiff.tags import Tag

WHOLE = {
    UINT: {8: "u1", 16: "u2", 32: "u4", 64: "u8"},
    VOID: {8: "u1", 16: "u2", 32: "u4", 64: "u8"},
    INT: {8: "i1", 16: "i2", 32: "i4", 64: "i8"},
    FLOAT: {16: "f2", 32: "f4", 64: "f8"},
    COMPLEX: {64: "c8", 128: "c16"},
}
"""Sample types that NumPy has, by SampleFormat and bits."""

DEFLATE_OLD, DEFLATE, PIXTIFF, LZMA, ZSTD, OLD_ZSTD = 32946, 8, 50013, 34925, 50000, 34926

BYTE_COMPRESSIONS: Mapping[int, CodecSpec] = {
    5: CodecSpec("numcodecs.imagecodecs_lzw"),
    DEFLATE: CodecSpec("numcodecs.zlib", {"level": 6}),
    DEFLATE_OLD: CodecSpec("numcodecs.zlib", {"level": 6}),
    PIXTIFF: CodecSpec("numcodecs.zlib", {"level": 6}),
    32773: CodecSpec("numcodecs.imagecodecs_packbits"),
    LZMA: CodecSpec("numcodecs.imagecodecs_lzma"),
    ZSTD: CodecSpec("numcodecs.imagecodecs_zstd"),
    OLD_ZSTD: CodecSpec("numcodecs.imagecodecs_zstd"),
}
"""Compressions of bytes: predictors, packed bits and byte order are still to be undone after them."""

IMAGE_COMPRESSIONS: Mapping[int, str] = {
    **dict.fromkeys(sorted(JPEG_2000), "numcodecs.imagecodecs_jpeg2k"),
    **dict.fromkeys(sorted(JPEG_XR), "numcodecs.imagecodecs_jpegxr"),
    **dict.fromkeys(sorted(JPEG_XL), "numcodecs.imagecodecs_jpegxl"),
    PNG: "numcodecs.imagecodecs_png",
}
"""Whole images inside of the tiles, without any configuration."""

CCITT: Mapping[int, str] = {
    2: "numcodecs.imagecodecs_ccittrle",
    3: "numcodecs.imagecodecs_ccittfax3",
    4: "numcodecs.imagecodecs_ccittfax4",
}

LIBTIFF = frozenset({NEXT, THUNDERSCAN, PIXARLOG, SGILOG, SGILOG24})
"""Compressions that are what libtiff makes of them."""

NAMES: Mapping[int, str] = {
    32771: "CCITT RLE, word aligned",
    32908: "PixarFilm",
    34661: "JBIG",
    34715: "JBIG2",
    65000: "EER",
    65001: "EER",
    65002: "EER",
}

Chain = tuple[CodecSpec, ...]


def sample_type(page: Page) -> np.dtype[np.generic]:
    """The native type that one sample decodes to. Raises `Unsupported`."""
    bits, kind = page.bits, page.sample_format
    if bits in WHOLE.get(kind, {}):
        return np.dtype(WHOLE[kind][bits])
    if kind in (UINT, VOID) and 0 < bits < 32:
        return np.dtype("u1" if bits <= 8 else "u2" if bits <= 16 else "u4")
    if kind == FLOAT and bits == 24:
        return np.dtype("f4")
    if kind == COMPLEX_INT and bits in (16, 32, 64):
        return np.dtype("c16" if bits == 64 else "c8")
    raise Unsupported(Reason.SAMPLES, f"samples of {bits} bits in format {kind}", page.ifd.name)


def chain(page: Page, rows: int) -> Chain:
    """The codecs of a tile, or of a strip of ``rows`` rows, in encoding order. Raises `Unsupported`."""
    sample_type(page)
    if page.subsampled:
        if page.planar or page.compression not in {NONE, *BYTE_COMPRESSIONS} - {PIXTIFF, OLD_ZSTD}:
            raise Unsupported(Reason.SAMPLES, "subsampled YCbCr in separate planes", page.ifd.name)
        return _little(page), strip(page, rows)
    return _builder(page)(page, rows)


def _builder(page: Page) -> Callable[[Page, int], Chain]:
    """What makes the chain for a page's compression."""
    number = page.compression
    if number == NONE or number in BYTE_COMPRESSIONS:
        return _bytes_chain
    if number in CCITT:
        return _ccitt
    if number in JPEGS:
        return _jpeg
    if number in IMAGE_COMPRESSIONS:
        return _image
    if number == LERC:
        return _lerc
    if number in (WEBP, OLD_WEBP):
        return _webp
    if number in LIBTIFF:
        return _libtiff
    name = NAMES.get(number, "unknown")
    raise Unsupported(Reason.COMPRESSION, f"compression {number} ({name}) is not supported", page.ifd.name)


def is_plain(page: Page) -> bool:
    """Whether the stored bytes are the samples themselves."""
    whole = page.bits in WHOLE.get(page.sample_format, {})
    return page.compression == NONE and page.predictor == 1 and page.fill_order != 2 and whole and not page.subsampled


def _little(page: Page) -> CodecSpec:
    return CodecSpec("bytes", {} if sample_type(page).itemsize == 1 else {"endian": "little"})


def _stored(page: Page) -> CodecSpec:
    """``bytes`` in the file's byte order."""
    order = "big" if page.ifd.order == ">" else "little"
    return CodecSpec("bytes", {} if page.bits == 8 else {"endian": order})


def _bytes_chain(page: Page, rows: int) -> Chain:
    steps = [*_samples(page, rows)]
    if page.compression != NONE:
        step = BYTE_COMPRESSIONS[page.compression]
        # Last strips may be written in full; here only byteatlas reads on, so a decoder that stops in time will do.
        strict = rows == page.chunk_height and len(steps) == 1
        steps.append(step if strict or step.name != "numcodecs.zlib" else CodecSpec("numcodecs.imagecodecs_zlib"))
    if page.fill_order == 2:
        steps.append(CodecSpec("numcodecs.imagecodecs_bitorder"))
    return tuple(steps)


def _samples(page: Page, rows: int) -> Chain:
    """From samples to the bytes before compression: byte order, predictor, packing."""
    if page.predictor not in (1, 2, 3):
        raise Unsupported(Reason.SAMPLES, f"predictor {page.predictor} is not known", page.ifd.name)
    if page.bits in WHOLE.get(page.sample_format, {}):
        return _predicted(page, rows)
    if page.sample_format == FLOAT and page.predictor in (1, 3):
        return _float24(page)
    if page.predictor != 1:
        why = f"predictor {page.predictor} with {page.bits}-bit samples in format {page.sample_format}"
        raise Unsupported(Reason.SAMPLES, why, page.ifd.name)
    if page.sample_format == COMPLEX_INT:
        part = f"{page.ifd.order if page.bits > 16 else '|'}i{page.bits // 16}"
        return _little(page), CodecSpec("byteatlas.tiff_complex_int", {"dtype": part})
    packing = {
        "dtype": sample_type(page).newbyteorder("<").str,
        "bitspersample": page.bits,
        "runlen": page.chunk_width * page.contiguous_samples,
    }
    unpack = CodecSpec("numcodecs.imagecodecs_packints", packing)
    return _little(page), unpack


def _float24(page: Page) -> Chain:
    """Floats of 24 bits as float32."""
    widen = "numcodecs.imagecodecs_float24"
    if page.predictor == 1:
        return _little(page), CodecSpec(widen, {"byteorder": page.ifd.order})
    stride = page.contiguous_samples
    planes = {"itemsize": 3, "row": page.chunk_width * stride, "stride": stride}
    return _little(page), CodecSpec(widen, {"byteorder": ">"}), CodecSpec("byteatlas.tiff_float_planes", planes)


def _delta(page: Page, rows: int, order: str) -> Chain:
    """Differences between samples of this byte order."""
    item = sample_type(page).itemsize
    axis = -2 if page.contiguous_samples > 1 else -1
    # Floats are differenced as integers of the same width; sums wrap, so signed and unsigned are alike.
    dtype = f"{order if item > 1 else '|'}u{item}"
    configuration = {"axis": axis, "dist": 1, "shape": [*page.chunk_shape(rows)], "dtype": dtype}
    stored = CodecSpec("bytes", {} if item == 1 else {"endian": "big" if order == ">" else "little"})
    return stored, CodecSpec("numcodecs.imagecodecs_delta", configuration)


def _predicted(page: Page, rows: int) -> Chain:
    if page.predictor == 1:
        return (_stored(page),)
    item = page.bits // 8
    shape = [*page.chunk_shape(rows)]
    axis = -2 if page.contiguous_samples > 1 else -1
    if page.predictor == 2:
        if page.sample_format in (COMPLEX, COMPLEX_INT):
            raise Unsupported(Reason.SAMPLES, "predictor 2 with complex samples", page.ifd.name)
        return _delta(page, rows, page.ifd.order)
    if page.sample_format != FLOAT:
        raise Unsupported(Reason.SAMPLES, "the floating-point predictor with other samples", page.ifd.name)
    # The predictor's bytes go from high to low whatever the file's byte order: undoing it gives native order.
    configuration = {"axis": axis, "dist": 1, "shape": shape, "dtype": f"<f{item}"}
    return _little(page), CodecSpec("numcodecs.imagecodecs_floatpred", configuration)


def _ccitt(page: Page, rows: int) -> Chain:
    if page.bits != 1 or page.contiguous_samples != 1:
        raise Unsupported(Reason.SAMPLES, f"CCITT with {page.samples} samples of {page.bits} bits", page.ifd.name)
    configuration: dict[str, JSON] = {"height": rows, "width": page.chunk_width}
    if page.compression == 3:
        configuration["t4options"] = page.ifd.first(Tag.T4_OPTIONS, 0)
    steps = [_little(page), CodecSpec(CCITT[page.compression], configuration)]
    if page.fill_order == 2:
        steps.append(CodecSpec("numcodecs.imagecodecs_bitorder"))
    return tuple(steps)


def _jpeg(page: Page, rows: int) -> Chain:
    """JPEG streams whose tables may be in a tag; YCbCr comes out as RGB, as GDAL, tifffile and libtiff's viewers do."""
    if not 8 <= page.bits <= 16 or page.sample_format not in (UINT, VOID):
        raise Unsupported(Reason.SAMPLES, f"JPEG with {page.bits}-bit samples", page.ifd.name)
    if page.parts:
        return _little(page), old_jpeg(page)
    tables = page.ifd.bytes(Tag.JPEG_TABLES)
    inside, outside = _colour_spaces(page)
    configuration: dict[str, JSON] = {
        "tables": base64.b64encode(tables).decode() if tables else None,
        "header": None,
        "bitspersample": page.bits,
        "colorspace_jpeg": inside,
        "colorspace_data": outside,
    }
    return _little(page), CodecSpec("numcodecs.imagecodecs_jpeg", configuration)


RAW_SPACES: Mapping[int, str] = {
    8: "CIELAB", 9: "ICCLAB", 10: "ITULAB", 32803: "CFA", 34892: "LINEAR_RAW", 51177: "DEPTH_MAP",
    52527: "SEMANTIC_MASK",
}  # fmt: skip
"""Photometrics whose samples a JPEG decoder leaves as they are, by the names that imagecodecs knows."""


def _colour_spaces(page: Page) -> tuple[int | None, int | str | None]:
    """The colour space inside of the stream (None: as the stream says) and the one wanted, by Photometric number."""
    if page.planar:
        return None, MINISBLACK
    if page.extra_samples:
        return None, None
    match page.photometric:
        case 6:
            return None, RGB
        case 2:
            return (None if page.jfif else RGB), RGB
        case 5:
            return None, 4  # CMYK
    if page.photometric in RAW_SPACES:
        return None, RAW_SPACES[page.photometric]
    if page.photometric > YCBCR:
        raise Unsupported(Reason.COMPRESSION, f"JPEG with photometric {page.photometric}", page.ifd.name)
    return None, None


def _image(page: Page, rows: int) -> Chain:
    return _little(page), CodecSpec(IMAGE_COMPRESSIONS[page.compression])


def _libtiff(page: Page, rows: int) -> Chain:
    if page.compression in (SGILOG, SGILOG24) and page.photometric == LOGLUV and page.bits == 16:
        if page.contiguous_samples != 3 or page.sample_format not in (UINT, VOID, INT):
            raise Unsupported(Reason.SAMPLES, f"LogLuv of {page.contiguous_samples} samples", page.ifd.name)
        return _little(page), CodecSpec(
            "byteatlas.tiff_logluv", {"width": page.chunk_width, "bits": 32 if page.compression == SGILOG else 24}
        )
    return _little(page), strip(page, rows)


def _webp(page: Page, rows: int) -> Chain:
    # A tile whose alpha is opaque everywhere may be stored without it.
    configuration: dict[str, JSON] = {"hasalpha": True} if page.samples == 4 else {}
    return _little(page), CodecSpec("numcodecs.imagecodecs_webp", configuration)


def _lerc(page: Page, rows: int) -> Chain:
    if page.predictor != 1:
        raise Unsupported(Reason.SAMPLES, "LERC with a predictor", page.ifd.name)
    steps = [_little(page), CodecSpec("numcodecs.imagecodecs_lerc")]
    parameters = page.ifd.array(Tag.LERC_PARAMETERS)
    if parameters is not None and (parameters.ndim != 1 or parameters.dtype.kind not in "iu"):
        raise CorruptFile(page.ifd.offset, "LERC with parameters that are no numbers")
    extra = int(parameters[1]) if parameters is not None and len(parameters) > 1 else 0
    after = {0: None, 1: BYTE_COMPRESSIONS[DEFLATE], 2: BYTE_COMPRESSIONS[ZSTD]}
    if extra not in after:
        raise CorruptFile(page.ifd.offset, f"LERC with unknown further compression {extra}")
    step = after[extra]
    return tuple(steps) if step is None else (*steps, step)
