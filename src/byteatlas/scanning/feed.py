"""Answers to a parser's asks: bytes of the scanned file and of others, what is there, what bytes decode to.

Which failures are a property of the files is decided here. A range beyond a file's end, a linked file that is not
there, that the policy forbids or that the storage does not give out: these are answers (`Fault`). Everything else that
goes wrong while fetching raises, and ends the scan.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from byteatlas.errors import (
    Absent,
    CorruptFile,
    FetchFailed,
    FileFault,
    Forbidden,
    MissingExtra,
    Unsupported,
)
from byteatlas.io.local import LocalSource
from byteatlas.io.open import opened
from byteatlas.io.policy import foreign
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.layers import BlockCache
from byteatlas.io.stamp import stamp_of
from byteatlas.io.urls import join
from byteatlas.manifest.model import SourceInfo
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import Ahead, Answer, Apart, Ask, Decode, Elsewhere, Fault, Stat, Whole
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import replace

MOST_BYTES_AT_ONCE = 2 << 30
"""Bytes of one batch that are fetched; no archive's index is larger in one level. The largest asks beyond it fail."""
MOST_AHEAD = 8 << 20
"""Bytes of one hint that are fetched."""
NO_SUCH_NAME = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL})
"""What an operating system says of names that cannot be a file's."""

Decoder: TypeAlias = Callable[[tuple[CodecSpec, ...], Buffer, int], Buffer]
"""Codecs, encoded bytes and the size of the result to the decoded bytes. Raises `CorruptChunk`, `Unsupported`."""


class NamedFile(NamedTuple):
    """Another file of a scan."""

    source: Source
    info: SourceInfo


class Feed:
    """The sources of one scan: the file itself, and others that its parser names."""

    __slots__ = ("_block", "_decode", "_main", "_opener", "_others", "_size")

    def __init__(self, main: Source, opener: Opener, block: int = 64 << 10, decode: Decoder | None = None) -> None:
        self._main, self._opener, self._block, self._decode = main, opener, block, decode
        self._others: dict[tuple[str, bool], NamedFile | FileFault] = {}
        self._size = main.size()

    def answer(self, asks: Sequence[Ask]) -> Sequence[Answer]:
        """Answers to one batch, in order.

        Raises `FetchFailed` with URL and range, `SourceChanged`, `MissingExtra`: whatever says nothing of the files.
        """
        if set(map(type, asks)) == _RANGES_ONLY:  # by far the most frequent case
            ranges: Any = asks
            return _ranges(self._main, ranges, self._size)
        answers: list[Answer] = [None] * len(asks)
        places: dict[tuple[str, str | None] | None, list[int]] = {}
        apart: dict[int, ByteRange] = {}
        for i, ask in enumerate(asks):
            match ask:
                case ByteRange():
                    places.setdefault(None, []).append(i)
                case Elsewhere(url, _, by):
                    places.setdefault((url, by), []).append(i)
                case Stat(url, by):
                    answers[i] = self._stat(url, by)
                case Whole():
                    answers[i] = self._whole(ask)
                case Decode():
                    answers[i] = self._decoded(ask)
                case Ahead():
                    self._ahead(ask)
                case Apart(offset, length):
                    apart[i] = ByteRange(offset, length)
                case _:
                    raise TypeError(f"a parser asked for {ask!r}")
        for name, which in places.items():
            wanted = [a.range if isinstance(a := asks[i], Elsewhere) else a for i in which]
            for i, found in zip(which, self._read(name, wanted), strict=True):
                answers[i] = found
        if apart:
            main = self._main.apart() if isinstance(self._main, BlockCache) else self._main
            for i, found in zip(apart, _ranges(main, [*apart.values()], self._size), strict=True):
                answers[i] = found
        return answers

    def _read(self, place: tuple[str, str | None] | None, ranges: list[Any]) -> Sequence[Answer]:
        if place is None:
            return _ranges(self._main, ranges, self._size)
        other = self._other(*place)
        if isinstance(other, FileFault):
            return [Fault(other)] * len(ranges)
        return _ranges(other.source, ranges, other.info.size or 0)

    def _other(self, url: str, by: str | None = None) -> NamedFile | FileFault:
        """Another file, or why there is none; asked for once.

        Who names it counts, and so does the scanned file, which led there: neither lends the other its rights.
        """
        main = self._main.url
        full = join(main, url)
        key = full, foreign(main, full) or (by is not None and foreign(join(main, by), full))
        found = self._others.get(key)
        if found is None:
            found = self._others[key] = self._open(SourceInfo(full, foreign=key[1]))
        return found

    def _open(self, info: SourceInfo) -> NamedFile | FileFault:
        url = info.url
        try:
            source = cached(opened(self._opener, info), self._block)
            if isinstance(source, LocalSource):
                source.read([ByteRange(0, 0)])  # a folder opens like a file, and fails only here
            return NamedFile(source, replace(info, size=source.size(), stamp=stamp_of(source)))
        except FetchFailed as error:
            return property_of(url, error)
        except MissingExtra as error:
            return Unsupported(Reason.LINK, f"{url}: {error}")
        except FileFault as error:
            return error
        except OSError as error:
            raise FetchFailed(url, f"{type(error).__name__}: {error}") from error

    def _stat(self, url: str, by: str | None) -> Answer:
        other = self._other(url, by)
        if isinstance(other, Absent):
            return None
        if isinstance(other, FileFault):
            return Fault(other)
        return other.info

    def _whole(self, ask: Whole) -> Answer:
        other = self._other(ask.url, ask.by)
        if isinstance(other, FileFault):
            # What the policy forbids, or a server does not give out, may well be there.
            return None if ask.optional and isinstance(other, Absent) else Fault(other)
        size = other.info.size or 0
        if size > ask.most:
            return Fault(Unsupported(Reason.TOO_LARGE, f"{other.info.url} has {size} bytes, more than {ask.most}"))
        return _ranges(other.source, [ByteRange(0, size)], size)[0]

    def _decoded(self, ask: Decode) -> Answer:
        decode = self._decode
        if decode is None:
            from byteatlas.scanning.decoding import Decoding

            decode = self._decode = Decoding()
        try:
            return decode(ask.codecs, ask.data, ask.size)
        except FileFault as error:
            return Fault(error)

    def _ahead(self, ask: Ahead) -> None:
        other = None if ask.url is None else self._other(ask.url)
        if isinstance(other, FileFault):
            return  # whoever asks for its bytes is told
        source, size = (self._main, self._size) if other is None else (other.source, other.info.size or 0)
        if isinstance(source, BlockCache):
            begin = max(0, ask.offset)
            end = min(size, begin + min(ask.length, source.ahead(MOST_AHEAD)))
            # As pieces that the cache keeps; neighbours are fetched as one range.
            _ranges(source, [ByteRange(at, min(self._block, end - at)) for at in range(begin, end, self._block)], end)
            source.unwanted(max(0, end - begin))


