"""Chunks of virtual arrays: byte ranges of the files that a manifest names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.locating.located import Located
from byteatlas.array.spaces import ChunkNumbers, SourceNumbers
from byteatlas.errors import InvalidMetadata
from byteatlas.io.local import local_path
from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.io.stamp import Check
from byteatlas.manifest.model import INLINE, Manifest, SourceInfo
from byteatlas.manifest.model import WHOLE as WHOLE_FILE
from byteatlas.types import Buffer
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ManifestSources:
    """The source table of a manifest, opened on demand. A file that is not there is an error, never a fill value."""

    table: Sequence[SourceInfo]
    opener: Opener
    check: Check | None = None

    def open(self, number: int) -> Source:
        """Raises `FetchFailed`, and `SourceChanged` for a file that is not the one that was indexed."""
        return opened(self.opener, self.table[number], self.check)

    def local(self, numbers: SourceNumbers) -> NDArray[np.bool_]:
        return np.array([local_path(self.table[n].url) is not None for n in numbers.tolist()], bool)


@dataclass(frozen=True, slots=True, eq=False)
class ManifestLocator:
    """Locates chunks by the rows of their manifest."""

    manifest: Manifest
    opener: Opener
    check: Check | None = None

    def locate(self, chunks: ChunkNumbers) -> Located:
        rows = self.manifest.rows(chunks)
        whole = rows.length == WHOLE_FILE
        offset, length = rows.offset.astype(np.int64), rows.length.astype(np.int64)
        # WHOLE_FILE becomes -1 (WHOLE of a fetch) by wrapping; any other length beyond 2**63 would turn negative too.
        if bool((offset < 0).any()) or bool((length[~whole] < 0).any()):
            raise InvalidMetadata("", "a reference has an offset or length beyond 2**63")
        source = rows.source.astype(np.int64)
        if len(source) and (int(source.max()) >= len(self.manifest.sources) or int(source.min()) < INLINE):
            raise InvalidMetadata("", "a reference names a source that the manifest does not have")
        sources = ManifestSources(self.manifest.sources, self.opener, self.check)
        return Located(SourceNumbers(source), offset, length, rows.encoding, sources)

    def inline(self, chunk: int) -> Buffer:
        return self.manifest.inline(chunk)

    def url(self, located: Located, row: int) -> str:
        source = int(located.source[row])
        return "inline data" if source == INLINE else self.manifest.sources[source].url
