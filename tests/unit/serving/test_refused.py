"""Refusals of the server: hostile requests by status and sentence, options and targets by class and words."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.archives import small_archive
from tests.documents import zarray
from tests.serving import get

import byteatlas as ba
from byteatlas.errors import BadRequest, FetchFailed, MissingExtra, Unsupported
from byteatlas.serving import ServeOptions, app, running
from byteatlas.serving.application import MapServer
from byteatlas.serving.bodies import stored_body
from byteatlas.serving.limits import MOST_HEADER_BYTES, MOST_HEADERS, Room
from byteatlas.values import replace


@pytest.fixture(scope="module")
def server() -> MapServer:
    return app({"sea": str(small_archive()[0])})


def scope(path: str = "/sea/v2/.zgroup", **changes: Any) -> dict[str, Any]:
    headers = [(b"host", b"localhost")]
    return {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": headers, **changes}


def answered(server: MapServer, asked: Mapping[str, Any]) -> tuple[int, str]:
    """Status and text of the answer to one request, as it comes from an ASGI server."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    asyncio.run(server(dict(asked), receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


HOST = [(b"host", b"localhost")]
HOSTILE: Mapping[str, tuple[dict[str, Any], int, str]] = {
    "long path": (scope("/" + "a" * 4096), 414, "the path is longer than 4096 characters"),
    "long query": (scope(query_string=b"a" * 4097), 414, "the query is longer than 4096 characters"),
    "many headers": (
        scope(headers=HOST + [(b"x", b"1")] * MOST_HEADERS), 431, "more than 100 headers, or 16384 bytes of them"),
    "large headers": (
        scope(headers=[*HOST, (b"x", b"a" * MOST_HEADER_BYTES)]), 431, "more than 100 headers, or 16384 bytes of them"),
    "NUL": (scope("/sea/\0"), 400, "the path has characters that no path here has"),
    "line break": (scope("/sea/v2/\r\nSet-Cookie: a"), 400, "the path has characters that no path here has"),
    "backslash": (scope("/sea\\..\\x"), 400, "the path has characters that no path here has"),
    "not UTF-8": (scope("/sea/\ufffd"), 400, "the path has characters that no path here has"),
    "dots": (scope("/sea/v2/../../etc/passwd"), 400, "the path has empty segments, or segments of dots"),
    "one dot": (scope("/sea/./v2"), 400, "the path has empty segments, or segments of dots"),
    "empty segment": (scope("/sea//v2"), 400, "the path has empty segments, or segments of dots"),
    "content": (
        scope(headers=[*HOST, (b"content-length", b"1")]), 413, "requests here have no content"),
    "chunked": (
        scope(headers=[*HOST, (b"transfer-encoding", b"chunked")]), 413, "requests here have no content"),
    "other name": (scope("/land/v2/.zgroup"), 404, "nothing is served under this name"),
    "other version": (scope("/sea/v4/.zgroup"), 404, "there is no such thing here; v2/, v3/ and refs.json are"),
    "folder": (scope("/sea/v2/"), 404, "there is no such thing here; v2/, v3/ and refs.json are"),
    "look": (scope("/sea/look", query_string=b"array=sst&at=x"), 400, "this request makes no sense for the array"),
    "look at -1": (scope("/sea/look", query_string=b"array=sst&at=-1"), 400, "makes no sense for the array"),
    "look at much": (
        scope("/sea/look", query_string=b"array=sst&at=" + b"9" * 19), 400, "makes no sense for the array"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_requests(server: MapServer, name: str) -> None:
    asked, status, words = HOSTILE[name]
    found = answered(server, asked)
    assert found[0] == status
    assert words in found[1]
    assert answered(server, scope())[0] == 200, "it goes on"


def test_what_is_just_short_enough(server: MapServer) -> None:
    assert answered(server, scope("/" + "a" * 4095))[0] == 404
    assert answered(server, scope(query_string=b"a" * 4096))[0] == 200
    assert answered(server, scope(headers=HOST + [(b"x", b"1")] * (MOST_HEADERS - 1)))[0] == 200
    left = MOST_HEADER_BYTES - len(b"hostlocalhostx")
    assert answered(server, scope(headers=[*HOST, (b"x", b"a" * left)]))[0] == 200
    assert answered(server, scope(headers=[*HOST, (b"content-length", b"0")]))[0] == 200


def test_names_under_which_it_is_asked() -> None:
    server = app({"sea": str(small_archive()[0])}, options=ServeOptions(hosts=("localhost",)))
    for host, status in (("localhost", 200), ("LOCALHOST:8000", 200), ("attacker.org", 421), ("", 421)):
        found = answered(server, scope(headers=[(b"host", host.encode())]))
        assert found[0] == status, host
    assert answered(server, scope(headers=[]))[1].find("this server is not asked under that name") >= 0


def test_an_answer_that_breaks_off_is_no_whole_answer(server: MapServer) -> None:
    """The connection is cut: a client must not take the beginning for all of it."""
    count = 0

    async def send(message: Any) -> None:
        nonlocal count
        count += 1
        if count > 1:
            raise OSError("gone")

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    with pytest.raises(ConnectionAbortedError, match="an answer could not be finished"):
        asyncio.run(server(scope(), receive, send))


def test_who_gives_up_waiting_leaves_no_trace() -> None:
    async def go() -> None:
        room = Room(ServeOptions(most_bytes=10, timeout=60))

        async def wait() -> None:
            async with room.holding(8):
                raise AssertionError("there was no room")

        async with room.holding(8):
            waiting = asyncio.create_task(wait())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        async with room.holding(10):  # all of it is free again
            pass

    asyncio.run(go())


POSITIVE = ("most_requests", "most_per_client", "most_bytes", "most_chunk", "threads", "timeout")
OPTIONS: Mapping[str, tuple[float, str]] = {
    **dict.fromkeys(POSITIVE, (0, "a number above 0 was expected")),
    **dict.fromkeys(("cache_bytes", "max_age", "most_references"), (-1, "0 or more was expected")),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_limits_that_are_none(name: str) -> None:
    value, words = OPTIONS[name]
    make: Callable[..., ServeOptions] = ServeOptions
    with pytest.raises(BadRequest) as refused:
        make(**{name: value})
    assert str(refused.value) == f"{name} is {value}; {words}"
    assert getattr(make(**{name: 1}), name) == 1


def test_options_of_another_kind() -> None:
    wrong: Any = {"threads": 3}
    with pytest.raises(BadRequest) as refused:
        app({"sea": str(small_archive()[0])}, options=wrong)
    assert str(refused.value) == "options is dict, ServeOptions was expected"


def test_references_that_are_not_for_others(tmp_path: Path) -> None:
    """Something from elsewhere named a file of this machine: it may be named to clients, and is written into no map."""
    path = tmp_path / "a.bin"
    references = {".zgroup": '{"zarr_format": 2}', "x/.zarray": json.dumps(zarray([2], [2])), "x/0": [str(path), 0, 8]}
    node = ba.load(references)
    assert isinstance(node, ba.VirtualGroup)
    columns = node.arrays["x"].manifest.load()
    options = ServeOptions(naming=ba.Policy(allow=[str(tmp_path)]))
    for foreign, status in ((False, 200), (True, 403)):
        sources = tuple(replace(info, foreign=foreign) for info in columns.sources)
        array = replace(node.arrays["x"], manifest=replace(columns, sources=sources))
        answer = get(app({"a": replace(node, arrays={"x": array})}, options=options), "/a/refs.json")
        assert answer.status_code == status
    assert "these references cannot be written down for others" in answer.text
    assert str(tmp_path) not in answer.text


def test_chunks_that_lie_elsewhere() -> None:
    """Sources of a kind that the server does not know."""

    class Elsewhere:
        sources = object()

        def locate(self, _: object) -> Any:
            return SimpleNamespace(source=np.zeros(1, np.int32), sources=self.sources)

    array: Any = SimpleNamespace(locator=Elsewhere())
    with pytest.raises(Unsupported) as refused:
        stored_body(array, 0)
    assert (refused.value.reason, refused.value.detail) == (
        "layout", "chunks that lie in something else than a file or a store")  # fmt: skip


def test_addresses_at_which_nobody_can_listen() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BadRequest, match=f"^cannot listen at 127.0.0.1, port {port}: "):
            running.listen("127.0.0.1", port)
    for host in ("\udcff", "a" * 300 + ".org", "a..b"):
        with pytest.raises(BadRequest, match=r"^host is '.*; the name or address of a host was expected$"):
            running.listen(host, 0)
    for port in (-1, 1 << 16):
        with pytest.raises(BadRequest, match=f"^port is {port}; a whole number from 0 to 65535 was expected$"):
            running.listen("127.0.0.1", port)


def test_without_uvicorn(server: MapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with socket.socket() as unused, pytest.raises(MissingExtra) as refused:
        running.run(server, running.Listening(unused, "http://127.0.0.1:1/"))
    assert "byteatlas[serve]" in str(refused.value)


def test_a_server_that_does_not_start(server: MapServer, monkeypatch: pytest.MonkeyPatch) -> None:
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
    with socket.socket() as unused, pytest.raises(FetchFailed) as refused:
        running.run(server, running.Listening(unused, "http://127.0.0.1:1/"))
    assert str(refused.value).startswith("http://127.0.0.1:1/: the server could not start")
