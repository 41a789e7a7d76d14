"""One thread that runs what is asked of object storage, for the whole process."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

from byteatlas.errors import FetchFailed

T = TypeVar("T")
SECONDS = 5.0
"""For the thread to end with the process."""
REST = 0.03
"""Seconds for obstore's own threads to let go of the last results: the interpreter aborts when it ends before that."""


@cache
def _first_process() -> int:
    """The process in which obstore was used first: its threads are not there in processes that are forked from it."""
    return os.getpid()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="byteatlas-objects", daemon=True)
    thread.start()
    atexit.register(_stop, loop, thread)
    return loop


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """A thread that is ended by the interpreter within obstore's code takes the process down with it."""
    if _first_process() == os.getpid():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(SECONDS)
        time.sleep(REST)


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
