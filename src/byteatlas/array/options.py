"""What a reader may choose about how an array's bytes are fetched and decoded."""

from __future__ import annotations

import os
from typing import get_args

from byteatlas.arguments import accept_fields, one_of, whole, wrong
from byteatlas.io.stamp import Check
from byteatlas.values import dataclass, replace

MIB = 1 << 20


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read. Sizes are bytes.

    Attributes:
        threads: threads that decode; None = one per processor.
        concurrency: most requests to remote storage at once.
        gap: two ranges of a remote file closer than this become one request; at the most: over a slow line they must be
            closer (`Access.gaps`).
        block: most bytes of one coalesced request (a single chunk may be larger).
        local_gap, local_block: the same for local files, where a request costs a system call.
        in_flight: most bytes fetched from remote storage and not decoded yet.
        most_extra: bytes that a read into memory of the caller's (``out=``) takes beside it, about: large chunks are
            then fetched and decoded by fewer threads. A single chunk may take more.
        most_result: a selection larger than this is refused before anything is allocated; None = four fifths of the
            machine's memory.
        index_cache: bytes of shard indexes kept per array.
        check: what of a source is compared with the record that a reference map has of it; None = what `Access` says.

    >>> air = ba.open("jan.nc")["air"]
    >>> air.with_options(ba.ReadOptions(threads=1))[0].shape
    (4, 8)
    """

    threads: int | None = None
    concurrency: int = 32
    gap: int = 128 << 10
    block: int = 8 * MIB
    local_gap: int = 16 << 10
    local_block: int = MIB
    in_flight: int = 48 * MIB
    most_extra: int | None = 64 * MIB
    most_result: int | None = None
    index_cache: int = 32 * MIB
    check: Check | None = None

    def workers(self) -> int:
        return self.threads or cores()

    def decoders(self, nbytes: int) -> int:
        """Threads for chunks that decode to this many bytes (0: not known). Each has up to three such buffers."""
        if self.most_extra is None or not nbytes:
            return self.workers()
        return min(self.workers(), max(1, self.most_extra // (3 * nbytes)))

    def without_bound(self) -> ReadOptions:
        """The same for a read that allocates its result, where a few buffers more are no matter."""
        return self if self.most_extra is None else replace(self, most_extra=None)

    def fetched(self) -> int:
        """Bytes that may be fetched and not decoded yet."""
        return self.in_flight if self.most_extra is None else min(self.in_flight, self.most_extra // 2)

    def result_limit(self) -> int:
        """Bytes that one selection may allocate."""
        if self.most_result is not None:
            return self.most_result
        try:
            total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        except (AttributeError, ValueError, OSError):  # not a POSIX system
            return 1 << 40
        return total // 5 * 4


DEFAULT = ReadOptions()
READ_OPTIONS = {
    "threads": whole(1) | None,
    "concurrency": whole(1),
    **dict.fromkeys(("gap", "local_gap", "index_cache"), whole()),
    **dict.fromkeys(("block", "local_block", "in_flight"), whole(1)),
    **dict.fromkeys(("most_extra", "most_result"), whole() | None),
    "check": one_of(*get_args(Check)) | None,
}


def check_read_options(options: ReadOptions) -> None:
    """Raise `BadRequest` for options that cannot be. Called where they come in: each read makes others of them."""
    if not isinstance(options, ReadOptions):
        raise wrong("options", options, "ReadOptions")
    accept_fields(READ_OPTIONS, options)
