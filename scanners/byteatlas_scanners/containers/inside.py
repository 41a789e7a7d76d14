"""Scanning a member where it lies: its asks become asks for bytes of the archive, its references lead into that.

To its scanner, a member is a file in a folder that has the archive's name; the other members are the files beside it.
Nothing that a member names leads out of the archive.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from byteatlas.errors import Absent, CorruptFile, Unsupported
from byteatlas.manifest.model import ReportItem, SourceInfo, VirtualGroup
from byteatlas.scanning.contract import (
    Ahead,
    Answer,
    Apart,
    Ask,
    Decode,
    Elsewhere,
    Fault,
    FirstBytes,
    Parse,
    Scanner,
    ScanOptions,
    Stat,
    Whole,
)
from byteatlas.scanning.driver import SNIFFED, pick
from byteatlas.scanning.duties import relocated
from byteatlas.scanning.parsers import one
from byteatlas.scanning.reasons import Reason
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass, replace
from byteatlas_scanners.containers.members import ContainedFile, MemberTable

T = TypeVar("T")
OUT = "it names a file outside of the archive, which a member may not lead to"


class Answered(NamedTuple):
    """An answer that needs no bytes of the archive."""

    answer: Answer


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """What the members of one archive have in common.

    Attributes:
        scanners: that members are scanned with.
    """

    source: SourceInfo
    directory: MemberTable
    scanners: Mapping[str, Scanner]
    options: ScanOptions

    def url(self, name: str) -> str:
        """What a member is called, to its scanner."""
        return f"{self.source.url}/{name}"

    def begin(self, url: str) -> int | None:
        """Where a member that is stored as it is begins, by that name."""
        base = self.source.url + "/"
        member = self.directory.members.get(url[len(base) :]) if url.startswith(base) else None
        return None if member is None or member.packing is not None else member.where.offset

    def placed(self, group: VirtualGroup) -> VirtualGroup:
        """A member's tree with references into the archive."""
        return relocated(group, self.source, self.begin)


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What a member's scanner can reach.

    Attributes:
        data: the member's bytes, when it had to be unpacked.
    """

    archive: Archive
    member: ContainedFile
    data: Buffer | None = None

    @property
    def info(self) -> SourceInfo:
        size = self.member.where.length if self.data is None else len(self.data)
        return replace(self.archive.source, url=self.archive.url(self.member.name), size=size)

    def scan(self, format: str = "") -> Parse[VirtualGroup]:
        """What the member's scanner says of it. Raises `Unsupported` when none knows it, and what that raises."""
        scanner = yield from self.scanner(format)
        inner = replace(self.archive.options, group=None, inline_below=0)
        return (yield from self.run(scanner.scan(self.info, inner)))

    def first(self) -> Parse[FirstBytes]:
        """What the member's format is recognised by."""
        info = self.info
        size = info.size or 0
        if not size:
            raise CorruptFile(self.member.where.offset, "the member is empty")
        head = yield from self.run(one(ByteRange(0, min(size, SNIFFED))))
        return FirstBytes(bytes(head), info.url, size)

    def scanner(self, format: str = "") -> Parse[Scanner]:
        """The scanner of the member: by name, by its first bytes, or by what lies deeper. Raises `Unsupported`."""
        first, scanners = (yield from self.first()), self.archive.scanners
        try:
            return pick(scanners, first, format or None)
        except Unsupported as error:
            for scanner in () if format or first.size <= SNIFFED else scanners.values():
                if (yield from self.run(scanner.search(self.info))):
                    return scanner
            raise Unsupported("format", "not a format that any scanner knows") from error

    def run(self, parser: Parse[T]) -> Parse[T]:
        """Run a parser on the member."""
        try:
            asks = next(parser)
            while True:
                changed = [self._changed(ask) for ask in asks]
                wanted = [ask for ask in changed if not isinstance(ask, Answered)]
                found = iter((yield wanted) if wanted else ())
                asks = parser.send([ask.answer if isinstance(ask, Answered) else next(found) for ask in changed])
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _changed(self, ask: Ask) -> Ask | Answered:
        match ask:
            case ByteRange(offset, length) | Apart(offset, length):
                if self.data is not None:
                    return self._held(offset, length)
                moved = _within(self.member.where, offset, length)
                return moved if isinstance(moved, Answered) else type(ask)(moved.offset, moved.length)
            case Ahead(offset, length, None) if self.data is None:
                where = self.member.where
                return Ahead(where.offset + offset, max(0, min(length, where.length - offset)))
            case Ahead():
                return Answered(None)
            case Decode():
                return ask
            case Elsewhere(url, where):
                other = self._other(url)
                return (
                    _within(other.where, where.offset, where.length)
                    if isinstance(other, ContainedFile)
                    else Answered(_fault(other, url))
                )
            case Stat(url):
                return self._stat(url)
            case Whole():
                return self._whole(ask)

    def _held(self, offset: int, length: int) -> Answered:
        assert self.data is not None
        if offset < 0 or length < 0 or offset + length > len(self.data):
            return Answered(_beyond(offset, length, len(self.data)))
        return Answered(memoryview(self.data)[offset : offset + length])

    def _other(self, url: str) -> ContainedFile | Fault | None:
        """Another member, by the URL that this one writes; None: there is none."""
        archive = self.archive
        name = archive.directory.led_to(archive.source.url, self.member.name, url)
        if name is None:
            return Fault(Unsupported(Reason.LINK, f"{OUT} ({url[:200]})"))
        found = archive.directory.members.get(name)
        if found is None:
            return None
        if found.fault is not None:
            return Fault(found.fault)
        if found.packing is not None:
            return Fault(Unsupported(Reason.COMPRESSED_MEMBER, f"it needs {name}, which is compressed in the archive"))
        return found

    def _stat(self, url: str) -> Answered:
        other = self._other(url)
        if not isinstance(other, ContainedFile):
            return Answered(other)
        info = self.archive.source
        return Answered(replace(info, url=self.archive.url(other.name), size=other.where.length))

    def _whole(self, ask: Whole) -> Ask | Answered:
        other = self._other(ask.url)
        if not isinstance(other, ContainedFile):
            name = self.archive.directory.led_to(self.archive.source.url, self.member.name, ask.url)
            return Answered(None if ask.optional and (other is None or name is None) else _fault(other, ask.url))
        if other.where.length > ask.most:
            why = f"{other.name} has {other.where.length} bytes, more than {ask.most}"
            return Answered(Fault(Unsupported(Reason.TOO_LARGE, why)))
        return other.where


def _fault(other: Fault | None, url: str) -> Fault:
    return Fault(Absent(url)) if other is None else other


def _within(window: ByteRange, offset: int, length: int) -> ByteRange | Answered:
    if offset < 0 or length < 0 or offset + length > window.length:
        return Answered(_beyond(offset, length, window.length))
    return ByteRange(window.offset + offset, length)


def _beyond(offset: int, length: int, size: int) -> Fault:
    return Fault(CorruptFile(offset, f"a structure of {length} bytes lies outside of the member ({size} bytes)"))


def below(name: str, items: tuple[ReportItem, ...]) -> list[ReportItem]:
    """A member's report as part of the archive's."""
    return [replace(item, path=name if item.path in ("", "/") else f"{name}/{item.path}") for item in items]
