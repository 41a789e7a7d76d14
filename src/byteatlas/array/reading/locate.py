"""Where the bytes of an array's chunks lie: in a manifest, under keys of a store, or inside shards of either."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetch import WHOLE, Sources
from byteatlas.array.reading.pool import Scratch, run_tasks
from byteatlas.errors import InvalidMetadata
from byteatlas.io.local import local_path
from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.io.stamp import Check, check_source
from byteatlas.manifest.model import INLINE, MISSING, Manifest, SourceInfo
from byteatlas.manifest.model import WHOLE as WHOLE_FILE
from byteatlas.meta.model import EncodingColumn
from byteatlas.types import Buffer

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Columns for some chunks. ``source`` MISSING or INLINE as in a manifest; ``length`` WHOLE: the whole source."""

    source: Ints
    offset: Ints
    length: Ints
    encoding: EncodingColumn | None
    sources: Sources


class Locator(Protocol):
    """Says where chunks lie, by flat index in the grid."""

    def locate(self, chunks: Ints) -> Located: ...

    def inline(self, chunk: int) -> Buffer:
        """The bytes of a chunk that is located INLINE."""
        ...

    def url(self, located: Located, row: int) -> str:
        """The name of the file or key that holds one located row, for messages."""
        ...


def sizes(found: Located, rows: Ints, options: ReadOptions) -> Ints:
    """The lengths of located chunks, those that are whole sources included; -1 for one that does not exist.

    Raises `FetchFailed` when a size cannot be found out.
    """
    size = found.length[rows].copy()
    whole = np.flatnonzero(size == WHOLE)

    def ask(number: int, scratch: Scratch) -> None:
        got = found.sources.size(int(found.source[rows[whole[number]]]))
        size[whole[number]] = -1 if got is None else got

    near = len(whole) and bool(found.sources.local(found.source[rows[whole]]).all())
    run_tasks(len(whole), ask, 1 if near else options.concurrency)
    return size


@dataclass(frozen=True, slots=True, eq=False)
class ManifestSources:
    """The source table of a manifest, opened on demand. A file that is not there is an error, never a fill value."""

    table: Sequence[SourceInfo]
    opener: Opener
    check: Check = "free"
    checked: set[str] = field(default_factory=set)

    def open(self, number: int) -> Source:
        info = self.table[number]
        source = opened(self.opener, info)
        if info.url not in self.checked:
            check_source(source, info.size, info.stamp, self.check)
            self.checked.add(info.url)
        return source

    def local(self, numbers: Ints) -> NDArray[np.bool_]:
        return np.array([local_path(self.table[n].url) is not None for n in numbers.tolist()], bool)

    def size(self, source: int) -> int:
        return self.open(source).size()

    @property
    def at_once(self) -> int:
        return 1

    def whole(self, numbers: Ints) -> list[Buffer | None]:
        return [self.open(n).read_all() for n in numbers.tolist()]

    def whole_into(self, number: int, memory: Callable[[int], memoryview]) -> Buffer:
        source = self.open(number)
        read_into = getattr(source, "read_into", None)
        if read_into is None:
            return source.read_all()
        data = memory(source.size())
        read_into(0, data)
        return data


@dataclass(frozen=True, slots=True, eq=False)
class ManifestLocator:
    """Chunks of a virtual array."""

    manifest: Manifest
    opener: Opener
    check: Check = "free"
    _checked: set[str] = field(default_factory=set)

    def locate(self, chunks: Ints) -> Located:
        rows = self.manifest.rows(chunks)
        whole = rows.length == WHOLE_FILE
        offset, length = rows.offset.astype(np.int64), rows.length.astype(np.int64)
        # WHOLE_FILE becomes -1 by wrapping; any other length beyond 2**63 would turn negative too.
        if bool((offset < 0).any()) or bool((length[~whole] < 0).any()):
            raise InvalidMetadata("", "a reference has an offset or length beyond 2**63")
        source = rows.source.astype(np.int64)
        if len(source) and (int(source.max()) >= len(self.manifest.sources) or int(source.min()) < INLINE):
            raise InvalidMetadata("", "a reference names a source that the manifest does not have")
        sources = ManifestSources(self.manifest.sources, self.opener, self.check, self._checked)
        return Located(source, offset, length, rows.encoding, sources)

    def inline(self, chunk: int) -> Buffer:
        return self.manifest.inline(chunk)

    def url(self, located: Located, row: int) -> str:
        source = int(located.source[row])
        return "inline data" if source == INLINE else self.manifest.sources[source].url


__all__ = ["INLINE", "MISSING", "WHOLE", "Located", "Locator", "ManifestLocator", "ManifestSources", "sizes"]
