"""One thread that runs what is asked of object storage, for the whole process."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from byteatlas.errors import FetchFailed

T = TypeVar("T")
SECONDS = 5.0
"""For the thread to end with the process."""
REST, PAUSE = 0.03, 0.002
"""Seconds for obstore's own threads to let go of the last results, where nobody says what they do; and between two
looks at them."""
_TASKS = "/proc/self/task"


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
        _settle()


def _settle() -> None:
    """Wait until obstore's threads rest.

    One of them may still be on its way back from handing over a result, and want the interpreter for that once more. A
    thread that wants it after it has ended is ended by it, through frames of Rust, which abort the process.
    """
    if not os.path.isdir(_TASKS):
        time.sleep(REST)
        return
    until, before = time.monotonic() + SECONDS, None
    while time.monotonic() < until:
        now = _workers()
        if now == before and not any("\nState:\tR" in text for text in now.values()):
            return
        before = now
        time.sleep(PAUSE)  # whoever waits for the interpreter gets it now


def _workers() -> dict[str, str]:
    """What the system says of obstore's threads: their state, and how often they have run (Linux, ``proc(5)``)."""
    found: dict[str, str] = {}
    for task in os.listdir(_TASKS):
        with suppress(OSError), open(f"{_TASKS}/{task}/status", encoding="utf-8") as file:
            text = file.read()
            if text.startswith("Name:\ttokio"):
                found[task] = text
    return found


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
