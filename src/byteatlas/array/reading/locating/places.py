"""Which array, chunk, URL and range an error is about: the one place that adds this to errors of a read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import numpy as np

from byteatlas.array.reading.fetching.sources import WHOLE
from byteatlas.array.reading.locating.located import Located, Locator
from byteatlas.array.spaces import ChunkNumbers, Ints
from byteatlas.errors import ByteatlasError, CorruptChunk, FetchFailed, InvalidMetadata, Unsupported
from byteatlas.masking import masked
from byteatlas.types import ByteRange, Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPlaces:
    """Some chunks of an array and where they lie; row k of ``located`` is ``chunks[k]``.

    ``array``: the array's path; None for chunks that are shards, whose array is added further up.
    """

    array: str | None
    grid_shape: Shape
    locator: Locator
    chunks: ChunkNumbers
    located: Located

    @contextmanager
    def about(self, row: int) -> Iterator[None]:
        """What is found corrupt in this block is the chunk of a row."""
        try:
            yield
        except CorruptChunk as error:
            raise self.corrupt(error, row) from error

    def corrupt(self, error: CorruptChunk, row: int) -> CorruptChunk:
        """The same error, about the chunk of a row."""
        source, offset, length = (int(c[row]) for c in (self.located.source, self.located.offset, self.located.length))
        where = ByteRange(offset, length) if length >= 0 and source >= 0 else None
        url = self.locator.url(self.located, row)
        return CorruptChunk(error.why, array=self.array, chunk=self._chunk(row), url=url, range=error.range or where)

    def raise_named(self, error: ByteatlasError) -> NoReturn:
        """Raise an error of reading these chunks, with what is known of its place."""
        if isinstance(error, FetchFailed) and error.chunk is None:
            rows = self._rows_at(error.url, error.range)
            chunk = self._chunk(int(rows[0])) if len(rows) == 1 else None
            array = error.array if error.array is not None else self.array
            raise error.located(array=array, chunk=chunk) from error
        raise_of_array(error, self.array)

    def _chunk(self, row: int) -> tuple[int, ...]:
        """A chunk's place in the grid."""
        index = np.unravel_index(int(self.chunks[row]), self.grid_shape) if self.grid_shape else ()
        return tuple(int(i) for i in index)

    def _rows_at(self, url: str, where: ByteRange | None) -> Ints:
        """The chunks that have bytes of this range."""
        found = self.located
        rows = np.flatnonzero(found.source >= 0)
        if where is not None:
            offset, length = found.offset[rows], found.length[rows]
            rows = rows[(length == WHOLE) | ((offset < where.end) & (where.offset < offset + length))]
        names: dict[int, bool] = {}
        for row in rows.tolist():
            number = int(found.source[row])
            if number not in names:
                names[number] = masked(self.locator.url(found, row)) == url
        at_url: Ints = rows[np.array([names[n] for n in found.source[rows].tolist()], bool)]
        return at_url


def raise_of_array(error: ByteatlasError, array: str | None) -> NoReturn:
    """Raise an error that is about an array but does not say which."""
    match error:
        case CorruptChunk(array=None):
            raise CorruptChunk(error.why, array=array, chunk=error.chunk, url=error.url, range=error.range) from error
        case FetchFailed(array=None):
            raise error.located(array=array) from error
        case InvalidMetadata(where="") if array:
            raise InvalidMetadata(array, error.why) from error
        case Unsupported(path=None):
            raise Unsupported(error.reason, error.detail, array) from error
    raise error
