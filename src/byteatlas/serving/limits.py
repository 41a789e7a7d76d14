"""Limits on what is under way: requests in all, requests of one client, bytes held for answers."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.options import ServeOptions

MOST_HEADERS = 100
MOST_HEADER_BYTES = 16 << 10
MOST_PATH = 4096
AGAIN = {"retry-after": "1"}
STALLED = 2.0
"""Seconds for which a client may take nothing of its answer while others wait for room."""


class Gate:
    """Counts the requests that are under way; used from the event loop alone, so without locks."""

    __slots__ = ("_clients", "_options", "_requests")

    def __init__(self, options: ServeOptions) -> None:
        self._options, self._requests = options, 0
        self._clients: Counter[str] = Counter()

    @contextmanager
    def entered(self, client: str) -> Iterator[None]:
        """Count a request. Raises `HTTPRefusal` with 503 or 429; then it is not counted."""
        if self._requests >= self._options.most_requests:
            raise HTTPRefusal(503, f"{self._requests} requests are under way, all that this server takes", AGAIN)
        if self._clients[client] >= self._options.most_per_client:
            raise HTTPRefusal(429, f"{self._clients[client]} of your requests are under way; wait for some", AGAIN)
        self._requests += 1
        self._clients[client] += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._clients[client] -= 1
            if not self._clients[client]:
                del self._clients[client]


class Held:
    """What one answer holds of the room."""

    __slots__ = ("_room", "nbytes")

    def __init__(self, room: Room, nbytes: int) -> None:
        self._room, self.nbytes = room, nbytes

    def shrink(self, nbytes: int) -> None:
        """It was made, and needs no more than this until it is sent."""
        freed = max(0, self.nbytes - nbytes)
        self.nbytes -= freed
        self._room.free(freed)


class Room:
    """Bytes that answers under way hold: who finds no room waits for it, first come, first served."""

    __slots__ = ("_held", "_most", "_patience", "_taking", "_waiting")

    def __init__(self, options: ServeOptions) -> None:
        self._most, self._patience, self._held = options.most_bytes, options.timeout, 0
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._taking: dict[asyncio.Timeout, float] = {}

    @asynccontextmanager
    async def holding(self, nbytes: int) -> AsyncIterator[Held]:
        """Room for an answer while it is made and sent. One answer alone always has room.

        Raises `HTTPRefusal` with 503 when there was none for as long as an answer may take.
        """
        if self._waiting or not self._fits(nbytes):
            await self._wait(nbytes)
        else:
            self._held += nbytes
        held = Held(self, nbytes)
        try:
            yield held
        finally:
            held.shrink(0)

    @asynccontextmanager
    async def taking(self) -> AsyncIterator[None]:
        """While a client takes a part of its answer: a slow one must not keep the room that others wait for.

        Raises `TimeoutError` for one that took nothing for as long as an answer may take, or, where others wait, for
        ``STALLED`` seconds.
        """
        began = asyncio.get_running_loop().time()
        patience = min(STALLED, self._patience) if self._waiting else self._patience
        async with asyncio.timeout_at(began + patience) as deadline:
            self._taking[deadline] = began
            try:
                yield
            finally:
                del self._taking[deadline]

    def free(self, nbytes: int) -> None:
        """Give back what was held, to those who wait."""
        self._held -= nbytes
        self._admit()

    def _hurry(self) -> None:
        """Somebody waits: the slow ones have less time from now on."""
        now = asyncio.get_running_loop().time()
        for deadline, began in self._taking.items():
            if not deadline.expired():
                deadline.reschedule(max(now, began + min(STALLED, self._patience)))

    def _fits(self, nbytes: int) -> bool:
        return not self._held or self._held + nbytes <= self._most

    async def _wait(self, nbytes: int) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((nbytes, turn))
        self._hurry()
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._patience)
        except BaseException as error:
            if turn.done():
                self._held -= nbytes  # it was let in at the moment when it gave up
            else:
                self._waiting.remove((nbytes, turn))
            self._admit()
            if isinstance(error, TimeoutError):
                raise HTTPRefusal(503, "too many bytes are under way; ask again in a moment", AGAIN) from error
            raise

    def _admit(self) -> None:
        while self._waiting and self._fits(self._waiting[0][0]):
            nbytes, turn = self._waiting.popleft()
            self._held += nbytes
            turn.set_result(None)


def check_size(path: str, headers: list[tuple[bytes, bytes]]) -> None:
    """Raises `HTTPRefusal` for a request that is larger than any that a client of ours makes."""
    if len(path) > MOST_PATH:
        raise HTTPRefusal(414, f"the path is longer than {MOST_PATH} characters")
    if len(headers) > MOST_HEADERS or sum(len(k) + len(v) for k, v in headers) > MOST_HEADER_BYTES:
        raise HTTPRefusal(431, f"more than {MOST_HEADERS} headers, or {MOST_HEADER_BYTES} bytes of them")
