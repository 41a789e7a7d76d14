"""Pools of threads and processes, and any other ``concurrent.futures`` executor."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from byteatlas.executors.counting import attempt_counted, brought_home
from byteatlas.executors.results import BROKEN, Failure, Submits, T, TellFile


def alone(function: Callable[[str], T], name: str) -> T | Failure:
    """One file in a process of its own."""
    with cf.ProcessPoolExecutor(1, mp_context=context()) as pool:
        try:
            return brought_home(function, pool.submit(attempt_counted, function, name).result())
        except BrokenProcessPool:
            return Failure(name, "WorkerDied", "the process that worked on this file died")


def through_futures(
    function: Callable[[str], T], names: Sequence[str], pool: Submits, tell: TellFile
) -> dict[str, T | Failure]:
    """Every file through an executor; those that a worker took down with it are failures of the kind ``BROKEN``."""
    found: dict[str, T | Failure] = {}
    futures: dict[Any, str] = {}
    for name in names:
        try:
            futures[pool.submit(attempt_counted, function, name)] = name
        except BrokenProcessPool as error:
            found[name] = Failure(name, BROKEN, str(error))
    for future in cf.as_completed(futures):
        name = futures[future]
        try:
            found[name] = brought_home(function, future.result())
        except BrokenProcessPool as error:
            found[name] = Failure(name, BROKEN, str(error))
            continue
        tell(name)
    return found


@contextmanager
def pool_of(kind: str, workers: int) -> Iterator[Submits]:
    """``"threads"`` or ``"processes"``."""
    if kind == "threads":
        with cf.ThreadPoolExecutor(workers) as threads:
            yield threads
    else:
        with cf.ProcessPoolExecutor(workers, mp_context=context()) as processes:
            yield processes


def context() -> Any:
    """New processes that inherit no threads or locks: fork is not safe beside the reading threads."""
    if "forkserver" not in multiprocessing.get_all_start_methods():  # Windows
        return multiprocessing.get_context("spawn")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["byteatlas.api.indexing", "byteatlas.scanning.driver"])
    return server
