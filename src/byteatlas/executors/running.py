"""One function for many files: any ``concurrent.futures`` executor, a pool of processes or threads, or Dask.

One file that fails does not take the others down: every file has a result or a `Failure`. A worker process that dies
costs the files that it held, which are tried again by themselves. Pools are imported when there are many files: a
command that scans one file does without.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from byteatlas.errors import BadRequest
from byteatlas.executors.results import BROKEN, Failure, Results, Submits, T, attempt
from byteatlas.progress import OnProgress, counting

Executor: TypeAlias = str | Submits | None
"""``None``: processes, when there are many files and more than one core. ``"serial"``, ``"threads"``,
``"processes"`` (with ``:N`` for N workers), ``"dask"`` for a local cluster, ``"dask:ADDRESS"`` for a scheduler, or an
object with ``submit``."""


KINDS = ("serial", "threads", "processes", "dask")
MOST_WORKERS = 4096
MANY = 32
"""Files from which on starting processes pays."""


def for_each(
    function: Callable[[str], T],
    names: Sequence[str],
    executor: Executor = None,
    *,
    verb: str = "work",
    progress: OnProgress | None = None,
) -> Results[T]:
    """``function(name)`` for every name, side by side.

    Errors of the library and of the operating system become failures of their file; other exceptions are defects and
    pass through. For processes and Dask the function and its results must be picklable.

    Args:
        verb: what the events for ``progress`` call it; they come after each file, well or not.
    """
    tell = counting(progress, verb, len(names))
    if len(set(names)) != len(names):
        raise BadRequest("a file is named twice")
    found: dict[str, T | Failure] = {}
    with opened(executor, len(names)) as pool:
        if pool is None:
            for name in names:
                found[name] = attempt(function, name)
                tell(name)
        elif type(pool).__module__.split(".")[0] == "distributed":
            from byteatlas.executors.dask import through_dask

            found = through_dask(function, names, pool, tell)
        else:
            from byteatlas.executors.pools import through_futures

            found = through_futures(function, names, pool, tell, _together(executor, len(names)))
    broken = [n for n in names if isinstance(r := found[n], Failure) and r.kind == BROKEN]
    for name in broken:
        from byteatlas.executors.pools import alone

        # Which file killed the worker is not known: each one that was under way gets a process of its own.
        found[name] = alone(function, name)
        tell(name)
    results = {n: r for n in names if not isinstance(r := found[n], Failure)}
    return Results(results, {n: r for n in names if isinstance(r := found[n], Failure)})


def _together(executor: Executor, files: int) -> int:
    """Files that a worker gets at a time: several where they travel to other processes. Others' executors get one."""
    if executor is not None and (not isinstance(executor, str) or not executor.startswith("processes")):
        return 1
    from byteatlas.executors.pools import at_once

    return at_once(files, _workers((executor or "").partition(":")[2], files))


def _workers(wanted: str, tasks: int) -> int:
    """How many workers: as many as are wanted, or as there are cores, but no more than tasks."""
    return int(wanted) if wanted else min(os.cpu_count() or 1, max(tasks, 1))


def check_executor(name: str) -> None:
    """Raise `BadRequest` for the name of an executor that is none, and for a number of workers that is none."""
    kind, _, rest = name.partition(":")
    if kind not in KINDS:
        raise BadRequest(f"no executor {kind!r}; known: {', '.join(KINDS)}")
    if kind != "dask" and rest and not (rest.isdecimal() and rest.isascii() and 0 < int(rest) <= MOST_WORKERS):
        raise BadRequest(f"{name}: the number of workers is 1 to {MOST_WORKERS}")


@contextmanager
def opened(executor: Executor, tasks: int) -> Iterator[Submits | None]:
    """The executor that is meant; closed afterwards when it was made here. None: work in this thread."""
    if executor is not None and not isinstance(executor, str):
        if not hasattr(executor, "submit"):
            raise BadRequest(f"the executor is {type(executor).__name__}; a name or an object with submit was expected")
        yield executor
        return
    name = executor or "processes"
    check_executor(name)
    kind, _, rest = name.partition(":")
    if kind == "dask":
        from byteatlas.executors.dask import dask_client

        with dask_client(rest) as client:
            yield client
        return
    workers = _workers(rest, tasks)
    if kind == "serial" or (executor is None and (workers < 2 or tasks < MANY)):
        yield None
    else:
        from byteatlas.executors.pools import pool_of

        with pool_of(_possible(kind, executor is None), workers) as pool:
            yield pool


def _possible(kind: str, implied: bool) -> str:
    """The kind of pool. A script that new processes would run again gets threads, unless it asked for processes.

    Raises `BadRequest` when it did.
    """
    if kind != "processes":
        return kind
    from byteatlas.executors.script import ADVICE, unguarded_script

    script = unguarded_script()
    if script is None:
        return kind
    if not implied:
        raise BadRequest(f"{script} would be run again by every process that it starts: {ADVICE}")
    warnings.warn(f"{script} would be run again by every process: threads are used; {ADVICE}", stacklevel=5)
    return "threads"
