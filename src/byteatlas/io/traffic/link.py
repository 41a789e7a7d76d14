"""How fast a server answers: latency and bandwidth, as its answers show them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter

from byteatlas.values import dataclass

REMEMBERED = 16
"""Latest answers whose smallest latency counts: a busy server, or a busy machine here, makes single ones late."""
ENOUGH = 64 << 10
"""Bytes that must have come before bandwidth is known: a small answer arrives at once over any line."""
MOST_REMEMBERED = 16 << 20
"""Bytes after which older ones count half."""
EFFORT = 0.001
"""Seconds of work that a request takes on both sides, whatever the line."""


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """``latency`` in seconds to the first byte of an answer, ``bandwidth`` in bytes per second."""

    latency: float
    bandwidth: float

    def gap(self, at_once: int) -> int:
        """Bytes that come in the time that a further request costs, where so many are under way at a time.

        Two ranges that are closer than this are fetched sooner as one.
        """
        return int(self.bandwidth * (self.latency / max(at_once, 1) + EFFORT))


class ServerLink:
    """What is known of the line to one server (or bucket). Any number of threads may tell it of their answers."""

    __slots__ = ("_bytes", "_clock", "_latencies", "_lock", "_moving", "_seconds", "_since")

    def __init__(self, clock: Callable[[], float] = perf_counter) -> None:
        self._lock, self._clock = threading.Lock(), clock
        self._latencies: deque[float] = deque(maxlen=REMEMBERED)
        self._bytes, self._seconds = 0.0, 0.0
        self._moving, self._since = 0, 0.0

    def speed(self) -> LinkSpeed | None:
        """None as long as too little has come to tell."""
        with self._lock:
            if not self._latencies or self._bytes < ENOUGH:
                return None
            seconds = self._seconds + (self._clock() - self._since if self._moving else 0.0)
            return LinkSpeed(min(self._latencies), self._bytes / max(seconds, 1e-6))

    def answered(self, latency: float) -> None:
        """The first byte of an answer is here: from now on its others arrive. `arrived` must follow."""
        with self._lock:
            self._latencies.append(latency)
            if not self._moving:
                self._since = self._clock()
            self._moving += 1

    def arrived(self, nbytes: int) -> None:
        """All bytes of an answer are here, or no more will come."""
        with self._lock:
            self._moving -= 1
            self._bytes += nbytes
            if not self._moving:
                self._seconds += self._clock() - self._since
                if self._bytes > MOST_REMEMBERED:
                    self._bytes, self._seconds = self._bytes / 2, self._seconds / 2

    def took(self, nbytes: int, seconds: float) -> None:
        """Answers that came whole, of which it is not known when their first byte came."""
        with self._lock:
            if nbytes < ENOUGH:
                self._latencies.append(seconds)
                return
            latency = min(self._latencies, default=seconds / 2)
            self._bytes += nbytes
            self._seconds += max(seconds - latency, seconds / 10)
            if not self._latencies:
                self._latencies.append(latency)

    def known(self) -> tuple[float, ...]:
        """What another process may begin with."""
        with self._lock:
            return (self._bytes, self._seconds, *self._latencies)

    @staticmethod
    def of(known: tuple[float, ...]) -> ServerLink:
        made = ServerLink()
        made._bytes, made._seconds = known[:2]
        made._latencies.extend(known[2:])
        return made
