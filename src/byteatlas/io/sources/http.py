"""Files on web servers. Every answer is checked before its bytes count: status, place, length, and the file's stamp.

The session, with the caller's options, is the one of fsspec's HTTP file system; the requests are made here, since what
an answer says of itself (RFC 9110 14.4: Content-Range; 8.8: ETag, Last-Modified; 15: status) tells data from the page
of a proxy, from a file that was replaced meanwhile, and from an outage.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.retry import Retry
from byteatlas.io.source import SourceRecord
from byteatlas.io.sources.answers import (
    MOST_BEFORE,
    check_no_page,
    check_part,
    check_whole,
    facts_of_answer,
    is_labelled_page,
    wait_of,
    within_file,
)
from byteatlas.io.sources.faults import GONE, backend_errors, failure, status_failure
from byteatlas.io.sources.filesystem import LivingFileSystem
from byteatlas.io.sources.option_names import unsuitable
from byteatlas.io.stamp import learned
from byteatlas.io.traffic.traffic import Meter, Traffic
from byteatlas.io.urls import WEB, place, protocol_of
from byteatlas.types import Buffer, ByteRange

T = TypeVar("T")
MayFollow = Callable[[str, str], None]
"""Raises `Forbidden` when a server may not send us from the first URL to the second one."""
HOPS = 10
"""Redirects that one request follows."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MOST_WHOLE = 1 << 30
"""Bytes of a file that is read whole, because its server gives no parts or does not say how long it is."""
AT_ONCE = 64
"""Requests to one server under way at a time."""
PRIVATE = ("headers", "auth", "cookies", "cookie_jar", "connector", "connector_owner", "base_url")
"""Options of a session that are for the server that the caller named: they hold credentials."""
IN_URLS = "!#$%&'()*+,/:;=?@[]~"
"""Characters that stay as they are in a URL that was given as a whole (RFC 3986 2)."""
PLAIN = {"Accept-Encoding": "identity"}


