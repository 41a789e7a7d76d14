"""A web server at the end of a line: latency for each request, and a bandwidth that all answers share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SERVER = """
import http.server, sys, threading, time, json
from pathlib import Path
data = {"/" + Path(p).name: Path(p).read_bytes() for p in sys.argv[3:]}
latency, rate, log, lock = float(sys.argv[1]), float(sys.argv[2]), [], threading.Lock()
free, line = [0.0], threading.Lock()
PACKET = 16384
def wait_for_line(nbytes):
    if not rate:
        return
    with line:
        begin = max(time.perf_counter(), free[0])
        free[0] = begin + nbytes / rate
        until = free[0]
    time.sleep(max(0, until - time.perf_counter()))
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
        part, status, extra = memoryview(found), 200, {}
        if wanted:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start = int(first) if first else len(found) - int(last)
            end = min(int(last) + 1 if first and last else len(found), len(found))
            part, status = part[start:end], 206
            extra = {"Content-Range": f"bytes {start}-{end - 1}/{len(found)}"}
        with lock:
            log.append([begin, time.perf_counter(), len(part) if body else 0])
        self.send(part, status, body, extra, True)
    def send(self, part, status, body, extra={}, slow=False):
        self.send_response(status)
        for name, value in {"Content-Length": len(part), "Accept-Ranges": "bytes", **extra}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if not body:
            return
        if not (slow and rate):
            self.wfile.write(part)
            return
        for at in range(0, len(part), PACKET):
            piece = part[at:at + PACKET]
            wait_for_line(len(piece))
            self.wfile.write(piece)
class Server(http.server.ThreadingHTTPServer):
    request_queue_size, daemon_threads = 256, True
    def handle_error(self, request, client_address): pass
server = Server(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
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
    """The server, as a process of its own: its work must not take the clients' processor time.

    Args:
        latency: seconds before each answer.
        rate: bytes per second of all answers together; 0 = as fast as it goes.
    """

    def __init__(self, files: Sequence[Path], latency: float, rate: float = 0.0) -> None:
        command = [sys.executable, "-c", SERVER, str(latency), str(rate), *map(str, files)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.base = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def ask(self, what: str) -> bytes:
        from urllib.request import urlopen

        with urlopen(f"{self.base}/{what}") as answer:
            return bytes(answer.read())

    def log(self) -> list[list[float]]:
        """When each answer since the last call began and ended, and its bytes."""
        found: list[list[float]] = json.loads(self.ask("log"))
        self.ask("clear")
        return found

    def close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.terminate()
        self.process.wait()
