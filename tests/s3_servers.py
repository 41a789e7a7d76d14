"""Object storage for tests: moto's S3, and a quick one of our own that can be slow and wrong on purpose.

moto is complete and takes milliseconds for each answer. Ours knows what reading, listing and conditional writing need,
and answers in less than a tenth of that, so that it can be measured against.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

KEY, SECRET = "AKIA-of-the-tests", "secret-of-the-tests"
Plan = Callable[[int, str, str], str | None]
"""For the number of a request, its method and path: the kind of fault, or None for a right answer."""
LONG_AGO = "Mon, 01 Jan 2024 00:00:00 GMT"
S3_PASSING = frozenset({
    "408", "425", "429", "500", "502", "503", "504", "SlowDown", "close", "reset", "cut", "cut head", "stall",
    "stall in body",
})  # fmt: skip
"""Kinds after which the same request may well work."""
S3_KINDS = (
    *sorted(S3_PASSING), "400", "401", "403", "409", "416", "507", "other etag", "other place", "whole", "other size",
    "no content-range", "broken content-range", "longer body", "shorter part", "html as 200", "gzip", "garbage",
    "redirect loop",
)  # fmt: skip


@dataclass
class Bucket:
    """A running server, and what is in its one bucket."""

    url: str
    name: str
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, float] = field(default_factory=dict)
    """When an object was put here by a request, in seconds; others are of long ago."""
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    plan: Plan = lambda number, method, path: None
    faulted: int = 0
    latency: float = 0.0
    region: str = "us-east-1"
    keys: set[str] | None = None
    """Access keys that are let in; None: everybody."""
    ignores_conditions: bool = False
    tokens: list[str | None] = field(default_factory=list)
    """The session token of each request."""

    def options(self, **more: Any) -> dict[str, Any]:
        """Storage options, as people write them for s3fs."""
        return {"key": KEY, "secret": SECRET, "endpoint_url": self.url, **more}

    def at(self, key: str) -> str:
        return f"s3://{self.name}/{key}"


@lru_cache(maxsize=4096)  # bytes remember their hash: the digest of a large object would cost more than the answer
def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


class _Protocol(asyncio.Protocol):
    """HTTP/1.1 with persistent connections; answers in the order of the requests."""

    def __init__(self, bucket: Bucket, connected: set[Any]) -> None:
        self.bucket, self.waiting, self.busy, self.connected = bucket, b"", False, connected
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.connected.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connected.discard(self.transport)

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        self._next()

    def _next(self) -> None:
        end = self.waiting.find(b"\r\n\r\n")
        if end < 0 or self.busy:
            return
        lines = self.waiting[:end].decode("latin-1").split("\r\n")
        headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines[1:])}
        length = int(headers.get("content-length", 0))
        if headers.get("expect") == "100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if len(self.waiting) < end + 4 + length:
            return
        body, self.waiting = self.waiting[end + 4 : end + 4 + length], self.waiting[end + 4 + length :]
        method, target, _ = lines[0].split(" ")
        self.busy = True
        asyncio.get_running_loop().call_later(self.bucket.latency, self._answer, method, target, headers, body)

    def _answer(self, method: str, target: str, headers: Mapping[str, str], body: bytes) -> None:
        if self.transport.is_closing():
            return
        number, parts = len(self.bucket.requests), urlsplit(target)
        path = unquote(parts.path)
        self.bucket.requests.append((method, path, headers.get("range")))
        self.bucket.tokens.append(headers.get("x-amz-security-token"))
        fault = self.bucket.plan(number, method, path)
        self.bucket.faulted += fault is not None
        if fault in ("close", "reset", "stall", "garbage", "cut head"):
            self._break(fault)
            return
        status, given, content = self._right(method, path, parse_qs(parts.query, True), headers, body)
        if fault is not None:
            status, given, content = _wrong(fault, status, given, content)
            given |= {"Location": target} if fault == "redirect loop" else {}
        text = f"HTTP/1.1 {status} X\r\n"
        given = {"Content-Length": str(len(content)), **given}
        text += "".join(f"{n}: {v}\r\n" for n, v in given.items()) + "\r\n"
        self.transport.write(text.encode() + (b"" if method == "HEAD" else content))
        if fault == "cut":
            self.transport.close()
        if fault == "stall in body":
            return
        self.busy = False
        self._next()

    def _break(self, fault: str) -> None:
        match fault:
            case "reset":
                self.transport.abort()
            case "close":
                self.transport.close()
            case "stall":
                pass
            case _:
                self.transport.write(b"HTTP/1.1 206 Part" if fault == "cut head" else b"\x00\x01 nothing known\r\n\r\n")
                self.transport.close()

    def _right(
        self, method: str, path: str, query: Mapping[str, list[str]], headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        bucket = self.bucket
        name, _, key = path.lstrip("/").partition("/")
        where = {"x-amz-bucket-region": bucket.region}
        if name != bucket.name:
            return _error(404, "NoSuchBucket")
        if not key and method == "HEAD":
            return 200, where, b""
        signed = headers.get("authorization", "")
        if f"/{bucket.region}/" not in signed and signed:
            return 301, where, _error(301, "PermanentRedirect")[2]
        if bucket.keys is not None and not any(f"Credential={k}/" in signed for k in bucket.keys):
            return _error(403, "AccessDenied")
        if not key:
            return 200, {}, _listing(bucket, query)
        data = bucket.objects.get(key)
        if method == "PUT":
            absent = headers.get("if-none-match") == "*" and data is not None
            if (absent or not _matches(data, headers.get("if-match"))) and not bucket.ignores_conditions:
                return _error(412, "PreconditionFailed")
            if "x-amz-copy-source" in headers:
                return self._copied(key, headers)
            bucket.objects[key], bucket.written[key] = body, time.time()
            return 200, {"ETag": _etag(body)}, b""
        if method == "DELETE":
            bucket.objects.pop(key, None)
            return 204, {}, b""
        if data is None:
            return _error(404, "NoSuchKey")
        if not _matches(data, headers.get("if-match")):
            return _error(412, "PreconditionFailed")
        changed = formatdate(bucket.written[key], usegmt=True) if key in bucket.written else LONG_AGO
        about = {"ETag": _etag(data), "Last-Modified": changed}
        if _matches(data, headers.get("if-none-match", "none")):
            return 304, about, b""
        span = headers.get("range", "").removeprefix("bytes=")
        if not span:
            return 200, {**about, "Content-Length": str(len(data))}, data
        first, _, last = span.partition("-")
        a, b = int(first), min(int(last) + 1 if last else len(data), len(data))
        if a >= len(data):
            return _error(416, "InvalidRange")
        return 206, {**about, "Content-Range": f"bytes {a}-{b - 1}/{len(data)}"}, data[a:b]

    def _copied(self, key: str, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
        name, _, source = unquote(headers["x-amz-copy-source"]).lstrip("/").partition("/")
        data = self.bucket.objects.get(source) if name == self.bucket.name else None
        if data is None:
            return _error(404, "NoSuchKey")
        if not _matches(data, headers.get("x-amz-copy-source-if-match")):
            return _error(412, "PreconditionFailed")
        self.bucket.objects[key], self.bucket.written[key] = data, time.time()
        return 200, {}, f"<CopyObjectResult><ETag>{escape(_etag(data))}</ETag></CopyObjectResult>".encode()


def _matches(data: bytes | None, given: str | None) -> bool:
    """Whether an object is the one that a condition names, with quotes or, as icechunk writes it, without."""
    return given is None or (data is not None and _etag(data).strip('"') == given.strip('"'))


def _error(status: int, code: str) -> tuple[int, dict[str, str], bytes]:
    return status, {}, f"<Error><Code>{code}</Code><Message>of the tests</Message></Error>".encode()


def _wrong(kind: str, status: int, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
    match kind:
        case "cut" | "stall in body":
            return status, {**headers, "Content-Length": str(len(body))}, body[: len(body) // 2]
        case "other etag":
            return status, {**headers, "ETag": '"other"'}, body
        case "other place":
            return status, {**headers, "Content-Range": f"bytes 1-{len(body)}/{1 << 20}"}, body
        case "whole":
            return 200, {k: v for k, v in headers.items() if k != "Content-Range"}, body
        case "other size":
            place = headers.get("Content-Range", "").partition("/")[0]
            return status, {**headers, "Content-Range": f"{place}/{1 << 40}"}, body
        case "no content-range":
            return status, {k: v for k, v in headers.items() if k != "Content-Range"}, body
        case "broken content-range":
            return status, {**headers, "Content-Range": "bytes from here on"}, body
        case "longer body":
            return status, {k: v for k, v in headers.items() if k != "Content-Length"}, body + b"more"
        case "shorter part":
            return status, {k: v for k, v in headers.items() if k != "Content-Length"}, body[:-1]
        case "html as 200":
            return 200, {"Content-Type": "text/html"}, b"<html>log in first</html>" * 3
        case "gzip":
            import gzip

            packed = gzip.compress(body)
            return status, {**headers, "Content-Encoding": "gzip", "Content-Length": str(len(packed))}, packed
        case "redirect loop":
            return 302, {}, b""
        case "SlowDown":
            return _error(503, "SlowDown")
        case _:
            return _error(int(kind), {"403": "AccessDenied", "503": "SlowDown"}.get(kind, "InternalError"))


def _listing(bucket: Bucket, query: Mapping[str, list[str]]) -> bytes:
    prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
    after = query.get("continuation-token", query.get("start-after", [""]))[0]
    most = int(query.get("max-keys", ["1000"])[0])
    names = sorted(k for k in bucket.objects if k.startswith(prefix) and k > after)
    below = [k[len(prefix) :].partition(delimiter) for k in names] if delimiter else []
    folders = {prefix + head + mark for head, mark, _ in below if mark}
    plain = [k for k in names if not any(k.startswith(f) for f in folders)]
    here, more = plain[:most], len(plain) > most
    items = "".join(
        f"<Contents><Key>{escape(k)}</Key><Size>{len(bucket.objects[k])}</Size><ETag>{escape(_etag(bucket.objects[k]))}"
        "</ETag><LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for k in here
    )
    items += "".join(f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in sorted(folders))
    token = f"<NextContinuationToken>{escape(here[-1])}</NextContinuationToken>" if more else ""
    text = f"<ListBucketResult><Name>{bucket.name}</Name><IsTruncated>{str(more).lower()}</IsTruncated>{token}{items}"
    return f"{text}<KeyCount>{len(here)}</KeyCount></ListBucketResult>".encode()


@contextmanager
def s3_subset(objects: Mapping[str, bytes] | None = None, *, latency: float = 0.0) -> Iterator[Bucket]:
    """Our own server, with one bucket, in a thread of this process."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    bucket, connected = Bucket("", "bucket", dict(objects or {}), latency=latency), set[Any]()

    async def start() -> asyncio.Server:
        return await loop.create_server(lambda: _Protocol(bucket, connected), "127.0.0.1", 0, backlog=512)

    server = asyncio.run_coroutine_threadsafe(start(), loop).result()
    bucket.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield bucket
    finally:

        async def stop() -> None:
            server.close()
            for transport in list(connected):
                transport.abort()
            loop.call_later(0.05, loop.stop)

        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        thread.join(5)
        loop.close()


@contextmanager
def moto_s3() -> Iterator[Bucket]:
    """moto's S3, in threads of this process. Its writes are made one after the other, as S3's are to one object."""
    import logging

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()
    bucket = Bucket("", "bucket")

    def one_by_one(environ: dict[str, Any], start: Any) -> Any:
        bucket.requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE")))
        if environ["REQUEST_METHOD"] == "GET":
            return app(environ, start)
        with lock:
            return app(environ, start)

    server = make_server("127.0.0.1", 0, one_by_one, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    bucket.url = f"http://127.0.0.1:{server.server_port}"
    try:
        boto_client(bucket).create_bucket(Bucket=bucket.name)
        yield bucket
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


def boto_client(bucket: Bucket) -> Any:
    import boto3

    return boto3.client(
        "s3", endpoint_url=bucket.url, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1"
    )
