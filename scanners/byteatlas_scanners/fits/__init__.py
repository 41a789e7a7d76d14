"""FITS files as virtual Zarr: images, tile-compressed images, tables and random groups."""

from __future__ import annotations

from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas_scanners.fits.build import Choice, to_group
from byteatlas_scanners.fits.hdus import read_chain

MAGIC = b"SIMPLE  ="


class FitsScanner(Scanner):
    """The scanner plugin for FITS files."""

    name = "fits"
    suffixes = (".fits", ".fit", ".fts", ".fz")
    options = (
        Option("unpack_columns", bool, False, "bits and logical values as Booleans, unsigned integers as such"),
        Option("checksums", bool, False, "read all data while scanning, and refuse what differs from its DATASUM"),
    )
    verify = "byteatlas.verifying.native.fits:open_fits"

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(MAGIC)

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """One array for an image, one for each column of a table. Raises `CorruptFile`, `Unsupported`."""
        picked = chosen(self, options)
        choice = Choice(bool(picked["unpack_columns"]), bool(picked["checksums"]))
        chain = yield from read_chain(source.size or 0)
        if not chain.units:
            raise CorruptFile(0, f"a file of {source.size} bytes is shorter than one block of FITS")
        return (yield from to_group(chain, source, options, choice))


SCANNER = FitsScanner()
