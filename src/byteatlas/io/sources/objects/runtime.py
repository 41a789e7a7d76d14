"""One thread that runs what is asked of object storage, for the whole process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

from byteatlas.errors import FetchFailed

T = TypeVar("T")


@cache
def _first_process() -> int:
    """The process in which obstore was used first: its threads are not there in processes that are forked from it."""
    return os.getpid()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="byteatlas-objects", daemon=True).start()
    return loop


def was_forked() -> bool:
    """Whether obstore cannot be used here: it was in the process that this one was forked from, and would hang."""
    return _first_process.cache_info().currsize > 0 and _first_process() != os.getpid()


def run(url: str, work: Coroutine[Any, Any, T]) -> T:
    """Have something done by the thread, and wait for it. An interrupt cancels it."""
    if _first_process() != os.getpid():
        work.close()
        why = "this process was forked from one that had used obstore: start processes by spawn or forkserver"
        raise FetchFailed(url, f"{why}, or say backend='fsspec'")
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
