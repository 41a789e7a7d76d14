"""What is counted and measured of requests, and what is told of them: against servers that count by themselves."""

from __future__ import annotations

import logging
import pickle
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from tests.fault_server import burst, faulty
from tests.http_server import serve

from byteatlas.errors import FetchFailed
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.retry import Retry
from byteatlas.io.traffic.counters import Counters, Tally
from byteatlas.io.traffic.link import ENOUGH, ServerLink
from byteatlas.types import ByteRange

BYTES = bytes(range(256)) * 1024


def test_requests_rounds_and_bytes_are_those_of_the_server() -> None:
    access = Access()
    with serve({"/a.bin": BYTES}, latency=0.2) as web:
        source = access.open(web.url + "/a.bin")
        source.read([ByteRange(0, 10), ByteRange(1000, 30), ByteRange(5000, 60)])
        assert access.counters.rounds == 1
        assert source.size() == len(BYTES)  # the answers said so
        source.read_all()
        assert len(web.requests) == 4
        found = access.counters
        assert (found.requests, found.rounds, found.retries) == (4, 2, 0)
        assert found.fetched == found.wanted == 100 + len(BYTES)
        assert 0.4 <= found.waited < 4


def test_a_size_that_nobody_knows_is_asked_for_and_counted() -> None:
    access = Access()
    with serve({"/a.bin": BYTES}) as web:
        access.open(web.url + "/a.bin").size()
        assert [method for method, _, _ in web.requests] == ["HEAD"]
        assert access.counters.requests == 1


def test_retries_are_counted_with_what_they_cost() -> None:
    access = Access(retry=Retry(wait=0.01))
    with faulty({"/a.bin": BYTES}) as web:
        web.plan = burst(1, 2, "503")
        access.open(web.url + "/a.bin").read([ByteRange(0, 100)])
        access.open(web.url + "/a.bin").read([ByteRange(500, 100)])
        assert access.counters.requests == len(web.requests) == 4
        assert access.counters.retries == 2
        assert access.counters.wanted == 200
        assert access.counters.fetched >= 200  # and the pages that came with the errors


def test_what_fails_is_counted_and_wanted_by_nobody() -> None:
    access = Access()
    with serve({}) as web:
        with pytest.raises(FetchFailed):
            access.open(web.url + "/none").read([ByteRange(0, 100)])
        assert (access.counters.requests, access.counters.wanted) == (1, 0)


def test_other_back_ends_are_counted_too() -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/traffic/a.bin", BYTES)
    access = Access()
    source = access.open("memory://traffic/a.bin")
    source.read([ByteRange(0, 10), ByteRange(100, 10)])
    assert (source.size(), source.size()) == (len(BYTES), len(BYTES))
    source.read_all()
    assert access.counters.fetched == access.counters.wanted == 20 + len(BYTES)
    assert access.counters.requests == 3  # the size came with the ranges: memory is looked at after each read


def test_copies_of_an_access_count_together_and_others_apart() -> None:
    access = Access({"client_kwargs": {}})
    with serve({"/a.bin": BYTES}) as web:
        access.kept_to(web.url).open(web.url + "/a.bin").read([ByteRange(0, 1)])
        access.pool()(web.url + "/a.bin").read([ByteRange(0, 1)])
        DEFAULT.open(web.url + "/a.bin").read([ByteRange(0, 1)])
        assert access.counters.requests == 2
        assert Access().counters == DEFAULT.counters == Counters()


def test_another_process_counts_from_zero_and_knows_the_lines() -> None:
    access = Access()
    with serve({"/a.bin": BYTES}) as web:
        source = access.open(web.url + "/a.bin")
        source.read([ByteRange(0, 200_000)])
        other, again = pickle.loads(pickle.dumps((access, source)))
        assert other == access
        assert other.counters == Counters()
        assert other.traffic is not None
        assert other.traffic.away
        speed = access.meter(web.url).speed()
        assert speed is not None
        assert other.meter(web.url).speed() == speed
        again.read([ByteRange(0, 10)])
        assert other.counters.requests == 1  # sources that went with it count with it
        assert access.counters.requests == 1


