"""How much went over the network: numbers that any thread adds to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from byteatlas.types import JSON
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Counters:
    """What was asked of servers and object stores. Files of this machine are not counted.

    Attributes:
        requests: sent, tries again and redirects included.
        rounds: how often latency was waited for: requests that begin before the first of them ends are one round.
        wanted: bytes that readers asked for.
        fetched: bytes that came; more than wanted where ranges were merged, blocks read ahead, or tries failed.
        retries: requests that were made again.
        waited: seconds in which at least one request, or a pause before the next try, was under way.
    """

    requests: int = 0
    rounds: int = 0
    wanted: int = 0
    fetched: int = 0
    retries: int = 0
    waited: float = 0.0

    def plus(self, other: Counters) -> Counters:
        """Both together."""
        return Counters(
            self.requests + other.requests,
            self.rounds + other.rounds,
            self.wanted + other.wanted,
            self.fetched + other.fetched,
            self.retries + other.retries,
            self.waited + other.waited,
        )

    def minus(self, before: Counters) -> Counters:
        """What was added since an earlier look."""
        return Counters(
            self.requests - before.requests,
            self.rounds - before.rounds,
            self.wanted - before.wanted,
            self.fetched - before.fetched,
            self.retries - before.retries,
            self.waited - before.waited,
        )

    def document(self) -> dict[str, JSON]:
        """As JSON; ``waited`` in seconds."""
        return {name: getattr(self, name) for name in self.__match_args__}


class Tally:
    """Counters that threads add to."""

    __slots__ = ("_busy", "_first", "_lock", "_since", "_sum")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sum = Counters()
        self._busy, self._since = 0, 0.0
        self._first: object | None = None

    def now(self) -> Counters:
        """What was counted so far, what is under way included."""
        with self._lock:
            waiting = perf_counter() - self._since if self._busy else 0.0
            return self._sum.plus(Counters(waited=waiting))

    def add(self, more: Counters) -> None:
        with self._lock:
            self._sum = self._sum.plus(more)

    def take(self) -> Counters:
        """What was counted since the last time that it was taken away."""
        with self._lock:
            found, self._sum = self._sum, Counters()
            return found

    def begin(self, key: object, requests: int) -> None:
        """Requests are sent together; ``key`` tells them from others until `end`."""
        with self._lock:
            opens = self._first is None
            if opens:
                self._first = key
            self._enter()
            self._sum = self._sum.plus(Counters(requests=requests, rounds=int(opens)))

    def end(self, key: object, fetched: int) -> None:
        with self._lock:
            if self._first is key:
                self._first = None
            self._leave()
            self._sum = self._sum.plus(Counters(fetched=fetched))

    @contextmanager
    def pausing(self, retries: int) -> Iterator[None]:
        """A pause before requests are made again."""
        with self._lock:
            self._enter()
            self._sum = self._sum.plus(Counters(retries=retries))
        try:
            yield
        finally:
            with self._lock:
                self._leave()

    def _enter(self) -> None:
        if not self._busy:
            self._since = perf_counter()
        self._busy += 1

    def _leave(self) -> None:
        self._busy -= 1
        if not self._busy:
            self._sum = self._sum.plus(Counters(waited=perf_counter() - self._since))
