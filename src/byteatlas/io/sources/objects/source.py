"""One object as a source. Ranges of one call are asked for at once, and every answer is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.io.source import SourceRecord
from byteatlas.io.sources.objects.faults import object_errors, object_failure
from byteatlas.io.sources.objects.runtime import run
from byteatlas.io.stamp import learned
from byteatlas.types import Buffer, ByteRange

if TYPE_CHECKING:
    from byteatlas.io.sources.objects.system import LivingObjects

T = TypeVar("T")
AT_ONCE = 64
"""Requests under way at a time."""


def facts_of_meta(meta: Mapping[str, Any]) -> SourceRecord:
    """What obstore says of an object. An answer without a time has the one of 1970."""
    changed = meta.get("last_modified")
    stamp = meta.get("e_tag") or (str(changed) if changed is not None and changed.timestamp() else None)
    return SourceRecord(int(meta["size"]), stamp)


class ObjectSource:
    """One object. It never mixes two: when an answer says that another one has taken its place, reading raises."""

    __slots__ = ("_facts", "_key", "_living", "_seconds", "_url", "_version")

    def __init__(self, living: LivingObjects, key: str, url: str, seconds: float = 300.0) -> None:
        self._living, self._key, self._url, self._seconds = living, key, url, seconds
        self._facts = SourceRecord()
        self._version: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._living, self._key, self._url, self._seconds, self._facts)

    @property
    def url(self) -> str:
        return self._url

    @property
    def facts(self) -> SourceRecord:
        """What the answers so far have said of the object. It is asked for nothing."""
        return self._facts

    @property
    def version(self) -> str | None:
        """The storage's number for this state of the object (Google's generation), where an answer had one."""
        return self._version

    def size(self) -> int:
        if self._facts.size is None:
            self._run(self._look)
        assert self._facts.size is not None
        return self._facts.size

    def stamp(self) -> str | None:
        """The etag, or the modification time; asks when there was no answer yet."""
        self.size()
        return self._facts.stamp

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        answers = self.attempt(ranges, self._seconds)
        failed = next((a for a in answers if isinstance(a, FetchFailed)), None)
        if failed is not None:
            raise failed
        return [a for a in answers if not isinstance(a, FetchFailed)]

    def attempt(self, ranges: Sequence[ByteRange], seconds: float) -> list[Buffer | FetchFailed]:
        """The bytes of each range, or why there are none; in at most so many seconds."""
        for where in ranges:
            if where.offset < 0 or where.length < 0:
                raise FetchFailed(self._url, "a negative range", where)
        try:
            return run(self._url, self._every(ranges, seconds)) if ranges else []
        except FetchFailed as error:  # who gives the credentials did not answer: that may pass, too
            return [error.located(range=where) for where in ranges]

    def read_all(self) -> Buffer:
        return self._run(self._all)

    def first(self, most: int) -> Buffer:
        """The first bytes, at most so many; their answer says how large the object is."""

        async def work(store: Any) -> Buffer:
            from obstore import get_async

            answer = await get_async(store, self._key, options={"range": (0, most)})
            self._learn(answer.meta)
            data, end = await answer.bytes_async(), min(most, int(answer.meta["size"]))
            if answer.range != (0, end) or len(data) != end:
                raise FetchFailed(self._url, f"{len(data)} of {end} bytes came back", transient=True)
            return memoryview(data)

        try:
            return self._run(work)
        except FetchFailed as error:
            raise error.located(range=ByteRange(0, most)) from error

    def _run(self, work: Callable[[Any], Coroutine[Any, Any, T]]) -> T:
        async def within() -> T:
            store: Any = None

            async def begun() -> T:
                nonlocal store
                store = await self._living.store()
                return await work(store)

            try:
                return await asyncio.wait_for(begun(), self._seconds)
            except ByteatlasError:
                raise
            except TimeoutError:
                raise FetchFailed(self._url, f"no answer within {self._seconds:.0f} s", transient=True) from None
            except object_errors() as error:
                raise await self._failure(error, store) from error

        return run(self._url, within())

    async def _every(self, ranges: Sequence[ByteRange], seconds: float) -> list[Buffer | FetchFailed]:
        gate = asyncio.Semaphore(AT_ONCE)
        store = await self._living.store()
        tasks = [asyncio.ensure_future(self._part(store, where, gate)) for where in ranges]
        try:
            done, late = await asyncio.wait(tasks, timeout=seconds)
        finally:  # an interrupt ends the waiting, and must end them as well
            for task in tasks:
                task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        why = f"no answer within {seconds:.0f} s"
        return [
            t.result() if t in done else FetchFailed(self._url, why, r, transient=True)
            for t, r in zip(tasks, ranges, strict=True)
        ]

    async def _part(self, store: Any, where: ByteRange, gate: asyncio.Semaphore) -> Buffer | FetchFailed:
        if not where.length:
            return b""
        from obstore import get_async

        try:
            async with gate:
                answer = await get_async(store, self._key, options={"range": (where.offset, where.end)})
                self._learn(answer.meta)
                if answer.range != (where.offset, where.end):
                    size = self._facts.size
                    return FetchFailed(self._url, f"the file has only {size} bytes", where)
                data = await answer.bytes_async()
        except ByteatlasError as error:
            if isinstance(error, FetchFailed):
                return error.located(range=where)
            raise
        except object_errors() as error:
            return await self._failure(error, store, where)
        if len(data) != where.length:
            return FetchFailed(self._url, f"{len(data)} of {where.length} bytes came back", where, transient=True)
        return memoryview(data)

    async def _all(self, store: Any) -> Buffer:
        from obstore import get_async

        answer = await get_async(store, self._key)
        self._learn(answer.meta)
        data = await answer.bytes_async()
        if len(data) != self._facts.size:
            raise FetchFailed(self._url, f"{len(data)} of {self._facts.size} bytes came back", transient=True)
        return memoryview(data)

    async def _look(self, store: Any) -> None:
        """Size and stamp by HEAD; where that says "not there", a part says whether it is the bucket that is missing."""
        from obstore import get_async, head_async

        try:
            self._learn(await head_async(store, self._key))
        except FileNotFoundError:
            if self._living.seen:
                raise
            answer = await get_async(store, self._key, options={"range": (0, 1)})
            self._learn(answer.meta)

    async def _failure(self, error: BaseException, store: Any, where: ByteRange | None = None) -> FetchFailed:
        if await self._living.has_moved(error, store):
            return FetchFailed(self._url, "the bucket is in another region", where, transient=True)
        return object_failure(self._url, error, where)

    def _learn(self, meta: Mapping[str, Any]) -> None:
        """Raises `SourceChanged` for an answer about another object than the earlier ones."""
        self._facts = learned(self._url, self._facts, facts_of_meta(meta))
        self._version = meta.get("version") or self._version
        self._living.seen = True


def _again(living: LivingObjects, key: str, url: str, seconds: float, facts: SourceRecord) -> ObjectSource:
    made = ObjectSource(living, key, url, seconds)
    made._facts = facts
    return made
