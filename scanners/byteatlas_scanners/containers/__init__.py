"""Files inside of others: ZIP and tar archives, and files that gzip packed. Every member is scanned where it lies."""

from __future__ import annotations

from byteatlas_scanners.containers.archives import TarScanner, ZipScanner
from byteatlas_scanners.containers.packed import GzipScanner

__all__ = ["GZIP", "TAR", "ZIP", "GzipScanner", "TarScanner", "ZipScanner"]

ZIP = ZipScanner()
TAR = TarScanner()
GZIP = GzipScanner()
