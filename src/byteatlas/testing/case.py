"""One file for one scanner, and ways to scan it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from byteatlas.errors import FetchFailed
from byteatlas.io.open import SourcePool
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualGroup
from byteatlas.scanning.contract import Scanner, ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas.types import Buffer
from byteatlas.values import dataclass, field, replace

SECONDS = 20.0
"""Time that a scan of a small damaged file may take; generous, since machines that run tests are busy."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A file to be scanned.

    Attributes:
        others: further files by URL; None: whatever lies on this machine.
        seconds: bound on the time of one scan.
    """

    scanner: Scanner
    data: bytes
    url: str = "memory://file"
    options: ScanOptions = field(default_factory=ScanOptions)
    others: Mapping[str, Buffer] | None = None
    seconds: float = SECONDS

    @staticmethod
    def of(scanner: Scanner, path: str | os.PathLike[str], options: ScanOptions | None = None) -> Case:
        """A file of this machine; others that it names are looked for beside it."""
        where = Path(path).absolute()
        return Case(scanner, where.read_bytes(), str(where), options or ScanOptions())

    @property
    def name(self) -> str:
        return f"{self.scanner.name}-{self.url.rpartition('/')[2]}"

    def with_data(self, data: bytes) -> Case:
        return replace(self, data=data)

    def source(self) -> Source:
        return MemorySource(self.data, self.url)

    def opener(self) -> Opener:
        """Opens the other files."""
        return SourcePool() if self.others is None else self._given

    def _given(self, url: str) -> Source:
        assert self.others is not None
        if url not in self.others:
            raise FetchFailed(url, "not among the files of this case") from FileNotFoundError(url)
        return MemorySource(self.others[url], url)

    def scan(self, source: Source | None = None, opener: Opener | None = None, *, block: int = 0) -> VirtualGroup:
        """Scan the file through the driver; ``block`` 0: every ask is a request of its own."""
        scanners = {self.scanner.name: self.scanner}
        return scan_source(
            source or self.source(),
            opener or self.opener(),
            scanners,
            self.options,
            format=self.scanner.name,
            block=block,
        )
