"""``byteatlas serve`` under load: chunks passed through and encoded again, 64 clients at once; memory.

The server is a process of its own; the clients are another one, with nothing but sockets. The peer is uvicorn with
starlette's StaticFiles, which sends files that hold just the same bytes.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from tests.bench.report import Row

CLIENTS = 64
PEER = """
import socket, sys, uvicorn
from starlette.staticfiles import StaticFiles
sock = socket.create_server(("127.0.0.1", 0), backlog=512)
print(f"http://127.0.0.1:{sock.getsockname()[1]}/", flush=True)
config = uvicorn.Config(StaticFiles(directory=sys.argv[1]), http="h11", log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[sock])
"""


@dataclass
class Load:
    """What the clients saw."""

    requests: int = 0
    bytes: int = 0
    seconds: float = 0.0


class Client(asyncio.Protocol):
    """One connection that asks for one thing after the other and counts what comes."""

    def __init__(self, paths: Iterator[str], load: Load, done: asyncio.Future[None]) -> None:
        self.paths, self.load, self.done = paths, load, done
        self.head, self.left = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        path = next(self.paths, None)
        if path is None:
            self.transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self.transport.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        if self.left == 0:
            self.head += data
            end = self.head.find(b"\r\n\r\n")
            if end < 0:
                return
            found = re.search(rb"content-length: (\d+)", self.head[:end].lower())
            if not self.head.startswith(b"HTTP/1.1 200") or found is None:
                self.done.set_exception(RuntimeError(self.head[:300].decode("latin-1")))
                self.transport.close()
                return
            self.left, data, self.head = int(found.group(1)), self.head[end + 4 :], b""
            self.load.bytes += self.left
        self.left -= len(data)
        if self.left == 0:
            self.load.requests += 1
            self.ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(exc or RuntimeError("the server closed the connection"))


def load_of(url: str, paths: Sequence[str], requests: int, clients: int = CLIENTS) -> Load:
    """Ask for so many of the paths, in turn, from so many connections. Raises for any answer but 200."""
    port = int(url.rstrip("/").rpartition(":")[2])

    async def go() -> Load:
        load, loop = Load(), asyncio.get_running_loop()
        each = iter(paths[i % len(paths)] for i in range(requests))
        dones = [loop.create_future() for _ in range(clients)]
        begin = time.perf_counter()
        for done in dones:
            await loop.create_connection(partial(Client, each, load, done), "127.0.0.1", port)
        await asyncio.gather(*dones)
        load.seconds = time.perf_counter() - begin
        return load

    return asyncio.run(go())


@contextmanager
def server(*command: str) -> Iterator[tuple[str, int]]:
    """A server's URL and process number."""
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://[\d.]+:\d+/", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield found.group(), process.pid
        finally:
            process.terminate()


def resident(pid: int) -> int:
    """Bytes of memory of a process; 0 where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmRSS:\s+(\d+)", text)
    return int(found.group(1)) * 1024 if found else 0


def archive(folder: Path) -> Path:
    """64 fields of 512 x 512, in chunks of 64 x 64 without shuffle and in chunks of a field with it."""
    import netCDF4

    path = folder / "serve.nc"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    smooth = (np.add.outer(np.sin(np.arange(512) / 40), np.cos(np.arange(512) / 50)) * 10 + 280).astype("f4")
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("time", 64), ("y", 512), ("x", 512)):
            file.createDimension(name, n)
        dims = ("time", "y", "x")
        small = file.createVariable("small", "f4", dims, zlib=True, shuffle=False, complevel=1, chunksizes=(1, 64, 64))
        large = file.createVariable("large", "f4", dims, zlib=True, shuffle=True, complevel=1, chunksizes=(1, 512, 512))
        for t in range(64):
            small[t] = large[t] = (smooth + rng.normal(0, 0.5, (512, 512))).round(1)
    return path


def static_copy(url: str, paths: Sequence[str], folder: Path) -> Path:
    """The same bytes as files, for the peer."""
    from urllib.request import urlopen

    for path in paths:
        target = folder / "static" / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        with urlopen(url.rstrip("/") + path) as answer:
            target.write_bytes(answer.read())
    return folder / "static"


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``requests`` (20,000) passed through, ``fields`` (640) encoded again, ``many`` (100,000) for the memory."""
    requests, fields, many = scale.get("requests", 20_000), scale.get("fields", 640), scale.get("many", 100_000)
    file = archive(folder)
    small = [f"/serve.nc/v2/small/{t}.{y}.{x}" for t in range(16) for y in range(8) for x in range(8)]
    large = [f"/serve.nc/v3/large/c/{t}/0/0" for t in range(64)]
    rows = []
    with server("-m", "byteatlas", "serve", str(file), "--port", "0", "--cache", "0B") as (url, pid):
        load_of(url, [*small[:200], *large[:4]], 500)
        peer_files = static_copy(url, small, folder)
        passed = load_of(url, small, requests)
        encoded = load_of(url, large, fields)
        before = resident(pid)
        load_of(url, small, many)
        grown = resident(pid) - before
    with server("-m", "byteatlas", "serve", str(file), "--port", "0", "--cache", "0B", "--compression", "lz4") as (
        url,
        _,
    ):
        load_of(url, large[:4], 100)
        faster = load_of(url, large, fields)
    with server("-c", PEER, str(peer_files)) as (url, _):
        load_of(url, small, 500)
        peer = load_of(url, small, requests)
    rate, megabytes = passed.requests / passed.seconds, fields * (1 << 20) / 1e6
    job = f"{requests:,} chunks of {passed.bytes // passed.requests:,} bytes, {CLIENTS} clients"
    rows.append(Row(job, "uvicorn, StaticFiles", peer.seconds, peer.seconds))
    rows.append(Row(job, f"byteatlas, passed through: {rate:,.0f} requests/s", passed.seconds, peer.seconds))
    job = f"{fields} chunks of 1 MiB decoded and encoded again, {CLIENTS} clients"
    for name, load in (("zstd", encoded), ("lz4", faster)):
        speed = f"{megabytes / load.seconds:,.0f} MB/s of values, {load.bytes / fields / 1e3:,.0f} kB each"
        rows.append(Row(job, f"byteatlas, {name}: {speed}", load.seconds, encoded.seconds))
    job = f"memory over {many:,} more requests"
    rows.append(Row(job, f"{before / 1e6:.0f} MB, then {grown / 1e6:+.1f} MB", 0.0, 1.0))
    return rows
