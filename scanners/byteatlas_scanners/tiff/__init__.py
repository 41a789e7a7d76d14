"""TIFF, BigTIFF, GeoTIFF, cloud-optimised GeoTIFF and OME-TIFF as virtual Zarr."""

from __future__ import annotations

from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas_scanners.tiff.build import to_group
from byteatlas_scanners.tiff.ifd import read_directories
from byteatlas_scanners.tiff.peek import peek
from byteatlas_scanners.tiff.preview import complete
from byteatlas_scanners.tiff.series import arrange
from byteatlas_scanners.tiff.sidecar import SUFFIX, with_sidecar

MAGIC = (b"II\x2a\0", b"MM\0\x2a", b"II\x2b\0", b"MM\0\x2b")


class TiffScanner(Scanner):
    """The scanner plugin for TIFF files."""

    name = "tiff"
    suffixes = (".tif", ".tiff", ".btf", ".svs", ".ome.tif")
    options = (Option("sidecar_masks", bool, False, f"look for masks in a file beside the image (IMAGE{SUFFIX})"),)
    verify = "byteatlas.verifying.native.tiff:open_tiff"

    def sniff(self, first: FirstBytes) -> bool:
        return first.data[:4] in MAGIC

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """Images as arrays; directories that cannot be presented are refused one by one in the report.

        Raises `CorruptFile` when not even the first directory can be read.
        """
        size = source.size or 0
        directories = yield from read_directories(size)
        directories = yield from complete(directories, size)
        peeks = yield from peek(directories, size)
        contents = arrange(directories, size, peeks)
        if chosen(self, options)["sidecar_masks"]:
            contents = yield from with_sidecar(contents, source)
        return to_group(contents, source, options)


SCANNER = TiffScanner()
