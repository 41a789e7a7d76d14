"""TIFF, BigTIFF, GeoTIFF, cloud-optimised GeoTIFF and OME-TIFF as virtual Zarr."""

from __future__ import annotations

from dataclasses import dataclass

from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scan.contract import Parse, ScanOptions
from byteatlas.types import ByteRange
from byteatlas_scanners.tiff.build import to_group
from byteatlas_scanners.tiff.ifd import Directories, Ifd, read_directories
from byteatlas_scanners.tiff.page import RGB
from byteatlas_scanners.tiff.samples import JPEGS
from byteatlas_scanners.tiff.series import arrange
from byteatlas_scanners.tiff.tags import Tag

MAGIC = (b"II\x2a\0", b"MM\0\x2a", b"II\x2b\0", b"MM\0\x2b")
JFIF_AT = 6
"""Where a JPEG stream says JFIF when its first segment is that marker."""


@dataclass(frozen=True, slots=True)
class TiffScanner:
    """The scanner plugin for TIFF files."""

    name: str = "tiff"
    suffixes: tuple[str, ...] = (".tif", ".tiff", ".btf", ".svs", ".ome.tif")

    def sniff(self, head: bytes) -> bool:
        return head[:4] in MAGIC

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """Images as arrays; directories that cannot be presented are refused one by one in the report.

        Raises `CorruptFile` when not even the first directory can be read.
        """
        size = source.size or 0
        directories = yield from read_directories(size)
        jfif = yield from _jfif(directories, size)
        return to_group(arrange(directories, size, jfif), source, options)


def _jfif(directories: Directories, size: int) -> Parse[frozenset[str]]:
    """Names of the directories whose RGB JPEG streams carry a JFIF marker: their colour space is their own affair."""
    candidates: dict[str, ByteRange] = {}
    for ifd in directories.ifds:
        for one in (ifd, *(s for s in ifd.subs if isinstance(s, Ifd))):
            where = _first_stream(one)
            if where is not None and where.end <= size:
                candidates[one.name] = where
    if not candidates:
        return frozenset()
    answers = yield [*candidates.values()]
    return frozenset(n for n, data in zip(candidates, answers, strict=True) if bytes(data) == b"JFIF")


def _first_stream(ifd: Ifd) -> ByteRange | None:
    try:
        if ifd.first(Tag.COMPRESSION, 1) not in JPEGS or ifd.first(Tag.PHOTOMETRIC, 0) != RGB:
            return None
        offset = ifd.first(Tag.TILE_OFFSETS, 0) or ifd.first(Tag.STRIP_OFFSETS, 0)
    except CorruptFile:
        return None
    return ByteRange(offset + JFIF_AT, 4) if 0 < offset < 2**62 else None


SCANNER = TiffScanner()