class HttpSource:
    """One file on a web server."""

    __slots__ = (
        "_facts", "_follow", "_gate", "_gives_parts", "_is_no_page", "_living", "_retry", "_url", "_whole", "meter",
    )  # fmt: skip

    def __init__(
        self, fs: LivingFileSystem, url: str, *, follow: MayFollow, retry: Retry, meter: Meter | None = None
    ) -> None:
        self._living, self._url, self._follow, self._retry = fs, url, follow, retry
        self.meter = meter or Traffic().meter(url)
        self._facts = SourceRecord()
        self._gives_parts = self._is_no_page = False
        self._whole: bytes | None = None
        self._gate: asyncio.Lock | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._living, self._url, self._follow, self._retry, self._facts, self.meter)

    @property
    def facts(self) -> SourceRecord:
        """What the answers so far have said of the file. It is asked for nothing."""
        return self._facts

    @property
    def url(self) -> str:
        return self._url

    def size(self) -> int:
        if self._facts.size is None:
            self._run(self._look())
        if self._facts.size is None:  # nobody says: the file itself does
            self._run(self._all())
        assert self._facts.size is not None
        return self._facts.size

    def stamp(self) -> str | None:
        """The etag or modification time of the answers so far; asks when there were none."""
        if self._facts == SourceRecord():
            self._run(self._look())
        return self._facts.stamp

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        answers = self.attempt(ranges, self._retry.deadline)
        failed = next((a for a in answers if isinstance(a, FetchFailed)), None)
        if failed is not None:
            raise failed
        return [a for a in answers if not isinstance(a, FetchFailed)]

    def attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[Buffer | FetchFailed]:
        """The bytes of each range, or why there are none; in at most so many seconds."""
        for where in ranges:
            if where.offset < 0 or where.length < 0:
                raise FetchFailed(self._url, "a negative range", where)
        if not ranges:
            return []

        async def every() -> list[Buffer | FetchFailed]:
            gate = asyncio.Semaphore(AT_ONCE)
            tasks = [asyncio.ensure_future(self._part(where, gate)) for where in ranges]
            done, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
            why = f"no answer within {seconds:.0f} s"
            return [
                t.result() if t in done else FetchFailed(self._url, why, r, transient=True)
                for t, r in zip(tasks, ranges, strict=True)
            ]

        return self._sync(every())

    def read_all(self) -> Buffer:
        return self._run(self._all())

    def first(self, most: int) -> Buffer:
        """The first bytes, at most so many; most servers say with them how large the file is."""
        return self._run(self._first(most))

    async def _first(self, most: int) -> Buffer:
        where = ByteRange(0, most)
        async with self._answer("GET", {"Range": f"bytes=0-{most - 1}", **PLAIN}) as answer:
            if answer.status == 206:
                where = within_file(answer.headers, where)
                self._learn(check_part(self._url, answer.headers, where), parts=True)
                data = await _body(self._url, answer, where.length, where)
                check_no_page(self._url, answer.headers, data, where)
                self._is_no_page = True
                return data
            self._refuse(answer, where)
        return (await self._all())[:most]

    def _run(self, work: Awaitable[T]) -> T:
        async def within() -> T:
            return await asyncio.wait_for(work, self._retry.deadline)

        try:
            return self._sync(within())
        except ByteatlasError:
            raise
        except backend_errors() as error:
            raise failure(self._url, error) from error

    def _sync(self, work: Awaitable[T]) -> T:
        from fsspec.asyn import sync

        async def run() -> T:
            return await work

        found: T = sync(self._living().loop, run)
        return found

    async def _part(self, where: ByteRange, gate: asyncio.Semaphore) -> Buffer | FetchFailed:
        if not where.length:
            return b""
        try:
            async with gate:
                return await self._fetched(where)
        except FetchFailed as error:
            return error.located(range=where)
        except ByteatlasError:
            raise
        except backend_errors() as error:
            return failure(self._url, error, where)

    async def _fetched(self, where: ByteRange) -> Buffer:
        if self._whole is None:
            async with self._answer("GET", {"Range": f"bytes={where.offset}-{where.end - 1}", **PLAIN}) as answer:
                if answer.status == 206:
                    found = check_part(self._url, answer.headers, where)
                    if is_labelled_page(answer.headers) and not self._is_no_page:
                        await self._check_begin(where)
                    self._learn(found, parts=True)
                    return await _body(self._url, answer, where.length, where)
                self._refuse(answer, where)
                if self._gives_parts:
                    why = "the server answered with something whole where it used to answer with parts"
                    raise FetchFailed(self._url, why, where, transient=True)
            await self._all()
        assert self._whole is not None
        if where.end > len(self._whole):
            raise FetchFailed(self._url, f"the file has only {len(self._whole)} bytes", where)
        return self._whole[where.offset : where.end]

    async def _check_begin(self, where: ByteRange) -> None:
        """Look at the first bytes of what is said to be a web page. Raises `FetchFailed` when it is one."""
        async with self._answer("GET", {"Range": f"bytes=0-{MOST_BEFORE - 1}", **PLAIN}) as answer:
            if answer.status not in (200, 206):
                self._refuse(answer, where)
            check_no_page(self._url, answer.headers, await answer.content.read(MOST_BEFORE), where)
        self._is_no_page = True

    async def _all(self) -> bytes:
        """The whole file, kept: whoever needs it needs it again."""
        self._gate = self._gate or asyncio.Lock()
        async with self._gate:
            if self._whole is not None:
                return self._whole
            async with self._answer("GET", PLAIN) as answer:
                self._refuse(answer, None)
                size = check_whole(self._url, answer.headers, self._facts, MOST_WHOLE)
                data = await _body(self._url, answer, size, None)
                check_no_page(self._url, answer.headers, data)
                self._learn(SourceRecord(len(data), facts_of_answer(answer.headers).stamp))
                self._whole = data
                return data

    async def _look(self) -> None:
        """Size and stamp: by HEAD, or by a first byte where the server knows no HEAD."""
        async with self._answer("HEAD", PLAIN) as answer:
            if answer.status == 200 and "Content-Encoding" not in answer.headers:
                found = facts_of_answer(answer.headers)
                if found.size:  # 0 is also what servers say that do not know
                    self._learn(found)
                    return
            elif answer.status in (404, 410):
                self._refuse(answer, None)
        async with self._answer("GET", {"Range": "bytes=0-0", **PLAIN}) as answer:
            if answer.status == 416 or answer.headers.get("Content-Range", "").endswith("/0"):  # empty: no first byte
                await self._all()
                return
            if answer.status == 206:
                self._learn(check_part(self._url, answer.headers, ByteRange(0, 1)), parts=True)
                return
            self._refuse(answer, None)
            if "Content-Encoding" not in answer.headers:
                self._learn(facts_of_answer(answer.headers))

    def _learn(self, found: SourceRecord, *, parts: bool = False) -> None:
        """Raises `SourceChanged` for an answer about another file than the earlier ones."""
        self._facts = learned(self._url, self._facts, found)
        self._gives_parts = self._gives_parts or parts

    def _refuse(self, answer: Any, where: ByteRange | None) -> None:
        """Raise unless the answer is the file."""
        if answer.status == 416 and where is not None:
            raise FetchFailed(self._url, "the range lies beyond the end of the file", where)
        if answer.status in GONE and not _is_of(self._url, answer.url):
            why = f"{answer.url.origin()}, which the server sends us to, answered {answer.status}"
            raise FetchFailed(self._url, f"{why}: that does not say that the file itself is absent", where)
        if answer.status != 200:
            raise status_failure(self._url, answer.status, answer.reason or "", where, wait_of(answer.headers))

    @asynccontextmanager
    async def _answer(self, method: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
        """The answer to a request; redirects are checked hop by hop, and credentials stay with their server."""
        from urllib.parse import quote, urljoin

        from aiohttp import ClientTimeout

        fs = self._living()
        url, encoded = fs._strip_protocol(self._url), fs.encoded
        idle = self._retry.idle
        for _ in range(HOPS):
            given = {k: v for k, v in fs.kwargs.items() if k not in ("headers", "timeout", "allow_redirects")}
            sent = {**(fs.kwargs.get("headers") or {}), **headers}
            try:
                session = await fs.set_session()
            except TypeError as error:
                raise unsuitable(url, error) from error
            limits = ClientTimeout(total=None, sock_connect=idle, sock_read=idle)
            target = _url(url, encoded)
            asked = session.request(method, target, headers=sent, allow_redirects=False, timeout=limits, **given)
            with self.meter.request(url, method) as trip:
                try:
                    begun = await asked
                except TypeError as error:  # an option that aiohttp looks at when it is used
                    raise unsuitable(url, error) from error
                async with begun as answer:
                    trip.answered()
                    where = answer.headers.get("Location") if answer.status in REDIRECTS else None
                    try:
                        if where is None:
                            yield answer
                            return
                    finally:
                        trip.fetched = answer.content.total_bytes
            following = quote(urljoin(url, where), IN_URLS, errors="surrogateescape")  # some send spaces
            if protocol_of(following) not in WEB:
                raise FetchFailed(self._url, "the server sends us to something that is no web page")
            self._follow(self._url, following)
            if not _same_server(url, following):
                fs = _without_credentials(fs)
            url, encoded = following, True
        raise FetchFailed(self._url, f"more than {HOPS} redirects")


def _again(
    fs: LivingFileSystem, url: str, follow: MayFollow, retry: Retry, facts: SourceRecord, meter: Meter
) -> HttpSource:
    made = HttpSource(fs, url, follow=follow, retry=retry, meter=meter)
    made._learn(facts)
    return made


def _url(url: str, encoded: bool) -> Any:
    from yarl import URL

    return URL(url, encoded=encoded)


def _is_of(url: str, answered: Any) -> bool:
    """Whether an answer from where we were sent speaks of the file that was asked for.

    Storage behind a server keeps its name (signed URLs of S3, mirrors, the same server with encryption); pages to log
    in and portals have names of their own, and their "not found" says nothing of the file.
    """
    asked = _url(url, False)
    return place(url) == place(str(answered)) or _name(asked) == _name(answered)


def _name(url: Any) -> str:
    return str(url.path).rstrip("/").rpartition("/")[2]


def _same_server(one: str, other: str) -> bool:
    """Whether the second URL may see what the first one's server was given: the same, or the same with encryption."""
    a, b = place(one), place(other)
    return a == b or (a.partition("://")[0] == "http" and b == "https" + a[len("http") :])


def _without_credentials(fs: Any) -> Any:
    options = {k: v for k, v in fs.client_kwargs.items() if k not in PRIVATE}
    return type(fs)(client_kwargs=options, get_client=fs.get_client, encoded=True)


async def _body(url: str, answer: Any, length: int | None, where: ByteRange | None) -> bytes:
    """The bytes of an answer: exactly so many where that is known, in no case more than a bound."""
    most = MOST_WHOLE if length is None else length
    parts, total = [], 0
    async for part in answer.content.iter_any():
        total += len(part)
        if total > most:
            raise FetchFailed(url, f"more than {most} bytes came back", where)
        parts.append(part)
    if length is not None and total < length:
        raise FetchFailed(url, f"only {total} of {length} bytes came back", where, transient=True)
    return parts[0] if len(parts) == 1 else b"".join(parts)
