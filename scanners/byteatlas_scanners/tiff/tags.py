"""Tag numbers and field types: TIFF 6.0 sections 2 and 8, BigTIFF, GeoTIFF 1.1, GDAL's private tags."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

import numpy as np


class Tag(IntEnum):
    """The tags that the scanner understands."""

    NEW_SUBFILE_TYPE = 254
    SUBFILE_TYPE = 255
    IMAGE_WIDTH = 256
    IMAGE_LENGTH = 257
    BITS_PER_SAMPLE = 258
    COMPRESSION = 259
    PHOTOMETRIC = 262
    FILL_ORDER = 266
    DOCUMENT_NAME = 269
    IMAGE_DESCRIPTION = 270
    MAKE = 271
    MODEL = 272
    STRIP_OFFSETS = 273
    ORIENTATION = 274
    SAMPLES_PER_PIXEL = 277
    ROWS_PER_STRIP = 278
    STRIP_BYTE_COUNTS = 279
    X_RESOLUTION = 282
    Y_RESOLUTION = 283
    PLANAR_CONFIGURATION = 284
    T4_OPTIONS = 292
    T6_OPTIONS = 293
    RESOLUTION_UNIT = 296
    SOFTWARE = 305
    DATE_TIME = 306
    ARTIST = 315
    HOST_COMPUTER = 316
    PREDICTOR = 317
    COLOR_MAP = 320
    TILE_WIDTH = 322
    TILE_LENGTH = 323
    TILE_OFFSETS = 324
    TILE_BYTE_COUNTS = 325
    SUB_IFDS = 330
    EXTRA_SAMPLES = 338
    SAMPLE_FORMAT = 339
    JPEG_TABLES = 347
    JPEG_PROC = 512
    JPEG_INTERCHANGE_FORMAT = 513
    JPEG_INTERCHANGE_FORMAT_LENGTH = 514
    JPEG_RESTART_INTERVAL = 515
    JPEG_Q_TABLES = 519
    JPEG_DC_TABLES = 520
    JPEG_AC_TABLES = 521
    YCBCR_COEFFICIENTS = 529
    YCBCR_SUBSAMPLING = 530
    YCBCR_POSITIONING = 531
    REFERENCE_BLACK_WHITE = 532
    XMP = 700
    IMAGE_DEPTH = 32997
    TILE_DEPTH = 32998
    COPYRIGHT = 33432
    MODEL_PIXEL_SCALE = 33550
    MODEL_TIEPOINT = 33922
    MODEL_TRANSFORMATION = 34264
    EXIF_IFD = 34665
    ICC_PROFILE = 34675
    GEO_KEY_DIRECTORY = 34735
    GEO_DOUBLE_PARAMS = 34736
    GEO_ASCII_PARAMS = 34737
    GDAL_METADATA = 42112
    GDAL_NODATA = 42113
    IMAGEJ_METADATA_COUNTS = 50838
    IMAGEJ_METADATA = 50839
    RPC_COEFFICIENTS = 50844
    LERC_PARAMETERS = 50674


# Field types; RATIONAL and SRATIONAL are pairs, UNDEFINED and ASCII are bytes.
FIELD_TYPES: Mapping[int, np.dtype[np.generic]] = {
    1: np.dtype("u1"),  # BYTE
    2: np.dtype("S1"),  # ASCII
    3: np.dtype("u2"),  # SHORT
    4: np.dtype("u4"),  # LONG
    5: np.dtype("2u4"),  # RATIONAL
    6: np.dtype("i1"),  # SBYTE
    7: np.dtype("V1"),  # UNDEFINED
    8: np.dtype("i2"),  # SSHORT
    9: np.dtype("i4"),  # SLONG
    10: np.dtype("2i4"),  # SRATIONAL
    11: np.dtype("f4"),  # FLOAT
    12: np.dtype("f8"),  # DOUBLE
    13: np.dtype("u4"),  # IFD
    16: np.dtype("u8"),  # LONG8
    17: np.dtype("i8"),  # SLONG8
    18: np.dtype("u8"),  # IFD8
}
FIELD_SIZES: Mapping[int, int] = {
    1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8,
}  # fmt: skip
ASCII, RATIONALS, UNDEFINED = 2, (5, 10), 7

LAYOUT_TAGS = frozenset({Tag.STRIP_OFFSETS, Tag.STRIP_BYTE_COUNTS, Tag.TILE_OFFSETS, Tag.TILE_BYTE_COUNTS})
"""Their values may be as large as the image has tiles."""

ANY_SIZE = LAYOUT_TAGS | {
    Tag.SUB_IFDS,
    Tag.COLOR_MAP,
    Tag.JPEG_TABLES,
    Tag.IMAGE_DESCRIPTION,
    Tag.GDAL_METADATA,
    Tag.GEO_KEY_DIRECTORY,
    Tag.GEO_DOUBLE_PARAMS,
    Tag.GEO_ASCII_PARAMS,
    Tag.MODEL_TIEPOINT,
    Tag.IMAGEJ_METADATA_COUNTS,
    Tag.RPC_COEFFICIENTS,
}
"""Tags that are read whatever their size; others only up to `SMALL_VALUE`."""
SMALL_VALUE = 4096