def test_threads_lose_no_count() -> None:
    tally = Tally()

    def work() -> None:
        for _ in range(500):
            key = object()
            tally.begin(key, 2)
            tally.end(key, 3)
            tally.add(Counters(wanted=1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = tally.now()
    assert (found.requests, found.fetched, found.wanted) == (8000, 12000, 4000)
    assert tally.take() == found
    assert tally.now() == Counters()


def test_rounds_are_what_begins_before_the_first_one_ends() -> None:
    tally = Tally()
    for begins, ends in (("ab", "a"), ("c", ""), ("d", "bcd")):  # c begins a round, which d is part of
        for key in begins:
            tally.begin(key, 1)
        for key in ends:
            tally.end(key, 0)
    assert tally.now().rounds == 2


def test_counters_add_up_and_say_what_came_since() -> None:
    a, b = Counters(1, 2, 3, 4, 5, 6.0), Counters(10, 20, 30, 40, 50, 60.0)
    assert a.plus(b).minus(a) == b
    assert a.document() == {"requests": 1, "rounds": 2, "wanted": 3, "fetched": 4, "retries": 5, "waited": 6.0}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_answers_that_arrive_together_share_the_line() -> None:
    clock = Clock()
    link = ServerLink(clock)
    assert link.speed() is None
    for _ in range(4):
        link.answered(0.03)
    for _ in range(4):  # one after the other, over one second in all
        clock.now += 0.25
        link.arrived(250_000)
    speed = link.speed()
    assert speed is not None
    assert (speed.latency, speed.bandwidth) == (0.03, 1_000_000)


def test_small_answers_say_nothing_of_bandwidth() -> None:
    link = ServerLink(Clock())
    link.answered(0.03)
    link.arrived(ENOUGH - 1)
    assert link.speed() is None


def test_answers_whose_first_byte_is_not_seen() -> None:
    link = ServerLink(Clock())
    link.took(100, 0.05)
    link.took(1_000_000, 1.05)
    speed = link.speed()
    assert speed is not None
    assert speed.latency == 0.05
    assert speed.bandwidth == pytest.approx(1_000_000)


def test_old_answers_are_forgotten() -> None:
    clock = Clock()
    link = ServerLink(clock)
    for seconds in [1.0] * 5 + [0.1] * 60:
        link.answered(seconds / 10)
        clock.now += seconds
        link.arrived(4_000_000)
    speed = link.speed()
    assert speed is not None
    assert speed.bandwidth > 35_000_000
    assert speed.latency == 0.01


def test_logs_show_requests_and_retries_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "byteatlas")
    with faulty({"/a.bin": BYTES}) as web:
        web.plan = burst(0, 1, "503")
        url = web.url.replace("http://", "http://me:secret@") + "/a.bin"
        Access(retry=Retry(wait=0.01)).open(url).read([ByteRange(0, 100)])
    told = {(r.name, r.levelno, r.getMessage().partition(":")[0]) for r in caplog.records if "byteatlas" in r.name}
    assert told == {("byteatlas.io.sources", logging.DEBUG, "GET http"), ("byteatlas.io.retry", logging.INFO, "http")}
    assert "secret" not in caplog.text
    assert "100 bytes" in caplog.text
    assert "503" in caplog.text


def test_spans_where_the_program_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[tuple[str, dict[str, Any]]] = []

    class Tracer:
        @contextmanager
        def start_as_current_span(self, name: str, attributes: dict[str, Any]) -> Iterator[None]:
            spans.append((name, attributes))
            yield

    class Trace:
        get_tracer = staticmethod(lambda name: Tracer())

    monkeypatch.setitem(sys.modules, "opentelemetry.trace", Trace)
    with serve({"/a.bin": BYTES}) as web:
        Access().open(web.url + "/a.bin").read([ByteRange(0, 1)])
        assert spans == [("byteatlas GET", {"http.request.method": "GET", "url.full": web.url + "/a.bin"})]
