"""Feed parsers: answer their asks from sources, one merged read per batch and file.

Local files are read by exact ranges. Remote ones go through a block cache, so that the many small structures that lie
together cost one request; a batch is one round trip, however many parsers asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from byteatlas.errors import ByteatlasError, CorruptFile, FetchFailed, Unsupported
from byteatlas.io.local import LocalSource
from byteatlas.io.open import opened
from byteatlas.io.policy import foreign, join
from byteatlas.io.source import Opener, Source
from byteatlas.io.stamp import stamp_of
from byteatlas.io.wrap import BlockCache
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import Answer, Ask, Elsewhere, Parse, Scanner, ScanOptions, Searching, Stat
from byteatlas.types import ByteRange

T = TypeVar("T")

MOST_BYTES_AT_ONCE = 2 << 30
"""A batch that asks for more than this is refused: no archive's index is that large in one level."""

Progress = Callable[[int], None]
"""Called with the number of asks answered so far."""


@dataclass(frozen=True, slots=True)
class Feed:
    """The sources of one scan: the file itself, and others that its parser names."""

    main: Source
    opener: Opener
    block: int = 64 << 10

    def answer(self, asks: Sequence[Ask], others: dict[str, Source]) -> list[Answer]:
        """Answers to one batch, in order. Raises what the parser should see."""
        if all(type(ask) is ByteRange for ask in asks):  # by far the most frequent case
            return list(self._read(self.main, asks))  # type: ignore[arg-type]
        answers: list[Answer] = [None] * len(asks)
        by_source: dict[str | None, list[int]] = {}
        for i, ask in enumerate(asks):
            match ask:
                case ByteRange():
                    by_source.setdefault(None, []).append(i)
                case Elsewhere(url):
                    by_source.setdefault(url, []).append(i)
                case Stat(url):
                    answers[i] = self._stat(url, others)
        for name, places in by_source.items():
            source = self.main if name is None else self._other(name, others)
            ranges = [a.range if isinstance(a := asks[i], Elsewhere) else a for i in places]
            for i, data in zip(places, self._read(source, ranges), strict=True):  # type: ignore[arg-type]
                answers[i] = data
        return answers

    def _read(self, source: Source, ranges: Sequence[ByteRange]) -> Sequence[Any]:
        size, total = source.size(), 0
        for where in ranges:
            offset, length = where.offset, where.length
            if offset < 0 or length < 0 or offset + length > size:
                why = f"a structure of {length} bytes lies outside of the file ({size} bytes)"
                raise CorruptFile(offset, why, source.url)
            total += length
        if total > MOST_BYTES_AT_ONCE:
            raise CorruptFile(0, f"structures of {total} bytes in one step, more than 2 GiB", source.url)
        return source.read(ranges)

    def _other(self, url: str, others: dict[str, Source]) -> Source:
        full = join(self.main.url, url)
        if full not in others:
            others[full] = cached(opened(self.opener, self._named(full)), self.block)
        return others[full]

    def _named(self, url: str) -> SourceInfo:
        """Another file, as the scanned one names it."""
        return SourceInfo(url, foreign=foreign(self.main.url, url))

    def _stat(self, url: str, others: dict[str, Source]) -> SourceInfo | None:
        full = join(self.main.url, url)
        try:
            other = self._other(url, others)
            return replace(self._named(full), size=other.size(), stamp=stamp_of(other))
        except FetchFailed as error:
            if isinstance(error.__cause__, (FileNotFoundError, IsADirectoryError, NotADirectoryError)):
                return None
            raise


def cached(source: Source, block: int) -> Source:
    """A local source as it is, any other behind a block cache."""
    return source if isinstance(source, (LocalSource, BlockCache)) else BlockCache(source, block)


def run(
    parser: Parse[T], main: Source, opener: Opener, *, block: int = 64 << 10, progress: Progress | None = None
) -> T:
    """Run one parser to its end on a file.

    Raises whatever the parser raises; `CorruptFile` errors name the file.
    """
    feed, others, done = Feed(cached(main, block), opener, block), {}, 0  # type: tuple[Feed, dict[str, Source], int]
    try:
        asks = next(parser)
        while True:
            try:
                answers = feed.answer(asks, others)
            except ByteatlasError as error:
                asks = parser.throw(error)
                continue
            done += len(asks)
            if progress is not None:
                progress(done)
            asks = parser.send(answers)
    except StopIteration as stop:
        result: T = stop.value
        return result
    except CorruptFile as error:
        raise error.at(main.url) from error


def pick(scanners: Mapping[str, Scanner], head: bytes, url: str, format: str | None = None) -> Scanner:
    """The scanner for a file by its first bytes, or by name. Raises `Unsupported` when none knows it."""
    if format is not None:
        if format not in scanners:
            raise Unsupported("format", f"no scanner for format {format!r}; known: {', '.join(sorted(scanners))}", url)
        return scanners[format]
    for scanner in scanners.values():
        if scanner.sniff(head):
            return scanner
    known = ", ".join(sorted(scanners)) or "none"
    raise Unsupported("format", f"not a format that any scanner knows (installed: {known})", url)


def recognise(
    source: Source, opener: Opener, scanners: Mapping[str, Scanner], *, format: str | None = None, block: int = 64 << 10
) -> Scanner:
    """The scanner for a file: by name, by the first bytes, or by what lies deeper in the file.

    Raises `Unsupported` when none knows it, `CorruptFile` when there is nothing in it.
    """
    size = source.size()
    head = bytes(source.read([ByteRange(0, min(size, 4096))])[0])
    if not head:
        raise CorruptFile(0, "the file is empty", source.url)
    try:
        return pick(scanners, head, source.url, format)
    except Unsupported:
        if format is None and size > len(head):
            here = SourceInfo(source.url, size)
            for scanner in scanners.values():
                if isinstance(scanner, Searching) and run(scanner.search(here), source, opener, block=block):
                    return scanner
        raise


def scan_source(
    source: Source,
    opener: Opener,
    scanners: Mapping[str, Scanner],
    options: ScanOptions,
    *,
    format: str | None = None,
    block: int = 64 << 10,
    progress: Progress | None = None,
) -> VirtualGroup:
    """Find the format of one file and scan it."""
    plain, source = source, cached(source, block)
    if isinstance(source, BlockCache):
        source.warm()
    size, stamp = source.size(), stamp_of(plain)  # what the file system says of a file is asked for once
    scanner = recognise(source, opener, scanners, format=format, block=block)
    parser = scanner.scan(SourceInfo(source.url, size, stamp), options)
    return run(parser, source, opener, block=block, progress=progress)
