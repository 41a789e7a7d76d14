"""The server for tests: in this process without sockets, and as the command that people run."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx


def get(application: Any, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> httpx.Response:
    """One answer of an ASGI application. The path goes out as it is written."""
    return get_many(application, [path], headers, method)[0]


def get_many(
    application: Any, paths: list[str], headers: Mapping[str, str] | None = None, method: str = "GET"
) -> list[httpx.Response]:
    """Several answers, asked for at once."""

    async def go() -> list[httpx.Response]:
        transport = httpx.ASGITransport(application, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(*(client.request(method, path, headers=headers) for path in paths))

    return asyncio.run(go())


@contextmanager
def served(*arguments: str) -> Iterator[str]:
    """The URL of ``byteatlas serve`` with these arguments, at a port that is free."""
    command = [sys.executable, "-m", "byteatlas", "serve", *arguments, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
            assert found is not None, "the server did not start"
            yield found.group()
        finally:
            process.terminate()
            process.stdout.close()
