"""A small web server with byte ranges that counts what it is asked: for tests of remote reading."""

from __future__ import annotations

import http.server
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Served:
    """A running server: where, and the (method, path, range header) of every request so far."""

    url: str
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)

    @property
    def gets(self) -> list[tuple[str, str, str | None]]:
        return [r for r in self.requests if r[0] == "GET"]


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


@contextmanager
def serve(
    files: Mapping[str, bytes], *, latency: float = 0.0, broken: frozenset[str] = frozenset(), etags: bool = False
) -> Iterator[Served]:
    """Serve files by path (``/a.bin``); those in ``broken`` answer 403. ``etags``: answers have one, of the content."""
    served = Served("")

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def log_message(self, format: str, *args: object) -> None:
            pass

        def _answer(self, *, body: bool) -> None:
            served.requests.append((self.command, self.path, self.headers.get("Range")))
            time.sleep(latency)
            data = files.get(self.path)
            if self.path in broken or data is None:
                self.send_response(403 if self.path in broken else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            wanted = self.headers.get("Range")
            part = data
            if wanted:
                first, _, last = wanted.removeprefix("bytes=").partition("-")
                start = int(first) if first else len(data) - int(last)
                stop = min(int(last) + 1, len(data)) if first and last else len(data)
                part = data[start:stop]
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(data)}")
            else:
                self.send_response(200)
            self.send_header("Content-Length", str(len(part)))
            self.send_header("Accept-Ranges", "bytes")
            if etags:
                self.send_header("ETag", f'"{zlib.crc32(data):x}"')
            self.end_headers()
            if body:
                self.wfile.write(part)

    server = _Server(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
