"""Work through a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from byteatlas.errors import MissingExtra
from byteatlas.executors.counting import attempt_counted, brought_home
from byteatlas.executors.results import Failure, Submits, T, TellFile


def through_dask(
    function: Callable[[str], T], names: Sequence[str], client: Any, tell: TellFile
) -> dict[str, T | Failure]:
    """Through a Dask cluster. How long to wait for a cluster without workers is Dask's to say.

    (Its setting ``distributed.scheduler.no-workers-timeout``; the default is to wait for them for ever.)
    """
    from distributed import KilledWorker, as_completed

    found: dict[str, T | Failure] = {}
    suspects: list[str] = []
    deserted = no_workers()
    futures = {client.submit(attempt_counted, function, name, pure=False): name for name in names}
    for future in as_completed(futures):
        name = futures[future]
        try:
            found[name] = brought_home(function, future.result())
        except KilledWorker:
            suspects.append(name)
            continue
        except deserted as error:
            found[name] = Failure(name, "NoWorkers", str(error))
        tell(name)
    for name in suspects:
        # A file that merely was on the same worker is blamed as well: one at a time, only the guilty one dies again.
        try:
            again = client.submit(attempt_counted, function, name, pure=False)
            found[name] = brought_home(function, again.result())
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
