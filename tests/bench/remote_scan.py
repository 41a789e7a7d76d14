"""Scanning over HTTP on this machine, with 30 ms for every request: rounds, requests, bytes and wall time.

A round is the requests that begin before the first of them ends: what latency costs is rounds, not requests. A busy
machine sends requests late and so splits rounds; the smallest number seen counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.bench.report import Row
from tests.bench.scan import typical

LATENCY = 0.03
PEERS = ("byteatlas", "kerchunk, default", "kerchunk, blockcache", "VirtualiZarr")

SERVER = """
import http.server, sys, threading, time, json
from pathlib import Path
data = {"/" + Path(p).name: Path(p).read_bytes() for p in sys.argv[2:]}
latency, log, lock = float(sys.argv[1]), [], threading.Lock()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_HEAD(self): self.answer(False)
    def do_GET(self): self.answer(True)
    def log_message(self, *args): pass
    def answer(self, body):
        if self.path == "/log":
            return self.send(json.dumps(log).encode(), 200, True)
        if self.path == "/clear":
            log.clear()
            return self.send(b"", 200, True)
        begin = time.perf_counter()
        time.sleep(latency)
        found, wanted = data.get(self.path), self.headers.get("Range")
        if found is None:
            return self.send(b"", 404, True)
        part, status, extra = found, 200, {}
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else len(found) - int(last)
            end = min(int(last) + 1 if first and last else len(found), len(found))
            part, status = found[start:end], 206
            extra = {"Content-Range": f"bytes {start}-{end - 1}/{len(found)}"}
        with lock:
            log.append([begin, time.perf_counter(), len(part) if body else 0])
        self.send(part, status, body, extra)
    def send(self, part, status, body, extra={}):
        self.send_response(status)
        for name, value in {"Content-Length": len(part), "Accept-Ranges": "bytes", **extra}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if body:
            self.wfile.write(part)
class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads = 256, True
server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""

CHILD = """
import sys, time, json
job, url = sys.argv[1:]
if job == "byteatlas":
    import byteatlas as ba
    import aiohttp
    from byteatlas.scanning.plugins import installed
    dict(installed()), ba.scan
    def run():
        ba.scan(url)
elif job.startswith("kerchunk"):
    import fsspec
    from kerchunk.hdf import SingleHdf5ToZarr
    options = {"cache_type": "blockcache"} if job.endswith("blockcache") else {}
    def run():
        with fsspec.open(url, **options) as file:
            SingleHdf5ToZarr(file, url, inline_threshold=0).translate()
else:
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import HTTPStore
    from virtualizarr.parsers import HDFParser
    base = url.rpartition("/")[0]
    store = HTTPStore.from_url(base, client_options={"allow_http": True})
    registry = ObjectStoreRegistry({base: store})
    def run():
        HDFParser()(url, registry)
begin = time.perf_counter()
run()
print(json.dumps(time.perf_counter() - begin))
"""


def rounds_of(log: Sequence[list[float]]) -> int:
    """Requests that overlap in time are one round.

    >>> rounds_of([[0, 3, 1], [1, 2, 1], [4, 5, 1]])
    2
    """
    count, until = 0, float("-inf")
    for begin, end, _ in sorted(log):
        if begin > until:  # everybody that began before the first one ended belongs to its round
            count, until = count + 1, end
    return count


class Web:
    """The server, as a process of its own: its work must not take the clients' processor time."""

    def __init__(self, files: Sequence[Path], latency: float) -> None:
        command = [sys.executable, "-c", SERVER, str(latency), *map(str, files)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.base = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def ask(self, what: str) -> bytes:
        from urllib.request import urlopen

        with urlopen(f"{self.base}/{what}") as answer:
            return bytes(answer.read())

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """``rounds`` (3) can be chosen."""
    file = typical(folder, 1)[0]
    web = Web([file], LATENCY)
    walls: dict[str, list[float]] = {peer: [] for peer in PEERS}
    told: dict[str, tuple[int, str]] = {}
    try:
        for _ in range(scale.get("rounds", 3)):
            for peer in PEERS:
                web.ask("clear")
                command = [sys.executable, "-W", "ignore", "-c", CHILD, peer, f"{web.base}/{file.name}"]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"  {peer}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    walls[peer].append(float("nan"))
                    continue
                walls[peer].append(json.loads(done.stdout))
                log = json.loads(web.ask("log"))
                megabytes = sum(size for _, _, size in log) / 1e6
                count = rounds_of(log)
                text = f"{len(log)} requests in {count} rounds, {megabytes:.1f} MB"
                told[peer] = min(told.get(peer, (count, text)), (count, text))
    finally:
        web.close()
    base = statistics.median(walls["byteatlas"])
    size = file.stat().st_size / 1e6
    job = f"scan a netCDF-4 file of 24 variables over HTTP, {LATENCY * 1000:.0f} ms a request, {size:.1f} MB"
    return [
        Row(job, f"{p}: {told[p][1] if p in told else 'failed'}", statistics.median(w), base) for p, w in walls.items()
    ]
