"""What an answer holds: bytes that are there, or a range of a source that is read when it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from byteatlas.array import Array
from byteatlas.array.reading.fetching.sources import WHOLE
from byteatlas.array.reading.locating.manifest import ManifestSources
from byteatlas.array.reading.locating.stored import KeySources
from byteatlas.array.spaces import ChunkNumbers
from byteatlas.errors import Unsupported
from byteatlas.io.source import Source
from byteatlas.io.stamp import facts_of, stamp_of
from byteatlas.manifest.model import INLINE, MISSING
from byteatlas.serving.requests import etag_of, etag_of_bytes
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

Reading: TypeAlias = Callable[[int, int], Buffer]
"""The bytes ``[start, stop)`` of a body. Blocks; raises `FetchFailed`, `SourceChanged`."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """``size`` bytes with a strong ETag. ``url``: a whole file elsewhere that is just these bytes."""

    size: int
    etag: str
    read: Reading
    media: str = "application/octet-stream"
    url: str | None = None


def body_of(data: Buffer, media: str = "application/octet-stream", etag: str | None = None) -> Body:
    """A body that is in memory."""
    view = memoryview(data)
    return Body(len(view), etag or etag_of_bytes(view), lambda start, stop: view[start:stop], media)


def stored_body(array: Array, chunk: int) -> Body | None:
    """The stored bytes of a chunk, by its flat number in the grid; None for one that was never written.

    Raises `FetchFailed` when that cannot be found out, `SourceChanged` for a file that is not the one indexed.
    """
    found = array.locator.locate(ChunkNumbers(np.array([chunk], np.int64)))
    number = int(found.source[0])
    if number == MISSING:
        return None
    if number == INLINE:
        return body_of(array.locator.inline(chunk))
    match found.sources:
        case KeySources() as keys:
            source = keys.store.source(keys.key(number))
            return None if source is None else _whole(source)
        case ManifestSources() as sources:
            source, recorded = sources.open(number), sources.table[number].stamp
            length = int(found.length[0])
            if length == WHOLE:
                return _whole(source, recorded)
            return _range(source, ByteRange(int(found.offset[0]), length), recorded)
    raise Unsupported("layout", "chunks that lie in something else than a file or a store")


def _whole(source: Source, recorded: str | None = None) -> Body:
    body = _range(source, ByteRange(0, source.size()), recorded)
    return Body(body.size, body.etag, body.read, body.media, source.url)


def _range(source: Source, where: ByteRange, recorded: str | None) -> Body:
    """Bytes of a source. Its ETag is made of what changes with the file, else of the bytes."""
    stamp = recorded or facts_of(source).stamp or stamp_of(source)
    if stamp is None:
        return body_of(source.read([where])[0])

    def read(start: int, stop: int) -> Buffer:
        return source.read([ByteRange(where.offset + start, stop - start)])[0]

    return Body(where.length, etag_of([source.url, stamp, where.offset, where.length]), read)
