"""``python -m tests.faults.matrix [--short] [--write] [PLACE...] [only=OPERATION] [jobs=N]``: faults in all operations.

A run does one operation while a server answers some requests wrongly, and ends in one of two ways: the right values,
or an error of ours in time that says where. All else is told, and makes the command fail. ``--write`` puts the figures
of whole places into docs/status/faults.md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path

from tests.fault_server import KINDS, PASSING, Plan, at_random, burst, faulty, from_then_on
from tests.faults.findings import OF_TIME, Findings, row_of, write_row
from tests.faults.lost_time import Spent, slowness, spent
from tests.faults.materials import digests, files
from tests.faults.operations import Digests, Operation, Place, operations_at, quietly
from tests.s3_servers import S3_KINDS, S3_PASSING, s3_subset

import byteatlas as ba
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.values import replace

DEADLINE = 1.5
RETRY = ba.Retry(wait=0.001, idle=0.1, deadline=DEADLINE)
TIMES_OVER = 3
"""Deadlines that a run may take: an operation is a few calls, and each has its own deadline."""
TRIES = 4
"""How often a run is made in which a time-out came too early or too late while the machine did something else."""
MOST_SLOW = 2.0
"""Times that time-outs grow with the machine's slowness, at the most."""
HANGS = 10 * TIMES_OVER
"""Deadlines after which a run counts as late, whatever the machine did meanwhile."""


@contextmanager
def places(data: Mapping[str, bytes], retry: ba.Retry = RETRY) -> Iterator[list[Place]]:
    """The same files on a web server and on object storage, which both clients read."""
    with ExitStack() as stack:
        web = stack.enter_context(faulty({f"/{name}": content for name, content in data.items()}, stall=0.25))
        found = [Place("HTTP", web.url, web, ba.Access(retry=retry), tuple(KINDS), PASSING)]
        for backend in ("obstore", "fsspec"):
            bucket = stack.enter_context(s3_subset(data))
            how = ba.Access(bucket.options(), backend=backend, retry=retry)
            name = "s3fs" if backend == "fsspec" else backend
            found.append(
                Place(name, bucket.at("").rstrip("/"), bucket, how, S3_KINDS, S3_PASSING, bucket.objects, dict(data))
            )
        yield found


