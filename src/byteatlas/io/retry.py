"""The one layer that tries again: range by range, until tries or time are used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.source import Source, SourceRecord, reads_first
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

if TYPE_CHECKING:
    from byteatlas.io.traffic.traffic import Meter

T = TypeVar("T")
RangeAnswer: TypeAlias = Buffer | FetchFailed


@dataclass(frozen=True, slots=True)
class Retry:
    """How long a request may take, and how often it is made before a failure that may pass counts.

    Attributes:
        tries: how often one range is asked for.
        wait: seconds before the second time; twice as long before each further one, with some chance in it, so that
            many clients do not come back together. A server that says how long to wait (``Retry-After``, RFC 9110
            10.2.3) is obeyed.
        idle: seconds without a byte after which a connection counts as dead.
        deadline: seconds for one call, all its ranges and tries together.

    >>> ba.Access(retry=ba.Retry(tries=2)).retry.tries
    2
    """

    tries: int = 5
    wait: float = 0.1
    idle: float = 30.0
    deadline: float = 300.0

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise BadRequest("tries is a whole number, at least 1")
        for name in ("wait", "idle", "deadline"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise BadRequest(f"{name} is a number of seconds, 0 or more")


@runtime_checkable
class Attempting(Protocol):
    """A source that says of each range whether it came, so that only those that did not are asked for again."""

    def attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[RangeAnswer]:
        """The bytes of each range, or why there are none; in at most so many seconds."""
        ...


def _attempts(source: object) -> TypeGuard[Attempting]:
    return issubclass(type(source), Attempting)  # which is remembered; `isinstance` takes longer than some answers


@cache
def _counts(kind: type) -> bool:
    """Whether sources of a class have a `Meter`, and count their requests themselves."""
    return hasattr(kind, "meter")


@dataclass(frozen=True, slots=True)
class Retrying:
    """A source whose failures that may pass are tried again, and whose requests are counted.

    A source that has a `Meter` itself counts its requests itself.
    """

    inner: Source
    retry: Retry = Retry()
    sleep: Callable[[float], None] = time.sleep
    meter: Meter | None = None

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        meter = self._counting()
        facts = getattr(self.inner, "facts", None)
        if meter is None or (isinstance(facts, SourceRecord) and facts.size is not None):
            return self._one(self.inner.size)

        def ask() -> int:
            with meter.request(self.url, "HEAD"):
                return self.inner.size()

        return self._one(ask)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        found: dict[int, RangeAnswer] = {}
        left = list(range(len(ranges)))
        failed: list[FetchFailed] = []
        for seconds in self._rounds(failed):
            found.update(zip(left, self._attempt([ranges[i] for i in left], seconds), strict=True))
            left = [i for i in left if isinstance(found[i], FetchFailed)]
            failed[:] = [a for a in found.values() if isinstance(a, FetchFailed)]
        if failed:
            raise next((e for e in failed if not e.transient), failed[0])
        if self.meter is not None:
            self.meter.wanted(sum(r.length for r in ranges))
        return [data for i in range(len(ranges)) if not isinstance(data := found[i], FetchFailed)]

    def read_all(self) -> Buffer:
        meter = self._counting()

        def ask() -> Buffer:
            if meter is None:
                return self.inner.read_all()
            with meter.request(self.url, "GET") as trip:
                data = self.inner.read_all()
                trip.fetched = len(data)
                return data

        data = self._one(ask)
        if self.meter is not None:
            self.meter.wanted(len(data))
        return data

    def first(self, most: int) -> Buffer | None:
        """The first bytes, at most so many (`byteatlas.io.source.ReadsFirst`); None where the source cannot do that."""
        inner = self.inner
        if not reads_first(inner):
            return None
        meter = self._counting()

        def ask() -> Buffer:
            if meter is None:
                return inner.first(most)
            with meter.request(self.url, "GET") as trip:
                data = inner.first(most)
                trip.fetched = len(data)
                return data

        try:
            data = self._one(ask)
        except FetchFailed as error:
            raise error.located(range=ByteRange(0, most)) from error.__cause__
        if self.meter is not None:
            self.meter.wanted(len(data))
        return data

    def _counting(self) -> Meter | None:
        """The meter, unless the source itself counts."""
        return None if _counts(type(self.inner)) else self.meter

    def _attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[RangeAnswer]:
        meter = self._counting()
        if meter is None or not ranges:
            return self._answers(ranges, seconds)
        with meter.request(self.url, "GET", len(ranges)) as trip:
            found = self._answers(ranges, seconds)
            trip.fetched = sum(len(a) for a in found if not isinstance(a, FetchFailed))
            return found

    def _answers(self, ranges: Sequence[ByteRange], seconds: float) -> list[RangeAnswer]:
        if _attempts(self.inner):
            return self.inner.attempt(ranges, seconds)
        try:
            return list(self.inner.read(ranges))
        except FetchFailed as error:
            return [error] * len(ranges)

    def _one(self, call: Callable[[], T]) -> T:
        failed: list[FetchFailed] = []
        for _ in self._rounds(failed):
            try:
                return call()
            except FetchFailed as error:
                failed[:] = [error]
        raise failed[0]

    def _rounds(self, failed: list[FetchFailed]) -> Iterator[float]:
        return _rounds(self.url, self.retry, failed, self.sleep, self.meter)


def persistently(url: str, retry: Retry, call: Callable[[], T]) -> T:
    """What a call gives, which is made again after a failure that may pass.

    Raises `FetchFailed` when the last time failed too.
    """
    failed: list[FetchFailed] = []
    for _ in _rounds(url, retry, failed):
        try:
            return call()
        except FetchFailed as error:
            failed[:] = [error]
    raise failed[0]


def _rounds(
    url: str,
    retry: Retry,
    failed: list[FetchFailed],
    sleep: Callable[[float], None] = time.sleep,
    meter: Meter | None = None,
) -> Iterator[float]:
    """Once for each time that it is worth asking, with the seconds that are left; the caller puts into the list what
    failed."""
    until = time.monotonic() + retry.deadline
    for number in range(retry.tries):
        yield max(0.001, until - time.monotonic())
        if not failed or not all(error.transient for error in failed):
            return
        pause = retry.wait * 2**number * _chance()
        pause = max(pause, *(error.after or 0.0 for error in failed))
        if number + 1 == retry.tries or time.monotonic() + pause >= until:
            return
        if meter is None:
            from byteatlas.io.traffic.telling import tell_retry

            tell_retry(url, failed[0].why, pause)
            sleep(pause)
        else:
            with meter.pause(url, failed[0].why, pause, len(failed)):
                sleep(pause)


RETRY = Retry()
"""What holds where nobody says otherwise."""


def _chance() -> float:
    from random import uniform  # most processes never need it

    return uniform(0.5, 1)
