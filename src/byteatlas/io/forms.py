"""The forms of reference maps and stores: the suffixes of names and the first bytes that they are known by.

| form | suffixes | first bytes |
|---|---|---|
| JSON map | ``.json``, or ``.json.gz`` and so on (`COMPRESSIONS`) | ``{``, or the compression's |
| Parquet map, a folder | ``.parquet`` ``.parq`` ``.pq`` | |
| DMR++ document, which a scanner reads | ``.dmrpp`` | |
| Zarr store, a folder or one file | ``.zarr`` ``.zip`` | ``PK`` |

An Icechunk repository has no suffix: its folders tell, or ``icechunk:`` in front of its name. A name says what to
write, and what a remote thing is without asking for it; what lies on a local disk says itself what it is
(`byteatlas.io.kind`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

CompressionName: TypeAlias = Literal["gzip", "zstd", "bz2", "xz"]


class StreamCompression(NamedTuple):
    """A compression of a whole map's text."""

    name: CompressionName
    suffixes: tuple[str, ...]
    magic: bytes


COMPRESSIONS = (
    StreamCompression("gzip", (".gz", ".gzip"), b"\x1f\x8b"),  # RFC 1952 2.3.1
    StreamCompression("zstd", (".zst", ".zstd"), b"\x28\xb5\x2f\xfd"),  # RFC 8878 3.1.1
    StreamCompression("bz2", (".bz2",), b"BZh"),
    StreamCompression("xz", (".xz",), b"\xfd7zXZ\x00"),  # .xz file format 2.1.1.1
)
JSON_SUFFIXES = (".json", *(f".json{suffix}" for c in COMPRESSIONS for suffix in c.suffixes))
PARQUET_SUFFIXES = (".parquet", ".parq", ".pq")
DMRPP_SUFFIX = ".dmrpp"
ARCHIVE_SUFFIXES = (DMRPP_SUFFIX,)
"""Names of archives that are texts: their content does not tell them from maps."""
DATA_SUFFIXES = (
    ".nc", ".nc4", ".h5", ".hdf5", ".he5", ".hdf", ".tif", ".tiff", ".grib", ".grib2", ".grb", ".grb2", ".fits",
)  # fmt: skip
"""Names that archives have as a rule: what is behind one is best scanned at once, and looked at when that fails."""
STORE_SUFFIXES = (".zarr", ".zip")
MAP_SUFFIXES = (*JSON_SUFFIXES, *PARQUET_SUFFIXES)
"""Names of maps that can be written."""


def form_of_name(url: str) -> Literal["json", "parquet", "zarr"] | None:
    """What a name says of the form; None when it says nothing.

    >>> form_of_name("s3://bucket/all.JSON.zst"), form_of_name("all.pq/"), form_of_name("air.nc")
    ('json', 'parquet', None)
    """
    name = url.rstrip("/").rpartition("/")[2].lower()
    if name.endswith(JSON_SUFFIXES):
        return "json"
    if name.endswith(PARQUET_SUFFIXES):
        return "parquet"
    return "zarr" if name.endswith(STORE_SUFFIXES) else None


def form_of_url(url: str) -> Literal["json", "parquet", "zarr"] | None:
    """The same for a URL; the query of a web address is no part of the name.

    >>> form_of_url("https://host/all.json?signature=1"), form_of_url("s3://bucket/all?x.json")
    ('json', 'json')
    """
    web = url.partition("://")[0].lower() in ("http", "https")
    return form_of_name(url.partition("?")[0] if web else url)


def compression_of_name(url: str) -> CompressionName | None:
    """How a text of this name is compressed; None: not at all."""
    name = url.lower()
    return next((c.name for c in COMPRESSIONS if name.endswith(c.suffixes)), None)


def compression_of_bytes(head: bytes) -> CompressionName | None:
    """How a text that begins with these bytes (8 are enough) is compressed; None: not at all."""
    return next((c.name for c in COMPRESSIONS if head.startswith(c.magic)), None)