def plans(requests: int, kind: str, short: bool) -> Iterator[tuple[str, Plan, bool]]:
    """Where faults are put; and whether one that passes must then end right."""
    last = max(requests - 1, 0)
    for at in sorted({requests // 2} if short else {0, requests // 2, last}):
        yield f"once at {at}", burst(at, 1, kind), True
        yield f"twice at {at}", burst(at, 2, kind), True
    yield f"five times at {requests // 3}", burst(requests // 3, 5, kind), False
    if not short:
        yield f"from {last} on", from_then_on(last, kind), False
        yield "at random", at_random(0.3, 7, kind), False
    yield f"from {requests // 2} on", from_then_on(requests // 2, kind), False


def run(place: Place, operations: Mapping[str, Operation], found: Findings, short: bool = False) -> None:
    """Every kind of fault at every place of some operations."""
    for name, operation in operations.items():
        right, count, before = _fault_free(place, operation, found)
        for number, kind in enumerate(place.kinds):
            for where, plan, must in plans(count, kind, short and bool((number + 1) % 3)):
                what = f"{place.name}: {name}: {kind} {where}"
                for _ in range(TRIES):
                    place.renew()
                    end, said, took = _one(place, operation, plan, right, before, found)
                    if end == "error" and must and kind in place.passing:
                        end = "not tried again"
                    if end == "partial" and kind == "other etag" and "cannot be read: SourceChanged" in said:
                        end = "error"  # the map is of the file that the server spoke of, and reading it says so
                    if end not in OF_TIME or took.lost < RETRY.idle:
                        break
                    found.once_more()
                    print(f"made again: {what}: {end}: {said}; {took}", flush=True)
                    _adapt(place, found)
                found.ends[end] += 1
                if end not in ("right", "error"):
                    found.wrong.append(f"{what}: {end}: {said}")
                    print(found.wrong[-1], flush=True)


def _adapt(place: Place, found: Findings, least: float = 1.0) -> None:
    """Time-outs as long as the machine is slow; on a quiet one they are those of `RETRY`."""
    found.slowness = factor = min(max(slowness(), least), MOST_SLOW)
    retry = ba.Retry(wait=RETRY.wait, idle=RETRY.idle * factor, deadline=RETRY.deadline * factor)
    if place.access.retry.deadline <= MOST_SLOW * RETRY.deadline:  # else somebody wants to be patient
        place.access = replace(place.access, retry=retry)


def _fault_free(place: Place, operation: Operation, found: Findings) -> tuple[Digests, int, list[Digests]]:
    """What an operation gives, after how many requests, and what may be found where it fails."""
    for least in (1.0, 2.0, MOST_SLOW, MOST_SLOW):
        _adapt(place, found, least)
        with suppress(FetchFailed):
            place.renew()
            place.server.requests.clear()
            right = _done(place, operation)
            count = len(place.server.requests) if operation.after is None else _requests(place, operation)
            place.renew()
            before = [digests(ba.open(place.at(other), access=place.access)) for other in operation.fault_free]
            _adapt(place, found)
            return right, count, before
    raise AssertionError("the machine is too busy for any time-out")


def _done(place: Place, operation: Operation) -> Digests:
    found = quietly(lambda: operation.run(place))
    return quietly(lambda: operation.after(place, False)) if operation.after else found  # type: ignore[misc]


def _requests(place: Place, operation: Operation) -> int:
    place.renew()
    place.server.requests.clear()
    quietly(lambda: operation.run(place))
    return len(place.server.requests)


def is_late(took: Spent, deadline: float) -> bool:
    """Whether a run took longer than its deadlines allow, without what the machine gave to others."""
    return took.judged > TIMES_OVER * deadline or took.seconds > HANGS * deadline


def _one(
    place: Place, operation: Operation, plan: Plan, right: Digests, before: list[Digests], found: Findings
) -> tuple[str, str, Spent]:
    """How a run ended (a word of `tests.faults.findings.ENDS`), what is to be said of it, and what it took."""
    server = place.server
    server.requests.clear()
    server.plan, seen, error = plan, server.faulted, None
    got: Digests = {}
    try:
        with spent() as took:
            got = quietly(lambda: operation.run(place))
    except ByteatlasError as raised:
        error = raised
    except Exception as raised:
        return "raw", f"{type(raised).__name__}: {raised}", took
    finally:
        asked = list(server.requests)
        server.plan = lambda number, method, path: None
        found.count(server.faulted - seen, took)
    if is_late(took, place.access.retry.deadline):
        return "late", f"took {took}; ended with {error}", took
    if error is not None:
        found.errors[type(error).__name__] += 1
    if operation.after is not None:
        try:
            got = quietly(lambda: operation.after(place, error is not None))  # type: ignore[misc]
        except ByteatlasError as left:
            return "partial", f"what is left cannot be read: {type(left).__name__}: {left}; after {error}", took
        if got != right and not (error is not None and got in before):
            return difference(got, right), f"holds {got} after {error}", took
    elif error is None and got != right:
        return difference(got, right), f"gives {[k for k in right if got.get(k) != right[k]]} wrong", took
    return (*(("right", "") if error is None else _said(place, error, asked, took)), took)


def difference(got: Digests, right: Digests) -> str:
    """``partial`` where all that is there is right, and something is not there; else ``wrong``."""
    return "partial" if got.items() < right.items() else "wrong"


def _said(
    place: Place, error: ByteatlasError, asked: list[tuple[str, str, str | None]], took: Spent
) -> tuple[str, str]:
    """Whether an error says where: the URL, and the range, unless the size was asked for.

    s3fs asks for the size at times that the server does not get to see, and so does anybody on a busy machine, where
    the time for an answer can be over before the request is there.
    """
    url = error.url if isinstance(error, FetchFailed) else str(error)
    if place.base not in url:
        return "no place", f"does not say where: {type(error).__name__}: {error}"
    seen = place.name != "s3fs" and took.lost < place.access.retry.idle
    ranges = [r for method, path, r in asked if path.rstrip("/").endswith(url.rpartition("/")[2])]
    if isinstance(error, FetchFailed) and error.range is None and ranges and all(ranges) and seen:
        return "no place", f"does not say which range: {error}"
    return "error", f"{type(error).__name__}: {error}"


def share(name: str, only: str, number: int, jobs: int, short: bool) -> tuple[Findings, int, int]:
    """What every so-manieth operation of a place comes to, from the one with this number on; how many kinds of faults
    and operations there are."""
    found, begin = Findings(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, places(files(Path(folder))) as servers:
        place = next(place for place in servers if place.name == name)
        operations = operations_at(place)
        for what in [what for what in operations if only in what][number::jobs]:
            run(place, {what: operations[what]}, found, short)
            print(f"{time.monotonic() - begin:6.0f} s {name}: {what}: {found.runs} runs, {found.faulted} faults, "
                  f"{len(found.wrong)} not as they must be; the machine is {found.slowness:.1f} times too slow",
                  flush=True)  # fmt: skip
        return found, len(place.kinds), len(operations)


def main(arguments: list[str]) -> int:
    wrong = 0
    given = dict(a.split("=", 1) for a in arguments if "=" in a)
    wanted = [a for a in arguments if "=" not in a and not a.startswith("-")] or ["HTTP", "obstore", "s3fs"]
    only, jobs, short = given.get("only", ""), int(given.get("jobs", 1)), "--short" in arguments
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as processes:
        for name in wanted:
            shares = [processes.submit(share, name, only, number, jobs, short) for number in range(jobs)]
            found = Findings()
            for future in shares:
                part, kinds, operations = future.result()
                found.add(part)
            print(f"{name}: {found}", flush=True)
            wrong += len(found.wrong)
            if "--write" in arguments and not only:
                write_row(row_of(name, kinds, operations, found, short))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
