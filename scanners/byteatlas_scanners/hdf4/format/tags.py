"""Tags of data elements and kinds of special elements (HDF 4.2 specification, appendix A)."""

from __future__ import annotations

from enum import IntEnum

MAGIC = b"\x0e\x03\x13\x01"
SPECIAL, EXTENDED = 0x4000, 0x8000
"""Bits of a tag: the element is a special one; tags of others, in which the first bit has no meaning."""


class ElementTag(IntEnum):
    """The tags that the scanner understands."""

    NULL = 1
    LINKED = 20
    VERSION = 30
    COMPRESSED = 40
    CHUNK = 61
    FILE_LABEL = 100
    FILE_DESCRIPTION = 101
    DATA_LABEL = 104
    DATA_DESCRIPTION = 105
    NUMBER_TYPE = 106
    FREE = 108
    IMAGE_SIZE_8 = 200
    PALETTE_8 = 201
    IMAGE_8 = 202
    IMAGE_8_RLE = 203
    IMAGE_8_IMCOMP = 204
    IMAGE_DIMENSIONS = 300
    PALETTE = 301
    IMAGE = 302
    IMAGE_COMPRESSED = 303
    IMAGE_GROUP = 306
    PALETTE_DIMENSIONS = 307
    SDG = 700
    DIMENSIONS = 701
    DATA = 702
    SCALES = 703
    LABELS = 704
    UNITS = 705
    FORMATS = 706
    RANGE = 707
    COORDINATE_SYSTEM = 708
    SDG_LINK = 710
    NDG = 720
    CALIBRATION = 731
    VDATA_HEADER = 1962
    VDATA = 1963
    VGROUP = 1965


class Special(IntEnum):
    """What the first two bytes of a special element's description say it is."""

    LINKED = 1
    EXTERNAL = 2
    COMPRESSED = 3
    VARIABLE_LINKED = 4
    CHUNKED = 5
    BUFFERED = 6
    COMPRESSED_RASTER = 7


class CompressionCode(IntEnum):
    """How an element is compressed."""

    NONE = 0
    RLE = 1
    NBIT = 2
    SKPHUFF = 3
    DEFLATE = 4
    SZIP = 5
    JPEG = 7


RASTER_RLE, RASTER_IMCOMP = 11, 12
"""Tags that say how old raster images are compressed."""
