"""The ASGI application: from a request to an answer."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

from byteatlas.array import Group
from byteatlas.errors import BadRequest
from byteatlas.io.access import Access
from byteatlas.pages.rendering import environment
from byteatlas.serving.faults import HTTPRefusal, refusal_of
from byteatlas.serving.limits import Gate, Room
from byteatlas.serving.naming import check_name, distinct, short_name
from byteatlas.serving.options import ServeOptions
from byteatlas.serving.published import Published, Servable, publish
from byteatlas.serving.requests import METHODS, Asked, asked, check_host
from byteatlas.serving.routes import Library, Resource, find
from byteatlas.serving.sending import PART, Outcome, Reply, reply_to, send_refusal, send_reply

T = TypeVar("T")
ASGIScope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
LOG = logging.getLogger("byteatlas.serving")


def app(
    targets: Servable | Iterable[Servable] | Mapping[str, Servable],
    *,
    options: ServeOptions | None = None,
    access: Access | None = None,
) -> MapServer:
    """An ASGI application that serves maps, archives, stores and open arrays as Zarr versions 2 and 3.

    Each target NAME has ``/NAME/v2/`` and ``/NAME/v3/``, ``/NAME/refs.json`` and a page for people at ``/NAME/``. It
    runs under any ASGI server, and can be mounted below a path of another application.

    Args:
        targets: what `byteatlas.open` takes, or what it gives; several as a list, or with names as a dict.
        access: how their bytes may be reached; None = as virtual arrays were.

    Raises:
        MissingExtra: jinja2 is not installed (``pip install 'byteatlas[serve]'``).
        BadRequest: no targets, or a name that cannot be part of a path. What `byteatlas.open` raises.
    """
    environment()  # an extra that is missing is missed now, not by the first visitor
    options = options or ServeOptions()
    if not isinstance(options, ServeOptions):
        raise BadRequest(f"options is {type(options).__name__}, ServeOptions was expected")
    named = _named(targets)
    if not named:
        raise BadRequest("nothing to serve: give at least one map, archive or store")
    return MapServer({name: publish(name, target, options, access) for name, target in named.items()}, options)


def _named(targets: Any) -> dict[str, Servable]:
    if isinstance(targets, Mapping) and not _is_one(targets):
        return {check_name(str(name)): target for name, target in targets.items()}
    several = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    return dict(zip(distinct(short_name(_path_of(t)) for t in several), several, strict=True))


def _is_one(targets: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one target, with the keys of a store or of Kerchunk's references: a group is one, too."""
    ends = (".zgroup", ".zarray", ".zmetadata", "zarr.json")
    return isinstance(targets, Group) or "refs" in targets or any(str(key).endswith(ends) for key in targets)


def _path_of(target: object) -> str:
    return os.fspath(target) if isinstance(target, (str, os.PathLike)) else "data"


class MapServer:
    """Serves published trees. Made by `app`."""

    def __init__(self, published: Mapping[str, Published], options: ServeOptions) -> None:
        self.library = Library(published, options)
        self.options = options
        self._gate, self._room = Gate(options), Room(options)
        self._threads = ThreadPoolExecutor(options.threads, thread_name_prefix="byteatlas-serve")

    async def __call__(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "lifespan":
                await self._lifespan(receive, send)
            case "websocket":
                await send({"type": "websocket.close", "code": 1003})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                self._threads.shutdown(wait=False, cancel_futures=True)
                return

    async def _http(self, scope: ASGIScope, receive: Receive, send: Send) -> None:
        outcome = Outcome(send, scope["method"] == "HEAD")
        request: Asked | None = None
        try:
            request = asked(scope)
            outcome.request = request
            await self._limited(request, outcome)
        except Exception as error:  # each becomes an answer
            refused = refusal_of(error)
            if refused.status >= 500 and not isinstance(error, HTTPRefusal):
                LOG.warning("%s %s: %s: %s", scope["method"], scope["path"], type(error).__name__, error)
            if outcome.started:
                raise ConnectionAbortedError("an answer could not be finished") from error
            await send_refusal(outcome, refused, self.options)

    async def _limited(self, request: Asked, outcome: Outcome) -> None:
        check_host(request.headers, self.options)
        if request.method not in ("GET", "HEAD", "OPTIONS"):
            raise HTTPRefusal(405, "what is served here is read-only", {"allow": METHODS})
        if request.has_body:
            raise HTTPRefusal(413, "requests here have no content")
        with self._gate.entered(request.client):
            await self._answered(request, outcome)

    async def _answered(self, request: Asked, outcome: Outcome) -> None:
        if request.method == "OPTIONS":
            raise HTTPRefusal(204, "", {"allow": METHODS})
        found = find(self.library, request)
        async with self._room.holding(found.room) as held:
            if found.ready is not None:
                reply = reply_to(request, found.ready, self.options)
            else:
                reply = await self._in_thread(lambda: self._made(found, request))
            held.shrink(max(PART, reply.body.held))
            read = reply.body.read
            await send_reply(
                outcome, reply, lambda start, stop: self._in_thread(lambda: read(start, stop)), self._room.taking
            )

    def _made(self, found: Resource, request: Asked) -> Reply:
        body = found.make()
        if body is None:
            raise HTTPRefusal(404, "this chunk was never written: it reads as the fill value")
        return reply_to(request, body, self.options)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do this in a thread. Raises `TimeoutError` after the time that one answer may take."""
        task = asyncio.get_running_loop().run_in_executor(self._threads, work)
        return await asyncio.wait_for(task, self.options.timeout)
