"""Hostile requests get 4xx, and too many of them 429 or 503."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from tests.archives import small_archive
from tests.serving import get, get_many, served

from byteatlas.serving import ServeOptions, app, limits
from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.limits import Gate, Room
from byteatlas.serving.options import LOOPBACK_HOSTS


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(str(small_archive()[0]), "--name", "sea") as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Any:
    return app({"sea": str(small_archive()[0])})


def raw(url: str, request: bytes) -> bytes:
    """The answer to bytes as they are; empty where the server hangs up."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=120) as connection:
        try:
            connection.sendall(request)
            answer = b""
            while more := connection.recv(65536):
                answer += more
        except ConnectionError:
            return b""
    return answer


def line(path: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", ""]).encode()


@pytest.mark.parametrize("path", [
    "/sea/v2/../../etc/passwd", "/sea/v2/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/sea/v2//sst/0.0.0", "//",
    "/sea/v2/sst/0.0.0%00", "/sea/v2/sst%5c0.0.0", "/sea/v2/sst/%ff%fe", "/sea/v2/sst/-1.0.0", "/sea/v2/sst/+0.0.0",
    "/sea/v2/sst/00.0.0", "/sea/v2/sst/0.0", "/sea/v2/sst/0.0.0.0", "/sea/v2/sst/99999999999999999999.0.0",
    "/sea/v2/sst/0.0.0/", "/sea/v4/zarr.json", "/nothing/v2/.zgroup", "/-/../page.css", "/-/secret", "/sea/%0d%0aX",
    "/sea/look?array=nope", "/sea/look?array=sst&at=9999", "/sea/look?array=sst&at=-1", "/sea/look?array=sst&at=1,2,3",
    "/sea/look?array=../x", "/" + "a" * 5000, "/sea/v2/" + "a/" * 1500, "/sea/v2/sst/" + ".".join("0" * 1000),
    "/sea/look?" + "a=1&" * 2000,
])  # fmt: skip
def test_hostile_paths(url: str, path: str) -> None:
    answer = raw(url, line(path))
    assert answer[:10] == b"HTTP/1.1 4", answer[:200]
    assert b"passwd" not in answer


@pytest.mark.parametrize("request_bytes", [
    line("/sea/", *[f"X-{i}: 1" for i in range(10_000)]), line("/sea/", "X: " + "a" * 10_000, "Y: " + "b" * 10_000),
    line("/sea/", "X: " + "a" * 1_000_000), line("/sea/", "Content-Length: 99999999999999", ),
    line("/sea/", "Content-Length: x"), line("/sea/", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
], ids=range(11))  # fmt: skip
def test_hostile_requests(url: str, request_bytes: bytes) -> None:
    answer = raw(url, request_bytes)
    assert answer[:10] in (b"HTTP/1.1 4", b""), answer[:200]
    assert raw(url, line("/sea/v2/.zgroup"))[:12] == b"HTTP/1.1 200", "it goes on"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "PROPFIND"])
def test_it_is_read_only(server: Any, method: str) -> None:
    answer = get(server, "/sea/v2/sst/0.0.0", method=method)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


def test_other_pages_may_read_it_where_that_is_allowed(server: Any) -> None:
    own = get(server, "/sea/v2/.zgroup", {"origin": "http://localhost:3000"})
    assert own.headers["access-control-allow-origin"] == "http://localhost:3000"
    for origin in ("https://elsewhere.org", "http://localhost.elsewhere.org", "null"):
        assert "access-control-allow-origin" not in get(server, "/sea/v2/.zgroup", {"origin": origin}).headers
    every = app({"sea": str(small_archive()[0])}, options=ServeOptions(origins=("*",)))
    preflight = get(every, "/sea/v2/.zgroup", {"origin": "https://elsewhere.org"}, "OPTIONS")
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, "*")
    assert "Range" in preflight.headers["access-control-allow-headers"]
    assert get(every, "/sea/v2/nothing", {"origin": "https://x.org"}).headers["access-control-allow-origin"] == "*"


def test_another_name_of_this_machine_is_refused(url: str) -> None:
    answer = raw(url, b"GET /sea/ HTTP/1.1\r\nHost: attacker.org\r\nConnection: close\r\n\r\n")
    assert answer[:12] == b"HTTP/1.1 421"
    assert LOOPBACK_HOSTS[0] == "localhost"


