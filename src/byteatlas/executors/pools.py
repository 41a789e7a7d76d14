"""Pools of threads and processes, and any other ``concurrent.futures`` executor."""

from __future__ import annotations

import concurrent.futures as cf
import gc
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from byteatlas.executors.counting import attempt_counted, attempt_each, brought_home
from byteatlas.executors.results import BROKEN, Failure, Submits, T, TellFile


def alone(function: Callable[[str], T], name: str) -> T | Failure:
    """One file in a process of its own."""
    with cf.ProcessPoolExecutor(1, mp_context=context()) as pool:
        try:
            return brought_home(function, pool.submit(attempt_counted, function, name).result())
        except BrokenProcessPool:
            return Failure(name, "WorkerDied", "the process that worked on this file died")


MOST_AT_ONCE = 16
"""Files of one message to a worker process, and of one answer."""
MESSAGES = 16
"""Messages for each worker at the least, so that all of them are busy until the end."""


def at_once(files: int, workers: int) -> int:
    """How many files to send to a worker process at a time: a message costs as much as a tenth of a small scan.

    >>> at_once(20, 2), at_once(300, 2), at_once(1_000_000, 64)
    (1, 9, 16)
    """
    return max(1, min(MOST_AT_ONCE, files // (workers * MESSAGES)))


def through_futures(
    function: Callable[[str], T], names: Sequence[str], pool: Submits, tell: TellFile, together: int = 1
) -> dict[str, T | Failure]:
    """Every file through an executor; those that a worker took down with it are failures of the kind ``BROKEN``.

    Args:
        together: how many files a worker gets at a time.
    """
    found: dict[str, T | Failure] = {}
    futures: dict[Any, Sequence[str]] = {}
    for at in range(0, len(names), together):
        some = names[at : at + together]
        try:
            futures[pool.submit(attempt_each, function, some)] = some
        except BrokenProcessPool as error:
            found.update({name: Failure(name, BROKEN, str(error)) for name in some})
    for future in cf.as_completed(list(futures)):
        some = futures.pop(future)  # which holds the answer
        try:
            answers = future.result()
        except BrokenProcessPool as error:
            found.update({name: Failure(name, BROKEN, str(error)) for name in some})
            continue
        for name, attempted in zip(some, answers, strict=True):
            found[name] = brought_home(function, attempted)
            tell(name)
    return found


@contextmanager
def pool_of(kind: str, workers: int) -> Iterator[Submits]:
    """``"threads"`` or ``"processes"``."""
    if kind == "threads":
        with cf.ThreadPoolExecutor(workers) as threads:
            yield threads
    else:
        with cf.ProcessPoolExecutor(workers, mp_context=context(), initializer=collect_rarely) as processes:
            yield processes


def collect_rarely() -> None:
    """Look for cycles of dead objects less often, in a process that works for us only.

    A scan makes thousands of small objects, hardly any of them in cycles: looking for those takes a tenth of its time.
    """
    gc.freeze()  # what was imported stays
    gc.set_threshold(50_000, 20, 20)


def context() -> Any:
    """New processes that inherit no threads or locks: fork is not safe beside the reading threads."""
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return multiprocessing.get_context("spawn")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["byteatlas.api.indexing", "byteatlas.scanning.driver"])
    return server
