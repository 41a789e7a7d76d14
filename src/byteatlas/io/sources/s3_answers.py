"""Objects of S3 through s3fs, whose answers are checked as those of any web server.

s3fs gives the bytes of an answer only. Here its request is made with its client and options, and what the answer says
of itself (RFC 9110 14.4: Content-Range; 8.8: ETag) is held against what was asked for, and what earlier answers said.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from byteatlas.errors import FetchFailed
from byteatlas.io.source import SourceRecord
from byteatlas.io.sources.answers import check_no_page, check_part, check_whole
from byteatlas.types import ByteRange

AT_ONCE = 64
"""Requests under way at a time."""
MOST = 1 << 62
"""Bytes of an object: more than any has."""
LOOKED_AT = ("ETag", "Content-Length", "Content-Range", "Content-Type")
"""Headers of an answer that count here."""
Learn = Callable[[SourceRecord], None]


def parts(fs: Any, path: str, url: str, ranges: Sequence[ByteRange], seconds: float, learn: Learn) -> list[Any]:
    """The bytes of each range, or the error that came instead; in at most so many seconds (0: no limit)."""
    from fsspec.asyn import sync

    async def every() -> list[Any]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(where: ByteRange) -> bytes:
            async with gate:
                return await _part(fs, path, url, where, learn)

        tasks = [asyncio.ensure_future(one(where)) for where in ranges]
        done, late = await asyncio.wait(tasks, timeout=seconds or None)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return [t.exception() or t.result() if t in done else TimeoutError("no answer in time") for t in tasks]

    found: list[Any] = sync(fs.loop, every)
    return found


def whole(fs: Any, path: str, url: str, known: SourceRecord, learn: Learn) -> bytes:
    """All bytes of an object."""
    from fsspec.asyn import sync

    async def ask() -> bytes:
        async with _answer(fs, path) as (body, status, headers):
            if status != 200:
                raise FetchFailed(url, f"the server answered {status}", transient=True)
            size = check_whole(url, headers, known, MOST)
            data = bytes(await body.read())
        if size is not None and len(data) != size:
            raise FetchFailed(url, f"{len(data)} of {size} bytes came back", transient=True)
        check_no_page(url, headers, data)
        learn(SourceRecord(len(data), headers.get("ETag")))
        return data

    found: bytes = sync(fs.loop, ask)
    return found


async def _part(fs: Any, path: str, url: str, where: ByteRange, learn: Learn) -> bytes:
    async with _answer(fs, path, Range=f"bytes={where.offset}-{where.end - 1}") as (body, status, headers):
        if status != 206:
            why = "the server answered with something whole instead of a part"
            raise FetchFailed(url, why, where, transient=True)
        learn(check_part(url, headers, where))
        data: bytes = await body.read()
    return data


@asynccontextmanager
async def _answer(fs: Any, path: str, **more: str) -> AsyncIterator[tuple[Any, int, Mapping[str, str]]]:
    """The body of botocore's answer, its status and headers.

    What S3 stores is never packed on the way: a Content-Encoding there is something that the object's owner says of its
    bytes. Its times are told in other words elsewhere, and do not compare.
    """
    bucket, key, version = fs.split_path(path)
    asked = {**getattr(fs, "req_kw", {}), **more, **({"VersionId": version} if version else {})}
    answer = await fs._call_s3("get_object", Bucket=bucket, Key=key, **asked)
    try:
        about = answer["ResponseMetadata"]
        given = {name.lower(): value for name, value in about["HTTPHeaders"].items()}
        headers = {name: given[name.lower()] for name in LOOKED_AT if name.lower() in given}
        yield answer["Body"], about["HTTPStatusCode"], headers
    finally:
        answer["Body"].close()
