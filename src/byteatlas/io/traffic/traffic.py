"""The traffic of one `Access`: its counters, and what is known of each server's line."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from byteatlas.io.traffic.counters import Counters, Tally
from byteatlas.io.traffic.link import LinkSpeed, ServerLink
from byteatlas.io.traffic.telling import RequestSpan, tell_request, tell_retry
from byteatlas.io.urls import last_link, place


class Traffic:
    """Counters and lines. All copies of an `Access` in one process share it; another process gets what is known of the
    lines, and counts from zero."""

    __slots__ = ("_away", "_links", "_lock", "tally")

    def __init__(self, known: Mapping[str, tuple[float, ...]] | None = None) -> None:
        self.tally = Tally()
        self._lock = threading.Lock()
        self._links = {where: ServerLink.of(what) for where, what in (known or {}).items()}
        self._away = known is not None

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:
            return Traffic, ({where: link.known() for where, link in self._links.items()},)

    def __repr__(self) -> str:
        return "Traffic()"

    @property
    def away(self) -> bool:
        """Whether this is a copy, in another process as a rule, whose counters somebody has to bring home."""
        return self._away

    def link(self, where: str) -> ServerLink:
        """The line to a server or bucket (`byteatlas.io.urls.place`)."""
        with self._lock:
            found = self._links.get(where)
            if found is None:
                found = self._links[where] = ServerLink()
            return found

    def meter(self, url: str, *, fixed: bool = False) -> Meter:
        """What sources of one server are given. ``fixed``: what is measured changes no request."""
        return Meter(self, place(last_link(url)), fixed)


class Meter:
    """Counts and measures the requests to one server."""

    __slots__ = ("_fixed", "_link", "_tally", "_traffic", "_where")

    def __init__(self, traffic: Traffic, where: str, fixed: bool = False) -> None:
        self._traffic, self._where, self._fixed = traffic, where, fixed
        self._tally, self._link = traffic.tally, traffic.link(where)

    def __reduce__(self) -> tuple[Any, ...]:
        return Meter, (self._traffic, self._where, self._fixed)

    @contextmanager
    def request(self, url: str, method: str, count: int = 1) -> Iterator[Trip]:
        """``count`` requests that are sent together."""
        trip = Trip(self._link)
        self._tally.begin(trip, count)
        try:
            with trip.span.of(url, method):
                yield trip
        finally:
            self._tally.end(trip, trip.fetched)
            trip.end()
            tell_request(url, method, count, trip.fetched, trip.seconds)

    @contextmanager
    def pause(self, url: str, why: str, seconds: float, retries: int) -> Iterator[None]:
        """A pause before as many requests are made again."""
        tell_retry(url, why, seconds)
        with self._tally.pausing(retries):
            yield

    def wanted(self, nbytes: int) -> None:
        """Readers asked for so many bytes; fewer than none where a layer asks for more than its readers did."""
        self._tally.add(Counters(wanted=nbytes))

    def speed(self) -> LinkSpeed | None:
        """How fast the server is; None where that is not known, or must not change what is asked for."""
        return None if self._fixed else self._link.speed()

    def gap(self, most: int, at_once: int) -> int | None:
        """Bytes between two ranges up to which they are better fetched as one, ``most`` at the most.

        ``at_once``: requests that are under way at a time. None as long as the line is not known.
        """
        if self._fixed:
            return most
        speed = self.speed()
        return None if speed is None else min(most, speed.gap(at_once))


class Trip:
    """Requests under way. ``fetched``: bytes that came of them."""

    __slots__ = ("_answered", "_begin", "_link", "fetched", "seconds", "span")

    def __init__(self, link: ServerLink) -> None:
        self._link, self._begin = link, perf_counter()
        self._answered = False
        self.fetched, self.seconds, self.span = 0, 0.0, RequestSpan()

    def answered(self) -> None:
        """The head of the answer is here. The time until then is the line's latency."""
        if not self._answered:
            self._answered = True
            self._link.answered(perf_counter() - self._begin)

    def end(self) -> None:
        self.seconds = perf_counter() - self._begin
        if self._answered:
            self._link.arrived(self.fetched)
        elif self.fetched:
            self._link.took(self.fetched, self.seconds)


def meter_of(source: Any) -> Meter | None:
    """What counts the requests of a source, seen through the layers around it; None where nothing does."""
    while source is not None:
        found = getattr(source, "meter", None)
        if isinstance(found, Meter):
            return found
        source = getattr(source, "inner", None)
    return None
