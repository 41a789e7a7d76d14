"""OPeNDAP's DMR++ documents: the XML that Hyrax writes beside an HDF5 file, with the places of all chunks in it.

The document is an index only. Its data are in another file, which is beside it by name (``a.h5`` beside
``a.h5.dmrpp``) unless the document or an option says otherwise.
"""

from __future__ import annotations

from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Option, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen
from byteatlas.scanning.parsers import one
from byteatlas.types import ByteRange
from byteatlas_scanners.dmrpp.document import Document, parsed
from byteatlas_scanners.dmrpp.files import SUFFIX, data_files, named_files

__all__ = ["SCANNER", "DmrppScanner"]

MOST_BYTES = 512 << 20
"""Bytes of a document that are read."""


class DmrppScanner(Scanner):
    """DMR++ documents."""

    name = "dmrpp"
    suffixes = (SUFFIX,)
    options = (Option("data_url", str, "", "where the data file is, if not where the document says or beside it"),)

    def sniff(self, first: FirstBytes) -> bool:
        return first.url.endswith(SUFFIX) or (first.data.lstrip()[:1] == b"<" and b"dap/dmrpp" in first.data)

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """One array for each variable that the document describes completely; the others are refused.

        Raises `InvalidMetadata` when it is not a DMR++ document, or does not say where its data are.
        """
        text = yield from one(ByteRange(0, min(source.size or 0, MOST_BYTES)))
        root = parsed(bytes(text), source.url)
        chosen_url: str = chosen(self, options)["data_url"]
        files = yield from data_files(named_files(root, source.url, chosen_url))
        return Document(root, source.url, files).tree()


SCANNER = DmrppScanner()
