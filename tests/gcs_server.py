"""Google Cloud Storage for tests: as much of its XML API as reading, listing and conditional writing need.

Every state of an object has a generation, and ``x-goog-if-generation-match`` lets a write happen only if the object is
still in that state; 0: if there is none (Google, "XML API: request preconditions").
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


@dataclass
class GoogleBucket:
    """A running server, and what is in its one bucket: bytes and generation by name."""

    url: str
    name: str = "bucket"
    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    conditions: list[str | None] = field(default_factory=list)
    """The condition of each write."""
    generation: int = 1_700_000_000_000_000

    def options(self) -> dict[str, Any]:
        """Storage options, as people write them for gcsfs and a server that stands in for Google's."""
        return {"token": "anon", "endpoint_url": self.url}

    def at(self, key: str) -> str:
        return f"gs://{self.name}/{key}"


@contextmanager
def google_storage() -> Iterator[GoogleBucket]:
    """The server, in threads of this process."""
    bucket, lock = GoogleBucket(""), threading.Lock()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            key = unquote(parts.path).removeprefix(f"/{bucket.name}").lstrip("/")
            if not key:
                self._say(200, _listing(bucket, parse_qs(parts.query)))
                return
            with lock:
                found = bucket.objects.get(key)
            if found is None:
                self._say(404, b"<Error><Code>NoSuchKey</Code></Error>")
                return
            data, generation = found
            wanted = self.headers.get("Range")
            if wanted is None:
                self._say(200, data, generation)
                return
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            end = min(int(last) + 1 if last else len(data), len(data))
            self._say(206, data[int(first) : end], generation, f"bytes {first}-{end - 1}/{len(data)}")

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            key = unquote(self.path).removeprefix(f"/{bucket.name}/")
            condition = self.headers.get("x-goog-if-generation-match")
            with lock:
                bucket.conditions.append(condition)
                is_now = bucket.objects.get(key, (b"", 0))[1]
                overtaken = condition is not None and int(condition) != is_now
                if not overtaken:
                    bucket.generation += 1
                    bucket.objects[key] = body, bucket.generation
                    is_now = bucket.generation
            self._say(412 if overtaken else 200, b"", is_now)

        def do_DELETE(self) -> None:
            with lock:
                bucket.objects.pop(unquote(self.path).removeprefix(f"/{bucket.name}/"), None)
            self._say(204, b"")

        def _say(self, status: int, body: bytes, generation: int = 0, place: str | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
            if generation:
                self.send_header("ETag", f'"{generation:x}"')
                self.send_header("x-goog-generation", str(generation))
            if place is not None:
                self.send_header("Content-Range", place)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.request_queue_size = 256
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def _listing(bucket: GoogleBucket, query: dict[str, list[str]]) -> bytes:
    prefix = query.get("prefix", [""])[0]
    items = "".join(
        f"<Contents><Key>{escape(key)}</Key><Size>{len(data)}</Size><ETag>{generation:x}</ETag>"
        "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for key, (data, generation) in sorted(bucket.objects.items())
        if key.startswith(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()
