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
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from byteatlas.combining.model import CombineOptions, FromVariable
from byteatlas.errors import BadRequest, ByteatlasError, MissingExtra
from byteatlas.manifest.model import VirtualGroup
from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace

if TYPE_CHECKING:
    from byteatlas.combining.plan import Prepared

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
    """Through a Dask cluster. How long to wait for a cluster without workers is Dask's to say.

    (Its setting ``distributed.scheduler.no-workers-timeout``; the default is to wait for them for ever.)
    """
    from distributed import KilledWorker, as_completed

    found: dict[str, T | Failure] = {}
    suspects: list[str] = []
    deserted = no_workers()
    futures = {client.submit(attempt, function, name, pure=False): name for name in names}
    for future in as_completed(futures):
        name = futures[future]
        try:
            found[name] = future.result()
        except KilledWorker:
            suspects.append(name)
            continue
        except deserted as error:
            found[name] = Failure(name, "NoWorkers", str(error))
        tell(name)
    for name in suspects:
        # A file that merely was on the same worker is blamed as well: one at a time, only the guilty one dies again.
        try:
            found[name] = client.submit(attempt, function, name, pure=False).result()
        except KilledWorker as error:
            found[name] = Failure(name, "WorkerDied", str(error))
        except deserted as error:
            found[name] = Failure(name, "NoWorkers", str(error))
        tell(name)
    return found


def no_workers() -> tuple[type[Exception], ...]:
    """What a Dask scheduler raises for tasks that no worker came for; older ones wait for ever."""
    from distributed import scheduler

    names = ("NoWorkerError", "NoValidWorkerError")
    return tuple(getattr(scheduler, name) for name in names if hasattr(scheduler, name))


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


WIDTH = 64
"""Files that one task reads and combines."""
SEPARATOR = "\n"


@dataclass(frozen=True, slots=True)
class Part:
    """What one task makes of neighbouring files: a group for each, or one for all of them.

    Attributes:
        names: of the groups.
        joined: the groups are one, made of all files.
    """

    names: tuple[str, ...]
    groups: tuple[VirtualGroup, ...]
    failures: tuple[Failure, ...] = ()
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Combined:
    """A combination, ready to be looked at and carried out; None when some files have no result."""

    prepared: Prepared | None
    failures: Mapping[str, Failure] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadAndJoin:
    """Reads the files of a task, and joins them where that says no more and no less than joining all files at once.

    The manifests of a file travel between processes ten times slower than they are combined: neighbours are combined
    where they were read, and one group travels for all of them.
    """

    options: CombineOptions
    storage_options: Mapping[str, JSON] | None
    join: bool = True

    def __call__(self, task: str) -> Part:
        from byteatlas import api

        def read(name: str) -> VirtualGroup:
            node = api.load(name, storage_options=self.storage_options)
            if not isinstance(node, VirtualGroup):
                raise BadRequest(f"{name} is a single array; only groups can be combined")
            return node

        found = {name: attempt(read, name) for name in task.split(SEPARATOR)}
        groups = {n: g for n, g in found.items() if isinstance(g, VirtualGroup)}
        failures = tuple(f for f in found.values() if isinstance(f, Failure))
        names = tuple(groups)
        if self.join and not failures and len(groups) > 1 and simple(self.options):
            prepared = api.prepare_combine(
                list(groups.values()), options=replace(self.options, on_conflict="error"), names=names,
                storage_options=self.storage_options,
            )  # fmt: skip
            if all(f.level == "note" for f in prepared.findings):
                return Part((f"{names[0]} ... {names[-1]}",), (prepared.result(),), joined=True)
        return Part(names, tuple(groups.values()), failures)


def simple(options: CombineOptions) -> bool:
    """Whether parts can be combined before all is known: one dimension, with coordinate values from variables."""
    return len(options.concat) == 1 and all(isinstance(s, FromVariable) for s in options.coords.values())


def prepare_many(
    names: Sequence[str],
    options: CombineOptions,
    executor: Executor = None,
    *,
    storage_options: Mapping[str, JSON] | None = None,
    done: Done | None = None,
    width: int = WIDTH,
) -> Combined:
    """Read files (maps or archives) side by side, combine neighbours where they were read, and plan the whole.

    The plan is that of `byteatlas.plan_combine`. When it has conflicts, or coordinates interleave, files are read again
    and combined at once, so that each is named. Files that cannot be read are failures, and there is no plan then.
    """
    from byteatlas import api

    if any(SEPARATOR in n for n in names) or not names:
        raise BadRequest("nothing to combine" if not names else "a file's name has a line break")
    if len(set(names)) != len(names):
        raise BadRequest("a file is named twice")
    tell = done or (lambda _: None)
    for join in (True, False):
        parts, failures = gathered(names, ReadAndJoin(options, storage_options, join), executor, tell, width)
        if failures:
            return Combined(None, failures)
        groups = [g for part in parts for g in part.groups]
        titles = [n for part in parts for n in part.names]
        prepared = api.prepare_combine(groups, options=options, storage_options=storage_options, names=titles)
        joined = any(part.joined for part in parts)
        if not joined or all(f.level == "note" for f in prepared.findings):
            break
    return Combined(prepared)


def gathered(
    names: Sequence[str], work: ReadAndJoin, executor: Executor, tell: Done, width: int
) -> tuple[list[Part], dict[str, Failure]]:
    """The parts of all files, in order, and the files that have none."""
    tasks = [SEPARATOR.join(names[i : i + width]) for i in range(0, len(names), width)]
    if len(tasks) < 2 and (executor is None or isinstance(executor, str)):
        executor = "serial"

    def told(task: str) -> None:
        for name in task.split(SEPARATOR):
            tell(name)

    outcome = for_each(work, tasks, executor, done=told)
    parts: list[Part] = []
    failures: dict[str, Failure] = {}
    for task in tasks:
        found = [outcome.results[task]] if task in outcome.results else []
        if not found and SEPARATOR not in task:
            failures[task] = outcome.failures[task]
        elif not found:  # something killed the worker, or went wrong with all of them: one file at a time
            single = for_each(work, task.split(SEPARATOR), executor)
            found = list(single.results.values())
            failures |= single.failures
        parts += found
        failures |= {f.name: f for part in found for f in part.failures}
    return parts, failures
