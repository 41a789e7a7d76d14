"""A bucket through obstore, with those of fsspec's names for files that we use: listing, writing, removing."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from byteatlas.errors import BadRequest, FetchFailed
from byteatlas.io.credentials.asking import AskedOptions
from byteatlas.io.retry import RETRY
from byteatlas.io.sources.objects.faults import RefusedAnswer, object_errors, object_failure, was_overtaken
from byteatlas.io.sources.objects.options import S3, Arguments, arguments
from byteatlas.io.sources.objects.regions import region_for
from byteatlas.io.sources.objects.runtime import run
from byteatlas.io.sources.objects.stores import store_of
from byteatlas.io.writing.versions import FileVersion, Overtaken
from byteatlas.types import JSON, Buffer

T = TypeVar("T")
MOST_LISTED = 10_000_000
"""Names of one listing."""


class LivingObjects:
    """A bucket's connections, made when they are needed, and anew when the credentials expire or the region is found.

    Args:
        idle: seconds without a byte after which a connection is dead (`byteatlas.io.retry.Retry.idle`).

    Attributes:
        seen: whether an answer has shown that the bucket is there.
    """

    __slots__ = ("_asked", "_idle", "_options", "_region", "_serial", "_store", "bucket", "protocol", "seen")

    def __init__(
        self,
        protocol: str,
        bucket: str,
        options: Mapping[str, JSON] | None = None,
        asked: AskedOptions | None = None,
        idle: float = RETRY.idle,
    ) -> None:
        self.protocol, self.bucket, self.seen = protocol, bucket, False
        self._options, self._asked, self._idle = dict(options or {}), asked, idle
        self._region: str | None = None
        self._serial = -1
        self._store: Any = None
        if asked is None:
            self.arguments()  # what is misspelt is said now

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._options if self._asked is None else None
        return LivingObjects, (self.protocol, self.bucket, options, self._asked, self._idle)

    def arguments(self) -> Arguments:
        made = arguments(self.protocol, self.bucket, self._options if self._asked is None else self._asked.options())
        if self._region is not None:
            made.config["region"] = self._region
        return made

    async def store(self) -> Any:
        """obstore's store."""
        if self._asked is not None:
            serial = await asyncio.to_thread(self._asked.serial)
            if serial != self._serial:
                self._serial, self._store = serial, None
        if self._store is None:
            self._store = await asyncio.to_thread(self._made)
        return self._store

    def _made(self) -> Any:
        try:
            return store_of(self.arguments(), self._idle)
        except object_errors() as error:
            why = str(error).partition("\n")[0]
            raise BadRequest(f"{self.protocol}://{self.bucket} cannot be opened with these options: {why}") from error

    async def has_moved(self, error: BaseException, store: Any) -> bool:
        """Whether an answer has told where the bucket really is; the next request goes there.

        ``store``: that gave the answer. Another answer of the same time may have told already.
        """
        if self._region is None:
            made = await asyncio.to_thread(self.arguments)  # who gives credentials may take long, or ask through us
            if made.kind != S3:
                return False
            endpoint = str(made.config.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", ""))
            region = await asyncio.to_thread(region_for, error, self.bucket, endpoint)
            if region is None:
                return False
            if self._region is None:
                if region == made.config.get("region"):
                    return False
                self._region, self._store = region, None
                return True
        return store is not self._store and RefusedAnswer(error).elsewhere


class ObjectSystem:
    """The objects of a bucket. Paths begin with its name, as fsspec's do."""

    def __init__(self, living: LivingObjects) -> None:
        self.living = living
        self.protocol = (living.protocol,)

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectSystem, (self.living,)

    def key(self, path: str) -> str:
        """A path without its bucket."""
        bucket, _, key = path.partition("/")
        if bucket != self.living.bucket:
            raise BadRequest(f"{path} is not in {self.living.bucket}")
        return key

    def _url(self, path: str) -> str:
        return f"{self.living.protocol}://{path}"

    def unstrip_protocol(self, path: str) -> str:
        return self._url(path)

    def invalidate_cache(self, path: str | None = None) -> None:
        """Nothing is remembered."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Object storage has no folders."""

    def ls(self, path: str, detail: bool = False) -> list[str]:
        """The names directly below a prefix."""
        prefix = self.key(path).strip("/")

        async def work(store: Any) -> list[str]:
            from obstore import list_with_delimiter_async

            found = await list_with_delimiter_async(store, prefix or None)
            return [*found["common_prefixes"], *(o["path"] for o in found["objects"] if o["path"] != prefix)]

        return [f"{self.living.bucket}/{name}" for name in sorted(self._run(path, work))]

    def find(self, path: str) -> list[str]:
        """All names below a prefix, however deep."""
        prefix = self.key(path).strip("/")

        async def work(store: Any) -> list[str]:
            from obstore import list as list_all

            names: list[str] = []
            async for some in list_all(store, prefix or None, chunk_size=5000):
                names += [item["path"] for item in some]
                if len(names) > MOST_LISTED:
                    raise FetchFailed(self._url(path), f"has more than {MOST_LISTED} objects")
            return names

        return [f"{self.living.bucket}/{name}" for name in sorted(self._run(path, work))]

    def glob(self, pattern: str) -> list[str]:
        """Names that fit a pattern with ``*``, ``**``, ``?`` and ``[...]``; what stands before these is listed."""
        from fsspec.utils import glob_translate

        first = min(pattern.find(mark) for mark in "*?[" if mark in pattern)
        start = pattern[:first].rpartition("/")[0]
        import re

        matches = re.compile(glob_translate(pattern)).match
        deep = "/" in pattern[first:] or "**" in pattern
        names = self.find(start) if deep else self.ls(start)
        return [name for name in names if matches(name)]

    def pipe_file(self, path: str, value: Buffer, version: FileVersion | None = None) -> None:
        """Write an object.

        Args:
            version: the state that it must still be in; `byteatlas.io.writing.versions.NEW`: it must not be there.

        Raises `Overtaken` when it is in another one.
        """
        key = self.key(path)

        async def work(store: Any) -> None:
            from obstore import put_async

            data = memoryview(value).cast("B")
            if version is None:
                await put_async(store, key, data)
            elif version.is_new:
                await put_async(store, key, data, mode="create")
            else:
                known = {"e_tag": version.stamp, "version": version.number}
                await put_async(store, key, data, mode={k: v for k, v in known.items() if v is not None})

        self._run(path, work, conditional=version is not None)

    def cat_file(self, path: str) -> bytes:
        """All bytes of an object."""
        key = self.key(path)

        async def work(store: Any) -> bytes:
            from obstore import get_async

            return bytes(await (await get_async(store, key)).bytes_async())

        return self._run(path, work)

    def rm_file(self, path: str) -> None:
        key = self.key(path)

        async def work(store: Any) -> None:
            from obstore import delete_async

            await delete_async(store, key)

        self._run(path, work)

    def open(self, path: str, mode: str, autocommit: bool = True) -> _Draft:
        """A new object, which is there when it is committed."""
        assert mode == "wb"
        return _Draft(lambda data: self.pipe_file(path, data))

    def _run(self, path: str, work: Callable[[Any], Coroutine[Any, Any, T]], conditional: bool = False) -> T:
        async def within() -> T:
            for _ in range(2):
                store = await self.living.store()
                try:
                    return await work(store)
                except object_errors() as error:
                    if isinstance(error, FetchFailed | BadRequest):
                        raise
                    if conditional and was_overtaken(error):
                        raise Overtaken(self._url(path)) from error
                    if not await self.living.has_moved(error, store):
                        raise object_failure(self._url(path), error) from error
            raise FetchFailed(self._url(path), "the bucket's region is not found")

        return run(self._url(path), within())


class _Draft(io.BytesIO):
    """What is written, kept until it is whole."""

    def __init__(self, put: Callable[[bytes], None]) -> None:
        super().__init__()
        self._put: Callable[[bytes], None] | None = put
        self._data = b""

    def close(self) -> None:
        if not self.closed:
            self._data = self.getvalue()
        super().close()

    def commit(self) -> None:
        if self._put is not None:
            self._put(self._data)

    def discard(self) -> None:
        self._put = None


def split_path(url: str) -> tuple[str, str, str]:
    """A URL's protocol, bucket, and path with the bucket before it.

    >>> split_path("s3://bucket/a/b.nc")
    ('s3', 'bucket', 'bucket/a/b.nc')
    """
    protocol, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    return protocol.lower(), bucket, f"{bucket}/{key}" if key else bucket


def fits(url: str) -> bool:
    """Whether obstore can name the object: it knows no empty names, and none that are dots (RFC 3986 5.2.4)."""
    _, bucket, path = split_path(url.rstrip("/"))
    parts: Sequence[str] = path.split("/")
    return bool(bucket) and all(part not in ("", ".", "..") for part in parts)
