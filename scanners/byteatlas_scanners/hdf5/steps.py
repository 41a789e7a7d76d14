"""Running parsers side by side: a fixed set (`all_of`, `both`) or one that grows while it runs (`Pool`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from byteatlas.errors import ByteatlasError
from byteatlas.scanning.contract import Answer, Ask, Elsewhere, Parse, Stat, gather
from byteatlas.types import ByteRange

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


def all_of(parsers: Iterable[Parse[T]]) -> Parse[list[T]]:
    """Run parsers in lock step; the first error of any of them is raised when all are done."""
    results = yield from gather(parsers)
    out: list[T] = []
    for result in results:
        if isinstance(result, ByteatlasError):
            raise result
        out.append(result)
    return out


def both(first: Parse[A], second: Parse[B]) -> Parse[tuple[A, B]]:
    """Run two parsers in lock step."""
    parsers: list[Parse[Any]] = [first, second]
    a, b = yield from all_of(parsers)
    return a, b


class Pool:
    """Parsers in lock step, to which running parsers add others: each batch holds the asks of all that are alive.

    Parsers of a pool deal with their own errors and return nothing.
    """

    def __init__(self) -> None:
        self._new: list[Parse[None]] = []

    def add(self, parser: Parse[None]) -> None:
        self._new.append(parser)

    def run(self) -> Parse[None]:
        """Until none is alive."""
        pending: list[tuple[Parse[None], Sequence[Ask]]] = []
        self._start(pending)
        while pending:
            current, pending = pending, []
            batch = [ask for _, asks in current for ask in asks]
            try:
                answers = yield batch
            except ByteatlasError as error:
                if len(current) == 1:
                    _throw(current[0][0], error, pending)
                else:
                    yield from self._one_by_one(current, pending)
                self._start(pending)
                continue
            at = 0
            for parser, asks in current:
                _send(parser, answers[at : at + len(asks)], pending)
                at += len(asks)
            self._start(pending)

    def _start(self, pending: list[tuple[Parse[None], Sequence[Ask]]]) -> None:
        while self._new:
            fresh, self._new = self._new, []
            for parser in fresh:
                _send(parser, None, pending)

    def _one_by_one(
        self, current: list[tuple[Parse[None], Sequence[Ask]]], pending: list[tuple[Parse[None], Sequence[Ask]]]
    ) -> Parse[None]:
        """A batch failed as a whole: let each parser ask alone, so that the fault lands where it belongs."""
        for parser, asks in current:
            try:
                answers = yield asks
            except ByteatlasError as error:
                _throw(parser, error, pending)
            else:
                _send(parser, answers, pending)


def _send(
    parser: Parse[None], answers: Sequence[Answer] | None, pending: list[tuple[Parse[None], Sequence[Ask]]]
) -> None:
    with suppress(StopIteration):
        pending.append((parser, next(parser) if answers is None else parser.send(answers)))


def _throw(parser: Parse[None], error: ByteatlasError, pending: list[tuple[Parse[None], Sequence[Ask]]]) -> None:
    with suppress(StopIteration):
        pending.append((parser, parser.throw(error)))


def elsewhere(url: str, parser: Parse[T]) -> Parse[T]:
    """Run a parser on another file: its byte ranges become asks for that file's bytes."""
    try:
        asks = next(parser)
        while True:
            moved = [Elsewhere(url, ask) if isinstance(ask, ByteRange) else ask for ask in asks]
            try:
                answers = yield moved
            except ByteatlasError as error:
                asks = parser.throw(error)
                continue
            asks = parser.send(answers)
    except StopIteration as stop:
        result: T = stop.value
        return result


def stat_all(urls: Sequence[str]) -> Parse[list[Any]]:
    """A `SourceInfo`, None (no such file) or the error (forbidden, unreachable) for each URL."""

    def single(url: str) -> Parse[Any]:
        answers = yield (Stat(url),)
        return answers[0]

    return (yield from gather([single(url) for url in urls]))