_RANGES_ONLY = {ByteRange}


def _ranges(source: Source, ranges: Sequence[ByteRange], size: int) -> Sequence[Answer]:
    """The bytes of ranges, a `Fault` for each that lies outside of the file or is absurdly large."""
    total = 0
    for where in ranges:
        offset, length = where.offset, where.length
        if offset < 0 or length < 0 or offset + length > size:
            break
        total += length
    else:
        if total <= MOST_BYTES_AT_ONCE:
            return fetched(source, ranges)
    why = f"structures of {total} bytes and more in one step, more than 2 GiB"
    excess = Fault(CorruptFile(ranges[0].offset, why, source.url))  # one for all: there may be a million
    answers: list[Answer] = [excess] * len(ranges)
    sound: list[int] = []
    room = MOST_BYTES_AT_ONCE
    for i in sorted(range(len(ranges)), key=lambda k: ranges[k].length):
        offset, length = ranges[i].offset, ranges[i].length
        if offset < 0 or length < 0 or offset + length > size:
            why = f"a structure of {length} bytes lies outside of the file ({size} bytes)"
            answers[i] = Fault(CorruptFile(offset, why, source.url))
        elif length <= room:
            room -= length
            sound.append(i)
    for i, data in zip(sound, fetched(source, [ranges[i] for i in sound]), strict=True):
        answers[i] = data
    return answers


def fetched(source: Source, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
    """The bytes of ranges that lie inside of a file.

    Raises `FetchFailed` with URL and range whatever goes wrong, unless the file is not the same any more.
    """
    try:
        return source.read(ranges)
    except FetchFailed as error:
        if error.range is not None or not ranges:
            raise
        raise error.located(range=ranges[0]) from error
    except (OSError, FileFault) as error:
        where = ranges[0] if ranges else None
        raise FetchFailed(source.url, f"{type(error).__name__}: {error}", where) from error


def property_of(url: str, error: FetchFailed) -> FileFault:
    """What a failure to open another file says of the files: it is not there, or the storage does not give it out.

    Raises the error itself when it says nothing of the files.
    """
    cause = error.__cause__
    found: FileFault
    if error.denied or isinstance(cause, PermissionError):
        found = Forbidden(url, f"the storage denies access ({error.why})")
    elif error.absent or isinstance(cause, IsADirectoryError):
        found = Absent(url)
    elif getattr(cause, "errno", None) in NO_SUCH_NAME or (isinstance(cause, ValueError) and not error.transient):
        found = Absent(url, f"not the name of a file that could be opened ({error.why})")
    else:
        raise error
    found.__cause__ = error
    return found


def cached(source: Source, block: int) -> Source:
    """A local source as it is, any other behind a cache of blocks of so many bytes (0: no cache)."""
    return source if not block or isinstance(source, (LocalSource, BlockCache)) else BlockCache(source, block)
