"""A web server that misbehaves on purpose: each request may be answered wrongly, as a plan says."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

Plan = Callable[[int, str, str], str | None]
"""For the number of a request, its method and path: the kind of fault, or None for a right answer."""
STATUSES = {"400": 400, "401": 401, "403": 403, "408": 408, "416": 416, "425": 425, "429": 429, "500": 500, "502": 502,
            "503": 503, "504": 504, "507": 507, "204": 204, "304": 304}  # fmt: skip
PASSING = frozenset({
    "408", "425", "429", "500", "502", "503", "504", "reset", "close", "cut body", "cut head", "stall", "stall in body",
    "retry-after", "other place", "whole instead",
})  # fmt: skip
"""Kinds after which the same request may well work."""
LASTING = frozenset({
    "400", "401", "403", "416", "507", "204", "304", "no content-range", "broken content-range", "lying content-range",
    "longer body", "shorter part", "gzip", "portal", "portal of the right length", "other size", "other etag",
    "redirect loop", "redirect to a file", "garbage", "multipart", "html 404 as 200",
})  # fmt: skip
ABOUT_BYTES = frozenset({
    "cut body", "stall in body", "other place", "no content-range", "broken content-range", "lying content-range",
    "whole instead", "longer body", "shorter part", "gzip", "other size", "other etag", "multipart",
})  # fmt: skip
"""Kinds that need bytes to get wrong."""
KINDS = sorted(PASSING | LASTING)


@dataclass
class Faulty:
    """A running server."""

    url: str
    plan: Plan = lambda number, method, path: None
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    faulted: int = 0
    etag: str = '"one"'


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what this server is for."""


@contextmanager
def faulty(files: Mapping[str, bytes], *, stall: float = 5.0) -> Iterator[Faulty]:
    """Serve files by path. ``stall``: seconds for which a stalled answer hangs."""
    state = Faulty("")
    lock = threading.Lock()
    stopping = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._serve()

        def do_GET(self) -> None:
            self._serve()

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _serve(self) -> None:
            with lock:
                number = len(state.requests)
                state.requests.append((self.command, self.path, self.headers.get("Range")))
                kind = state.plan(number, self.command, self.path)
                state.faulted += kind is not None
            data = files.get(self.path)
            if kind is None and data is None:
                self._say(404, b"")
            elif kind is None:
                self._right(data or b"")
            elif data is None and kind in ABOUT_BYTES:
                self._say(404, b"")
            else:
                self._wrong(kind, data or b"")

        def _span(self, data: bytes) -> tuple[int, int] | None:
            wanted = self.headers.get("Range")
            if not wanted:
                return None
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else len(data) - int(last)
            return start, min(int(last) + 1, len(data)) if first and last else len(data)

        def _right(self, data: bytes, **other: Any) -> None:
            span = self._span(data)
            if span is None:
                self._say(200, other.get("body", data), {"ETag": other.get("etag", state.etag)})
                return
            a, b = span
            if a >= len(data):
                self._say(416, b"", {"Content-Range": f"bytes */{len(data)}"})
                return
            place = other.get("place", f"bytes {a}-{b - 1}/{other.get('total', len(data))}")
            headers = {"ETag": other.get("etag", state.etag)} | ({"Content-Range": place} if place else {})
            self._say(206, other.get("body", data[a:b]), headers)

        def _say(self, status: int, body: bytes, headers: Mapping[str, str] | None = None, length: int = -1) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) if length < 0 else length))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _hang(self) -> None:
            stopping.wait(stall)
            self._drop()

        def _drop(self, *, hard: bool = False) -> None:
            self.close_connection = True
            if hard:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            self.connection.close()

        def _wrong(self, kind: str, data: bytes) -> None:
            a, b = self._span(data) or (0, len(data))
            part = data[a:b]
            match kind:
                case _ if kind in STATUSES:
                    self._say(STATUSES[kind], b"" if kind in ("204", "304") else b"<html>no</html>")
                case "retry-after":
                    self._say(503, b"", {"Retry-After": "0"})
                case "reset":
                    self._drop(hard=True)
                case "close":
                    self._drop()
                case "cut head":
                    self.wfile.write(b"HTTP/1.1 206 Partial Cont")
                    self._drop()
                case "garbage":
                    self.wfile.write(b"\x00\x01\x02 nothing that a client knows\r\n\r\n")
                    self._drop()
                case "cut body" | "stall in body":
                    ranged = self.headers.get("Range") is not None
                    where = {"Content-Range": f"bytes {a}-{b - 1}/{len(data)}"} if ranged else {}
                    self._say(206 if ranged else 200, part[: len(part) // 2], where, len(part))
                    self.wfile.flush()
                    if kind == "stall in body":
                        stopping.wait(stall)
                    self._drop()
                case "stall":
                    self._hang()
                case "other place" if self.headers.get("Range") is None:
                    self._right(data)
                case "other place":
                    shifted = max(0, a - 7) if a else min(len(data) - 1, 7)
                    body = (data + data)[shifted : shifted + len(part)]
                    self._right(data, place=f"bytes {shifted}-{shifted + len(part) - 1}/{len(data)}", body=body)
                case "no content-range":
                    self._right(data, place="")
                case "broken content-range":
                    self._right(data, place="bytes from here on")
                case "lying content-range":
                    self._right(data, place=f"items {a}-{b - 1}/{len(data)}", body=bytes(len(part)))
                case "whole instead":
                    self._say(200, data, {"ETag": state.etag})
                case "longer body":
                    self._right(data, body=part + b"more")
                case "shorter part":
                    self._right(
                        data, place=f"bytes {a}-{max(a, b - 2)}/{len(data)}", body=part[: max(1, len(part) - 1)]
                    )
                case "gzip":
                    import gzip

                    self._say(206, gzip.compress(part), {
                        "Content-Encoding": "gzip", "Content-Range": f"bytes {a}-{b - 1}/{len(data)}"})  # fmt: skip
                case "portal" | "html 404 as 200":
                    self._say(200, b"<html>log in first</html>" * 3, {"Content-Type": "text/html"})
                case "portal of the right length":
                    self._say(200, b"<" * len(part), {"Content-Type": "text/html"})
                case "other size":
                    self._right(data, total=len(data) + 3)
                case "other etag":
                    self._right(data, etag='"another"', body=bytes(len(part)))
                case "redirect loop":
                    self._say(302, b"", {"Location": self.path})
                case "redirect to a file":
                    self._say(302, b"", {"Location": "file:///etc/hostname"})
                case "multipart":
                    self._say(206, part, {"Content-Type": "multipart/byteranges; boundary=x"})
                case _:
                    raise AssertionError(kind)

    server = _Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        stopping.set()
        server.shutdown()
        server.server_close()
        thread.join()


def once(at: int, kind: str) -> Plan:
    """One wrong answer: to the request with this number."""
    return lambda number, method, path: kind if number == at else None


def burst(at: int, count: int, kind: str) -> Plan:
    """Some wrong answers in a row."""
    return lambda number, method, path: kind if at <= number < at + count else None


def from_then_on(at: int, kind: str) -> Plan:
    """Wrong answers from one on."""
    return lambda number, method, path: kind if number >= at else None


def at_random(share: float, seed: int, kind: str) -> Plan:
    """A share of all requests is answered wrongly; which, the seed says."""
    import random

    draws = random.Random(seed)
    lock = threading.Lock()

    def plan(number: int, method: str, path: str) -> str | None:
        with lock:
            return kind if draws.random() < share else None

    return plan
