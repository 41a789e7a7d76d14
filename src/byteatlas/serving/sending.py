"""Answers as ASGI messages: conditions, ranges, the headers that all answers have, and bodies in parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from byteatlas.serving.bodies import Body
from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.naming import is_web, may_be_named
from byteatlas.serving.options import ServeOptions
from byteatlas.serving.requests import EXPOSED, METHODS, Asked, allowed_origin, differs, range_of, unchanged
from byteatlas.types import Buffer
from byteatlas.values import dataclass

PART = 1 << 20
"""Bytes that are read and sent at once: a client that reads slowly holds no more than that."""
SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": (
        "default-src 'none'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
}
Fetch: TypeAlias = Callable[[int, int], Awaitable[Any]]
Taking: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]
"""What is done in it ends in time, or with `TimeoutError`."""


class Outcome:
    """The way back to one client. ``started``: the status was sent, and cannot be taken back."""

    __slots__ = ("_send", "head", "request", "started")

    def __init__(self, send: Callable[[MutableMapping[str, Any]], Awaitable[None]], head: bool) -> None:
        self._send, self.head, self.started = send, head, False
        self.request: Asked | None = None

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        pairs = [(k.encode("latin-1"), v.encode("latin-1", "replace")) for k, v in headers.items()]
        self.started = True
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    async def part(self, data: Any, *, more: bool = False) -> None:
        body = data if isinstance(data, bytes) else bytes(data)
        await self._send({"type": "http.response.body", "body": body, "more_body": more})


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What is to be sent of a body: bytes ``[start, stop)``, of which the first part was read already."""

    status: int
    headers: Mapping[str, str]
    body: Body
    start: int = 0
    stop: int = 0
    first: Buffer = b""


def reply_to(request: Asked, body: Body, options: ServeOptions) -> Reply:
    """The answer to a request: a body, the part of it that is asked for, or that the client has it already.

    It reads the first part, and so may block: a source that does not answer is a 502, not a torn answer.

    Raises `HTTPRefusal` for a condition that does not hold and a range that is not there; what reading raises.
    """
    headers = _headers(request, body, options)
    if differs(request.headers, body.etag):
        raise HTTPRefusal(412, "what is there now has another ETag")
    if unchanged(request.headers, body.etag):
        return Reply(304, headers, body)
    if options.redirect and body.url is not None and may_be_named(body.url, options.naming) and is_web(body.url):
        return Reply(307, headers | {"location": body.url, "content-length": "0"}, body)
    wanted = range_of(request.headers, body.size, body.etag)
    start, stop = wanted or (0, body.size)
    if wanted is not None:
        headers["content-range"] = f"bytes {start}-{stop - 1}/{body.size}"
    headers |= {"content-length": str(stop - start), "content-type": body.media}
    status = 200 if wanted is None else 206
    if request.method == "HEAD" or start == stop:
        return Reply(status, headers, body)
    return Reply(status, headers, body, start, stop, body.read(start, min(start + PART, stop)))


async def send_reply(outcome: Outcome, reply: Reply, fetch: Fetch, taking: Taking) -> None:
    """Send it, reading as fast as the client takes it.

    Raises what reading raises, and `TimeoutError` for a client that takes nothing: the answer is torn then.
    """
    data, at = reply.first, reply.start + len(reply.first)
    async with taking():
        await outcome.start(reply.status, reply.headers)
        await outcome.part(data, more=at < reply.stop)
    while at < reply.stop:
        data = await fetch(at, min(at + PART, reply.stop))
        at += len(data)
        async with taking():
            await outcome.part(data, more=at < reply.stop)


def _headers(request: Asked, body: Body, options: ServeOptions) -> dict[str, str]:
    return {
        "etag": body.etag,
        "accept-ranges": "bytes",
        "cache-control": f"public, max-age={options.max_age}",
        **_cors(request, options),
        **SAFE,
    }


def _cors(request: Asked | None, options: ServeOptions) -> dict[str, str]:
    """Fetch standard, "HTTP responses": what pages of other origins may read."""
    allowed = allowed_origin(None if request is None else request.headers.get("origin"), options)
    found = {} if "*" in options.origins else {"vary": "Origin"}
    if allowed is None:
        return found
    return {**found, "access-control-allow-origin": allowed, "access-control-expose-headers": EXPOSED}


async def send_refusal(outcome: Outcome, refused: HTTPRefusal, options: ServeOptions) -> None:
    """A status code and a plain sentence; for a preflight what pages may ask."""
    headers = {**_cors(outcome.request, options), **SAFE, **refused.headers}
    if refused.status == 204:
        headers |= {"access-control-allow-methods": METHODS, "access-control-max-age": "600"}
        headers["access-control-allow-headers"] = "Range, If-None-Match, If-Match, If-Range, Cache-Control"
        await outcome.start(204, headers)
        await outcome.part(b"")
        return
    text = b"" if not refused.why else f"{refused.why}\n".encode()
    headers |= {"content-type": "text/plain; charset=utf-8", "content-length": str(len(text))}
    headers["cache-control"] = "no-store"
    await outcome.start(refused.status, headers)
    await outcome.part(b"" if outcome.head else text)
