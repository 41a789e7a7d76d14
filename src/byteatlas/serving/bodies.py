"""What an answer holds: bytes that are there, or a range of a source that is read when it is sent.

Encoded chunks are kept for a while: clients read one chunk in several ranges, and many ask for the same.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
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
from byteatlas.values import dataclass, replace

PartReader: TypeAlias = Callable[[int, int], Buffer]
"""The bytes ``[start, stop)`` of a body. Blocks; raises `FetchFailed`, `SourceChanged`."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """``size`` bytes with a strong ETag.

    Attributes:
        url: a whole file elsewhere that is just these bytes.
        held: how many of them are in memory.
    """

    size: int
    etag: str
    read: PartReader
    media: str = "application/octet-stream"
    url: str | None = None
    held: int = 0


def body_of(data: Buffer, media: str = "application/octet-stream", etag: str | None = None) -> Body:
    """A body that is in memory."""
    view = memoryview(data)
    return Body(len(view), etag or etag_of_bytes(view), lambda start, stop: view[start:stop], media, held=len(view))


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
    return replace(body, url=source.url)


def _range(source: Source, where: ByteRange, recorded: str | None) -> Body:
    """Bytes of a source. Its ETag is made of what changes with the file, else of the bytes."""
    stamp = recorded or facts_of(source).stamp or stamp_of(source)
    if stamp is None:
        return body_of(source.read([where])[0])

    def read(start: int, stop: int) -> Buffer:
        return source.read([ByteRange(where.offset + start, stop - start)])[0]

    return Body(where.length, etag_of([source.url, stamp, where.offset, where.length]), read)


class ByteCache:
    """The bodies used last, up to a number of bytes. A value that several threads ask for is made once."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._kept: OrderedDict[Hashable, Body] = OrderedDict()
        self._making: dict[Hashable, Future[Body]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], bytes]) -> Body:
        """The value under a key. Raises what making it raises, and keeps nothing then."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
            under_way = self._making.get(key)
            if under_way is None:
                mine: Future[Body] = Future()
                self._making[key] = mine
        if under_way is not None:
            return under_way.result()
        try:
            body = body_of(make())
        except BaseException as error:
            with self._lock:
                del self._making[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            self._keep(key, body)
        mine.set_result(body)
        return body

    def _keep(self, key: Hashable, body: Body) -> None:
        if body.size > self._most:
            return
        self._kept[key] = body
        self._held += body.size
        while self._held > self._most:
            self._held -= self._kept.popitem(last=False)[1].size
