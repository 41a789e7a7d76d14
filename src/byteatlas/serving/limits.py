"""Limits on what is under way: requests in all, requests of one client, bytes held for answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from byteatlas.serving.faults import Refused
from byteatlas.serving.options import ServeOptions

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 << 10
MOST_PATH = 4096
AGAIN = {"retry-after": "1"}


class Gate:
    """Counts what is under way; used from the event loop alone, so without locks."""

    __slots__ = ("_bytes", "_clients", "_options", "_requests")

    def __init__(self, options: ServeOptions) -> None:
        self._options, self._requests, self._bytes = options, 0, 0
        self._clients: Counter[str] = Counter()

    def enter(self, client: str) -> None:
        """Count a request. Raises `Refused` with 503 or 429; then it is not counted."""
        if self._requests >= self._options.most_requests:
            raise Refused(503, f"{self._requests} requests are under way, which is all that this server takes", AGAIN)
        if self._clients[client] >= self._options.most_per_client:
            raise Refused(429, f"{self._clients[client]} of your requests are under way; wait for some of them", AGAIN)
        self._requests += 1
        self._clients[client] += 1

    def leave(self, client: str) -> None:
        self._requests -= 1
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    @contextmanager
    def holding(self, nbytes: int) -> Iterator[None]:
        """Room for an answer while it is made and sent. Raises `Refused` with 503; one answer alone always has room."""
        if self._bytes and self._bytes + nbytes > self._options.most_bytes:
            raise Refused(503, "too many bytes are under way; ask again in a moment", AGAIN)
        self._bytes += nbytes
        try:
            yield
        finally:
            self._bytes -= nbytes


def check_size(path: str, headers: list[tuple[bytes, bytes]]) -> None:
    """Raises `Refused` for a request that is larger than any that a client of ours makes."""
    if len(path) > MOST_PATH:
        raise Refused(414, f"the path is longer than {MOST_PATH} characters")
    if len(headers) > MOST_HEADERS or sum(len(k) + len(v) for k, v in headers) > MOST_HEADER_BYTES:
        raise Refused(431, f"more than {MOST_HEADERS} headers, or {MOST_HEADER_BYTES} bytes of them")
