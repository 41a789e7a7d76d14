"""Workers that die take their files with them and no others; which pool is made for which word."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from byteatlas.errors import CorruptFile
from byteatlas.executors.counting import attempt_counted
from byteatlas.executors.pools import alone, context, pool_of, through_futures
from byteatlas.executors.results import BROKEN, Failure, Results, attempt


def upper(name: str) -> str:
    if name == "bad":
        raise CorruptFile(12, "no   good", "file://bad")
    if name == "odd":
        raise ZeroDivisionError
    return name.upper()


def deadly(name: str) -> str:
    os._exit(3)


class Pool:
    """An executor whose workers die when a name says so: before they have the work, or while they do it."""

    def submit(self, function: Any, /, *args: Any, **_: Any) -> cf.Future[Any]:
        names = args[-1]
        if "refused" in names:
            raise BrokenProcessPool("no workers")
        future: cf.Future[Any] = cf.Future()
        if "killed" in names:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(function(*args))
        return future


def test_only_files_of_dead_workers_are_lost() -> None:
    told: list[str] = []
    found = through_futures(upper, ["a", "refused", "killed", "bad", "b"], Pool(), told.append)
    assert found == {
        "a": "A",
        "b": "B",
        "bad": Failure("bad", "CorruptFile", "file://bad, byte 12: no good"),
        "refused": Failure("refused", BROKEN, "no workers"),
        "killed": Failure("killed", BROKEN, "a worker died"),
    }
    assert sorted(told) == ["a", "b", "bad"]


def test_files_that_travel_together_are_lost_together() -> None:
    told: list[str] = []
    found = through_futures(upper, ["a", "b", "c", "killed", "bad"], Pool(), told.append, 2)
    assert {name: answer.kind for name, answer in found.items() if isinstance(answer, Failure)} == {
        "c": BROKEN, "killed": BROKEN, "bad": "CorruptFile",
    }  # fmt: skip
    assert (found["a"], found["b"], sorted(told)) == ("A", "B", ["a", "b", "bad"])


def test_a_file_in_a_process_of_its_own() -> None:
    assert alone(upper, "a") == "A"
    assert alone(upper, "bad") == Failure("bad", "CorruptFile", "file://bad, byte 12: no good")
    assert alone(deadly, "x") == Failure("x", "WorkerDied", "the process that worked on this file died")


@pytest.mark.parametrize(
    ("kind", "wanted"), [("threads", cf.ThreadPoolExecutor), ("processes", cf.ProcessPoolExecutor)]
)
def test_pools_by_name(kind: str, wanted: type[Any]) -> None:
    pool: Any
    with pool_of(kind, 3) as pool:
        assert type(pool) is wanted
        assert pool._max_workers == 3
        assert pool.submit(upper, "a").result() == "A"
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(upper, "a")


def test_how_processes_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never by fork: what other threads hold would stay held."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        assert context().get_start_method() == "forkserver"
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert context().get_start_method() == "spawn"


def test_one_attempt() -> None:
    assert attempt(upper, "a") == "A"
    with pytest.raises(ZeroDivisionError):
        attempt(upper, "odd")

    def system(name: str) -> str:
        raise {"os": OSError("no\n disk"), "text": UnicodeError("bad")}[name]

    assert attempt(system, "os") == Failure("os", "OSError", "no disk")
    assert attempt(system, "text") == Failure("text", "UnicodeError", "bad")
    assert attempt_counted(upper, "a").outcome == "A"
    assert attempt_counted(upper, "a").counters is None


def test_results() -> None:
    assert Results({"a": 1}).ok
    assert not Results({"a": 1}, {"b": Failure("b", "k", "m")}).ok
