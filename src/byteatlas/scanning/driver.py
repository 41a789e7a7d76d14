"""Feed parsers: find the scanner of a file, answer its asks, complete its result.

Local files are read by exact ranges. Remote ones go through a block cache, so that the many small structures that lie
together cost one request; a batch is one round trip, however many parsers asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from byteatlas.errors import BadRequest, CorruptFile, Unsupported
from byteatlas.io.source import Opener, Source
from byteatlas.io.sources.layers import BlockCache
from byteatlas.io.sources.parts import SourceWindow
from byteatlas.io.stamp import check_unchanged, stamp_of
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, Parse, Scanner, ScanOptions
from byteatlas.scanning.duties import chosen, complete, shifted
from byteatlas.scanning.feed import Decoder, Feed, cached, fetched
from byteatlas.scanning.plugins import likely
from byteatlas.types import ByteRange

T = TypeVar("T")

SNIFFED = 4096
"""Bytes that formats are recognised by."""

CountAnswers = Callable[[int], None]
"""Called with the number of asks answered so far."""


def run(
    parser: Parse[T],
    main: Source,
    opener: Opener,
    *,
    block: int = 64 << 10,
    progress: CountAnswers | None = None,
    decode: Decoder | None = None,
) -> T:
    """Run one parser to its end on a file.

    Args:
        decode: answers `Decode`; by default the library's codecs.

    Raises whatever the parser raises; `CorruptFile` errors name the file. A failure of the network or of the storage
    ends the run, whatever the parser would do about it: `FetchFailed` with URL and range.
    """
    feed, done = Feed(cached(main, block), opener, block, decode), 0
    try:
        asks = next(parser)
        while True:
            answers = feed.answer(asks)
            done += len(asks)
            if progress is not None:
                progress(done)
            asks = parser.send(answers)
    except StopIteration as stop:
        result: T = stop.value
        return result
    except CorruptFile as error:
        raise error.at(main.url) from error


def pick(scanners: Mapping[str, Scanner], first: FirstBytes, format: str | None = None) -> Scanner:
    """The scanner for a file by its first bytes, or by name. Raises `Unsupported` when none knows it."""
    if format is not None:
        if format not in scanners:
            known = ", ".join(sorted(scanners))
            raise Unsupported("format", f"no scanner for format {format!r}; known: {known}", first.url)
        return scanners[format]
    for scanner in likely(scanners, first):
        if scanner.sniff(first):
            return scanner
    known = ", ".join(sorted(scanners)) or "none"
    raise Unsupported("format", f"not a format that any scanner knows (installed: {known})", first.url)


def recognise(
    source: Source, opener: Opener, scanners: Mapping[str, Scanner], *, format: str | None = None, block: int = 64 << 10
) -> Scanner:
    """The scanner for a file: by name, by the first bytes, or by what lies deeper in the file.

    Raises `Unsupported` when none knows it, `CorruptFile` when there is nothing in it.
    """
    size = source.size()
    head = bytes(fetched(source, [ByteRange(0, min(size, SNIFFED))])[0])
    if not head:
        raise CorruptFile(0, "the file is empty", source.url)
    try:
        return pick(scanners, FirstBytes(head, source.url, size), format)
    except Unsupported:
        if format is None and size > len(head):
            here = SourceInfo(source.url, size)
            for scanner in scanners.values():
                if run(scanner.search(here), source, opener, block=block):
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
    progress: CountAnswers | None = None,
    window: ByteRange | None = None,
) -> VirtualGroup:
    """Find the format of one file and scan it.

    Args:
        window: scan only this part of the file, which is a file of its own in it (a member of an archive that is stored
            as it is). The references lead to the file itself.

    Raises:
        FetchFailed: bytes could not be fetched; with the URL and the range.
        SourceChanged: somebody wrote to the file meanwhile.
        CorruptFile, Unsupported: nothing of the file can be understood; no scanner knows it.
        BadRequest, NotFound: options that the scanner does not have; a group that the file does not have.
    """
    if strange := [name for name in options.extra if name not in scanners]:
        raise BadRequest(f"options for {strange[0]!r}, which is no scanner; known: {', '.join(sorted(scanners))}")
    for name in options.extra:  # those of other formats too: a misspelt one would be silently without effect
        chosen(scanners[name], options)
    plain, source = source, cached(source, block)
    if isinstance(source, BlockCache):
        source.warm()
    size, stamp = source.size(), stamp_of(plain)  # what the file system says of a file is asked for once
    if window is not None:
        if window.offset < 0 or window.length < 0 or window.end > size:
            raise BadRequest(f"{window} is not a part of {source.url}, which has {size} bytes")
        source, block = SourceWindow(source, window.offset, window.length), 0
    scanner = recognise(source, opener, scanners, format=format, block=block)
    parser = complete(scanner, SourceInfo(source.url, source.size(), stamp), options)
    found = run(parser, source, opener, block=block, progress=progress)
    check_unchanged(plain)
    return found if window is None else shifted(found, SourceInfo(source.url, size, stamp), window.offset)
