"""Where chunks lie, as columns; and who can say so."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from byteatlas.array.options import ReadOptions
from byteatlas.array.reading.fetching.pool import ReadScratch, run_tasks
from byteatlas.array.reading.fetching.receivers import Ranges
from byteatlas.array.reading.fetching.sources import WHOLE, Sources, size_of
from byteatlas.array.spaces import ChunkNumbers, Ints, Items, PlanRows, SourceNumbers
from byteatlas.manifest.model import INLINE, MISSING
from byteatlas.meta.model import EncodingColumn
from byteatlas.types import Buffer
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """A row for each chunk that was asked for, in the same order.

    Attributes:
        source: MISSING (no bytes: the fill value), INLINE (in the manifest), or a place in the table of ``sources``.
        offset, length: bytes of the source; ``length`` WHOLE: the whole source.
        encoding: which of the array's encodings each chunk has; None: the first.
    """

    source: SourceNumbers
    offset: Ints
    length: Ints
    encoding: EncodingColumn | None
    sources: Sources

    def missing(self) -> PlanRows:
        """The chunks that have no bytes."""
        return PlanRows(np.flatnonzero(self.source == MISSING))

    def inline(self) -> PlanRows:
        """The chunks whose bytes are in the manifest."""
        return PlanRows(np.flatnonzero(self.source == INLINE))

    def stored(self) -> PlanRows:
        """The chunks whose bytes are to be fetched."""
        return PlanRows(np.flatnonzero(self.source >= 0))

    def take(self, rows: PlanRows) -> Ranges:
        """The bytes of some chunks, each called by its row."""
        return self.parts(rows, self.offset[rows], self.length[rows], Items(rows))

    def parts(self, rows: PlanRows, offset: Ints, length: Ints, items: Items | None = None) -> Ranges:
        """Parts of chunks: byte ranges of what holds these rows (which may repeat), called 0, 1, 2 ..."""
        items = Items(np.arange(len(rows), dtype=np.int64)) if items is None else items
        return Ranges(items, SourceNumbers(self.source[rows]), offset, length, self.sources)

    def local(self, rows: PlanRows) -> bool:
        """Whether all of these lie where reading costs no more than a system call."""
        return bool(self.sources.local(SourceNumbers(np.unique(self.source[rows]))).all())


class Locator(Protocol):
    """Says where the chunks of an array lie."""

    def locate(self, chunks: ChunkNumbers) -> Located:
        """Raises `InvalidMetadata` for references that cannot be, and what fetching raises for shard indexes."""
        ...

    def inline(self, chunk: int) -> Buffer:
        """The bytes of a chunk that is located INLINE."""
        ...

    def url(self, located: Located, row: int) -> str:
        """The name of the file or key that holds one located row, for messages."""
        ...


def sizes(found: Located, rows: PlanRows, options: ReadOptions) -> Ints:
    """The lengths of located chunks, those that are whole sources included; -1 for one that is absent.

    Raises `FetchFailed` when a size cannot be found out.
    """
    size = found.length[rows].copy()
    whole = np.flatnonzero(size == WHOLE)
    numbers = SourceNumbers(found.source[rows[whole]])

    def ask(number: int, scratch: ReadScratch) -> None:
        got = size_of(found.sources, int(numbers[number]))
        size[whole[number]] = -1 if got is None else got

    local = len(whole) and bool(found.sources.local(numbers).all())
    run_tasks(len(whole), ask, 1 if local else options.concurrency)
    return size
