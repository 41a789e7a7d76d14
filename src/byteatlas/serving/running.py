"""Run the application by itself, with uvicorn."""

from __future__ import annotations

import ipaddress
import socket

from byteatlas.arguments import wrong
from byteatlas.errors import BadRequest, FetchFailed, MissingExtra
from byteatlas.serving.application import MapServer
from byteatlas.serving.limits import MOST_HEADER_BYTES
from byteatlas.values import dataclass

MOST_PORT = (1 << 16) - 1
KEEP_ALIVE = 20
"""Seconds for which a connection without requests is kept."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A socket that takes connections, and the URL under which it is reached."""

    socket: socket.socket
    url: str


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def listen(host: str, port: int) -> Listening:
    """Take connections at an address; port 0: any that is free. Raises `BadRequest` when that cannot be."""
    if not 0 <= port <= MOST_PORT:  # Python refuses this and such names, too, and leaves a socket open
        raise wrong("port", port, f"a whole number from 0 to {MOST_PORT}", True)
    plain = host.strip("[]")
    try:
        plain.encode("idna")
    except UnicodeError as error:
        raise wrong("host", host, "the name or address of a host", True) from error
    family = socket.AF_INET6 if ":" in plain else socket.AF_INET
    try:
        found = socket.create_server((plain, port), family=family, backlog=512)
    except OSError as error:
        why = error.strerror or str(error)
        raise BadRequest(f"cannot listen at {host}, port {port}: {why}") from error
    shown = f"[{plain}]" if ":" in plain else plain
    return Listening(found, f"http://{shown}:{found.getsockname()[1]}/")


def run(application: MapServer, listening: Listening) -> None:
    """Serve until interrupted. Raises `MissingExtra` without uvicorn, `FetchFailed` when it cannot start."""
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtra("serve", "a web server") from error
    config = uvicorn.Config(
        application,
        http="h11",  # it bounds the size of headers, which httptools does not
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # anybody could claim to be another client
        timeout_keep_alive=KEEP_ALIVE,
        h11_max_incomplete_event_size=2 * MOST_HEADER_BYTES,
        limit_concurrency=4 * application.options.most_requests,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    server.run(sockets=[listening.socket])
    if not server.started:
        raise FetchFailed(listening.url, "the server could not start")
