"""TIFF, BigTIFF, GeoTIFF, cloud-optimised GeoTIFF and OME-TIFF as virtual Zarr."""

from __future__ import annotations

from dataclasses import dataclass

from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import Parse, ScanOptions
from byteatlas.scanning.inline import inline_small
from byteatlas_scanners.tiff.build import to_group
from byteatlas_scanners.tiff.ifd import read_directories
from byteatlas_scanners.tiff.peek import peek
from byteatlas_scanners.tiff.series import arrange
from byteatlas_scanners.tiff.sidecar import wanted, with_sidecar

MAGIC = (b"II\x2a\0", b"MM\0\x2a", b"II\x2b\0", b"MM\0\x2b")


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
        peeks = yield from peek(directories, size)
        contents = arrange(directories, size, peeks)
        if wanted(options):
            contents = yield from with_sidecar(contents, source)
        group = to_group(contents, source, options)
        if options.inline_below:
            group = yield from inline_small(group, options.inline_below, source.url, size)
        return group


SCANNER = TiffScanner()
