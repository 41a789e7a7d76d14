"""The one layer that tries again: range by range, until tries or time are used up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias, TypeVar, runtime_checkable

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.source import Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

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


@dataclass(frozen=True, slots=True)
class Retrying:
    """A source whose failures that may pass are tried again."""

    inner: Source
    retry: Retry = Retry()
    sleep: Callable[[float], None] = time.sleep

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        return self._one(self.inner.size)

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
        return [data for i in range(len(ranges)) if not isinstance(data := found[i], FetchFailed)]

    def read_all(self) -> Buffer:
        return self._one(self.inner.read_all)

    def _attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[RangeAnswer]:
        if isinstance(self.inner, Attempting):
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
        """Once for each time that it is worth asking, with the seconds that are left; the caller puts into the list
        what failed."""
        until = time.monotonic() + self.retry.deadline
        for number in range(self.retry.tries):
            yield max(0.001, until - time.monotonic())
            if not failed or not all(error.transient for error in failed):
                return
            pause = self.retry.wait * 2**number * _chance()
            pause = max(pause, *(error.after or 0.0 for error in failed))
            if number + 1 == self.retry.tries or time.monotonic() + pause >= until:
                return
            _log(self.url, failed[0].why, pause)
            self.sleep(pause)


def _chance() -> float:
    from random import uniform  # most processes never need it

    return uniform(0.5, 1)


def _log(url: str, why: str, pause: float) -> None:
    import logging

    from byteatlas.masking import masked

    logging.getLogger(__name__).info("%s: %s; again in %.1f s", masked(url), why, pause)
