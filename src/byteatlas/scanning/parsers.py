"""What parsers are written with: asking for one thing or several, other files, and running parsers side by side.

Parsers that run side by side share their batches, so that the number of round trips follows the depth of a file's
structure and not the number of its objects. There is one loop for that: `Pool.run`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from byteatlas.errors import CorruptFile, FileFault
from byteatlas.manifest.model import SourceInfo
from byteatlas.meta.model import CodecSpec
from byteatlas.scanning.contract import (
    MOST_WHOLE,
    Ahead,
    Answer,
    Apart,
    Ask,
    Decode,
    Elsewhere,
    Fault,
    Parse,
    Stat,
    Whole,
)
from byteatlas.types import Buffer, ByteRange

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


# --------------------------------------------------------------------------------------- from answers to values


def buffers(answers: Sequence[Answer]) -> list[Buffer]:
    """Answers that are all bytes. Raises the first fault among them.

    For ``found = buffers((yield asks))``, which costs less than ``found = yield from read(asks)``.
    """
    for answer in answers:
        if type(answer) is Fault:
            raise answer.error
    checked: Any = answers
    found: list[Buffer] = checked
    return found


def read(asks: Sequence[ByteRange | Elsewhere | Decode]) -> Parse[list[Buffer]]:
    """The bytes of several asks, fetched together. Raises the first `FileFault` among the answers."""
    return buffers((yield asks))


def one(ask: ByteRange | Elsewhere | Decode | Apart) -> Parse[Buffer]:
    """The bytes of one ask. Raises `FileFault`."""
    (answer,) = buffers((yield (ask,)))
    return answer


def stat(url: str) -> Parse[SourceInfo | None]:
    """Another file's size and stamp; None when it is not there. Raises `Forbidden`."""
    (answer,) = yield (Stat(url),)
    if isinstance(answer, Fault):
        raise answer.error
    return answer if isinstance(answer, SourceInfo) else None


def whole(url: str, *, optional: bool = False, most: int = MOST_WHOLE) -> Parse[Buffer | None]:
    """All of another file; None when it is optional and not there. Raises `FileFault`."""
    (answer,) = yield (Whole(url, optional, most),)
    if isinstance(answer, Fault):
        raise answer.error
    return None if isinstance(answer, SourceInfo) else answer


def decoded(codecs: tuple[CodecSpec, ...], data: Buffer, size: int) -> Parse[Buffer]:
    """What bytes decode to. Raises `CorruptChunk` and `Unsupported`."""
    return (yield from one(Decode(codecs, data, size)))


def ahead(offset: int, length: int) -> Parse[None]:
    """Tell that these bytes of the file itself will be asked for soon, a few at a time."""
    yield (Ahead(offset, length),)


# --------------------------------------------------------------------------------------- side by side


class Pool:
    """Parsers in lock step: each batch holds the asks of all that are alive. Running parsers may add others.

    A parser that raises a `FileFault` has that fault as its result: one bad object does not take its neighbours down.
    Other exceptions pass through.
    """

    __slots__ = ("_new", "results")

    def __init__(self, parsers: Iterable[Parse[Any]] = ()) -> None:
        self.results: list[Any] = []
        self._new: list[Parse[Any]] = list(parsers)

    def add(self, parser: Parse[Any]) -> None:
        self._new.append(parser)

    def run(self) -> Parse[list[Any]]:
        """Run all parsers to their ends; their results, in the order in which they were added."""
        results = self.results
        pending: list[tuple[int, Parse[Any], Sequence[Ask]]] = []
        self._begin(pending)
        while pending:
            current, pending = pending, []
            if len(current) == 1:
                answers = yield current[0][2]
            else:
                answers = yield [ask for _, _, asks in current for ask in asks]
            at = 0
            for number, parser, asks in current:
                end = at + len(asks)
                try:
                    pending.append((number, parser, parser.send(answers[at:end])))
                except StopIteration as stop:
                    results[number] = stop.value
                except FileFault as error:
                    results[number] = error
                at = end
            if self._new:
                self._begin(pending)
        return results

    def _begin(self, pending: list[tuple[int, Parse[Any], Sequence[Ask]]]) -> None:
        """Run parsers that were added up to their first asks; those may add more."""
        while self._new:
            fresh, self._new = self._new, []
            for parser in fresh:
                number = len(self.results)
                self.results.append(None)
                try:
                    pending.append((number, parser, next(parser)))
                except StopIteration as stop:
                    self.results[number] = stop.value
                except FileFault as error:
                    self.results[number] = error


def gather(parsers: Iterable[Parse[T]]) -> Parse[list[T | FileFault]]:
    """Run parsers side by side; for each its result, or the fault that it raised."""
    return (yield from Pool(parsers).run())


def all_of(parsers: Iterable[Parse[T]]) -> Parse[list[T]]:
    """Run parsers side by side; when all are done, the first fault of any of them is raised."""
    results = yield from Pool(parsers).run()
    for result in results:
        if isinstance(result, FileFault):
            raise result
    return results


def both(first: Parse[A], second: Parse[B]) -> Parse[tuple[A, B]]:
    """Run two parsers side by side. Raises as `all_of`."""
    a, b = yield from Pool((first, second)).run()  # not by way of `all_of`: this runs for every object of a file
    for result in (a, b):
        if isinstance(result, FileFault):
            raise result
    return a, b


def settle(asks: Sequence[Ask]) -> Parse[list[Any]]:
    """The answers to several asks, a `FileFault` in the place of each that has none."""
    return [answer.error if type(answer) is Fault else answer for answer in (yield asks)]


# --------------------------------------------------------------------------------------- other places


def elsewhere(url: str, parser: Parse[T]) -> Parse[T]:
    """Run a parser on another file: its byte ranges become asks for that file's bytes.

    A `CorruptFile` that it raises says which file it is about.
    """
    try:
        asks = next(parser)
        while True:
            asks = parser.send((yield [_of_other(url, ask) for ask in asks]))
    except StopIteration as stop:
        result: T = stop.value
        return result
    except CorruptFile as error:
        raise error.at(url) from error


def _of_other(url: str, ask: Ask) -> Ask:
    match ask:
        case ByteRange():
            return Elsewhere(url, ask)
        case Apart(offset, length):
            return Elsewhere(url, ByteRange(offset, length))
        case Ahead(offset, length, None):
            return Ahead(offset, length, url)
        case _:
            return ask


def within(window: ByteRange, parser: Parse[T]) -> Parse[T]:
    """Run a parser on a part of the file: what it asks for is counted from the beginning of the window.

    Bytes outside of the window are a fault, also where the file has them.
    """
    try:
        asks = next(parser)
        while True:
            moved = [_in_window(window, ask) for ask in asks]
            sound = [ask for ask in moved if not isinstance(ask, Fault)]
            answers = iter((yield sound))
            asks = parser.send([ask if isinstance(ask, Fault) else next(answers) for ask in moved])
    except StopIteration as stop:
        result: T = stop.value
        return result


def _in_window(window: ByteRange, ask: Ask) -> Ask | Fault:
    match ask:
        case ByteRange(offset, length) | Apart(offset, length):
            if offset < 0 or length < 0 or offset + length > window.length:
                why = f"a structure of {length} bytes lies outside of the part of {window.length} bytes"
                return Fault(CorruptFile(offset, why))
            return type(ask)(window.offset + offset, length)
        case Ahead(offset, length, None):
            return Ahead(window.offset + offset, min(length, window.length - offset))
        case _:
            return ask
