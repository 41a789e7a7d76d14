"""What a scanner plugin is: a sans-IO parser from byte ranges to a `VirtualGroup`.

A parser is a generator. It yields a batch of *asks* and is sent the answers, in order; all asks of one batch are
fetched together. `gather` runs many parsers in lock step and merges their batches, so that the number of round trips
follows the depth of the file's structure and not the number of its objects.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

from byteatlas.errors import ByteatlasError
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.types import JSON, Buffer, ByteRange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A byte range of another file (external links, virtual datasets, raw storage)."""

    url: str
    range: ByteRange


@dataclass(frozen=True, slots=True)
class Stat:
    """Ask whether another file exists, and how large it is. The answer is a `SourceInfo`, or None."""

    url: str


Ask: TypeAlias = ByteRange | Elsewhere | Stat
Answer: TypeAlias = Any
"""Bytes for a range (exactly as many as asked; a range beyond the end raises `CorruptFile` into the parser), or a
`SourceInfo` | None for `Stat`. A file that the policy forbids raises `Forbidden` into the parser."""

Parse: TypeAlias = Generator[Sequence[Ask], Sequence[Answer], T]


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What a user may choose about a scan.

    Attributes:
        target_chunk: bytes; uncompressed contiguous data larger than twice this is presented as chunks of about this
            size. None = one chunk per contiguous block.
        inline_below: bytes; chunks of an array whose data total less than this are copied into the map. 0 = never.
        group: scan only this group.
        max_inline: bytes; a dataset whose values must be decoded while scanning (variable-length data, references) is
            refused when it is larger.
        max_side, inline_most: bytes; with a side file, the limit is ``max_side``, and arrays with more inline bytes
            than ``inline_most`` go there.
        extra: options for scanners of third parties.
    """

    target_chunk: int | None = 4 << 20
    inline_below: int = 0
    group: str | None = None
    max_inline: int = 64 << 20
    max_side: int = 1 << 30
    inline_most: int = 1 << 20
    extra: Mapping[str, JSON] = field(default_factory=dict)


class Scanner(Protocol):
    """A scanner plugin, found through the entry-point group ``byteatlas.scanners``."""

    @property
    def name(self) -> str: ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """File name endings that this format usually has, with the dot; used in messages only."""
        ...

    def sniff(self, head: bytes) -> bool:
        """Whether the first bytes (up to 4 KiB) look like this format."""
        ...

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        """The parser for one file. ``source.size`` is set.

        What cannot be represented is refused per dataset in the report. Raises `CorruptFile` only when nothing of
        the file can be understood.
        """
        ...


@runtime_checkable
class Searching(Protocol):
    """What a scanner also has whose files may begin with something else, of any length (HDF5's user blocks)."""

    def search(self, source: SourceInfo) -> Parse[bool]:
        """Whether the file is of this format after all. Asked when no scanner knows the first bytes."""
        ...


def one(ask: Ask) -> Parse[Buffer]:
    """Ask for a single thing."""
    answers = yield (ask,)
    answer: Buffer = answers[0]
    return answer


def gather(parsers: Iterable[Parse[T]]) -> Parse[list[T | ByteatlasError]]:
    """Run parsers side by side, one merged batch per step; results in order.

    A parser that raises a `ByteatlasError` yields that error as its result: one bad object does not take its
    neighbours down. Other exceptions pass through.
    """
    live = list(parsers)
    results: list[Any] = [None] * len(live)
    pending: list[tuple[int, Parse[T], Sequence[Ask]]] = []
    for i, parser in enumerate(live):
        _advance(i, parser, None, results, pending)
    while pending:
        batch = [ask for _, _, asks in pending for ask in asks]
        current, pending = pending, []
        try:
            answers = yield batch
        except ByteatlasError:
            # The batch failed as a whole: let each parser ask alone, so that the fault lands on the one that caused it.
            for i, parser, asks in current:
                yield from _alone(i, parser, asks, results, pending)
            continue
        at = 0
        for i, parser, asks in current:
            _advance(i, parser, answers[at : at + len(asks)], results, pending)
            at += len(asks)
    return results


def _advance(
    i: int,
    parser: Parse[T],
    answers: Sequence[Answer] | None,
    results: list[Any],
    pending: list[tuple[int, Parse[T], Sequence[Ask]]],
) -> None:
    try:
        asks = next(parser) if answers is None else parser.send(answers)
        pending.append((i, parser, asks))
    except StopIteration as stop:
        results[i] = stop.value
    except ByteatlasError as error:
        results[i] = error


def _alone(
    i: int,
    parser: Parse[T],
    asks: Sequence[Ask],
    results: list[Any],
    pending: list[tuple[int, Parse[T], Sequence[Ask]]],
) -> Parse[None]:
    try:
        answers = yield asks
    except ByteatlasError as error:
        try:
            pending.append((i, parser, parser.throw(error)))
        except StopIteration as stop:
            results[i] = stop.value
        except ByteatlasError as raised:
            results[i] = raised
        return
    _advance(i, parser, answers, results, pending)
