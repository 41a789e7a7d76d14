"""Chunks made of several byte ranges: linked blocks, sections that messages share, a head that is stored once.

All ranges of an array, in the order of its chunks, are *one* virtual file of which every chunk is one plain range. So
nothing that plans, merges or fetches requests needs to know. Reference maps have no form for it: writing one is refused
(`byteatlas.manifest.origin.check_written`) unless the bytes are copied into the map (`ScanOptions.inline_below`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.io.open import opened
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.parts import CONSTANT, Columns, JoinedSource
from byteatlas.io.stamp import Check
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo
from byteatlas.types import Shape
from byteatlas.values import dataclass, field, replace

PROTOCOL = "joined://"


@dataclass(frozen=True, slots=True)
class JoinedInfo(SourceInfo):
    """A virtual file of parts of others. Its URL is made of what it consists of: equal ones are the same."""

    files: tuple[SourceInfo, ...] = ()
    columns: Columns | None = field(default=None, compare=False, repr=False)

    def source(self, opener: Opener, check: Check) -> Source:
        """What its bytes are read from; each file is opened as what it is (`opened`)."""
        assert self.columns is not None

        def file(number: int) -> Source:
            return opened(opener, self.files[number], check)

        return JoinedSource(self.url, self.columns, file)

    def renamed(self, rename: Callable[[SourceInfo], SourceInfo]) -> JoinedInfo:
        """The same parts of files under other names or marks."""
        return replace(self, files=tuple(map(rename, self.files)))

    def moved(self, whole: SourceInfo, begin: Callable[[str], int | None]) -> JoinedInfo:
        """The same parts, in another file that holds files of this one.

        Args:
            begin: where the file of a URL begins in ``whole``; None: it is no part of it, and stays.
        """
        assert self.columns is not None
        begins = [begin(file.url) for file in self.files]
        files = [file if at is None else whole for file, at in zip(self.files, begins, strict=True)]
        by = np.array([*[at or 0 for at in begins], 0], np.int64)  # the last one: constants stay
        columns = replace(self.columns, offset=self.columns.offset + by[self.columns.source])
        return joined_info(files, columns)


def joined_info(files: Sequence[SourceInfo], columns: Columns) -> JoinedInfo:
    """The virtual file of parts, named by what it consists of."""
    import hashlib  # OpenSSL takes milliseconds to load, which commands that join nothing should not wait for

    digest = hashlib.sha256(repr([(f.url, f.size, f.stamp) for f in files]).encode())
    for column in (columns.source, columns.offset, columns.length):
        digest.update(column.tobytes())
    digest.update(columns.constant)
    size = int(columns.ends[-1]) if len(columns.ends) else 0
    return JoinedInfo(PROTOCOL + digest.hexdigest()[:32], size, files=tuple(files), columns=columns)


def joined_chunks(
    grid_shape: Shape,
    files: Sequence[SourceInfo],
    chunk: NDArray[np.int64],
    source: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
    constant: bytes = b"",
) -> ChunkManifest:
    """A manifest whose chunks are made of any number of ranges.

    Args:
        chunk: for each range the flat index of its chunk, in ascending order; ranges of one chunk follow each other.
            A chunk without a range is missing.
        source, offset, length: for each range its file (an index into ``files``, or `CONSTANT`) and its place there.
        constant: what ranges of `CONSTANT` are parts of.

    Raises `BadRequest` for columns that do not fit each other.
    """
    total = int(np.prod(grid_shape, dtype=np.int64))
    sound = len(chunk) == len(source) == len(offset) == len(length) and bool((np.diff(chunk) >= 0).all())
    if not sound or (len(chunk) and not 0 <= int(chunk[0]) <= int(chunk[-1]) < total):
        raise BadRequest("ranges of chunks are not columns of one length, in the order of the chunks")
    bad = len(source) and not CONSTANT <= int(source.min()) <= int(source.max()) < len(files)
    if bad or bool((offset < 0).any()) or bool((length < 0).any()):
        raise BadRequest("ranges with negative places, or of files that are not listed")
    ends = np.cumsum(length, dtype=np.int64)
    columns = Columns(source.astype(np.int32), offset.astype(np.int64), length.astype(np.int64), ends, constant)
    info = joined_info(files, columns)
    lengths = np.zeros(total, np.int64)
    np.add.at(lengths, chunk, length)
    there = np.zeros(total, np.bool_)
    there[chunk] = True
    begins = np.cumsum(lengths) - lengths
    numbers = np.where(there, 0, MISSING).astype(np.int32)
    return ChunkManifest(grid_shape, (info,), numbers, begins.astype(np.uint64), lengths.astype(np.uint64))
