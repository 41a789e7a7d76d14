"""HDF4 files, old and new, and HDF-EOS2, as virtual Zarr."""

from __future__ import annotations

from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas_scanners.hdf4.format.tags import MAGIC
from byteatlas_scanners.hdf4.scan import scan


class Hdf4Scanner(Scanner):
    """The scanner plugin for HDF4 files."""

    name = "hdf4"
    suffixes = (".hdf", ".hdf4", ".h4", ".he2")
    verify = "byteatlas.verifying.native.hdf4:open_hdf4"

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(MAGIC)

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """Datasets, tables and images. Raises `CorruptFile` when the file's directory cannot be read."""
        return scan(source, options)


SCANNER = Hdf4Scanner()
