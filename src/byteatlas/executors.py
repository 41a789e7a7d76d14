"""Many files at once: any ``concurrent.futures`` executor, a pool of processes or threads, or Dask.

One file that fails does not take the others down: every file has a result or a `Failure`. A worker process that dies
costs the files that it held, which are tried again by themselves.
"""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from byteatlas.errors import BadRequest, ByteatlasError, MissingExtra

T = TypeVar("T")
Done: TypeAlias = Callable[[str], None]
"""Called with a file's name after each file, well or not."""


class Submits(Protocol):
    """What `concurrent.futures.Executor` and `distributed.Client` have in common."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...


Executor: TypeAlias = str | Submits | None
"""``None``: processes, when there are many files and more than one core. ``"serial"``, ``"threads"``,
``"processes"`` (with ``:N`` for N workers), ``"dask"`` for a local cluster, ``"dask:ADDRESS"`` for a scheduler, or an
object with ``submit``."""


MANY = 32
"""Files from which on starting processes pays."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one file has no result. ``kind`` is the error's class."""

    name: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """Results and failures by name, each in the order of the names."""

    results: Mapping[str, T] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return not self.failures


def for_each(
    function: Callable[[str], T], names: Sequence[str], executor: Executor = None, *, done: Done | None = None
) -> Outcome[T]:
    """``function(name)`` for every name, side by side.

    Errors of the library and of the operating system become failures of their file; other exceptions are defects and
    pass through. For processes and Dask the function and its results must be picklable.
    """
    tell = done or (lambda _: None)
    if len(set(names)) != len(names):
        raise BadRequest("a file is named twice")
    found: dict[str, T | Failure] = {}
    with opened(executor, len(names)) as pool:
        if pool is None:
            for name in names:
                found[name] = attempt(function, name)
                tell(name)
        elif is_dask(pool):
            found = through_dask(function, names, pool, tell)
        else:
            found = through_futures(function, names, pool, tell)
    broken = [n for n in names if isinstance(r := found[n], Failure) and r.kind == BrokenProcessPool.__name__]
    for name in broken:
        # Which file killed the worker is not known: each one that was under way gets a process of its own.
        found[name] = alone(function, name)
        tell(name)
    results = {n: r for n in names if not isinstance(r := found[n], Failure)}
    return Outcome(results, {n: r for n in names if isinstance(r := found[n], Failure)})


def attempt(function: Callable[[str], T], name: str) -> T | Failure:
    """One file; expected errors as a value, so that they travel between processes whatever their class."""
    try:
        return function(name)
    except (ByteatlasError, OSError) as error:
        return Failure(name, type(error).__name__, " ".join(str(error).split()))


def alone(function: Callable[[str], T], name: str) -> T | Failure:
    """One file in a process of its own."""
    with cf.ProcessPoolExecutor(1, mp_context=context()) as pool:
        try:
            return pool.submit(attempt, function, name).result()
        except BrokenProcessPool:
            return Failure(name, "WorkerDied", "the process that worked on this file died")


def through_futures(
    function: Callable[[str], T], names: Sequence[str], pool: Submits, tell: Done
) -> dict[str, T | Failure]:
    found: dict[str, T | Failure] = {}
    futures: dict[Any, str] = {}
    for name in names:
        try:
            futures[pool.submit(attempt, function, name)] = name
        except BrokenProcessPool as error:
            found[name] = Failure(name, BrokenProcessPool.__name__, str(error))
    for future in cf.as_completed(futures):
        name = futures[future]
        try:
            found[name] = future.result()
        except BrokenProcessPool as error:
            found[name] = Failure(name, BrokenProcessPool.__name__, str(error))
            continue
        tell(name)
    return found


def through_dask(function: Callable[[str], T], names: Sequence[str], client: Any, tell: Done) -> dict[str, T | Failure]:
    from distributed import KilledWorker, as_completed

    found: dict[str, T | Failure] = {}
    suspects: list[str] = []
    futures = {client.submit(attempt, function, name, pure=False): name for name in names}
    for future in as_completed(futures):
        name = futures[future]
        try:
            found[name] = future.result()
        except KilledWorker:
            suspects.append(name)
            continue
        tell(name)
    for name in suspects:
        # A file that merely was on the same worker is blamed as well: one at a time, only the guilty one dies again.
        try:
            found[name] = client.submit(attempt, function, name, pure=False).result()
        except KilledWorker as error:
            found[name] = Failure(name, "WorkerDied", str(error))
        tell(name)
    return found


def is_dask(pool: object) -> bool:
    return type(pool).__module__.split(".")[0] == "distributed"


@contextmanager
def opened(executor: Executor, tasks: int) -> Iterator[Submits | None]:
    """The executor that is meant; closed afterwards when it was made here. None: work in this thread."""
    if executor is not None and not isinstance(executor, str):
        yield executor
        return
    kind, _, rest = (executor or "processes").partition(":")
    if kind == "dask":
        with dask_client(rest) as client:
            yield client
        return
    if rest and not rest.isdigit():
        raise BadRequest(f"{executor!r}: the number of workers must be a number")
    workers = max(1, int(rest)) if rest else min(os.cpu_count() or 1, max(tasks, 1))
    if kind == "serial" or (executor is None and (workers < 2 or tasks < MANY)):
        yield None
    elif kind == "threads":
        with cf.ThreadPoolExecutor(workers) as threads:
            yield threads
    elif kind == "processes":
        with cf.ProcessPoolExecutor(workers, mp_context=context()) as processes:
            yield processes
    else:
        raise BadRequest(f"no executor {kind!r}; known: serial, threads, processes, dask")


def context() -> Any:
    """New processes that inherit no threads or locks: fork is not safe beside the reading threads."""
    if os.name == "nt":
        return multiprocessing.get_context("spawn")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["byteatlas.api"])
    return server


@contextmanager
def dask_client(address: str) -> Iterator[Submits]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtra("dask", "scanning through Dask") from error
    if address and address != "local":
        with Client(address) as client:
            yield client
        return
    with LocalCluster(dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def tree_reduce(
    combine: Callable[[Sequence[T]], T], items: Sequence[T], executor: Executor = None, *, width: int = 64
) -> T:
    """Combine neighbours in groups of ``width``, then the results, until one is left.

    ``combine`` must be associative and keep the order. Raises what ``combine`` raises.
    """
    if not items:
        raise BadRequest("nothing to combine")
    level = list(items)
    with opened(executor, len(level)) as pool:
        while len(level) > 1:
            groups = [level[i : i + width] for i in range(0, len(level), width)]
            if pool is None or len(groups) == 1:
                level = [combine(g) for g in groups]
            else:
                extra = {"pure": False} if is_dask(pool) else {}
                level = [f.result() for f in [pool.submit(combine, g, **extra) for g in groups]]
    return level[0]
