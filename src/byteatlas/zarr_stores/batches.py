"""Requests that are under way together, answered together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")


class Batches(Generic[Ask, Answer]):
    """Gathers the requests that are made before the event loop comes round again: they belong to the same read.

    Args:
        answer: many requests to as many answers; called on a thread. When it raises, the requests are asked one by one:
            the error goes to the request that caused it, the others get their answers.
    """

    def __init__(self, answer: Callable[[list[Ask]], Sequence[Answer]]) -> None:
        self._answer = answer
        self._pending: WeakKeyDictionary[asyncio.AbstractEventLoop, list[tuple[Ask, asyncio.Future[Answer]]]] = (
            WeakKeyDictionary()
        )

    async def ask(self, what: Ask) -> Answer:
        """The answer to one request."""
        loop = asyncio.get_running_loop()
        pending = self._pending.setdefault(loop, [])
        if not pending:
            loop.call_soon(lambda: loop.create_task(self._flush(loop)))
        answer: asyncio.Future[Answer] = loop.create_future()
        pending.append((what, answer))
        return await answer

    async def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        batch = self._pending.pop(loop, [])
        try:
            found = await asyncio.to_thread(self._answer, [what for what, _ in batch])
        except BaseException as error:
            if len(batch) > 1 and isinstance(error, Exception):
                await self._one_by_one(batch)
                return
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), data in zip(batch, found, strict=True):
            if not answer.done():
                answer.set_result(data)

    async def _one_by_one(self, batch: list[tuple[Ask, asyncio.Future[Answer]]]) -> None:
        for what, answer in batch:
            try:
                data = (await asyncio.to_thread(self._answer, [what]))[0]
            except Exception as error:  # handed to whoever asked
                if not answer.done():
                    answer.set_exception(error)
            else:
                if not answer.done():
                    answer.set_result(data)
