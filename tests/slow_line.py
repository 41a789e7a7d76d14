"""A web server at the end of a line: latency for each request, and a bandwidth that all answers share."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SERVER = """
import asyncio, json, sys, time
from pathlib import Path
latency, rate = float(sys.argv[1]), float(sys.argv[2])
data = {"/" + Path(p).name: Path(p).read_bytes() for p in sys.argv[3:]}
log, free, PACKET = [], 0.0, 16384
class Line(asyncio.Protocol):
    waiting, busy = b"", False
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, some):
        self.waiting += some
        self.next()
    def next(self):
        end = self.waiting.find(b"\\r\\n\\r\\n")
        if end < 0 or self.busy:
            return
        head, self.waiting = self.waiting[:end].decode("latin-1"), self.waiting[end + 4:]
        method, path, _ = head[:head.find("\\r\\n")].split(" ")
        at = head.lower().find("\\r\\nrange: bytes=")
        wanted = "" if at < 0 else head[at + 15:].partition("\\r\\n")[0]
        self.busy = True
        if path in ("/log", "/clear"):
            self.send("200 OK", json.dumps(log).encode() if path == "/log" else b"", "GET")
            if path == "/clear":
                log.clear()
        else:
            asyncio.get_running_loop().call_later(latency, self.answer, method, path, wanted, time.perf_counter())
    def answer(self, method, path, wanted, begin):
        found, status, more = data.get(path), "200 OK", ""
        if found is None:
            return self.send("404 Not Found", b"", method)
        part = memoryview(found)
        if wanted:
            first, _, last = wanted.partition("-")
            start = int(first) if first else max(0, len(found) - int(last))
            end = min(int(last) + 1 if first and last else len(found), len(found))
            part, status = part[start:end], "206 Partial Content"
            more = f"Content-Range: bytes {start}-{end - 1}/{len(found)}\\r\\n"
        log.append([begin, time.perf_counter(), len(part) if method == "GET" else 0])
        self.send(status, part, method, more, slow=rate > 0)
    def send(self, status, part, method, more="", slow=False):
        if self.transport.is_closing():
            return
        more = f"Content-Length: {len(part)}\\r\\nAccept-Ranges: bytes\\r\\n{more}"
        head = f"HTTP/1.1 {status}\\r\\n{more}\\r\\n".encode()
        if method == "HEAD" or not slow:
            self.transport.write(head if method == "HEAD" else head + part)
            return self.done()
        self.transport.write(head)
        self.pour(part)
    def pour(self, part):
        global free
        if not part or self.transport.is_closing():
            return self.done()
        now = time.perf_counter()
        free = max(now, free) + min(PACKET, len(part)) / rate
        asyncio.get_running_loop().call_later(free - now, self.packet, part)
    def packet(self, part):
        self.transport.write(part[:PACKET])
        self.pour(part[PACKET:])
    def done(self):
        self.busy = False
        self.next()
async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Line, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
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
