"""Sources that fail on purpose, at one request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byteatlas.errors import FetchFailed
from byteatlas.io.source import Opener, Source
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

FAILURES: tuple[Callable[[str], Exception], ...] = (
    lambda url: FetchFailed(url, "injected: 503 Service Unavailable", transient=True),
    lambda url: TimeoutError("injected: timed out"),
    lambda url: ConnectionResetError("injected: connection reset by peer"),
)
"""What a request fails with, in turn. All of them say nothing of the files."""


@dataclass(slots=True)
class Trouble:
    """Counts requests; the one with the number ``at`` fails. None: none does."""

    at: int | None = None
    count: int = 0
    failed: ByteRange | None = None

    def request(self, url: str, where: ByteRange | None) -> None:
        """One more request. Raises when it is the one."""
        number, self.count = self.count, self.count + 1
        if number == self.at:
            self.failed = where
            raise FAILURES[number % len(FAILURES)](url)


@dataclass(frozen=True, slots=True)
class Faulty:
    """A source in which each range is a request. Sizes count where asking for them is part of the scan."""

    inner: Source
    trouble: Trouble
    counts_size: bool = False

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        if self.counts_size:
            self.trouble.request(self.url, None)
        return self.inner.size()

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        for where in ranges:
            self.trouble.request(self.url, where)
        return self.inner.read(ranges)

    def read_all(self) -> Buffer:
        self.trouble.request(self.url, None)
        return self.inner.read_all()


def faulty_opener(opener: Opener, trouble: Trouble) -> Opener:
    """The same opener; what it opens fails as its trouble says."""

    def opened(url: str) -> Source:
        return Faulty(opener(url), trouble, counts_size=True)

    return opened
