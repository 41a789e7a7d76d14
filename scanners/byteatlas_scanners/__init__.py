"""The scanners that come with byteatlas, and by what first bytes a file is theirs.

The table is read before any scanner is imported: a file whose format it knows costs the import of one scanner.
"""

from typing import NamedTuple


class BuiltIn(NamedTuple):
    """A scanner of this package.

    Attributes:
        target: ``module:attribute`` of the scanner, the same as in its entry point.
        magic: any of these stands at the beginning of a file, or at a power of two from 512 on when ``anywhere``.
        words: all of these stand among the first bytes of a text.
        suffix: a name that ends so is enough.
        at: where the magic stands, if not at the beginning.
    """

    name: str
    target: str
    magic: tuple[bytes, ...] = ()
    anywhere: bool = False
    words: tuple[bytes, ...] = ()
    suffix: str | None = None
    at: int = 0

    def likely(self, data: bytes, url: str) -> bool:
        """Whether the scanner may know a file with these first bytes. True for every file that it does know."""
        if self.suffix is not None and url.endswith(self.suffix):
            return True
        if self.words and all(word in data for word in self.words):
            return True
        places = [0, *[1 << k for k in range(9, 63) if 1 << k < len(data)]] if self.anywhere else [self.at]
        return any(data.startswith(magic, at) for magic in self.magic for at in places)


BUILT_IN = (
    # Archives come first: the first bytes of a member may be among theirs.
    BuiltIn("zip", "byteatlas_scanners.containers:ZIP", (b"PK\x03\x04", b"PK\x05\x06")),
    BuiltIn("tar", "byteatlas_scanners.containers:TAR", (b"ustar",), at=257),
    BuiltIn("gzip", "byteatlas_scanners.containers:GZIP", (b"\x1f\x8b\x08",)),
    BuiltIn("hdf5", "byteatlas_scanners.hdf5:SCANNER", (b"\x89HDF\r\n\x1a\n",), anywhere=True),
    BuiltIn("netcdf3", "byteatlas_scanners.netcdf3:SCANNER", (b"CDF\1", b"CDF\2", b"CDF\5")),
    BuiltIn("tiff", "byteatlas_scanners.tiff:SCANNER", (b"II\x2a\0", b"MM\0\x2a", b"II\x2b\0", b"MM\0\x2b")),
    BuiltIn("hdf4", "byteatlas_scanners.hdf4:SCANNER", (b"\x0e\x03\x13\x01",)),
    BuiltIn("grib", "byteatlas_scanners.grib:SCANNER", words=(b"GRIB",)),
    BuiltIn("dmrpp", "byteatlas_scanners.dmrpp:SCANNER", words=(b"<", b"dap/dmrpp"), suffix=".dmrpp"),
    BuiltIn("fits", "byteatlas_scanners.fits:SCANNER", (b"SIMPLE  =",)),
)