def test_too_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    def slow(*_: object) -> None:
        time.sleep(0.3)

    from byteatlas.serving import tree

    for options, status in ((ServeOptions(most_requests=3), 503), (ServeOptions(most_per_client=3), 429)):
        server = app({"sea": str(small_archive()[0])}, options=options)
        get(server, "/sea/v2/.zgroup")
        with monkeypatch.context() as patch:
            patch.setattr(tree.ServedTree, "chunk", slow)
            answers = get_many(server, ["/sea/v2/sst/0.0.0"] * 8)
        found = sorted(answer.status_code for answer in answers)
        assert found == [404] * 3 + [status] * 5
        assert all(answer.headers["retry-after"] for answer in answers if answer.status_code == status)
        assert get(server, "/sea/v2/sst/0.0.0").status_code == 200, "counted down again"


def test_a_refused_request_is_not_counted() -> None:
    gate = Gate(ServeOptions(most_requests=1))
    with gate.entered("a"):
        for _ in range(3):
            with pytest.raises(HTTPRefusal, match="under way"), gate.entered("b"):
                pass
    with gate.entered("b"):
        pass


def test_answers_wait_for_room_and_give_up() -> None:
    async def go() -> list[str]:
        room = Room(ServeOptions(most_bytes=10, timeout=0.2))
        said: list[str] = []

        async def one(name: str, nbytes: int, seconds: float) -> None:
            try:
                async with room.holding(nbytes):
                    said.append(name)
                    await asyncio.sleep(seconds)
            except HTTPRefusal as refused:
                said.append(f"{name} {refused.status}")

        await asyncio.gather(
            one("large", 100, 0.1), one("first", 6, 0.01), one("second", 4, 0.01), one("third", 1, 0.5)
        )
        await asyncio.gather(one("long", 10, 0.5), one("late", 10, 0.1))
        async with room.holding(10):
            said.append("empty")
        return said

    assert asyncio.run(go()) == ["large", "first", "second", "third", "long", "late 503", "empty"]


def scope_of(path: str, client: str) -> dict[str, Any]:
    host = [(b"host", b"localhost")]
    return {"type": "http", "method": "GET", "path": path, "headers": host, "client": (client, 1), "query_string": b""}


@pytest.mark.parametrize("stuck_at", ["http.response.start", "http.response.body"])
def test_slow_clients_leave_room_for_others(stuck_at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there is room for take nothing of their answers; one that asks afterwards gets its own."""
    monkeypatch.setattr(limits, "STALLED", 0.2)
    server = app({"sea": str(small_archive()[0])}, options=ServeOptions(most_bytes=64 << 20, timeout=600))
    get(server, "/sea/v2/.zgroup")
    sent: list[bytes] = []

    async def never(message: MutableMapping[str, Any]) -> None:
        if message["type"] == stuck_at:
            await asyncio.Event().wait()

    async def at_once(message: MutableMapping[str, Any]) -> None:
        sent.append(message.get("body", b""))

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def go() -> list[Any]:
        asked = (server(scope_of("/sea/v2/sst/0.0.0", f"10.0.0.{i}"), receive, never) for i in range(64))
        slow = [asyncio.ensure_future(one) for one in asked]
        while server._room._held < 64 << 20:
            await asyncio.sleep(0.01)
        await asyncio.wait_for(server(scope_of("/sea/v2/sst/0.0.0", "10.0.1.0"), receive, at_once), 60)
        for one in slow:
            one.cancel()
        return await asyncio.gather(*slow, return_exceptions=True)

    ends = asyncio.run(go())
    assert b"".join(sent) == get(server, "/sea/v2/sst/0.0.0").content
    assert any(isinstance(end, ConnectionAbortedError) for end in ends)
    assert server._room._held == 0


def test_slow_clients_have_time_where_nobody_waits() -> None:
    async def go() -> list[str]:
        room, said = Room(ServeOptions(most_bytes=10, timeout=0.3)), []
        async with room.holding(10) as held:
            async with room.taking():
                await asyncio.sleep(0.1)
                said.append("taken")
            with pytest.raises(TimeoutError):
                async with room.taking():
                    await asyncio.sleep(5)
            held.shrink(4)
            async with asyncio.timeout(1), room.holding(6):
                said.append("beside it")
        return said

    assert asyncio.run(go()) == ["taken", "beside it"]


def test_it_listens_on_this_machine_alone(tmp_path: Path) -> None:
    from byteatlas.serving.running import is_loopback

    assert [is_loopback(h) for h in ("127.0.0.1", "::1", "[::1]", "localhost", "0.0.0.0", "::", "example.org")] == [
        True, True, True, True, False, False, False,
    ]  # fmt: skip
