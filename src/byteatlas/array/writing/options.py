"""What a writer may choose about how an array's values are stored."""

from __future__ import annotations

from byteatlas.arguments import FLAG, accept, whole
from byteatlas.array.options import ReadOptions
from byteatlas.values import dataclass

REMOTE_PUTS = 16
"""Chunks put to remote storage at once, when nobody chose a number."""
REMOTE_BYTES = 64 << 20
"""Bytes of decoded chunks that these may hold together."""


ARRAY_WRITE_OPTIONS = {"empty_chunks": FLAG, "threads": whole(1) | None}


@dataclass(frozen=True, slots=True)
class ArrayWriteOptions:
    """How to write.

    Attributes:
        empty_chunks: write chunks that hold the fill value only; else their keys are removed (where there is a fill
            value: ``null`` in version 2 leaves open what a missing chunk reads as).
        threads: threads that encode; None = one per processor.

    >>> ba.CopyOptions(write=ba.ArrayWriteOptions(threads=2)).write.threads
    2
    """

    empty_chunks: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        accept(ARRAY_WRITE_OPTIONS, empty_chunks=self.empty_chunks, threads=self.threads)

    def encoders(self, read: ReadOptions, local: bool, nbytes: int | None) -> int:
        """Threads that encode and put chunks of so many bytes: remote storage is waited for, by more of them."""
        if self.threads is not None or local:
            return self.threads or read.workers()
        return max(read.workers(), min(REMOTE_PUTS, REMOTE_BYTES // max(nbytes or REMOTE_BYTES, 1)))


DEFAULT_WRITE = ArrayWriteOptions()
