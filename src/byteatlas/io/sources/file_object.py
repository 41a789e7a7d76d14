"""A source as a file object, for libraries that read from one."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from byteatlas.errors import ByteatlasError
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import BlockCache
from byteatlas.types import ByteRange

BLOCK = 256 << 10
"""Bytes of a request; the directory of an archive is mostly within one."""


class SourceFile(io.RawIOBase):
    """A read-only file without a buffer: each read is a read of the source.

    Attributes:
        failure: the first error of the source.
    """

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source, self._size, self._at = source, source.size(), 0
        self.failure: ByteatlasError | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if at < 0:
            raise OSError("a position before the beginning of the file")
        self._at = at
        return at

    def readinto(self, buffer: Any, /) -> int:
        """Fill a writable buffer of bytes. Raises `FetchFailed`."""
        length = max(0, min(len(buffer), self._size - self._at))
        if length:
            try:
                buffer[:length] = self._source.read([ByteRange(self._at, length)])[0]
            except ByteatlasError as error:
                self.failure = self.failure or error
                raise
        self._at += length
        return length


@contextmanager
def open_file(source: Source, block: int = BLOCK) -> Iterator[BinaryIO]:
    """A source as a read-only binary file. Blocks of ``block`` bytes are fetched and kept for a while.

    Raises, at the latest when the file is left, the first error of the source: libraries take it for one of their own
    (`zipfile` says that the file is no archive), or for the end of what they look for.
    """
    raw = SourceFile(BlockCache(source, block))
    try:
        with io.BufferedReader(raw) as file:
            yield file
    finally:
        if raw.failure is not None:
            raise raw.failure
